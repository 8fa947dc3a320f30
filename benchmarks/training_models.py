"""The sizes and weights of transformers that train, and PyTorch's function; needs no compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LlamaSizes", "Sizes", "first_weights", "rope_tables", "torch_logits"]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a GPT and of a batch; `dtype` is that of products and activations.

    If `causal` is false, a token attends to all tokens of its sequence, as in BERT.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    length: int
    batch: int
    dtype: str = "fp32"
    causal: bool = True

    @property
    def tokens(self) -> int:
        """Returns the tokens of a step."""
        return self.batch * self.length

    @property
    def layer_weights(self) -> int:
        """Returns the elements of the weight matrices of all layers and of the head."""
        return 12 * self.layers * self.width**2 + self.vocabulary * self.width

    @property
    def parameters(self) -> int:
        """Returns the elements of all parameters, without biases and norms."""
        return self.layer_weights + self.length * self.width

    @property
    def flops(self) -> float:
        """Returns the floating-point operations of all products of a step, forward and backward."""
        attention = 2.0 * self.layers * self.tokens * self.length * self.width
        if not self.causal:
            attention *= 2
        return 3 * (2.0 * self.tokens * self.layer_weights + attention)

    @property
    def dense(self) -> dict[str, tuple[int, int]]:
        """Returns the shapes of the weight matrices of a layer, by name."""
        width = self.width
        return {"qkv": (3 * width, width), "out": (width, width),
                "up": (4 * width, width), "down": (width, 4 * width)}  # fmt: skip

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of all weights, by name."""
        width = self.width
        shapes: dict[str, tuple[int, ...]] = {
            "tokens": (self.vocabulary, width),
            "positions": (self.length, width),
        }
        norms = ["norm"]
        for block in (f"blocks.{number}" for number in range(self.layers)):
            norms += [f"{block}.first", f"{block}.second"]
            for name, shape in self.dense.items():
                shapes |= {f"{block}.{name}.weight": shape, f"{block}.{name}.bias": shape[:1]}
        for name in norms:
            shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
        return shapes


@dataclass(frozen=True)
class LlamaSizes(Sizes):
    """The sizes of a Llama and of a batch: RMS norms, rotated queries and keys, a gated MLP.

    Attributes:
        kv_heads: heads of keys and values.
        inner: inner columns of the MLP.
        theta: the base of the frequencies of the rotation.
    """

    kv_heads: int = 1
    inner: int = 1
    theta: float = 5e5

    @property
    def layer_weights(self) -> int:
        """Returns the elements of the weight matrices of all layers and of the head."""
        each = sum(rows * columns for rows, columns in self.dense.values())
        return self.layers * each + self.vocabulary * self.width

    @property
    def parameters(self) -> int:
        """Returns the elements of all parameters, without norms."""
        return self.layer_weights

    @property
    def dense(self) -> dict[str, tuple[int, int]]:
        """Returns the shapes of the weight matrices of a layer, by name."""
        width, shared = self.width, self.width // self.heads * self.kv_heads
        return {"q": (width, width), "k": (shared, width), "v": (shared, width),
                "out": (width, width), "gate": (self.inner, width), "up": (self.inner, width),
                "down": (width, self.inner)}  # fmt: skip

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of all weights, by name."""
        shapes: dict[str, tuple[int, ...]] = {"tokens": (self.vocabulary, self.width)}
        norms = ["norm"]
        for block in (f"blocks.{number}" for number in range(self.layers)):
            norms += [f"{block}.first", f"{block}.second"]
            shapes |= {f"{block}.{name}.weight": shape for name, shape in self.dense.items()}
        return shapes | {f"{name}.weight": (self.width,) for name in norms}


def rope_tables(sizes: LlamaSizes) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns the cosines and sines of all positions, fp32 ``[length, head / 2]`` each."""
    head = sizes.width // sizes.heads
    rates = sizes.theta ** (-np.arange(0, head, 2) / head)
    angles = np.outer(np.arange(sizes.length), rates)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def first_weights(sizes: Sizes) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the fp32 weights before the first step, by name."""
    rng = np.random.default_rng(0)
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in sizes.shapes().items():
        if len(shape) == 1:
            weights[name] = np.full(shape, float(name.endswith("weight")), np.float32)
        else:
            branch_end = name.endswith(("out.weight", "down.weight"))
            spread = 0.02 / (math.sqrt(2 * sizes.layers) if branch_end else 1)
            weights[name] = (spread * rng.standard_normal(shape)).astype(np.float32)
    return weights


def torch_logits(sizes: Sizes, weights: Mapping[str, Any], ids: Any) -> Any:
    """Returns the logits of the models of ``training_gpt.py`` and ``training_llama.py``, from
    weights by the same names."""
    import torch.nn.functional as F

    x = F.embedding(ids, weights["tokens"])
    if isinstance(sizes, LlamaSizes):
        block = _LlamaBlock(sizes, weights)
    else:
        block = _Block(sizes, weights)
        x = x + weights["positions"]
    for number in range(sizes.layers):
        x = block(x, f"blocks.{number}")
    return F.linear(block.norm(x, "norm"), weights["tokens"])


class _Block:
    """A layer of a GPT in PyTorch's own operators."""

    def __init__(self, sizes: Sizes, weights: Mapping[str, Any]) -> None:
        self._sizes, self._weights = sizes, weights

    def norm(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        return F.layer_norm(x, (self._sizes.width,), *self._affine(name))

    def __call__(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        heads, causal = self._sizes.heads, self._sizes.causal
        parts = self._linear(self.norm(x, f"{name}.first"), f"{name}.qkv").chunk(3, -1)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        x = x + self._linear(mixed.transpose(1, 2).flatten(-2), f"{name}.out")
        inner = self._linear(self.norm(x, f"{name}.second"), f"{name}.up")
        return x + self._linear(F.gelu(inner, approximate="tanh"), f"{name}.down")

    def _affine(self, name: str) -> tuple[Any, Any]:
        return self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]

    def _linear(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        return F.linear(x, *self._affine(name))


class _LlamaBlock:
    """A layer of a Llama in PyTorch's own operators."""

    def __init__(self, sizes: LlamaSizes, weights: Mapping[str, Any]) -> None:
        import torch

        self._sizes, self._weights = sizes, weights
        like = weights["tokens"]
        self._tables = [
            torch.from_numpy(part).to(like.device, like.dtype) for part in rope_tables(sizes)
        ]

    def norm(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        return F.rms_norm(x, (self._sizes.width,), self._weights[f"{name}.weight"], 1e-5)

    def __call__(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        sizes, rows = self._sizes, self.norm(x, f"{name}.first")
        q, k, v = (
            self._linear(rows, f"{name}.{part}").unflatten(-1, (heads, -1)).transpose(1, 2)
            for part, heads in (("q", sizes.heads), ("k", sizes.kv_heads), ("v", sizes.kv_heads))
        )
        q, k = self._rotated(q).to(v.dtype), self._rotated(k).to(v.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self._linear(mixed.transpose(1, 2).flatten(-2), f"{name}.out")
        rows = self.norm(x, f"{name}.second")
        inner = F.silu(self._linear(rows, f"{name}.gate")) * self._linear(rows, f"{name}.up")
        return x + self._linear(inner, f"{name}.down")

    def _rotated(self, x: Any) -> Any:
        import torch

        cosine, sine = self._tables
        first, second = x.chunk(2, -1)
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)

    def _linear(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        return F.linear(x, self._weights[f"{name}.weight"])
