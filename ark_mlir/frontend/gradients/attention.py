"""The rule of attention, which computes the weights again.

Two tensors of the shape of the scores, ``[..., Hq, Tq, Tk]``, pass through memory: the weights and
the derivatives of the scores, in the dtype of the queries. For queries of 16 bits, the epilogues of
two products compute them, because `ark.partial_attention` computes the softmax's statistics of a
row beforehand, on matrix units. For others, the weights are a softmax of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import ark as dialect
from ...dtypes import bool_, int32
from ..derivatives import GroupStep, attach
from ..operands import constant_tensor
from ..ops import (
    arange,
    exp,
    greater,
    less,
    less_equal,
    log,
    logical_and,
    matmul,
    reduce_max,
    reduce_sum,
    reshape,
    unsqueeze,
    where,
)
from ..ops.common import emit
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative, narrow, unbroadcast, wide

__all__: list[str] = []

Shape = tuple[int, ...]


@derivative("attention")
def attention(op: Any, step: Step) -> None:
    """Differentiates attention with respect to queries, keys, values and an added mask.

    Weights and slopes are computed in fp32 or wider, and rounded to the dtype of the queries before
    they are multiplied by matrices, as in PyTorch.
    """
    length = None if op.kv_length is None else step.read(op.kv_length)
    mask = None if op.mask is None else step.read(op.mask)
    q, k = step.read(op.query), step.read(op.key)
    scores = _Scores(q, k, mask, length, float(op.scale.value), bool(op.causal))
    g, v = scores.grouped(step.g), scores.shared_rows(step.read(op.value))
    slopes = matmul(wide(g), wide(v), transpose_other=True)
    if q.dtype.itemsize < 4:
        shares = narrow(scores.weights(scores.log_sum_exp()), q.dtype)
        # The mean of a row's slopes, weighted by the row's weights, is the scalar product of the
        # result's row and its cotangent.
        mean = reduce_sum(wide(g) * wide(scores.grouped(step.y)), -1)
    else:
        shares = scores.softmax()
        mean = reduce_sum(slopes * shares, -1)
    slopes = wide(shares) * (slopes - mean)
    scores.give(step, op, slopes)
    step.give(
        op.value,
        lambda: _over_repeats(matmul(shares, g, transpose_input=True), shape_of(op.value)),
    )


@dataclass(frozen=True)
class _Scores:
    """The scores of an attention, of the shape ``[..., Hkv, R, Tq, Tk]``.

    The R query heads that share a key head form a separate dimension.

    Attributes:
        q: the queries, ``[..., Hq, Tq, D]``.
        k: the keys, ``[..., Hkv, Tk, D]``.
        mask: None, or the mask, which broadcasts to ``[..., Hq, Tq, Tk]``.
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

    @property
    def repeats(self) -> int:
        """Returns the number of query heads that share a key head."""
        return self.q.shape[-3] // max(self.k.shape[-3], 1)

    def grouped(self, x: Tensor) -> Tensor:
        """Returns ``[..., Hq, Tq, N]`` as ``[..., Hkv, R, Tq, N]``."""
        return reshape(x, (*x.shape[:-3], self.k.shape[-3], self.repeats, *x.shape[-2:]))

    def shared_rows(self, x: Tensor) -> Tensor:
        """Returns keys or values as ``[..., Hkv, 1, Tk, N]``, with zeros beyond `length`, where a
        cache may hold NaN."""
        if self.length is not None:
            rows = less(_positions(x.shape[-2], self.length), self.length)
            x = where(reshape(rows, (x.shape[-2], 1)), x, 0)
        return unsqueeze(x, -3)

    def weights(self, log_sum_exp: Tensor) -> Tensor:
        """Returns the softmax over the valid keys; zeros for a query without a valid key."""
        shown, _ = self._shown()
        return exp(shown - log_sum_exp)

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
        q, k = wide(self.grouped(self.q)), wide(self.shared_rows(self.k))
        scores = matmul(q, k, transpose_other=True) * self.scale
        mask = None if self.mask is None else self._grouped_mask(self.mask)
        queries, keys = scores.shape[-2:]
        valid = _visible(queries, keys, self.length, self.causal)
        if mask is not None and mask.dtype is not bool_:
            scores = scores + wide(mask)
        elif mask is not None:
            valid = mask if valid is None else logical_and(mask, valid)
        # The least finite number masks a score: minus infinity would become NaN in derivatives.
        least = float(np.finfo(np.float32).min)
        return scores if valid is None else where(valid, scores, least), valid

    def log_sum_exp(self) -> Tensor:
        """Returns the logarithm of the sum of the exponentials of each row, of the valid keys.

        The result is ``[..., Hkv, R, Tq, 1]`` in fp32; 0 for a query without a valid key.
        """
        keys, depth = self.k.shape[-2:]
        one_partition = (*self.k.shape[:-2], keys, 1, depth)
        k = reshape(self.k, one_partition)
        parts = emit(
            "partial_attention", dialect.PartialAttentionOp, None,
            query=self.q, key=k, value=k, scale=self.scale, causal=self.causal,
            mask=None if self.mask is None or self.mask.ndim == 0 else unsqueeze(self.mask, -1),
            kv_length=self.length,
        )  # fmt: skip
        statistics = reshape(parts[..., depth:], (*self.q.shape[:-1], 2))
        largest, total = (self.grouped(statistics[..., i : i + 1]) for i in range(2))
        some = greater(total, 0)
        result = where(some, largest + log(where(some, total, 1)), 0)
        masks = () if self.mask is None else (self.mask,)
        attach("log_sum_exp", [self.q, self.k, *masks], [result], self._log_sum_exp_rule)
        return result

    def give(self, step: Step, op: Any, slopes: Tensor) -> None:
        """Gives the queries, the keys and an added mask their cotangents.

        Args:
            slopes: the derivatives with respect to the scores, in fp32 or wider.
        """
        if any(step.needs(value) for value in (op.query, op.key)):
            scaled = narrow(slopes * self.scale, self.q.dtype)
            step.give(op.query, lambda: self.query_cotangent(scaled))
            step.give(op.key, lambda: self.key_cotangent(scaled))
        if op.mask is not None and step.needs(op.mask):
            step.give(op.mask, lambda: self.whole(slopes))

    def query_cotangent(self, scaled: Tensor) -> Tensor:
        """Returns the cotangent of the queries; `scaled` are slopes times the scale."""
        return reshape(matmul(scaled, self.shared_rows(self.k)), self.q.shape)

    def key_cotangent(self, scaled: Tensor) -> Tensor:
        """Returns the cotangent of the keys; `scaled` are slopes times the scale."""
        product = matmul(scaled, self.grouped(self.q), transpose_input=True)
        return _over_repeats(product, self.k.shape)

    def whole(self, x: Tensor) -> Tensor:
        """Returns ``[..., Hkv, R, Tq, Tk]`` as ``[..., Hq, Tq, Tk]``."""
        return reshape(x, (*self.q.shape[:-1], self.k.shape[-2]))

    def _grouped_mask(self, mask: Tensor) -> Tensor:
        """Returns a mask that broadcasts to the scores."""
        if mask.ndim < 3:
            return mask
        heads = (1, 1) if mask.shape[-3] == 1 else (self.k.shape[-3], self.repeats)
        return reshape(mask, (*mask.shape[:-3], *heads, *mask.shape[-2:]))

    def _log_sum_exp_rule(self, step: GroupStep) -> list[Tensor | None]:
        (g,) = step.cotangents
        (log_sum_exp,) = step.results
        assert g is not None
        slopes = self.weights(log_sum_exp) * g
        scaled = narrow(slopes * self.scale, self.q.dtype)
        cotangents: list[Tensor | None] = [self.query_cotangent(scaled), self.key_cotangent(scaled)]
        if self.mask is not None and self.mask.dtype is bool_:
            cotangents.append(None)
        elif self.mask is not None:
            whole = unbroadcast(self.whole(slopes), self.mask.shape)
            cotangents.append(narrow(whole, self.mask.dtype))
        return cotangents


def _over_repeats(x: Tensor, shape: Shape) -> Tensor:
    return reshape(reduce_sum(x, -3), shape)


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
