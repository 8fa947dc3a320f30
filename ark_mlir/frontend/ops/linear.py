"""Matrix product, attention and rotary position embedding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...dialects import ark as dialect
from ...dtypes import DType, fp32, int32
from ..operands import as_pair, as_tensor, constant_tensor
from ..shapes import as_dtype, as_int, invalid
from ..tensor import Tensor
from .common import emit
from .creation import full
from .elementwise import cast
from .paging import paged_keys
from .views import broadcast_to, concat, reshape, squeeze, unsqueeze

if TYPE_CHECKING:
    from ...typing import DTypeLike

__all__ = ["attention", "matmul", "rope"]


def matmul(
    a: Tensor | NDArray[Any],
    b: Tensor | NDArray[Any],
    transpose_input: bool = False,
    transpose_other: bool = False,
    name: str | None = None,
    *,
    out_dtype: DTypeLike | None = None,
) -> Tensor:
    """Returns the matrix product over the last two dimensions; leading dimensions broadcast.

    Args:
        a: ``[..., M, K]``, or ``[..., K, M]`` with `transpose_input`; or a vector ``[K]``. Any
            dtype except bool.
        b: ``[..., K, N]``, or ``[..., N, K]`` with `transpose_other`; or a vector ``[K]``.
        out_dtype: the dtype of the result and of its sums, for operands of integers: a wider
            integer type, such as ``ark.int32`` for the product of two tensors of int8, which
            otherwise wraps at 8 bits. None means the dtype described below.

    The result is ``[..., M, N]``, without M if `a` is a vector and without N if `b` is one. A flag
    that transposes a vector has no effect.

    Both operands have one dtype, which the result has as well. If one operand is of an 8-bit float
    type, the other may be of another float type, which is that of the result. The product of two
    tensors of 8-bit floats is fp32. Floats accumulate in fp32. Integers wrap in the dtype of the
    result. Raises InvalidUsageError if dtypes do not fit or are bool, the extents K differ, leading
    extents do not broadcast, or an operand has rank zero.

    Example:
        >>> weight = ark.parameter("weight", (256, 64))
        >>> ark.matmul(x, weight, transpose_other=True).shape  # x: (4, 64)
        (4, 256)
        >>> q = ark.input("q", (64, 8), ark.int8)
        >>> ark.matmul(q.T, q, out_dtype=ark.int32).dtype
        ark.int32
    """
    lhs, rhs = as_pair(a, b, "matmul")
    if out_dtype is not None:
        lhs, rhs = _widened(lhs, rhs, as_dtype(out_dtype, "ark.matmul"))
    row, column = lhs.ndim == 1, rhs.ndim == 1
    product = emit(
        "matmul",
        dialect.MatmulOp,
        name,
        lhs=unsqueeze(lhs, 0) if row else lhs,
        rhs=unsqueeze(rhs, 1) if column else rhs,
        transpose_input=bool(transpose_input) and not row,
        transpose_other=bool(transpose_other) and not column,
    )
    absent = [-2] * row + [-1] * column
    return squeeze(product, absent, name) if absent else product


def _widened(lhs: Tensor, rhs: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Returns operands of integers in a dtype that holds all of their values."""
    if lhs.dtype is dtype and rhs.dtype is dtype:
        return lhs, rhs
    low, high = dtype.integer_range if dtype.is_integer else (0, -1)
    for operand in (lhs, rhs):
        narrow = operand.dtype
        if not narrow.is_integer or narrow.integer_range[0] < low or narrow.integer_range[1] > high:
            raise invalid(
                f"out_dtype {dtype} does not hold the elements of {narrow}; it must be an integer "
                "type that holds the integers of both operands; ark.cast converts other operands",
                "ark.matmul",
            )
    return cast(lhs, dtype), cast(rhs, dtype)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    causal: bool = False,
    mask: Tensor | None = None,
    kv_length: Tensor | int | None = None,
    name: str | None = None,
    page_table: Tensor | None = None,
) -> Tensor:
    """Returns ``softmax(q k^T * scale + mask) v`` for every head.

    The result has the shape of `q` and its dtype. The op is the attention of Vaswani et al. (2017),
    whose query heads may share key heads (Ainslie et al., 2023).

    Args:
        q: ``[..., Hq, Tq, D]`` of fp32, fp16 or bf16.
        k, v: ``[..., Hkv, Tk, D]``, of the dtype of `q`; Hq is a multiple of Hkv.
        scale: a factor of the scores; by default ``1 / sqrt(D)``.
        causal: True if a query sees only the keys up to the position of the query. The last query
            is at the position of the last valid key of its sequence.
        mask: broadcasts to ``[..., Hq, Tq, Tk]``. A bool mask keeps the scores where it is true; a
            mask of the dtype of `q` is added to them.
        kv_length: the number of valid keys, which come first: an int, or a tensor of int32 or
            int64, which is a scalar or has one length for each sequence: the extents of `q` before
            Hq. By default, all Tk keys are valid.
        page_table: int32 ``[B, P]``, the pages of each sequence, for `k` and `v` in pages,
            ``[pages, Hkv, page_size, D]``: key i of sequence b is row ``i % page_size`` of page
            ``page_table[b, i // page_size]``, and Tk is ``P * page_size``. Needs a `kv_length`
            ``[B]``; entries of the table beyond these keys are not used. The pages of each sequence
            are copied to consecutive keys before the attention reads them.

    The result is zero for a query that sees no key. Raises InvalidUsageError if shapes or dtypes do
    not fit, or an int `kv_length` is not in [0, Tk]. A run raises DataRangeError if an element of
    `kv_length` is not in this range; the error names the sequence. A run
    also raises DataRangeError if `page_table` has a page that `k` and `v` do not have.

    Example:
        >>> position = ark.scalar("position", max=511)
        >>> q = ark.input("q", (1, 32, 1, 64))
        >>> keys, values = (ark.state(name, (1, 8, 512, 64)) for name in ("keys", "values"))
        >>> ark.attention(q, keys, values, causal=True, kv_length=position + 1).shape
        (1, 32, 1, 64)
        >>> lengths = ark.input("lengths", (4,), ark.int32)  # of four sequences
        >>> q = ark.input("queries", (4, 32, 1, 64))
        >>> keys, values = (ark.state(name, (4, 8, 512, 64)) for name in ("all_keys", "all_values"))
        >>> ark.attention(q, keys, values, causal=True, kv_length=lengths).shape
        (4, 32, 1, 64)
        >>> table = ark.input("table", (4, 32), ark.int32)
        >>> keys, values = (ark.state(name, (100, 8, 16, 64)) for name in ("k_pages", "v_pages"))
        >>> ark.attention(q, keys, values, kv_length=lengths, page_table=table).shape
        (4, 32, 1, 64)
    """
    query, key, value = (as_tensor(t, "attention", w) for t, w in ((q, "q"), (k, "k"), (v, "v")))
    if page_table is not None:
        if not isinstance(kv_length, Tensor) or kv_length.ndim != 1:
            raise invalid(
                "page_table needs kv_length, a tensor of one length for each sequence",
                "ark.attention",
            )
        label = name or "attention"
        key = paged_keys(key, page_table, kv_length, f"{label}.k")
        value = paged_keys(value, page_table, kv_length, f"{label}.v")
    if scale is None:
        scale = 1 / math.sqrt(max(1, query.shape[-1] if query.shape else 1))
    elif isinstance(scale, bool) or not isinstance(scale, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"scale must be a number, not {scale!r}", "ark.attention")
    return emit(
        "attention",
        dialect.AttentionOp,
        name,
        query=query,
        key=key,
        value=value,
        scale=float(scale),
        mask=None if mask is None else as_tensor(mask, "attention", "mask"),
        kv_length=_as_length(kv_length, key),
        causal=bool(causal),
    )


def attention_with_sinks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor,
    scale: float,
    mask: Tensor | None = None,
    kv_length: Tensor | None = None,
    partitions: int = 1,
    name: str | None = None,
) -> Tensor:
    """Returns causal attention whose softmax has one more logit for each query head, the sink.

    A sink is part of the softmax's sum, and its value is zero (Xiao et al., 2024). The sink is one
    more partition of a split attention, so that no key and no element of a mask is added.

    Args:
        q, k, v, scale, mask, kv_length: arguments of :func:`attention`; the mask is bool.
        sinks: ``[Hq]``.
        partitions: number of partitions of the keys, a divisor of Tk. Partitions are independent
            of each other, so that more SMs than key heads can work.
    """
    *leading, keys, depth = k.shape

    def cut(x: Tensor) -> Tensor:
        return reshape(x, (*leading, keys // partitions, partitions, x.shape[-1]))

    if mask is not None:
        mask = reshape(mask, (*mask.shape[:-1], keys // partitions, partitions))
    parts = emit(
        "partial_attention", dialect.PartialAttentionOp, name,
        query=q, key=cut(k), value=cut(v), scale=scale, mask=mask, kv_length=kv_length,
        causal=q.shape[-2] > 1,
    )  # fmt: skip
    # A partition is the sum of the values, the largest score, and the sum of the exponentials.
    depth = v.shape[-1]
    score = reshape(cast(sinks, fp32), (q.shape[-3], 1, 1, 1))
    ends = (full((q.shape[-3], 1, 1, depth), 0, fp32), score, full(score.shape, 1, fp32))
    sink = broadcast_to(concat(ends, -1, name=name), (*q.shape[:-1], 1, depth + 2))
    both = concat([parts, sink], -2, name=name)
    combined = emit("combine_attention", dialect.CombineAttentionOp, name, operand=both)
    return cast(combined, q.dtype, name=name)


def _as_length(length: Tensor | int | None, key: Tensor) -> Tensor | None:
    if length is None or isinstance(length, Tensor):
        return length
    number = as_int(length, "kv_length", "ark.attention")
    extent = key.shape[-2] if key.ndim > 1 else 0
    if not 0 <= number <= extent:
        raise invalid(
            f"kv_length {number} is not between 0 and {extent}, the number of keys", "ark.attention"
        )
    return constant_tensor(np.array(number, np.int32), int32)


def rope(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, name: str | None = None
) -> Tensor:
    """Applies the rotary position embedding to the last dimension and returns the result.

    The embedding is that of Su et al. (2021).

    Args:
        x: ``[..., D]`` of fp32, fp16 or bf16, with an even extent D.
        cos, sin: cosine and sine of the angle of each pair, ``[..., D/2]`` of the dtype of `x`.
            The leading extents broadcast to those of `x`.
        interleaved: True rotates the pairs of elements ``2i`` and ``2i + 1``; False those of ``i``
            and ``i + D/2``.

    Raises InvalidUsageError if D is odd, or shapes or dtypes do not fit.

    Example:
        >>> q = ark.input("q", (1, 32, 16, 64))
        >>> cos, sin = (ark.parameter(name, (16, 32)) for name in ("cos", "sin"))
        >>> ark.rope(q, cos, sin).shape
        (1, 32, 16, 64)
    """
    return emit(
        "rope",
        dialect.RopeOp,
        name,
        operand=as_tensor(x, "rope"),
        cos=as_tensor(cos, "rope", "cos"),
        sin=as_tensor(sin, "rope", "sin"),
        interleaved=bool(interleaved),
    )
