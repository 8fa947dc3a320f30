"""The parts of a decoder as ops of a program; ``DecoderConfig`` selects the features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from .. import frontend as ark
from ..dtypes import DType, fp8_e4m3, fp32, int8
from ..frontend import Tensor
from ..frontend.ops.linear import attention_with_sinks
from .cache_pages import CachePages
from .decoder_config import DecoderConfig
from .kept_weights import Layout, kept_names
from .latent_attention import build_attention
from .mlp import MLPS
from .rope import Rope
from .sampling import draw

__all__ = ["DecoderGraph"]

# The score of a hidden key. This score is less than other scores, and finite in all float types:
# the difference of two infinities would be NaN.
_MASKED = -6e4
# The keys of one query are divided into at most this number of partitions, over all key heads: a
# large GPU has about as many SMs.
_PARTITIONS = 128
# Minimum number of keys of a partition.
_MIN_KEYS = 16


@dataclass(frozen=True)
class DecoderGraph:
    """Builds the parts of the decoder; hidden states are ``[batch * tokens, hidden]``.

    With `sequence`, the hidden states between products have only the rows of this rank.

    Attributes:
        batch, tokens: number of sequences, and of their tokens in one run.
        max_length: number of positions of the caches.
        dtype: dtype of parameters and hidden states.
        position: the position of the first token of the run, a scalar, or ``[batch]`` if each
            sequence has its own.
        sequence: True if the ranks divide the tokens between products.
        padding: the number of positions of the caches before the first token of each sequence,
            int32 ``[batch]``, or None for none. Sequences of unequal lengths end at one position.
        pages: the pages of the caches, or None if each sequence has a row of the caches.
    """

    config: DecoderConfig
    batch: int
    tokens: int
    max_length: int
    dtype: DType
    position: Tensor
    sequence: bool = False
    padding: Tensor | None = None
    pages: CachePages | None = None

    # -- tensors that several layers share ---------------------------------------------------------

    @cached_property
    def table(self) -> Tensor:
        """Returns the table of token embeddings: with a split embedding, this rank's rows."""
        config = self.config
        rows = config.vocabulary
        if config.split_embedding:
            rows = len(config.shard.interval(rows))
        return self.parameter(f"{config.names.embedding}.weight", rows, config.hidden)

    @property
    def has_own_positions(self) -> bool:
        """Returns True if each sequence has its own position."""
        return self.position.ndim == 1

    @cached_property
    def kv_length(self) -> Tensor | None:
        """Returns the number of keys that the last token of this run attends to, of each sequence
        or of all sequences; None for all keys."""
        return ark.add(self.position, self.tokens, name="kv_length")

    @cached_property
    def positions(self) -> Tensor:
        """Returns the positions of this run's tokens, ``[tokens]``, or ``[batch, tokens]`` if each
        sequence has its own position."""
        first = self.position
        if self.has_own_positions:
            first = ark.reshape(first, (self.batch, 1))
        return ark.add(ark.arange(self.tokens), first, name="positions")

    @cached_property
    def own_positions(self) -> Tensor:
        """Returns the positions of this run's tokens in their sequences: ``[tokens]``, or
        ``[batch, tokens]`` with padding, which has position 0, or with own positions."""
        if self.has_own_positions:
            # Updates of the caches report a position out of range, and name the sequence.
            last = self.max_length - 1
            return ark.minimum(ark.maximum(self.positions, 0), last, name="own_positions")
        if self.padding is None:
            return self.positions
        first = ark.reshape(self.padding, (self.batch, 1))
        return ark.maximum(
            ark.sub(self.positions, first, name="own_positions"), 0, name="own_positions"
        )

    @cached_property
    def present(self) -> Tensor | None:
        """Returns the mask of keys that are not padding, ``[batch, 1, 1, max_length]``."""
        if self.padding is None:
            return None
        first = ark.reshape(self.padding, (self.batch, 1, 1, 1))
        return ark.greater_equal(ark.arange(self.max_length), first, name="present")

    @cached_property
    def distances(self) -> Tensor:
        """Returns the distances of keys before queries, ``[tokens, max_length]``, or
        ``[batch, 1, tokens, max_length]`` if each sequence has its own position."""
        batch = (self.batch, 1) if self.has_own_positions else ()
        queries = ark.reshape(self.positions, (*batch, self.tokens, 1))
        return ark.sub(queries, ark.arange(self.max_length), name="distances")

    @cached_property
    def causal(self) -> Tensor:
        """Returns the mask of keys that are not after the query, as :attr:`distances`."""
        return ark.greater_equal(self.distances, 0, name="causal")

    @cached_property
    def near(self) -> Tensor:
        """Returns the mask of keys that are not before the window, as :attr:`distances`."""
        return ark.less(self.distances, self.config.window or 0, name="window")

    @cached_property
    def rotations(self) -> dict[Rope, tuple[Tensor, Tensor]]:
        """Returns cosines and sines of this run's positions, for all rotary positions that the
        layers have: ``[tokens, size / 2]``, or with padding or own positions
        ``[batch, 1, tokens, size / 2]``.

        The tables of cosines and sines are constants, since the files of weights do not have them.
        """
        # A decoder has many layers, but few kinds of rotary positions.
        ropes = dict.fromkeys(self.config.rope(layer) for layer in range(self.config.layers))
        return {rope: self._rotation(rope) for rope in ropes if rope is not None}

    def _rotation(self, rope: Rope) -> tuple[Tensor, Tensor]:
        tables = rope.tables(self.max_length)
        cos, sin = (
            ark.gather(ark.constant(table, self.dtype), self.own_positions, 0, name=f"rope.{part}")
            for part, table in zip(("cos", "sin"), tables, strict=True)
        )
        return (cos, sin) if self.own_positions.ndim == 1 else (cos[:, None], sin[:, None])

    # -- layers ------------------------------------------------------------------------------------

    def parameter(self, name: str, *shape: int, dtype: DType | None = None) -> Tensor:
        """Returns a parameter, by default of the dtype of the model."""
        return ark.parameter(name, shape, dtype or self.dtype)

    def norm(self, x: Tensor, name: str, eps: float | None = None) -> Tensor:
        """Normalises the last dimension; `eps` is by default that of the decoder."""
        kind, eps = self.config.norm, self.config.eps if eps is None else eps
        weight = self.parameter(f"{name}.weight", x.shape[-1])
        if kind == "rms":
            return ark.rmsnorm(x, weight, eps, name=name)
        if kind == "rms_plus_one":
            # In 16 bits, the sum would round away most of a small weight.
            factor = ark.add(ark.cast(weight, fp32), 1.0, name=f"{name}.factor")
            return ark.cast(ark.rmsnorm(ark.cast(x, fp32), factor, eps, name=name), self.dtype)
        bias = self.parameter(f"{name}.bias", x.shape[-1]) if kind == "layer" else None
        return ark.layernorm(x, weight, bias, eps, name=name)

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = False) -> Tensor:
        """Returns the product with the weight ``<name>.weight``, and adds ``<name>.bias``."""
        names = self.config.names
        if (layout := self.config.layout(name)) is not None:
            product = self.quantized(x, name, outputs, layout)
        else:
            weight = self.parameter(f"{name}.{names.weight}", *names.matrix(outputs, x.shape[-1]))
            product = ark.matmul(x, weight, transpose_other=not names.rows_are_inputs, name=name)
        product = self.total(product, name)
        if not bias:
            return product
        return ark.add(product, self.parameter(f"{name}.bias", outputs), name=f"{name}.bias")

    def quantized(self, x: Tensor, name: str, outputs: int, layout: Layout) -> Tensor:
        """Returns the product with weights that stay quantized."""
        names, inputs = kept_names(name), x.shape[-1]
        groups = inputs // layout.group
        packed = inputs * layout.bits // 8
        dtype = fp8_e4m3 if layout.bits == 8 else int8
        weights = self.parameter(names.weight, outputs, packed, dtype=dtype)
        scales = self.parameter(names.scales, outputs, groups, dtype=layout.scales)
        zeros = None
        if layout.bits == 4:
            zeros = self.parameter(names.zeros, outputs, groups, dtype=int8)
        return ark.quantized_matmul(x, weights, scales, zeros, name=name)

    def total(self, product: Tensor, name: str) -> Tensor:
        """Returns a product, summed over all ranks if the layer `name` computes partial sums."""
        shard = self.config.shard
        add = shard.scattered_total if self.sequence else shard.total
        return add(product, name)

    def heads(self, x: Tensor, count: int, norm: str | None) -> Tensor:
        """Returns ``[batch * tokens, count * head]`` as ``[batch, count, tokens, head]``."""
        if norm is not None and self.config.whole_qk_norm:
            x = self.norm(x, norm)
        x = ark.reshape(x, (self.batch, self.tokens, count, self.config.head))
        if norm is not None and self.config.qk_norm:
            x = self.norm(x, norm)
        return ark.transpose(x, (0, 2, 1, 3))

    def rotated(self, x: Tensor, rope: Rope | None, name: str) -> Tensor:
        """Applies rotary positions to ``[batch, count, tokens, head]``."""
        if rope is None:
            return x
        cos, sin = self.rotations[rope]
        interleaved, head = self.config.interleaved, x.shape[-1]
        if rope.size == head:
            return ark.rope(x, cos, sin, interleaved, name=name)
        first, rest = ark.split(x, (rope.size, head - rope.size), -1, name=name)
        return ark.concat([ark.rope(first, cos, sin, interleaved, name=name), rest], -1, name=name)

    def cached(self, x: Tensor, name: str) -> Tensor:
        """Writes the keys or values of this run to their cache and returns the cache."""
        offsets = (0, 0, self.position, 0)
        if self.pages is not None:
            assert self.kv_length is not None  # only training has no lengths, and no caches
            return self.pages.cached(x, name, offsets, self.dtype, self.kv_length)
        shape = (self.batch, x.shape[1], self.max_length, x.shape[-1])
        cache = ark.state(name, shape, self.dtype)
        return ark.update(cache, x, offsets, name=name)

    def projections(self, x: Tensor, name: str) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries, keys and values, ``[batch * tokens, count * head]``."""
        config, names = self.config, self.config.names
        sizes = [config.heads * config.head, *[config.kv_heads * config.head] * 2]
        if names.qkv is not None:
            whole = self.dense(x, f"{name}.{names.qkv}", sum(sizes), config.attention_bias)
            q, k, v = ark.split(whole, sizes, -1, name=f"{name}.{names.qkv}.parts")
        else:
            q, k, v = (
                self.dense(x, f"{name}.{part}", size, config.attention_bias)
                for part, size in zip((names.query, names.key, names.value), sizes, strict=True)
            )
        return q, k, v

    def attention(self, x: Tensor, layer: int, name: str) -> Tensor:
        """Builds the attention of a layer."""
        config, names = self.config, self.config.names
        if config.latent is not None:
            return build_attention(self, config.latent, x, layer, name)
        rope = config.rope(layer)
        q, k, v = self.projections(x, name)
        q = self.heads(q, config.heads, f"{name}.q_norm")
        k = self.heads(k, config.kv_heads, f"{name}.k_norm")
        q = self.rotated(q, rope, f"{name}.q_rope")
        k = self.rotated(k, rope, f"{name}.k_rope")
        keys = self.cached(k, f"layers.{layer}.key")
        values = self.cached(self.heads(v, config.kv_heads, None), f"layers.{layer}.value")
        # A window that covers the cache has no effect.
        bounded = config.has_window(layer) and (config.window or 0) < self.max_length
        mask = self.both(self.near if bounded else None)
        if config.sinks:
            mixed = self.sink_attention(q, keys, values, mask, name)
        elif config.score_cap is None:
            mixed = ark.attention(
                q, keys, values, scale=config.attention_scale, causal=True, mask=mask,
                kv_length=self.kv_length, name=name,
            )  # fmt: skip
        else:
            mixed = self.capped_attention(q, keys, values, mask, name)
        mixed = ark.reshape(ark.transpose(mixed, (0, 2, 1, 3)), (x.shape[0], -1))
        return self.dense(mixed, f"{name}.{names.output}", config.hidden, config.output_bias)

    def both(self, mask: Tensor | None) -> Tensor | None:
        """Returns the mask of keys that are visible in `mask`, if there is one, and present."""
        if mask is None or self.present is None:
            return self.present if mask is None else mask
        return ark.logical_and(mask, self.present, name="visible")

    def sink_attention(
        self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, name: str
    ) -> Tensor:
        """Builds attention with a sink for each query head."""
        config, partitions = self.config, 1
        if self.tokens == 1:
            most = min(_PARTITIONS // (self.batch * config.kv_heads), self.max_length // _MIN_KEYS)
            partitions = max(n for n in range(1, max(most, 1) + 1) if self.max_length % n == 0)
        sinks = self.parameter(f"{name}.sinks", config.heads)
        return attention_with_sinks(
            q, keys, values, sinks, config.scale, mask, self.kv_length, partitions, name
        )

    def capped_attention(
        self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, name: str
    ) -> Tensor:
        """Builds attention with soft caps of the scores, which ``ark.attention`` does not have."""
        config = self.config
        cap, scale = config.score_cap or 1.0, config.scale
        groups = (self.batch, config.kv_heads, -1, config.head)
        # Queries that read the same key head are rows of one matrix: by head, then by token.
        rows = ark.reshape(q, groups, name=name)
        scores = ark.matmul(rows, keys, transpose_other=True, name=f"{name}.scores")
        scores = ark.mul(ark.cast(scores, fp32), scale / cap, name=f"{name}.scores")
        scores = ark.mul(ark.tanh(scores), cap, name=f"{name}.cap")
        shape = (self.batch, config.heads, self.tokens, self.max_length)
        visible = self.causal if mask is None else ark.logical_and(self.causal, mask)
        scores = ark.where(visible, ark.reshape(scores, shape), _MASKED, name=f"{name}.visible")
        weights = ark.cast(ark.softmax(scores, name=f"{name}.weights"), self.dtype)
        weights = ark.reshape(weights, (self.batch, config.kv_heads, -1, self.max_length))
        return ark.reshape(ark.matmul(weights, values, name=name), q.shape)

    def mlp(self, x: Tensor, layer: int, name: str) -> Tensor:
        """Builds the MLP of a layer."""
        return MLPS[self.config.mlp](self, x, name, layer)

    def layer(self, x: Tensor, number: int) -> Tensor:
        """Builds a layer."""
        names, name = self.config.names, self.config.names.of_layer(number)

        def norm(x: Tensor, part: str | None) -> Tensor:
            return x if part is None else self.norm(x, f"{name}.{part}")

        def scaled(x: Tensor) -> Tensor:
            factor = self.config.residual_scale
            return x if factor == 1 else ark.mul(x, factor, name=f"{name}.scaled")

        first, second = 2 * number, 2 * number + 1
        inner = self.all_rows(norm(x, names.before_attention), name)
        attended = self.attention(inner, number, f"{name}.{names.attention}")
        if self.config.parallel:
            x = x + self.branch(attended, first)
            return x + self.branch(self.mlp(inner, number, f"{name}.{names.mlp}"), second)
        x = x + self.branch(scaled(norm(attended, names.after_attention)), first)
        inner = norm(x, names.before_mlp)
        if not self.exchanges(number):
            inner = self.all_rows(inner, name)
        mixed = norm(self.mlp(inner, number, f"{name}.{names.mlp}"), names.after_mlp)
        return x + self.branch(scaled(mixed), second)

    def exchanges(self, layer: int) -> bool:
        """Returns True if ranks exchange the rows of a layer's experts."""
        experts = self.config.experts
        return experts is not None and experts.exchanges and experts.has(layer)

    def branch(self, x: Tensor, number: int) -> Tensor:
        """Returns the output of attention or MLP that is added to the hidden states.

        Training drops some elements of it. `number` counts the outputs of all layers.
        """
        return x

    def routed(self, logits: Tensor, chosen: Tensor) -> None:
        """Takes the logits of a router, ``[tokens, experts]``, and the experts that it chose,
        ``[tokens, chosen]``; training reads them."""

    def all_rows(self, x: Tensor, name: str) -> Tensor:
        """Returns the hidden states of all tokens."""
        return self.config.shard.all_rows(x, name) if self.sequence else x

    # -- the whole ---------------------------------------------------------------------------------

    def hidden(self, ids: Tensor) -> Tensor:
        """Returns the hidden states after all layers, for tokens ``[batch, tokens]``."""
        config = self.config
        if self.sequence and not config.split_embedding:
            ids = config.shard.rows(ark.reshape(ids, (self.batch * self.tokens,)))
        x = self.embedded(ids)
        _ = self.rotations  # built before the layers, since the layers share the rotations
        for number in range(config.layers):
            x = self.layer(x, number)
        return self.all_rows(x, config.names.final_norm)

    def embedded(self, ids: Tensor) -> Tensor:
        """Returns the hidden states before all layers, ``[number of ids, hidden]``.

        If ranks divide the table and the tokens, the result has this rank's rows.
        """
        config = self.config
        if config.split_embedding:
            every = ark.reshape(ids, (math.prod(ids.shape),))
            x = config.shard.embedding(every, self.table, config.vocabulary, self.sequence)
            if not self.sequence:
                x = ark.reshape(x, (*ids.shape, config.hidden))
        else:
            # A row with a dimension of one token would not be handed on as packets. Kernels of
            # several rows spill registers if they receive these as packets, and those of several
            # ranks have not been measured with them.
            is_row = ids.shape == (1, 1) and config.shard.size == 1
            x = ark.embedding(ids[0] if is_row else ids, self.table, name="embed_tokens")
            x = ark.reshape(x, (1, 1, config.hidden)) if is_row else x
        if config.learned_positions:
            table = self.parameter(
                f"{config.names.positions}.weight", config.positions, config.hidden
            )
            x = x + ark.gather(table, self.own_positions, 0, name="embed_positions")
        if config.embedding_scale != 1:
            x = ark.mul(x, config.embedding_scale, name="embed_scale")
        return ark.reshape(x, (-1, config.hidden))

    def next_token(
        self, hidden: Tensor, last: Tensor | None, position: Tensor, sampling: bool
    ) -> Tensor:
        """Returns the token ``[batch]`` after the one at `position`, as an output.

        The logits of this token are an output, too: fp32 ``[batch, vocabulary]``. Only the logits
        of one token of each sequence, `last`, are computed.
        """
        shard, vocabulary = self.config.shard, self.config.vocabulary
        part = self.scaled_logits(ark.cast(self.head(hidden, last), fp32, name="logits"))
        logits = ark.output("logits", shard.gather(part, vocabulary))
        # Sampling needs the sum over all tokens.
        token = draw(logits, position, self.padding) if sampling else shard.argmax(part, vocabulary)
        return ark.output("token", token)

    def scaled_logits(self, logits: Tensor) -> Tensor:
        """Returns the results of the head with the factor and the soft cap of logits."""
        config = self.config
        if config.logit_scale != 1:
            logits = ark.mul(logits, config.logit_scale, name="logits")
        if config.logit_cap is not None:
            logits = ark.tanh(ark.mul(logits, 1 / config.logit_cap), name="logits")
            logits = ark.mul(logits, config.logit_cap, name="logits")
        return logits

    def last_rows(self, hidden: Tensor, index: Tensor) -> Tensor:
        """Returns the hidden states of one token of each sequence, ``[batch, hidden]``.

        `index` is the index of the token among the tokens of this run, a scalar or ``[batch]``.
        """
        if index.ndim == 0:
            hidden = ark.reshape(hidden, (self.batch, self.tokens, self.config.hidden))
            return ark.gather(hidden, index, 1, name="last")
        rows = ark.add(ark.mul(ark.arange(self.batch), self.tokens), index, name="last")
        return ark.gather(hidden, rows, 0, name="last")

    def head(self, hidden: Tensor, last: Tensor | None) -> Tensor:
        """Returns the logits of this rank's shard of the vocabulary."""
        config, names = self.config, self.config.names
        if last is not None:
            hidden = self.last_rows(hidden, last)
        hidden = self.norm(hidden, names.final_norm)
        rows = config.shard.interval(config.vocabulary)
        if not config.tied:
            return self.dense(hidden, names.head, len(rows), config.head_bias)
        # The head reads its rows of the table. Without a split embedding, every rank has all rows.
        table = self.table
        if len(rows) < table.shape[0]:
            table = ark.slice(table, (rows.start, 0), (rows.stop, config.hidden), name="lm_head")
        return ark.matmul(hidden, table, transpose_other=True, name="lm_head")
