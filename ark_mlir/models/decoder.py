"""Decoders of the Llama family: grouped-query attention, rotary positions, SwiGLU.

Two programs share parameters and states: ``prefill`` reads a chunk of a prompt, ``decode`` one
token. Keys, values and the progress of the sequence are states: N iterations of ``decode``
generate N tokens.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import DType, bf16, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Program, Tensor
from .config import Config, as_float_dtype
from .decoder_states import DecoderStates
from .moe import Experts, build_mlp, read_experts
from .sampling import draw
from .sharding import ALONE, Shard

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = [
    "DecoderConfig",
    "RopeScaling",
    "build_decode",
    "build_prefill",
    "divide",
    "rope_tables",
]

# Sizes that are divided among the ranks.
_DIVIDED = ("heads", "kv_heads", "intermediate")


@dataclass(frozen=True)
class RopeScaling:
    """The parameters of Llama 3's RoPE scaling."""

    factor: float
    low: float
    high: float
    original: int


@dataclass(frozen=True)
class DecoderConfig:
    """The sizes of a decoder, or of the part of a decoder that the rank `shard` has.

    Example:
        >>> llama_1b = DecoderConfig(vocabulary=128256, hidden=2048, layers=16, heads=32,
        ...                          kv_heads=8, head=64, intermediate=8192, tied=True)
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    intermediate: int
    positions: int = 131072
    eps: float = 1e-5
    theta: float = 500000.0
    scaling: RopeScaling | None = None
    tied: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    experts: Experts | None = None
    shard: Shard = ALONE

    @classmethod
    def read(cls, config: Config) -> DecoderConfig:
        """Reads the sizes from a ``config.json``; raises InvalidUsageError if it is invalid."""
        heads, hidden = config.count("num_attention_heads"), config.count("hidden_size")
        _refuse_windows(config)
        result = cls(
            vocabulary=config.count("vocab_size"),
            hidden=hidden,
            layers=config.count("num_hidden_layers"),
            heads=heads,
            kv_heads=config.count("num_key_value_heads", heads),
            head=config.count("head_dim", max(1, hidden // heads)),
            intermediate=config.count("intermediate_size"),
            positions=config.count("max_position_embeddings"),
            eps=config.number("rms_norm_eps", 1e-6),
            theta=_read_theta(config),
            scaling=_read_scaling(config),
            tied=config.flag("tie_word_embeddings", False),
            attention_bias=config.flag("attention_bias", False),
            mlp_bias=config.flag("mlp_bias", False),
            qk_norm=config.word("model_type", "llama") in ("qwen3", "qwen3_moe"),
            experts=read_experts(config, config.count("num_hidden_layers")),
        )
        if result.heads % result.kv_heads:
            raise config.error(f"{heads} heads are no multiple of {result.kv_heads} key heads")
        if result.head % 2:
            raise config.error(f"head_dim {result.head} is odd")
        if config.word("hidden_act", "silu") != "silu":
            raise config.error(f"unknown hidden_act {config.word('hidden_act')!r}; known is silu")
        config.check_known()
        return result

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of weights that depend on the sizes, by their names."""
        layer = "model.layers.0"
        return {
            "model.embed_tokens.weight": (self.vocabulary, self.hidden),
            f"{layer}.self_attn.q_proj.weight": (self.heads * self.head, self.hidden),
            f"{layer}.self_attn.k_proj.weight": (self.kv_heads * self.head, self.hidden),
            f"{layer}.mlp.gate_proj.weight": (self.intermediate, self.hidden),
        }


def divide(config: DecoderConfig, size: int) -> list[DecoderConfig]:
    """Returns the sizes of each rank's part; raises InvalidUsageError if they are not divisible."""
    for name in _DIVIDED:
        if getattr(config, name) % size:
            common = math.gcd(*(getattr(config, each) for each in _DIVIDED))
            fitting = [str(each) for each in range(1, common + 1) if common % each == 0]
            raise InvalidUsageError(
                f"tensor_parallel {size} does not divide {name} {getattr(config, name)}; this "
                f"model can have {', '.join(fitting)} ranks"
            )
    parts: dict[str, Any] = {name: getattr(config, name) // size for name in _DIVIDED}
    if config.experts is not None:
        parts["experts"] = config.experts.divide(size)
    return [replace(config, **parts, shard=Shard(rank, size)) for rank in range(size)]


def _refuse_windows(config: Config) -> None:
    """Raises an error if a layer has a sliding window."""
    config.plain("use_sliding_window", False)
    off = config.entries.get("use_sliding_window") is False
    for key in ("sliding_window", "max_window_layers"):
        config.plain(key, *([config.entries.get(key)] if off else []))
    layers = config.entries.get("layer_types")
    # The comparison creates no list: a damaged file may claim 2^31 layers.
    full = (
        isinstance(layers, list)
        and len(layers) == config.count("num_hidden_layers")
        and all(layer == "full_attention" for layer in layers)
    )
    config.plain("layer_types", *([layers] if full else []))


def _read_theta(config: Config) -> float:
    """Reads RoPE's base, which newer files have in ``rope_parameters``."""
    theta = config.number("rope_theta", 10000.0)
    section = config.section("rope_parameters")
    return theta if section is None else section.number("rope_theta", theta)


def _read_scaling(config: Config) -> RopeScaling | None:
    section = config.section("rope_scaling") or config.section("rope_parameters")
    if section is None:
        return None
    kind = section.word("rope_type", section.word("type", "default"))
    if kind not in ("default", "llama3"):
        raise config.error(f"unknown rope scaling {kind!r}; known are default and llama3")
    scaling = None
    if kind == "llama3":
        scaling = RopeScaling(
            factor=section.number("factor"),
            low=section.number("low_freq_factor"),
            high=section.number("high_freq_factor"),
            original=section.count("original_max_position_embeddings"),
        )
        if not (scaling.factor > 0 and scaling.low < scaling.high):
            raise config.error(
                "llama3 scaling needs a factor above 0, and low_freq_factor below high_freq_factor"
            )
    section.number("rope_theta", 10000.0)
    section.check_known()
    return scaling


def rope_tables(config: DecoderConfig, length: int) -> tuple[NDArray[np.float32], ...]:
    """Returns the cosines and sines of all positions: two arrays ``[length, head / 2]``."""
    exponents = np.arange(0, config.head, 2, dtype=np.float64) / config.head
    frequencies = config.theta**-exponents
    if config.scaling is not None:
        frequencies = _scaled(frequencies, config.scaling)
    angles = np.outer(np.arange(length, dtype=np.float64), frequencies)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _scaled(frequencies: NDArray[np.float64], scaling: RopeScaling) -> NDArray[np.float64]:
    rotations = scaling.original * frequencies / (2 * math.pi)  # within the original context
    blend = np.clip((rotations - scaling.low) / (scaling.high - scaling.low), 0, 1)
    return frequencies * (blend + (1 - blend) / scaling.factor)


def build_decode(
    config: DecoderConfig,
    *,
    batch: int = 1,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
) -> Program:
    """Builds the program that reads one token of each sequence and computes the next.

    States: the token, its position and the tokens so far (:class:`DecoderStates`), and
    ``layers.<n>.key`` and ``.value`` ``[batch, kv_heads, max_length, head]``. Input: ``ends``
    int32 ``[8]``, the tokens that end a sequence; negative entries are unused. The launch ends
    when all sequences have ended. Outputs: ``logits`` fp32 ``[batch, vocabulary]`` and ``token``
    int32 ``[batch]``, the most probable token, or with `sampling` the one that :func:`draw`
    samples. Parameters have the names of Hugging Face; their arrays are not needed to build.
    Raises InvalidUsageError if `max_length` exceeds the model's positions.

    Example:
        >>> sizes = DecoderConfig(vocabulary=100, hidden=64, layers=2, heads=4, kv_heads=2, head=16,
        ...                       intermediate=128)
        >>> sorted(ark.models.llama.build_decode(sizes, max_length=32).outputs)
        ['logits', 'token']
    """
    _check_length(config, max_length)
    with config.shard.program("decode") as program:
        shared = DecoderStates.declare(batch, max_length)
        graph = _Graph(config, batch, 1, max_length, as_float_dtype(dtype), shared.position)
        token = graph.next_token(graph.hidden(shared.token), None, shared.position, sampling)
        shared.advance(token, shared.position, first=False)
    return program


def build_prefill(
    config: DecoderConfig,
    *,
    batch: int = 1,
    chunk: int = 64,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
) -> Program:
    """Builds the program that reads `chunk` tokens of a prompt at once.

    It has the states, inputs, outputs and parameters of :func:`build_decode`. Further inputs are
    ``ids`` int32 ``[batch, chunk]``, the scalar ``begin``, the number of tokens before the chunk,
    and, if `chunk` is above one, the scalar ``last``, the index of the token in the chunk to which
    the outputs belong. Tokens after ``last`` are ignored: their keys and values are overwritten
    before an op reads them.
    """
    if not 1 <= chunk <= max_length:
        raise InvalidUsageError(f"chunk {chunk} is not between 1 and max_length {max_length}")
    _check_length(config, max_length)
    with config.shard.program("prefill") as program:
        ids = ark.input("ids", (batch, chunk), int32)
        begin = ark.scalar("begin", int32, max=max_length - chunk)
        shared = DecoderStates.declare(batch, max_length)
        graph = _Graph(config, batch, chunk, max_length, as_float_dtype(dtype), begin)
        last = ark.scalar("last", int32, max=chunk - 1) if chunk > 1 else None
        position = begin if last is None else ark.add(begin, last, name="at")
        token = graph.next_token(graph.hidden(ids), last, position, sampling)
        shared.advance(token, position, first=True)
    return program


def _check_length(config: DecoderConfig, max_length: int) -> None:
    if max_length > config.positions:
        raise InvalidUsageError(
            f"max_length {max_length} exceeds the model's {config.positions} positions"
        )


@dataclass(frozen=True)
class _Graph:
    """Builds the parts of the decoder; hidden states are ``[batch * tokens, hidden]``."""

    config: DecoderConfig
    batch: int
    tokens: int
    max_length: int
    dtype: DType
    position: Tensor

    @cached_property
    def table(self) -> Tensor:
        """Returns the table of token embeddings."""
        config = self.config
        return self.parameter("model.embed_tokens.weight", config.vocabulary, config.hidden)

    @cached_property
    def kv_length(self) -> Tensor:
        """Returns the number of keys that the last token of this run attends to."""
        return ark.add(self.position, self.tokens, name="kv_length")

    def parameter(self, name: str, *shape: int) -> Tensor:
        return ark.parameter(name, shape, self.dtype)

    def norm(self, x: Tensor, name: str) -> Tensor:
        weight = self.parameter(f"{name}.weight", x.shape[-1])
        return ark.rmsnorm(x, weight, self.config.eps, name=name)

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = False) -> Tensor:
        weight = self.parameter(f"{name}.weight", outputs, x.shape[-1])
        product = ark.matmul(x, weight, transpose_other=True, name=name)
        product = self.config.shard.total(product, name)
        if not bias:
            return product
        return ark.add(product, self.parameter(f"{name}.bias", outputs), name=f"{name}.bias")

    def rotation(self) -> tuple[Tensor, Tensor]:
        """Returns cosines and sines of this run's positions, ``[tokens, head / 2]``.

        Their tables are constants, since the files of weights do not have them.
        """
        positions = ark.add(ark.arange(self.tokens), self.position, name="positions")
        tables = zip(("cos", "sin"), rope_tables(self.config, self.max_length), strict=True)
        cos, sin = (
            ark.gather(ark.constant(table, self.dtype), positions, 0, name=f"rope.{part}")
            for part, table in tables
        )
        return cos, sin

    def heads(self, x: Tensor, count: int, norm: str | None) -> Tensor:
        """Returns ``[batch * tokens, count * head]`` as ``[batch, count, tokens, head]``."""
        x = ark.reshape(x, (self.batch, self.tokens, count, self.config.head))
        if norm is not None and self.config.qk_norm:
            x = self.norm(x, norm)
        return ark.transpose(x, (0, 2, 1, 3))

    def cached(self, x: Tensor, name: str) -> Tensor:
        """Writes the keys or values of this run to their cache and returns the cache."""
        shape = (self.batch, self.config.kv_heads, self.max_length, self.config.head)
        cache = ark.state(name, shape, self.dtype)
        return ark.update(cache, x, (0, 0, self.position, 0), name=name)

    def attention(self, x: Tensor, rotation: tuple[Tensor, Tensor], name: str) -> Tensor:
        config, layer = self.config, name.removeprefix("model.").removesuffix(".self_attn")
        q, k, v = (
            self.dense(x, f"{name}.{part}_proj", count * config.head, config.attention_bias)
            for part, count in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads))
        )
        q = self.heads(q, config.heads, f"{name}.q_norm")
        k = self.heads(k, config.kv_heads, f"{name}.k_norm")
        q = ark.rope(q, *rotation, name=f"{name}.q_rope")
        k = ark.rope(k, *rotation, name=f"{name}.k_rope")
        keys = self.cached(k, f"{layer}.key")
        values = self.cached(self.heads(v, config.kv_heads, None), f"{layer}.value")
        mixed = ark.attention(q, keys, values, causal=True, kv_length=self.kv_length, name=name)
        mixed = ark.reshape(ark.transpose(mixed, (0, 2, 1, 3)), (x.shape[0], -1))
        return self.dense(mixed, f"{name}.o_proj", config.hidden, config.attention_bias)

    def mlp(self, x: Tensor, name: str) -> Tensor:
        config = self.config
        layer = int(name.split(".")[2])
        if config.experts is not None and config.experts.has(layer):
            return build_mlp(self, config.experts, x, name)
        gate = self.dense(x, f"{name}.gate_proj", config.intermediate, config.mlp_bias)
        up = self.dense(x, f"{name}.up_proj", config.intermediate, config.mlp_bias)
        inner = ark.mul(ark.silu(gate, name=f"{name}.act"), up, name=f"{name}.act")
        return self.dense(inner, f"{name}.down_proj", config.hidden, config.mlp_bias)

    def layer(self, x: Tensor, rotation: tuple[Tensor, Tensor], name: str) -> Tensor:
        inner = self.norm(x, f"{name}.input_layernorm")
        x = x + self.attention(inner, rotation, f"{name}.self_attn")
        inner = self.norm(x, f"{name}.post_attention_layernorm")
        return x + self.mlp(inner, f"{name}.mlp")

    def hidden(self, ids: Tensor) -> Tensor:
        """Returns the hidden states after all layers, for tokens ``[batch, tokens]``."""
        x = ark.embedding(ids, self.table, name="embed_tokens")
        x = ark.reshape(x, (self.batch * self.tokens, self.config.hidden))
        rotation = self.rotation()
        for layer in range(self.config.layers):
            x = self.layer(x, rotation, f"model.layers.{layer}")
        return x

    def next_token(
        self, hidden: Tensor, last: Tensor | None, position: Tensor, sampling: bool
    ) -> Tensor:
        """Returns the token ``[batch]`` after the one at `position`, as an output.

        Its logits are an output, too: fp32 ``[batch, vocabulary]``. Only the logits of one token
        of each sequence, `last`, are computed.
        """
        shard, vocabulary = self.config.shard, self.config.vocabulary
        part = ark.cast(self.head(hidden, last), fp32, name="logits")
        logits = ark.output("logits", shard.gather(part, vocabulary))
        # Sampling needs the sum over all tokens.
        token = draw(logits, position) if sampling else shard.argmax(part, vocabulary)
        return ark.output("token", token)

    def head(self, hidden: Tensor, last: Tensor | None) -> Tensor:
        """Returns the logits of this rank's part of the vocabulary."""
        config = self.config
        if last is not None:
            hidden = ark.reshape(hidden, (self.batch, self.tokens, config.hidden))
            hidden = ark.gather(hidden, last, 1, name="last")
        hidden = self.norm(hidden, "model.norm")
        rows = config.shard.interval(config.vocabulary)
        if not config.tied:
            return self.dense(hidden, "lm_head", len(rows))
        # The head reads its rows of the table, which every rank has for the embeddings.
        table = self.table
        if len(rows) < config.vocabulary:
            table = ark.slice(table, (rows.start, 0), (rows.stop, config.hidden), name="lm_head")
        return ark.matmul(hidden, table, transpose_other=True, name="lm_head")
