"""BERT as a sentence encoder: tokens to one normalised vector for every sentence."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import DType, bool_, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Program, Tensor
from .config import Config, as_count, as_float_dtype
from .model import Model, as_tokens
from .weights import Arrays, assign, read_weights

__all__ = ["BertConfig", "EmbeddingModel", "build", "load"]

_ACTIVATIONS: dict[str, Callable[[Tensor, str], Tensor]] = {
    "gelu": lambda x, name: ark.gelu(x, approximate="none", name=name),
    "gelu_new": lambda x, name: ark.gelu(x, approximate="tanh", name=name),
    "gelu_pytorch_tanh": lambda x, name: ark.gelu(x, approximate="tanh", name=name),
    "relu": lambda x, name: ark.relu(x, name=name),
    "silu": lambda x, name: ark.silu(x, name=name),
}
_POOLINGS = ("mean", "cls", "none")


@dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT encoder."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    types: int
    eps: float
    activation: str

    @classmethod
    def read(cls, config: Config) -> BertConfig:
        """From a ``config.json``."""
        result = cls(
            vocabulary=config.count("vocab_size"),
            hidden=config.count("hidden_size"),
            layers=config.count("num_hidden_layers"),
            heads=config.count("num_attention_heads"),
            intermediate=config.count("intermediate_size"),
            positions=config.count("max_position_embeddings"),
            types=config.count("type_vocab_size", 2),
            eps=config.number("layer_norm_eps", 1e-12),
            activation=config.word("hidden_act", "gelu"),
        )
        if result.hidden % result.heads:
            raise config.error(f"{result.hidden} values do not divide among {result.heads} heads")
        if result.activation not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise config.error(f"unknown hidden_act {result.activation!r}; known are {known}")
        if config.word("position_embedding_type", "absolute") != "absolute":
            raise config.error("only absolute position embeddings are known")
        return result


def build(
    config: BertConfig,
    batch: int = 8,
    length: int = 64,
    dtype: DType | str = fp32,
    pooling: str = "mean",
    normalize: bool = True,
) -> Program:
    """The encoder for `batch` prompts of up to `length` tokens.

    Inputs: ``ids`` int32 ``[batch, length]``, ``mask`` bool of the same shape (true for
    tokens). Output ``embedding``: fp32 ``[batch, hidden]``; with pooling ``none``
    ``[batch, length, hidden]``. Parameters have their Hugging Face names.
    """
    element = as_float_dtype(dtype)
    with Program("bert") as program:
        ids = ark.input("ids", (batch, length), int32)
        mask = ark.input("mask", (batch, length), bool_)
        graph = _Graph(config, batch, length, element)
        hidden = graph.embeddings(ids)
        keys = ark.reshape(mask, (batch, 1, 1, length), name="mask")
        for layer in range(config.layers):
            hidden = graph.layer(hidden, keys, f"encoder.layer.{layer}")
        hidden = ark.reshape(hidden, (batch, length, config.hidden), name="hidden")
        pooled = _pooled(hidden, mask, pooling)
        ark.output("embedding", _normalized(pooled) if normalize else pooled)
    return program


@dataclass(frozen=True)
class _Graph:
    """Parts of the encoder; hidden states are ``[batch * length, hidden]`` in between."""

    config: BertConfig
    batch: int
    length: int
    dtype: DType

    def parameter(self, name: str, *shape: int) -> Tensor:
        return ark.parameter(name, shape, self.dtype)

    def embeddings(self, ids: Tensor) -> Tensor:
        config, name = self.config, "embeddings"
        words = self.parameter(f"{name}.word_embeddings.weight", config.vocabulary, config.hidden)
        places = self.parameter(
            f"{name}.position_embeddings.weight", config.positions, config.hidden
        )
        types = self.parameter(f"{name}.token_type_embeddings.weight", config.types, config.hidden)
        hidden = ark.embedding(ids, words, name=f"{name}.words")
        hidden = hidden + places[: self.length] + types[0]  # one sentence: all of type zero
        hidden = ark.reshape(hidden, (self.batch * self.length, config.hidden))
        return self.norm(hidden, f"{name}.LayerNorm")

    def norm(self, x: Tensor, name: str) -> Tensor:
        weight = self.parameter(f"{name}.weight", self.config.hidden)
        bias = self.parameter(f"{name}.bias", self.config.hidden)
        return ark.layernorm(x, weight, bias, self.config.eps, name=name)

    def dense(self, x: Tensor, name: str, outputs: int) -> Tensor:
        weight = self.parameter(f"{name}.weight", outputs, x.shape[-1])
        bias = self.parameter(f"{name}.bias", outputs)
        product = ark.matmul(x, weight, transpose_other=True, name=name)
        return ark.add(product, bias, name=f"{name}.bias")

    def heads(self, x: Tensor, name: str) -> Tensor:
        """``[batch * length, hidden]`` as ``[batch, heads, length, D]``."""
        shape = (self.batch, self.length, self.config.heads, -1)
        return ark.transpose(ark.reshape(x, shape, name=name), (0, 2, 1, 3), name=name)

    def attention(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        q, k, v = (
            self.heads(self.dense(x, f"{name}.self.{part}", self.config.hidden), f"{name}.{part}")
            for part in ("query", "key", "value")
        )
        mixed = ark.attention(q, k, v, mask=mask, name=name)
        mixed = ark.transpose(mixed, (0, 2, 1, 3), name=f"{name}.merge")
        mixed = ark.reshape(mixed, x.shape, name=f"{name}.merge")
        return self.dense(mixed, f"{name}.output.dense", self.config.hidden)

    def layer(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        attended = x + self.attention(x, mask, f"{name}.attention")
        x = self.norm(attended, f"{name}.attention.output.LayerNorm")
        activation = _ACTIVATIONS[self.config.activation]
        inner = self.dense(x, f"{name}.intermediate.dense", self.config.intermediate)
        inner = activation(inner, f"{name}.intermediate.activation")
        outer = self.dense(inner, f"{name}.output.dense", self.config.hidden)
        return self.norm(x + outer, f"{name}.output.LayerNorm")


def _pooled(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    # In fp32 from here on: a norm of 16-bit values would overflow or lose digits.
    if pooling == "none":
        return ark.cast(hidden, fp32, name="pooling")
    if pooling == "cls":
        return ark.cast(hidden[:, 0], fp32, name="pooling")
    weights = ark.reshape(ark.cast(mask, fp32), (*mask.shape, 1), name="pooling.mask")
    total = ark.reduce_sum(ark.cast(hidden, fp32) * weights, 1, keepdims=False, name="pooling.sum")
    count = ark.reduce_sum(weights, 1, keepdims=False, name="pooling.count")
    # Rows that only fill up a batch have no token.
    return ark.div(total, ark.maximum(count, 1.0), name="pooling.mean")


def _normalized(x: Tensor) -> Tensor:
    norm = ark.sqrt(ark.reduce_sum(x * x, -1, name="norm.sum"), name="norm")
    return ark.div(x, ark.maximum(norm, 1e-12), name="normalize")


class EmbeddingModel(Model):
    """A sentence encoder. See :meth:`embed`."""

    def __init__(self, name: str, program: Program, parameters: Arrays, vocabulary: int) -> None:
        super().__init__(name, {"embed": program}, parameters)
        self.vocabulary = vocabulary

    def embed(
        self, ids: object, mask: object = None, *, reference: bool = False
    ) -> NDArray[np.float32]:
        """One vector for every prompt.

        Args:
            ids: token ids, a matrix or lists of any lengths.
            mask: for every id whether it is a token (1) or padding (0); by default all are.
            reference: computes with the float64 interpreter instead of the compiled program.

        Any number of prompts will do: they run in batches of the program's size. Returns
        fp32 ``[prompts, hidden]`` (float64 from the interpreter). Raises InvalidUsageError on a
        prompt that is longer than the program, empty, or has tokens outside of the vocabulary.

        Example:
            >>> vectors = model.embed([[101, 7592, 102], [101, 2748, 102]])
        """
        rows = as_tokens(ids, self.vocabulary)
        masks = _as_masks(mask, rows)
        program = self.programs["embed"]
        batch, length = program.inputs["ids"].shape
        prompts = [
            _trimmed(n, *pair, length) for n, pair in enumerate(zip(rows, masks, strict=True))
        ]
        parts: list[NDArray[Any]] = []
        for begin in range(0, len(prompts), batch):
            chunk = prompts[begin : begin + batch]
            result = self.run("embed", _padded(chunk, batch, length), reference=reference)
            parts.append(result["embedding"][: len(chunk)])
        if not parts:
            return np.zeros((0, *program.outputs["embedding"].shape[1:]), np.float32)
        return np.concatenate(parts)


def _as_masks(mask: object, rows: list[NDArray[np.int32]]) -> list[NDArray[np.bool_]]:
    if mask is None:
        return [np.ones(row.shape, np.bool_) for row in rows]
    try:
        masks = [np.asarray(m) for m in mask]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidUsageError("mask must be rows of zeros and ones") from None
    if [m.shape for m in masks] != [row.shape for row in rows]:
        raise InvalidUsageError("mask must have the shape of ids")
    for number, row in enumerate(masks):
        if row.dtype.kind not in "biu" or not np.isin(row, (0, 1)).all():
            raise InvalidUsageError(f"mask[{number}] must hold zeros and ones")
    return [m.astype(np.bool_) for m in masks]


def _trimmed(
    number: int, row: NDArray[np.int32], mask: NDArray[np.bool_], length: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """A prompt without the padding at its end."""
    if not mask.any():
        raise InvalidUsageError(f"prompt {number} has no token")
    used = int(np.flatnonzero(mask)[-1]) + 1
    if used > length:
        raise InvalidUsageError(
            f"prompt {number} has {used} tokens, the program holds {length}; "
            f"load the model with length={used} or more, or cut the prompt"
        )
    return row[:used], mask[:used]


def _padded(
    prompts: list[tuple[NDArray[np.int32], NDArray[np.bool_]]], batch: int, length: int
) -> dict[str, NDArray[Any]]:
    ids = np.zeros((batch, length), np.int32)
    mask = np.zeros((batch, length), np.bool_)
    for number, (row, valid) in enumerate(prompts):
        ids[number, : row.size] = row
        mask[number, : row.size] = valid
    return {"ids": ids, "mask": mask}


def load(
    folder: str | os.PathLike[str],
    config: Config,
    *,
    batch: int = 8,
    length: int = 64,
    dtype: DType | str = fp32,
    pooling: str = "mean",
    normalize: bool = True,
) -> EmbeddingModel:
    """A BERT encoder from a Hugging Face folder; called through ``ark.models.load``.

    Args:
        batch: prompts that one run takes.
        length: tokens that one prompt may have.
        dtype: of parameters and hidden states; fp32, fp16 or bf16.
        pooling: ``mean`` over the tokens, ``cls`` for the first one, ``none`` for all.
        normalize: whether vectors get length one.
    """
    sizes = BertConfig.read(config)
    if pooling not in _POOLINGS:
        raise InvalidUsageError(f"pooling must be one of {', '.join(_POOLINGS)}, not {pooling!r}")
    if as_count(length, "length") > sizes.positions:
        raise config.error(f"length {length} exceeds the model's {sizes.positions} positions")
    program = build(sizes, as_count(batch, "batch"), length, dtype, pooling, bool(normalize))
    parameters = assign(program.parameters, read_weights(folder), os.fspath(folder), _spellings)
    return EmbeddingModel(os.fspath(folder), program, parameters, sizes.vocabulary)


def _spellings(name: str) -> list[str]:
    """Names of a tensor in a plain encoder, under a head, and in old checkpoints."""
    old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
        "LayerNorm.bias", "LayerNorm.beta"
    )
    return [prefix + spelling for spelling in (name, old) for prefix in ("", "bert.")]
