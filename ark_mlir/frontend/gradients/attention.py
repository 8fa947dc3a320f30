"""The rule of attention, which computes the scores a second time, in fp32 or wider.

It keeps tensors of the shape of the scores, ``[..., Hq, Tq, Tk]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import bool_, int32
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
    where,
)
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative, narrow, wide

__all__: list[str] = []

Shape = tuple[int, ...]


@derivative("attention")
def attention(op: Any, step: Step) -> None:
    """Differentiates attention with respect to queries, keys, values and an added mask.

    Weights and slopes are computed in fp32 or wider. They are rounded to the dtype of the queries
    before they are multiplied by matrices, as in PyTorch. Query heads that share a key head are a
    dimension of their own: ``[..., Hkv, R, Tq, D]``.
    """
    q_shape, k_shape, v_shape = (shape_of(value) for value in (op.query, op.key, op.value))
    groups = k_shape[-3]
    repeats = q_shape[-3] // max(groups, 1)
    grouped = (*q_shape[:-3], groups, repeats, *q_shape[-2:])
    shared_k = (*k_shape[:-2], 1, *k_shape[-2:])
    shared_v = (*v_shape[:-2], 1, *v_shape[-2:])
    length = None if op.kv_length is None else step.read(op.kv_length)
    scale = float(op.scale.value)

    q, g = (reshape(x, grouped) for x in (step.read(op.query), step.g))
    k = reshape(_valid_rows(step.read(op.key), length), shared_k)
    v = reshape(_valid_rows(step.read(op.value), length), shared_v)
    mask = None if op.mask is None else _grouped(step.read(op.mask), groups, repeats)

    scores = matmul(wide(q), wide(k), transpose_other=True) * scale
    weights = _weights(scores, mask, length, bool(op.causal))
    slopes = matmul(wide(g), wide(v), transpose_other=True)
    slopes = weights * (slopes - reduce_sum(slopes * weights, -1))
    scaled, shares = narrow(slopes * scale, q.dtype), narrow(weights, q.dtype)

    step.give(op.query, lambda: reshape(matmul(scaled, k), q_shape))
    step.give(op.key, lambda: _over_repeats(matmul(scaled, q, transpose_input=True), k_shape))
    step.give(op.value, lambda: _over_repeats(matmul(shares, g, transpose_input=True), v_shape))
    if op.mask is not None and step.needs(op.mask):
        all_scores = (*q_shape[:-1], k_shape[-2])
        step.give(op.mask, lambda: reshape(slopes, all_scores))


def _over_repeats(x: Tensor, shape: Shape) -> Tensor:
    return reshape(reduce_sum(x, -3), shape)


def _valid_rows(x: Tensor, length: Tensor | None) -> Tensor:
    """Returns keys or values with zeros beyond `length`, where a cache may hold NaN."""
    if length is None:
        return x
    rows = reshape(less(_positions(x.shape[-2], length), length), (x.shape[-2], 1))
    return where(rows, x, 0)


def _positions(count: int, length: Tensor | None) -> Tensor:
    return arange(count, dtype=int32 if length is None else length.dtype)


def _grouped(mask: Tensor, groups: int, repeats: int) -> Tensor:
    """Returns a mask that broadcasts to ``[..., Hq, Tq, Tk]`` as one that broadcasts to
    ``[..., Hkv, R, Tq, Tk]``."""
    if mask.ndim < 3:
        return mask
    heads = (1, 1) if mask.shape[-3] == 1 else (groups, repeats)
    return reshape(mask, (*mask.shape[:-3], *heads, *mask.shape[-2:]))


def _weights(scores: Tensor, mask: Tensor | None, length: Tensor | None, causal: bool) -> Tensor:
    """Returns the softmax over the valid keys; zeros for a query without a valid key."""
    queries, keys = scores.shape[-2:]
    valid = _visible(queries, keys, length, causal)
    if mask is not None and mask.dtype is not bool_:
        scores = scores + wide(mask)
    elif mask is not None:
        valid = mask if valid is None else logical_and(mask, valid)
    least = float(np.finfo(np.float32).min)
    # The least finite number masks a score: minus infinity would become NaN in a row without a
    # valid key, when the maximum is subtracted.
    shown = scores if valid is None else where(valid, scores, least)
    weights = exp(shown - reduce_max(shown, -1))
    if valid is None:
        return weights / reduce_sum(weights, -1)
    weights = where(valid, weights, 0)
    total = reduce_sum(weights, -1)
    return weights / where(total > 0, total, 1)


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
