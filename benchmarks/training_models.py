"""The sizes and the weights of a GPT, and its function in PyTorch; needs no compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Sizes", "first_weights", "torch_logits"]


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


def first_weights(sizes: Sizes) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the fp32 weights before the first step, by name."""
    width = sizes.width
    dense = {"qkv": (3 * width, width), "out": (width, width),
             "up": (4 * width, width), "down": (width, 4 * width)}  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {
        "tokens": (sizes.vocabulary, width),
        "positions": (sizes.length, width),
    }
    norms = ["norm"]
    for block in (f"blocks.{number}" for number in range(sizes.layers)):
        norms += [f"{block}.first", f"{block}.second"]
        for name, shape in dense.items():
            shapes |= {f"{block}.{name}.weight": shape, f"{block}.{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    rng = np.random.default_rng(0)
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            weights[name] = np.full(shape, float(name.endswith("weight")), np.float32)
        else:
            branch_end = name.endswith(("out.weight", "down.weight"))
            spread = 0.02 / (math.sqrt(2 * sizes.layers) if branch_end else 1)
            weights[name] = (spread * rng.standard_normal(shape)).astype(np.float32)
    return weights


def torch_logits(sizes: Sizes, weights: Mapping[str, Any], ids: Any) -> Any:
    """Returns the logits of the GPT of ``training_gpt.py``, from weights by the same names."""
    import torch.nn.functional as F

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (sizes.width,), weights[f"{name}.weight"], weights[f"{name}.bias"])

    x = F.embedding(ids, weights["tokens"]) + weights["positions"]
    for block in (f"blocks.{number}" for number in range(sizes.layers)):
        parts = linear(norm(x, f"{block}.first"), f"{block}.qkv").chunk(3, -1)
        q, k, v = (part.unflatten(-1, (sizes.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(mixed.transpose(1, 2).flatten(-2), f"{block}.out")
        inner = F.gelu(linear(norm(x, f"{block}.second"), f"{block}.up"), approximate="tanh")
        x = x + linear(inner, f"{block}.down")
    return F.linear(norm(x, "norm"), weights["tokens"])
