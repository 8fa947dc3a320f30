"""ATen's matrix products and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bool_, int32
from .table import NO_DROPOUT, Noise, Out, Unavailable, aten, unsupported
from .values import Operand, lower_triangle, shaped, tensor, to


@aten("mm.default", "bmm.default")
def _mm(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    return ark.matmul(tensor(a), tensor(b))


@aten("matmul.default", "mv.default", "dot.default")
def _matmul(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    lhs, rhs = tensor(a), tensor(b)
    if lhs.ndim == 1:  # a row
        lhs = shaped(lhs, (1, lhs.size))
    if rhs.ndim == 1:  # a column
        rhs = shaped(rhs, (rhs.size, 1))
    product = ark.matmul(lhs, rhs)
    return shaped(product, out.shape)


@aten("_grouped_mm.default")
@aten("grouped_mm_fallback.default", namespace="transformers")
def _grouped(
    out: Out,
    x: Operand,
    weights: Operand,
    offs: Operand | None = None,
    bias: Operand | None = None,
    out_dtype: DType | None = None,
) -> ark.Tensor:
    """Multiplies each group of rows, which `offs` delimits, by the matrix of the same index."""
    rows, table = tensor(x), tensor(weights)
    if offs is None or bias is not None or rows.ndim != 2 or table.ndim != 3:
        raise unsupported(
            "a grouped product other than groups of rows, by offsets, times matrices without a bias"
        )
    count = rows.shape[0]
    ends = tensor(offs, int32)
    # Rows beyond the last offset belong to no group. Such rows are multiplied with the last group.
    begins = ark.concat([ark.zeros((1,), int32), ends[:-1]], 0)
    limits = ark.concat([ends[:-1], ark.full((1,), count, int32)], 0)
    product = ark.grouped_matmul(rows, ark.transpose(table, (0, 2, 1)), limits - begins)
    index = ark.constant(np.arange(count, dtype=np.int32)[:, None], int32)
    return tensor(ark.where(index < ends[-1:], product, 0), out.dtype)


@aten("linear.default")
def _linear(out: Out, x: Operand, weight: ark.Tensor, bias: ark.Tensor | None = None) -> ark.Tensor:
    source, table = tensor(x), tensor(weight)
    rows = source if source.ndim > 1 else shaped(source, (1, source.size))
    table = table if table.ndim > 1 else shaped(table, (1, table.size))
    product = ark.matmul(rows, table, transpose_other=True)
    product = shaped(product, out.shape)
    return product if bias is None else product + bias


def _sum(product: ark.Tensor, addend: Operand, alpha: float, beta: float) -> ark.Tensor:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:  # torch then ignores infinities and NaN of the addend
        return scaled
    other = to(addend, product.dtype)
    return scaled + (other if beta == 1 else other * beta)


@aten("addmm.default", "baddbmm.default")
def _addmm(
    out: Out, addend: Operand, a: Operand, b: Operand, beta: float = 1, alpha: float = 1
) -> ark.Tensor:
    return _sum(ark.matmul(tensor(a), tensor(b)), addend, alpha, beta)


@aten("addmv.default")
def _addmv(
    out: Out, addend: Operand, a: Operand, b: Operand, beta: float = 1, alpha: float = 1
) -> ark.Tensor:
    return _sum(_matmul(out, a, b), addend, alpha, beta)


@aten("scaled_dot_product_attention.default")
def _attention(
    out: Out,
    q: ark.Tensor,
    k: ark.Tensor,
    v: ark.Tensor,
    attn_mask: Operand | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    noise: Noise | None = None,
) -> ark.Tensor:
    if dropout_p and noise is None:
        raise unsupported(NO_DROPOUT)
    query, (key, value) = tensor(q), _shared_heads(tensor(k), tensor(v))
    mask = None if attn_mask is None else _mask(tensor(attn_mask), query)
    queries, keys = query.shape[-2], key.shape[-2]
    if is_causal and queries != keys:
        # torch aligns the first query with the first key, ark the last query with the last key.
        mask, is_causal = lower_triangle((queries, keys)), False
    if query.ndim == 2:  # no heads
        query, key, value = (ark.unsqueeze(t, 0) for t in (query, key, value))
    if dropout_p and noise is not None:
        shares = _shares(query, key, mask, is_causal, scale)
        return shaped(_mixed(noise.drop(shares, dropout_p), value), out.shape)
    mixed = ark.attention(query, key, value, scale=scale, causal=is_causal, mask=mask)
    return shaped(mixed, out.shape)


def _shares(
    query: ark.Tensor,
    key: ark.Tensor,
    mask: ark.Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> ark.Tensor:
    """Returns the weights ``[..., Hkv, R, Tq, Tk]`` of an attention."""
    *lead, heads, length, extent = query.shape
    groups, keys = key.shape[-3:-1]
    factor = 1 / math.sqrt(extent) if scale is None else scale
    spread = ark.reshape(query, (*lead, groups, heads // groups, length, extent))
    scores = ark.matmul(spread, ark.unsqueeze(key, -3), transpose_other=True) * factor
    if is_causal:
        scores = ark.where(lower_triangle((length, keys)), scores, -math.inf)
    if mask is not None:
        wide = ark.broadcast_to(mask, (*lead, heads, length, keys))
        wide = ark.reshape(wide, scores.shape)
        scores = ark.where(wide, scores, -math.inf) if mask.dtype is bool_ else scores + wide
    highest = ark.reduce_max(scores, -1)
    return ark.where(highest > -math.inf, ark.softmax(scores, -1), 0.0)


def _mixed(shares: ark.Tensor, value: ark.Tensor) -> ark.Tensor:
    return ark.matmul(shares, ark.unsqueeze(value, -3))


def _shared_heads(key: ark.Tensor, value: ark.Tensor) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns keys and values before their heads were repeated for groups of query heads.

    ``ark.attention`` does not need the copies.
    """
    keys, values = _before_repeat(key), _before_repeat(value)
    return (keys, values) if keys.shape[:-1] == values.shape[:-1] else (key, value)


def _before_repeat(x: ark.Tensor) -> ark.Tensor:
    spread = _operand_of(x, "ark.reshape")
    source = _operand_of(spread, "ark.broadcast_to")
    if spread is None or source is None or spread.ndim != x.ndim + 1:
        return x
    *outer, heads, copies, length, extent = spread.shape
    repeated = source.shape == (*outer, heads, 1, length, extent)
    if not repeated or x.shape != (*outer, heads * copies, length, extent):
        return x
    return ark.reshape(source, (*outer, heads, length, extent))


def _operand_of(x: ark.Tensor | None, op: str) -> ark.Tensor | None:
    """Returns the operand of the op that created `x`; None if that op is not an `op`."""
    owner: Any = None if x is None else x.value.owner
    if x is None or getattr(owner, "name", None) != op:
        return None
    return ark.Tensor(x.program, owner.operands[0], x.name)


def _mask(mask: ark.Tensor, query: ark.Tensor) -> ark.Tensor:
    return tensor(mask, query.dtype) if mask.dtype.is_float else mask


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def _flash_attention(
    out: tuple[Out, ...],
    q: ark.Tensor,
    k: ark.Tensor,
    v: ark.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Operand | None = None,
    scale: float | None = None,
) -> Any:
    mixed = _attention(out[0], q, k, v, attn_mask, dropout_p, is_causal, scale)
    return mixed, Unavailable("the log-sum-exp of an attention, which gradients need")


@aten("_scaled_dot_product_efficient_attention.default")
def _efficient_attention(
    out: tuple[Out | Unavailable, ...],
    q: ark.Tensor,
    k: ark.Tensor,
    v: ark.Tensor,
    attn_bias: Operand | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    assert isinstance(out[0], Out)
    mixed = _attention(out[0], q, k, v, attn_bias, dropout_p, is_causal, scale)
    unused = Unavailable("values that gradients of an attention need")
    return mixed, unused, unused, unused
