"""The rules of attention and of its gradients, which compute the weights again.

For long rows, ``ark.attention_query_gradient`` and ``ark.attention_key_value_gradient`` compute the
weights block by block: memory grows with the number of queries plus keys. Otherwise, two tensors of
the shape of the scores, ``[..., Hq, Tq, Tk]``, pass through memory: the weights and the derivatives
of the scores, in the dtype of the queries. For queries of 16 bits, the epilogues of two products
compute them. The task of the attention also computes `ark.attention_log_sum_exp`, from which the
weights follow, except for short rows of fp32, whose weights are a softmax of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import ark as dialect
from ...dtypes import bool_, int32
from ...errors import UnsupportedError
from ..derivatives import GroupStep, attach
from ..locations import user_frames
from ..operands import constant_tensor
from ..ops import (
    arange,
    exp,
    less,
    less_equal,
    logical_and,
    matmul,
    reduce_max,
    reduce_sum,
    reshape,
    unsqueeze,
    where,
)
from ..ops.common import emit
from ..ops.conversions import converted, wide
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative, unbroadcast

__all__: list[str] = []

# Scores per element of queries and keys from which on gradients are computed in blocks: with heads
# of 64, from 1024 queries and keys on.
SCORES_PER_ELEMENT = 8


@derivative("attention")
def attention(op: Any, step: Step) -> None:
    """Differentiates attention with respect to queries, keys, values and an added mask.

    Weights and slopes are computed in fp32 or wider. Products of 16-bit operands round them to the
    dtype of the queries before they are factors, as in PyTorch.
    """
    scores = _Scores.of_attention(op, step)
    if scores.are_many() and not step.needs(op.mask):
        _give_by_blocks(op, step, scores)
    else:
        _give_by_products(op, step, scores)


def _give_by_blocks(op: Any, step: Step, scores: _Scores) -> None:
    g, v = scores.grouped(step.g), step.read(op.value)
    rows = scores.q.shape[:-1]
    mean = reduce_sum(wide(g) * wide(scores.grouped(step.y)), -1, keepdims=False)
    operands: dict[str, Any] = {
        "query": scores.q, "key": scores.k, "value": v, "cotangent": g,
        "log_sum_exp": reshape(_log_sum_exp(op, step, scores), rows), "mean": mean,
        "mask": scores.mask, "kv_length": scores.length,
        "scale": scores.scale, "causal": scores.causal,
    }  # fmt: skip

    def of_queries() -> Tensor:
        gradient = emit(
            "attention_query_gradient", dialect.AttentionQueryGradientOp, None, **operands
        )
        return reshape(gradient, shape_of(op.query))

    step.give(op.query, of_queries)
    if step.needs(op.key) or step.needs(op.value):
        both = emit(
            "attention_key_value_gradient", dialect.AttentionKeyValueGradientOp, None, **operands
        )
        depth = scores.k.shape[-1]
        step.give(op.key, lambda: both[..., :depth])
        step.give(op.value, lambda: both[..., depth:])


def _give_by_products(op: Any, step: Step, scores: _Scores) -> None:
    q = scores.q
    g, v = scores.grouped(step.g), scores.shared_rows(step.read(op.value))
    slopes = matmul(wide(g), wide(v), transpose_other=True)
    if q.dtype.itemsize < 4:
        shares = converted(scores.weights(_log_sum_exp(op, step, scores)), q.dtype)
        # The mean of a row's slopes, weighted by the row's weights, is the scalar product of the
        # result's row and its cotangent.
        mean = reduce_sum(wide(g) * wide(scores.grouped(step.y)), -1)
    else:
        shares = scores.softmax()
        mean = reduce_sum(slopes * shares, -1)
    slopes = wide(shares) * (slopes - mean)
    if any(step.needs(value) for value in (op.query, op.key)):
        scaled = converted(slopes * scores.scale, q.dtype)
        step.give(op.query, lambda: reshape(scores.query_cotangent(scaled), shape_of(op.query)))
        step.give(op.key, lambda: scores.key_cotangent(scaled))
    shape = (*shape_of(op.query)[:-1], scores.k.shape[-2])
    step.give(op.mask, lambda: reshape(slopes, shape))
    step.give(op.value, lambda: _over_heads(_transposed(shares, g)))


def _log_sum_exp(op: Any, step: Step, scores: _Scores) -> Tensor:
    """Returns the logarithm of the sum of the exponentials of each row, of the valid keys.

    The result is ``[..., Hkv, R, Tq, 1]`` in fp32; 0 for a query without a valid key. The operands
    are those of the attention `op`, so that one task computes both.
    """
    key, value = step.read(op.key), step.read(op.value)
    result = emit(
        "attention_log_sum_exp", dialect.AttentionLogSumExpOp, None,
        query=step.read(op.query), key=key, value=value if value.shape[-1] else key,
        mask=None if op.mask is None else step.read(op.mask), kv_length=scores.length,
        scale=scores.scale, causal=scores.causal,
    )  # fmt: skip
    _join_forward(result, op.operation)
    result = reshape(result, (*scores.q.shape[:-1], 1))
    masks = () if scores.mask is None else (scores.mask,)
    attach("log_sum_exp", [scores.q, scores.k, *masks], [result], scores.log_sum_exp_rule)
    return result


def _join_forward(result: Tensor, attention: Any) -> None:
    """Moves the op of `result` behind `attention`, with the same plan, as part of the forward pass.

    Only tasks with equal plans become one, and ops in between could update what both read.
    """
    made = result.value.owner
    if "ark.plan" in made.attributes:
        del made.attributes["ark.plan"]
    if "ark.plan" in attention.attributes:
        made.attributes["ark.plan"] = attention.attributes["ark.plan"]
    made.move_after(attention)


@derivative("attention_query_gradient", "attention_key_value_gradient")
def gradient_of_attention(op: Any, step: Step) -> None:
    """Differentiates a gradient of attention, for second derivatives.

    Tensors of the shape of the scores pass through memory, in fp32.
    """
    scores = _Scores.of_gradient(op, step)
    g, q = wide(step.read(op.cotangent)), wide(scores.q)
    k, v = wide(scores.shared_rows(scores.k)), wide(scores.shared_rows(step.read(op.value)))
    weights = scores.weights(unsqueeze(step.read(op.log_sum_exp), -1))
    centred = matmul(g, v, transpose_other=True) - unsqueeze(step.read(op.mean), -1)
    shares = weights * centred
    given = wide(step.g)
    # The derivatives with respect to the shares and to the weights.
    if str(op.operation.name) == "ark.attention_query_gradient":
        of_shares = matmul(given, k, transpose_other=True) * scores.scale
        of_weights = of_shares * centred
        step.give(op.key, lambda: _over_heads(_transposed(shares, given)) * scores.scale)
    else:
        depth = scores.k.shape[-1]
        of_keys, of_values = unsqueeze(given[..., :depth], -3), unsqueeze(given[..., depth:], -3)
        of_shares = matmul(q, of_keys, transpose_other=True) * scores.scale
        of_weights = of_shares * centred + matmul(g, of_values, transpose_other=True)
        step.give(op.query, lambda: matmul(shares, of_keys) * scores.scale)
        step.give(op.cotangent, lambda: matmul(weights, of_values))
    of_slopes, of_scores = of_shares * weights, of_weights * weights
    step.give(op.query, lambda: matmul(of_scores, k) * scores.scale)
    step.give(op.key, lambda: _over_heads(_transposed(of_scores, q)) * scores.scale)
    step.give(op.cotangent, lambda: matmul(of_slopes, v))
    step.give(op.value, lambda: _over_heads(_transposed(of_slopes, g)))
    step.give(op.log_sum_exp, lambda: -reduce_sum(of_scores, -1, keepdims=False))
    step.give(op.mean, lambda: -reduce_sum(of_slopes, -1, keepdims=False))
    step.give(op.mask, lambda: of_scores)


@dataclass(frozen=True)
class _Scores:
    """The scores of an attention, of the shape ``[..., Hkv, R, Tq, Tk]``.

    The R query heads that share a key head form a separate dimension.

    Attributes:
        q: the queries, ``[..., Hkv, R, Tq, D]``.
        k: the keys, ``[..., Hkv, Tk, D]``.
        mask: None, or the mask, which broadcasts to the scores.
        length: None, or the number of valid keys.
        scale: the factor of the products.
        causal: True if a query sees only the keys up to the position of the query.
    """

    q: Tensor
    k: Tensor
    mask: Tensor | None
    length: Tensor | None
    scale: float
    causal: bool

    @classmethod
    def of_gradient(cls, op: Any, step: Step) -> _Scores:
        """Returns the scores of a gradient of attention."""
        length = None if op.kv_length is None else step.read(op.kv_length)
        if length is not None and length.ndim:
            raise UnsupportedError(
                "attention with a kv_length for each sequence has no derivative in ark; attention "
                "with one length for all sequences, or with a mask, has one",
                location=str(user_frames(0)[0]),
                op="ark.gradients",
            )
        mask = None if op.mask is None else step.read(op.mask)
        q, k = step.read(op.query), step.read(op.key)
        return cls(q, k, mask, length, float(op.scale.value), bool(op.causal))

    @classmethod
    def of_attention(cls, op: Any, step: Step) -> _Scores:
        """Returns the scores of an attention, with its heads in groups."""
        scores = cls.of_gradient(op, step)
        q, mask = scores.grouped(scores.q), scores.mask
        if mask is not None and mask.ndim > 2:
            heads = (1, 1) if mask.shape[-3] == 1 else q.shape[-4:-2]
            mask = reshape(mask, (*mask.shape[:-3], *heads, *mask.shape[-2:]))
        return cls(q, scores.k, mask, scores.length, scores.scale, scores.causal)

    def are_many(self) -> bool:
        """Returns True if the scores take much more memory than queries and keys."""
        (queries, depth), keys = self.q.shape[-2:], self.k.shape[-2]
        return queries * keys >= SCORES_PER_ELEMENT * (queries + keys) * depth

    def grouped(self, x: Tensor) -> Tensor:
        """Returns ``[..., Hq, Tq, N]`` as ``[..., Hkv, R, Tq, N]``."""
        heads = self.k.shape[-3]
        repeats = x.shape[-3] // max(heads, 1)
        return reshape(x, (*x.shape[:-3], heads, repeats, *x.shape[-2:]))

    def shared_rows(self, x: Tensor) -> Tensor:
        """Returns keys or values as ``[..., Hkv, 1, Tk, N]``, with zeros beyond `length`, where a
        cache may hold NaN."""
        if self.length is not None:
            rows = less(_positions(x.shape[-2], self.length), self.length)
            x = where(reshape(rows, (x.shape[-2], 1)), x, 0)
        return unsqueeze(x, -3)

    def weights(self, log_sum_exp: Tensor) -> Tensor:
        """Returns the softmax over the valid keys; zeros for a query without a valid key."""
        shown, valid = self._shown()
        weights = exp(shown - log_sum_exp)
        # The difference may overflow for a hidden key.
        return weights if valid is None else where(valid, weights, 0)

    def softmax(self) -> Tensor:
        """Returns :meth:`weights`, with a maximum and a sum of each row of scores."""
        shown, valid = self._shown()
        largest = reduce_max(shown, -1)
        # The weights do not depend on the number that all scores of a row are reduced by. The
        # derivative of a maximum would compare scores, whose order depends on rounding.
        attach("largest score", [shown], [largest], lambda step: [None])
        weights = exp(shown - largest)
        if valid is None:
            return weights / reduce_sum(weights, -1)
        weights = where(valid, weights, 0)
        total = reduce_sum(weights, -1)
        return weights / where(total > 0, total, 1)

    def _shown(self) -> tuple[Tensor, Tensor | None]:
        """Returns the scores, the least finite number where a key is hidden, and a bool tensor.

        The bool tensor is true for keys that a query sees; it is None if all queries see all keys.
        """
        q, k = wide(self.q), wide(self.shared_rows(self.k))
        scores = matmul(q, k, transpose_other=True) * self.scale
        queries, keys = scores.shape[-2:]
        valid = _visible(queries, keys, self.length, self.causal)
        if self.mask is not None and self.mask.dtype is not bool_:
            scores = scores + wide(self.mask)
        elif self.mask is not None:
            valid = self.mask if valid is None else logical_and(self.mask, valid)
        # The least finite number masks a score: minus infinity would become NaN in derivatives.
        least = float(np.finfo(np.float32).min)
        return scores if valid is None else where(valid, scores, least), valid

    def query_cotangent(self, scaled: Tensor) -> Tensor:
        """Returns the cotangent of the queries; `scaled` are slopes times the scale."""
        return matmul(scaled, self.shared_rows(self.k))

    def key_cotangent(self, scaled: Tensor) -> Tensor:
        """Returns the cotangent of the keys; `scaled` are slopes times the scale."""
        return _over_heads(_transposed(scaled, self.q))

    def log_sum_exp_rule(self, step: GroupStep) -> list[Tensor | None]:
        """Differentiates :func:`_log_sum_exp` with respect to queries, keys and an added mask."""
        (g,) = step.cotangents
        (log_sum_exp,) = step.results
        assert g is not None
        slopes = self.weights(log_sum_exp) * g
        scaled = converted(slopes * self.scale, self.q.dtype)
        cotangents: list[Tensor | None] = [self.query_cotangent(scaled), self.key_cotangent(scaled)]
        if self.mask is not None and self.mask.dtype is bool_:
            cotangents.append(None)
        elif self.mask is not None:
            whole = unbroadcast(slopes, self.mask.shape)
            cotangents.append(converted(whole, self.mask.dtype))
        return cotangents


def _transposed(x: Tensor, other: Tensor) -> Tensor:
    """Returns the product of the transpose of `x` and `other`."""
    return matmul(x, other, transpose_input=True)


def _over_heads(x: Tensor) -> Tensor:
    """Returns the sum over the query heads that share a key head."""
    return reduce_sum(x, -3, keepdims=False)


def _positions(count: int, length: Tensor | None) -> Tensor:
    return arange(count, dtype=int32 if length is None else length.dtype)


def _visible(queries: int, keys: int, length: Tensor | None, causal: bool) -> Tensor | None:
    """Returns a bool tensor that is true where a query sees a key; None if queries see all keys.

    The shape broadcasts to ``[Tq, Tk]``.
    """
    columns = _positions(keys, length)
    valid = None if length is None else less(columns, length)
    if not causal:
        return valid
    if length is None:
        # Without a run-time length, the mask is one small constant for all heads.
        seen = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + keys - queries
        return constant_tensor(seen, bool_)
    last = reshape(_positions(queries, length), (queries, 1)) + (length - queries)
    seen = less_equal(columns, last)
    return seen if valid is None else logical_and(seen, valid)
