"""Encoders as programs, which compute a vector for each sentence or pair of sentences."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from .. import frontend as ark
from ..dtypes import DType, bool_, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Program, Tensor
from ..text import EmbeddingFiles
from ..typing import Pooling
from .activations import ACTIVATIONS
from .config import Config, as_count, as_float_dtype
from .embedding import EmbeddingModel, EmbeddingSizes
from .encoder_config import ENCODERS, EncoderConfig
from .rope import Rope
from .weights import assign, check_layers, read_weights

if TYPE_CHECKING:
    from ..typing import DTypeLike, Path

__all__ = [
    "EncoderConfig",
    "EncoderGraph",
    "build",
    "find_spellings",
    "load",
    "normalized",
    "pooled",
]

_WITH_POOLER = ("bert", "roberta")


def build(
    config: EncoderConfig,
    batch: int = 8,
    length: int = 64,
    dtype: DTypeLike = fp32,
    pooling: Pooling = "mean",
    normalize: bool = True,
) -> Program:
    """Builds the encoder for `batch` prompts of at most `length` tokens.

    The inputs have the shape ``[batch, length]``: ``ids`` int32, ``mask`` bool (true for tokens),
    and ``types`` int32, the number of the token's sentence in a pair, if the encoder has token
    types. The output ``embedding`` is fp32 ``[batch, hidden]``, or ``[batch, length, hidden]`` with
    pooling ``none``. Parameters have the names of Hugging Face.
    """
    element = as_float_dtype(dtype)
    with Program(config.kind) as program:
        ids = ark.input("ids", (batch, length), int32)
        mask = ark.input("mask", (batch, length), bool_)
        types = ark.input("types", (batch, length), int32) if config.types else None
        graph = EncoderGraph(config, batch, length, element)
        hidden = graph.hidden(ids, mask, types)
        vector = graph.pooler(hidden) if pooling == "pooler" else pooled(hidden, mask, pooling)
        ark.output("embedding", normalized(vector) if normalize else vector)
    return program


@dataclass(frozen=True)
class EncoderGraph:
    """Builds the parts of the encoder; hidden states are ``[batch * length, hidden]``."""

    config: EncoderConfig
    batch: int
    length: int
    dtype: DType

    def hidden(self, ids: Tensor, mask: Tensor, types: Tensor | None) -> Tensor:
        """Returns the vectors of all tokens, ``[batch, length, hidden]``; arguments as inputs."""
        hidden = self.embeddings(ids, types)
        keys = ark.reshape(mask, (self.batch, 1, 1, self.length), name="mask")
        for layer in range(self.config.layers):
            hidden = self.layer(hidden, keys, layer)
        if self.config.names.final_norm is not None:
            hidden = self.norm(hidden, self.config.names.final_norm)
        return ark.reshape(hidden, (self.batch, self.length, self.config.hidden), name="hidden")

    def branch(self, x: Tensor, number: int) -> Tensor:
        """Returns the output of attention or MLP of a layer; training drops elements of it."""
        return x

    @cached_property
    def near(self) -> Tensor:
        """Returns the mask of the tokens in the window of each token, ``[length, length]``."""
        positions = ark.arange(self.length)
        distances = ark.abs(
            ark.sub(ark.reshape(positions, (self.length, 1)), positions), name="window"
        )
        return ark.less_equal(distances, self.config.window or 0, name="window")

    def rotation(self, rope: Rope) -> tuple[Tensor, Tensor]:
        """Returns cosines and sines, ``[length, size / 2]``."""
        cos, sin = (ark.constant(table, self.dtype) for table in rope.tables(self.length))
        return cos, sin

    def parameter(self, name: str, *shape: int) -> Tensor:
        return ark.parameter(name, shape, self.dtype)

    def embeddings(self, ids: Tensor, types: Tensor | None) -> Tensor:
        config, names = self.config, self.config.names
        words = self.parameter(f"{names.words}.weight", config.vocabulary, config.hidden)
        table = kinds = None
        if names.positions is not None:
            table = self.parameter(f"{names.positions}.weight", config.positions, config.hidden)
        if types is not None:
            kinds = self.parameter(f"{names.types}.weight", config.types, config.hidden)
        hidden = ark.embedding(ids, words, name="embeddings.words")
        if types is not None and kinds is not None:
            hidden = hidden + ark.embedding(types, kinds, name="embeddings.types")
        if table is not None:
            hidden = hidden + table[config.offset : config.offset + self.length]
        hidden = ark.reshape(hidden, (self.batch * self.length, config.hidden))
        return self.norm(hidden, names.first_norm)

    def norm(self, x: Tensor, name: str) -> Tensor:
        weight = self.parameter(f"{name}.weight", self.config.hidden)
        bias = None
        if self.config.norm_bias:
            bias = self.parameter(f"{name}.bias", self.config.hidden)
        return ark.layernorm(x, weight, bias, self.config.eps, name=name)

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = True) -> Tensor:
        weight = self.parameter(f"{name}.weight", outputs, x.shape[-1])
        offset = self.parameter(f"{name}.bias", outputs) if bias else None
        product = ark.matmul(x, weight, transpose_other=True, name=name)
        return product if offset is None else ark.add(product, offset, name=f"{name}.bias")

    def heads(self, x: Tensor, name: str) -> Tensor:
        """Returns ``[batch * length, hidden]`` as ``[batch, heads, length, D]``."""
        shape = (self.batch, self.length, self.config.heads, -1)
        return ark.transpose(ark.reshape(x, shape, name=name), (0, 2, 1, 3), name=name)

    def projections(self, x: Tensor, layer: str) -> list[Tensor]:
        """Returns queries, keys and values, ``[batch, heads, length, D]``."""
        config, names = self.config, self.config.names
        parts, name = ("query", "key", "value"), f"{layer}.{names.attention}"
        if names.qkv is not None:
            whole = self.dense(x, f"{layer}.{names.qkv}", 3 * config.hidden, config.biases)
            slices = ark.split(whole, 3, -1, name=f"{layer}.{names.qkv}.parts")
            return [self.heads(p, f"{name}.{n}") for p, n in zip(slices, parts, strict=True)]
        return [
            self.heads(
                self.dense(x, f"{layer}.{getattr(names, part)}", config.hidden, config.biases),
                f"{name}.{part}",
            )
            for part in parts
        ]

    def attention(self, x: Tensor, mask: Tensor, number: int, layer: str) -> Tensor:
        config, names = self.config, self.config.names
        name = f"{layer}.{names.attention}"
        q, k, v = self.projections(x, layer)
        windowed = config.has_window(number)
        rope = config.local if windowed and config.local is not None else config.rope
        if rope is not None:
            rotation = self.rotation(rope)
            q = ark.rope(q, *rotation, name=f"{name}.q_rope")
            k = ark.rope(k, *rotation, name=f"{name}.k_rope")
        # A window that covers the prompt has no effect.
        if windowed and (config.window or 0) < self.length - 1:
            mask = ark.logical_and(mask, self.near, name=f"{name}.window")
        mixed = ark.attention(q, k, v, mask=mask, name=name)
        mixed = ark.transpose(mixed, (0, 2, 1, 3), name=f"{name}.merge")
        mixed = ark.reshape(mixed, x.shape, name=f"{name}.merge")
        return self.dense(mixed, f"{layer}.{names.attention_output}", config.hidden, config.biases)

    def pooler(self, hidden: Tensor) -> Tensor:
        """Applies BERT's pooler, a dense layer with tanh, to the vector of the first token."""
        pooled = self.dense(hidden[:, 0], "pooler.dense", self.config.hidden)
        return ark.cast(ark.tanh(pooled, name="pooler.activation"), fp32, name="pooling")

    def mlp(self, x: Tensor, layer: str) -> Tensor:
        config, names = self.config, self.config.names
        activation, width = ACTIVATIONS[config.activation], config.intermediate
        if names.gate_up is not None:
            both = self.dense(x, f"{layer}.{names.gate_up}", 2 * width, config.biases)
            gate, up = ark.split(both, 2, -1, name=f"{layer}.{names.gate_up}.parts")
            inner = ark.mul(activation(gate, f"{layer}.act"), up, name=f"{layer}.act")
        elif names.gate is not None:
            gate = self.dense(x, f"{layer}.{names.gate}", width, config.biases)
            up = self.dense(x, f"{layer}.{names.up}", width, config.biases)
            inner = ark.mul(activation(gate, f"{layer}.act"), up, name=f"{layer}.act")
        else:
            inner = self.dense(x, f"{layer}.{names.up}", width, config.biases)
            inner = activation(inner, f"{layer}.{names.up.split('.')[0]}.activation")
        return self.dense(inner, f"{layer}.{names.down}", config.hidden, config.biases)

    def layer(self, x: Tensor, mask: Tensor, number: int) -> Tensor:
        names, layer = self.config.names, f"{self.config.names.layers}.{number}"
        if self.config.pre_norm:
            # The norm of the embeddings is that of the first layer's input.
            inner = self.norm(x, f"{layer}.{names.attention_norm}") if number else x
            x = x + self.branch(self.attention(inner, mask, number, layer), 2 * number)
            inner = self.norm(x, f"{layer}.{names.mlp_norm}")
            return x + self.branch(self.mlp(inner, layer), 2 * number + 1)
        attended = x + self.branch(self.attention(x, mask, number, layer), 2 * number)
        x = self.norm(attended, f"{layer}.{names.attention_norm}")
        mixed = x + self.branch(self.mlp(x, layer), 2 * number + 1)
        return self.norm(mixed, f"{layer}.{names.mlp_norm}")


def pooled(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Returns the vectors of prompts, fp32: ``mean`` or ``cls`` of ``[batch, length, hidden]``.

    With pooling ``none``, the vectors of all tokens. `mask` is bool ``[batch, length]``.
    """
    # The rest is fp32: the norm of 16-bit values could overflow or lose precision.
    if pooling == "none":
        return ark.cast(hidden, fp32, name="pooling")
    if pooling == "cls":
        return ark.cast(hidden[:, 0], fp32, name="pooling")
    weights = ark.reshape(ark.cast(mask, fp32), (*mask.shape, 1), name="pooling.mask")
    total = ark.reduce_sum(ark.cast(hidden, fp32) * weights, 1, keepdims=False, name="pooling.sum")
    count = ark.reduce_sum(weights, 1, keepdims=False, name="pooling.count")
    # Rows that pad the batch have no token, and must not divide by zero.
    return ark.div(total, ark.maximum(count, 1.0), name="pooling.mean")


def normalized(x: Tensor) -> Tensor:
    """Returns vectors ``[..., hidden]`` with length one."""
    norm = ark.sqrt(ark.reduce_sum(x * x, -1, name="norm.sum"), name="norm")
    return ark.div(x, ark.maximum(norm, 1e-12), name="normalize")


def find_spellings(config: EncoderConfig) -> Callable[[str], list[str]]:
    """Returns a function that returns the names of a parameter in a plain encoder, in a model with
    a head, and in old checkpoints."""

    def spellings(name: str) -> list[str]:
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        )
        return [prefix + each for each in (name, old) for prefix in ("", *config.names.prefixes)]

    return spellings


def load(
    folder: Path,
    config: Config,
    *,
    batch: int = 8,
    length: int = 64,
    dtype: DTypeLike = fp32,
    pooling: Pooling | None = None,
    normalize: bool | None = None,
) -> EmbeddingModel:
    """Loads an encoder from a Hugging Face folder; use it through ``ark.models.load``.

    Args:
        batch: number of prompts per run.
        length: maximum number of tokens of a prompt.
        dtype: dtype of parameters and hidden states: fp32, fp16 or bf16.
        pooling: ``mean`` of the tokens' vectors, ``cls`` for the first token's vector, ``pooler``
            for the output of BERT's pooler, ``none`` for the vectors of all tokens. By default that
            of the folder's files for sentence-transformers, else ``mean``.
        normalize: True scales vectors to length one. By default the setting in these files, else
            True.

    Raises InvalidUsageError if an entry of the configuration, a tensor or an option is invalid, and
    UnsupportedError if the files for sentence-transformers name a pooling or a layer that ark
    lacks.
    """
    if pooling is None or normalize is None:
        files = EmbeddingFiles.read(os.fspath(folder))
        pooling = files.pooling if pooling is None else pooling
        normalize = files.normalize if normalize is None else normalize
    sizes, weights = EncoderConfig.read(config), read_weights(folder)
    sizes = sizes.named_as(weights)
    names = sizes.names
    prefixes = [f"{prefix}{names.layers}." for prefix in ("", *names.prefixes)]
    key = ENCODERS[config.word("model_type")].key("num_hidden_layers")
    check_layers(config, weights, prefixes, "n_layer" if "n_layer" in config.entries else key)
    if pooling not in get_args(Pooling):
        known = ", ".join(get_args(Pooling))
        raise InvalidUsageError(f"pooling must be one of {known}, not {pooling!r}")
    if pooling == "pooler" and sizes.kind not in _WITH_POOLER:
        raise InvalidUsageError(
            f"pooling must not be 'pooler': models of type {sizes.kind} have no pooler"
        )
    if as_count(length, "length") > sizes.most_tokens:
        raise config.error(f"length {length} exceeds the model's {sizes.most_tokens} positions")
    program = build(sizes, as_count(batch, "batch"), length, dtype, pooling, bool(normalize))
    parameters = assign(program.parameters, weights, os.fspath(folder), find_spellings(sizes))
    arguments = EmbeddingSizes(
        sizes.vocabulary,
        max(1, sizes.types),
        batch,
        length,
        program.outputs["embedding"].shape[1:],
        tuple(program.inputs),
    )
    return EmbeddingModel(os.fspath(folder), {"embed": program}, parameters, arguments)
