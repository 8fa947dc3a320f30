"""``top_k``, composed of comparisons and reductions."""

from __future__ import annotations

import math

from ...dtypes import fp32, int32, int64, uint32
from ..operands import as_tensor
from ..shapes import as_axis, as_int, invalid
from ..tensor import Tensor
from .conditions import equal, less, logical_and, logical_or, not_equal, where
from .creation import arange
from .elementwise import add, cast, mul, sub
from .indexing import gather
from .reductions import reduce_max, reduce_sum
from .views import bitcast, concat, reshape, transpose, unsqueeze

__all__ = ["top_k"]

# In a row of more than _LONG_ROW elements, up to _MAX_PASSES passes find one element each.
_LONG_ROW, _MAX_PASSES = 1024, 64
_INT32_MIN, _INT32_MAX = int32.integer_range


def top_k(x: Tensor, k: int, axis: int = -1, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the `k` largest elements along dimension `axis`, and their indices.

    Args:
        x: a tensor of any dtype except bool.
        k: the number of elements, from one to the extent of the dimension.
        axis: the dimension; a negative one counts from the end.

    Both results have the shape of `x` with the extent `k` in dimension `axis`; values have the
    dtype of `x`, indices are int32. The largest element comes first. Of equal elements, the one
    with the least index comes first; -0.0 equals 0.0. NaN is above all numbers, as for
    :func:`argmax`, and all NaNs are equal.

    All pairs of the n elements of a row are compared; if n is above 1024 and `k` at most 64, `k`
    passes over the row find one element each. Raises InvalidUsageError if `k` is out of range,
    `x` lacks `axis`, or its dtype is bool.

    Example:
        >>> values, experts = ark.top_k(x, 2, axis=-1)  # x: (4, 64)
        >>> values.shape, experts.dtype
        ((4, 2), ark.int32)
    """
    source = as_tensor(x, "top_k")
    number = as_axis(axis, source.ndim, "ark.top_k")
    if not 0 <= number < source.ndim:
        raise invalid(f"axis {axis} is not a dimension of shape {list(source.shape)}", "ark.top_k")
    extent = source.shape[number]
    count = as_int(k, "k", "ark.top_k")
    if not 1 <= count <= extent:
        raise invalid(
            f"k {count} is not between 1 and the extent {extent} of axis {axis}", "ark.top_k"
        )
    if source.dtype.kind == "bool":
        raise invalid("x has the dtype bool; expected floats or integers", "ark.top_k")
    last = source.ndim - 1
    order = [*(dim for dim in range(source.ndim) if dim != number), number]
    rows = source if number == last else transpose(source, order)
    # A key holds 32 bits of an element.
    is_long = extent > _LONG_ROW and count <= _MAX_PASSES and source.dtype is not int64
    find = _find_one_per_pass if is_long else _compare_all
    indices = find(rows, count, name)
    flat = _flat(indices, extent)
    values = gather(reshape(rows, (-1,)), flat, 0, name=name)
    if number == last:
        return values, indices
    back = [order.index(dim) for dim in range(source.ndim)]
    return transpose(values, back), transpose(indices, back)


def _flat(indices: Tensor, extent: int) -> Tensor:
    """Returns indices into a flattened tensor, from indices in its rows of `extent` elements."""
    leading = indices.shape[:-1]
    rows = math.prod(leading)
    if rows == 1:
        return indices
    dtype = int32 if rows * extent <= _INT32_MAX else int64
    first = mul(arange(rows, dtype=dtype), extent)
    return add(cast(indices, dtype), reshape(first, (*leading, 1)))


def _compare_all(x: Tensor, count: int, name: str | None) -> Tensor:
    """Returns the indices of the `count` largest elements of each row.

    The position of an element in the descending order is the number of elements ahead of it.
    """
    extent = x.shape[-1]
    element, other = unsqueeze(x, -1), unsqueeze(x, -2)
    index = arange(extent)
    here, there = reshape(index, (extent, 1)), reshape(index, (1, extent))
    is_first = logical_and(equal(other, element), less(there, here))
    ahead = logical_or(less(element, other), is_first)
    if x.dtype.is_float:
        missing, passes = not_equal(element, element), not_equal(other, other)
        ahead = where(missing, logical_and(passes, less(there, here)), logical_or(ahead, passes))
    # No element is ahead of itself. The interpreter with error bounds could not decide this from a
    # comparison of inexact values.
    ahead = where(equal(here, there), False, ahead)
    position = reduce_sum(cast(ahead, int32), -1, keepdims=False, name=name)
    chosen = equal(unsqueeze(position, -2), reshape(arange(count), (count, 1)))
    return reduce_sum(where(chosen, there, 0), -1, keepdims=False, name=name)


def _find_one_per_pass(x: Tensor, count: int, name: str | None) -> Tensor:
    """Returns the indices of the `count` largest elements of each row, each in a pass over the row.

    Each element has a unique 64-bit key: an integer in the order of the values in the upper half,
    the complement of the index in the lower half. A pass finds the largest key that is less than
    the key of the previous pass.
    """
    order = cast(_ordered(x) if x.dtype.is_float else x, int64)
    if x.dtype is uint32:
        order = add(order, _INT32_MIN)
    key = add(mul(order, 1 << 32), sub(_INT32_MAX, arange(x.shape[-1], dtype=int64)))
    found = [reduce_max(key, -1, name=name)]
    least = int64.integer_range[0]
    while len(found) < count:
        found.append(reduce_max(where(less(key, found[-1]), key, least), -1, name=name))
    keys = concat(found, -1, name=name) if count > 1 else found[0]
    # The cast to int32 keeps the lower half of a key, from which the index follows.
    return sub(_INT32_MAX, cast(keys, int32), name=name)


def _ordered(values: Tensor) -> Tensor:
    """Maps floats to int32 in the same order; NaN is the largest, and zeros are equal."""
    values = values if values.dtype is fp32 else cast(values, fp32)
    bits = bitcast(values, int32)
    order = where(less(bits, 0), sub(_INT32_MIN, bits), bits)
    return where(equal(values, values), order, _INT32_MAX)
