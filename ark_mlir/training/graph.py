"""The parts of a decoder for training; few of them differ from those of inference.

Keys and values are those of the sequence, not of a cache. Elements of branches may be dropped,
layers may be computed again in the backward pass, and the routers of experts have a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from .. import frontend as ark
from ..dtypes import DType, fp32
from ..frontend import Tensor
from ..models.decoder_graph import DecoderGraph
from ..models.rope import Rope

__all__ = ["TrainingGraph"]

# The score of a hidden key, as in ark.models.
_MASKED = -6e4


@dataclass(frozen=True)
class TrainingGraph(DecoderGraph):
    """Builds the parts of a decoder for whole sequences of `tokens` tokens.

    Attributes:
        read: returns a weight by its name; None declares parameters.
        rate: the probability with which an element of a branch is dropped.
        step: an integer scalar that determines the dropout masks, or None.
        checkpoint: True computes each layer again in the backward pass.
    """

    read: Callable[[str], Tensor] | None = None
    rate: float = 0.0
    step: Tensor | None = None
    checkpoint: bool = False
    # For each router of the layer under construction: the share of tokens that chose each expert,
    # and the mean probability of each expert.
    _shares: list[Tensor] = field(default_factory=list[Tensor])
    # The same of all layers before it.
    _routers: list[Tensor] = field(default_factory=list[Tensor])

    # -- what differs from inference ---------------------------------------------------------------

    def parameter(self, name: str, *shape: int, dtype: DType | None = None) -> Tensor:
        """Returns a weight, which has the dtype that the model computes in."""
        if self.read is None:
            return super().parameter(name, *shape, dtype=dtype)
        return self.read(name)

    @cached_property
    def kv_length(self) -> Tensor | None:
        """Returns None: all keys are valid."""
        return None

    @cached_property
    def positions(self) -> Tensor:
        """Returns the positions of all tokens, ``[tokens]``."""
        return ark.arange(self.tokens)

    def _rotation(self, rope: Rope) -> tuple[Tensor, Tensor]:
        cos, sin = (ark.constant(table, self.dtype) for table in rope.tables(self.tokens))
        return cos, sin

    def cached(self, x: Tensor, name: str) -> Tensor:
        """Returns the keys or values of the sequence."""
        return x

    def branch(self, x: Tensor, number: int) -> Tensor:
        """Drops elements of the output of attention or MLP, with a different mask in each layer."""
        if not self.rate:
            return x
        return ark.dropout(x, self.rate, number, 0 if self.step is None else self.step)

    def sink_attention(
        self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, name: str
    ) -> Tensor:
        """Builds attention whose softmax has one more score, of ops that have derivatives."""
        config, tokens = self.config, self.tokens
        repeats = config.heads // config.kv_heads
        grouped = (self.batch, config.kv_heads, repeats * tokens, config.head)
        scores = ark.matmul(ark.reshape(q, grouped), keys, transpose_other=True)
        scores = ark.mul(ark.cast(scores, fp32), config.scale, name=f"{name}.scores")
        scores = ark.reshape(scores, (self.batch, config.heads, tokens, tokens))
        visible = self.causal if mask is None else ark.logical_and(self.causal, mask)
        scores = ark.where(visible, scores, _MASKED, name=f"{name}.visible")
        sinks = ark.cast(self.parameter(f"{name}.sinks", config.heads), fp32)
        sinks = ark.reshape(sinks, (1, config.heads, 1, 1))
        sinks = ark.broadcast_to(sinks, (*scores.shape[:-1], 1))
        weights = ark.softmax(ark.concat([scores, sinks], -1), name=f"{name}.weights")
        weights = ark.cast(weights[..., :tokens], self.dtype)
        weights = ark.reshape(weights, (self.batch, config.kv_heads, repeats * tokens, tokens))
        return ark.reshape(ark.matmul(weights, values, name=name), q.shape)

    # -- layers ------------------------------------------------------------------------------------

    def layer(self, x: Tensor, number: int) -> Tensor:
        """Builds a layer, which the backward pass computes again if `checkpoint` is True."""

        def build(h: Tensor) -> list[Tensor]:
            self._shares.clear()
            return [super(TrainingGraph, self).layer(h, number), *self._shares]

        if self.checkpoint:
            self._build_masks()
            made = ark.checkpoint(build, x)
            results = [made] if isinstance(made, Tensor) else made
        else:
            results = build(x)
        self._routers.extend(results[1:])
        return results[0]

    def _build_masks(self) -> None:
        """Builds the tensors that layers share outside of the layers that are computed again."""
        config = self.config
        if config.sinks or config.score_cap is not None:
            _ = self.causal
        if config.window is not None and config.window < self.tokens:
            _ = self.near

    def routed(self, logits: Tensor, chosen: Tensor) -> None:
        """Records the share of tokens that chose each expert, and each expert's probability."""
        experts = self.config.experts
        assert experts is not None
        count = experts.num_experts
        if experts.router.score == "sigmoid":
            scores = ark.sigmoid(logits)
            probabilities = scores / ark.reduce_sum(scores, -1)
        else:
            probabilities = ark.softmax(logits)
        pairs = ark.reshape(chosen, (chosen.shape[0] * chosen.shape[1], 1))
        hits = ark.cast(ark.equal(pairs, ark.arange(count)), fp32)
        share = ark.mul(ark.reduce_mean(hits, 0, keepdims=False), chosen.shape[1])
        self._shares.extend([share, ark.reduce_mean(probabilities, 0, keepdims=False)])

    def router_loss(self) -> Tensor | None:
        """Returns the auxiliary loss of the routers of all layers; None without experts."""
        if not self._routers or self.config.experts is None:
            return None
        share, probability = (
            ark.mul(_sum(self._routers[first::2]), 2 / len(self._routers)) for first in (0, 1)
        )
        total = ark.reduce_sum(share * probability, keepdims=False)
        return ark.mul(total, self.config.experts.num_experts, name="router_loss")


def _sum(parts: list[Tensor]) -> Tensor:
    total, *rest = parts
    for part in rest:
        total = total + part
    return total
