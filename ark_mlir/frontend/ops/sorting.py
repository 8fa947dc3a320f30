"""``sort`` and ``argsort``, composed of comparisons."""

from __future__ import annotations

import math

from ...dtypes import fp32, int32, int64, uint32
from ..operands import as_tensor
from ..shapes import as_axis, invalid
from ..tensor import Tensor
from .composed import stack, surrounded
from .conditions import equal, less, logical_and, logical_or, not_equal, where
from .conversions import converted, shaped
from .creation import arange, zeros
from .elementwise import add, cast, div, maximum, minimum, mul, sub
from .indexing import gather
from .reductions import reduce_sum
from .views import bitcast, reshape, transpose, unsqueeze

__all__ = ["argsort", "sort"]

# The number of comparisons of all pairs of a longer row exceeds that of a sorting network by far.
_LONG_ROW = 512
_INT32_MIN, INT32_MAX = int32.integer_range
_INT64_MAX = int64.integer_range[1]


def sort(
    x: Tensor, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the elements along dimension `axis` in order, and their indices.

    Args:
        x: a tensor of any dtype except bool.
        axis: the dimension; a negative one counts from the end.
        descending: True sorts from the largest to the least.

    Both results have the shape of `x`; values have its dtype, indices are int32. The sort is
    stable: equal elements keep their order, and -0.0 equals 0.0. NaN is above all numbers, and all
    NaNs are equal. ``ark.gradients`` passes the derivative of each value to its element.

    A row of up to 512 elements, or of int64, is sorted by comparisons of all pairs. A longer row of
    n elements passes through a bitonic network (Batcher, 1968), whose ``log2(n)**2 / 2`` stages
    have ``n / 2`` comparisons each. The results of a tensor without elements have none. Raises
    InvalidUsageError if `x` lacks `axis`, its dtype is bool, or `descending` is not a bool.

    Example:
        >>> values, indices = ark.sort(x, descending=True)  # x: (4, 64)
        >>> values.shape, indices.dtype
        ((4, 64), ark.int32)
    """
    source, number = _checked(x, axis, descending, "sort")
    if source.size == 0:
        return source, zeros(source.shape, int32)
    order = _last(number, source.ndim)
    rows = source if number == source.ndim - 1 else transpose(source, order)
    indices = _indices(rows, descending, name or "sort")
    values = along_rows(rows, indices, name or "sort")
    return _restored(values, order), _restored(indices, order)


def argsort(x: Tensor, axis: int = -1, descending: bool = False, name: str | None = None) -> Tensor:
    """Returns the indices that sort `x` along dimension `axis`, as int32; see :func:`sort`.

    `x` has any dtype except bool, and the result has its shape. Raises InvalidUsageError if `x`
    lacks `axis`, its dtype is bool, or `descending` is not a bool. The result of a tensor without
    elements has none.

    Example:
        >>> ark.argsort(x, axis=0).shape  # x: (4, 64)
        (4, 64)
    """
    source, number = _checked(x, axis, descending, "argsort")
    if source.size == 0:
        return zeros(source.shape, int32)
    order = _last(number, source.ndim)
    rows = source if number == source.ndim - 1 else transpose(source, order)
    return _restored(_indices(rows, descending, name or "argsort"), order)


def _checked(x: object, axis: int, descending: object, label: str) -> tuple[Tensor, int]:
    source = as_tensor(x, label)
    number = as_axis(axis, source.ndim, f"ark.{label}")
    if not 0 <= number < source.ndim:
        raise invalid(
            f"axis {axis} is not a dimension of shape {list(source.shape)}", f"ark.{label}"
        )
    if source.dtype.kind == "bool":
        raise invalid("x has the dtype bool; expected floats or integers", f"ark.{label}")
    if not isinstance(descending, bool):
        raise invalid(f"descending must be True or False, not {descending!r}", f"ark.{label}")
    return source, number


def _last(axis: int, rank: int) -> list[int]:
    """Returns the permutation that moves an axis to the end."""
    return [*(dim for dim in range(rank) if dim != axis), axis]


def _restored(x: Tensor, order: list[int]) -> Tensor:
    if order == sorted(order):
        return x
    return transpose(x, [order.index(dim) for dim in range(x.ndim)])


def _indices(rows: Tensor, descending: bool, name: str) -> Tensor:
    """Returns the indices that sort the last dimension."""
    extent = rows.shape[-1]
    if extent <= _LONG_ROW or rows.dtype is int64:
        return rank_all(rows, extent, descending, name)
    return sort_long_rows(rows, descending, name)


def along_rows(rows: Tensor, indices: Tensor, name: str | None = None) -> Tensor:
    """Returns the elements of each row that `indices` name."""
    flat = flat_indices(indices, rows.shape[-1])
    return gather(reshape(rows, (-1,)), flat, 0, name=name)


def flat_indices(indices: Tensor, extent: int) -> Tensor:
    """Returns indices into a flattened tensor, from indices in its rows of `extent` elements."""
    leading = indices.shape[:-1]
    rows = math.prod(leading)
    if rows == 1:
        return indices
    dtype = int32 if rows * extent <= INT32_MAX else int64
    first = mul(arange(rows, dtype=dtype), extent)
    return add(cast(indices, dtype), reshape(first, (*leading, 1)))


def rank_all(x: Tensor, count: int, descending: bool, name: str | None) -> Tensor:
    """Returns the indices of the first `count` elements of each row in order.

    All pairs of a row are compared: the position of an element is the number of elements ahead of
    it.
    """
    extent = x.shape[-1]
    element, other = unsqueeze(x, -1), unsqueeze(x, -2)
    index = arange(extent)
    here, there = reshape(index, (extent, 1)), reshape(index, (1, extent))
    is_before = less(there, here)
    is_first = logical_and(equal(other, element), is_before)
    is_ahead = less(element, other) if descending else less(other, element)
    ahead = logical_or(is_ahead, is_first)
    if x.dtype.is_float:
        missing, passes = not_equal(element, element), not_equal(other, other)
        if descending:
            ahead = where(missing, logical_and(passes, is_before), logical_or(ahead, passes))
        else:
            # All numbers, and the NaNs before it, are ahead of NaN.
            ahead = where(missing, logical_or(equal(other, other), is_before), ahead)
    # No element is ahead of itself. The interpreter with error bounds could not decide this from a
    # comparison of inexact values.
    ahead = where(equal(here, there), False, ahead)
    position = reduce_sum(cast(ahead, int32), -1, keepdims=False, name=name)
    chosen = equal(unsqueeze(position, -2), reshape(arange(count), (count, 1)))
    return reduce_sum(where(chosen, there, 0), -1, keepdims=False, name=name)


def sort_long_rows(x: Tensor, descending: bool, name: str | None = None) -> Tensor:
    """Returns the indices that sort each row; `x` has any dtype but bool and int64.

    Each element has a unique 64-bit key: an integer in the order of the values in the upper half,
    and the index in the lower half.
    """
    order = ordered(x)
    order = sub(-1, order) if descending else order
    keys = add(mul(order, 1 << 32), arange(x.shape[-1], dtype=int64))
    # The cast to int32 keeps the lower half of a key.
    return cast(_network(keys), int32, name)


def ordered(values: Tensor) -> Tensor:
    """Maps elements to int64 of 32 bits in the same order; NaN is the largest, and zeros are equal.

    `values` have any dtype but bool and int64.
    """
    if values.dtype is uint32:
        return add(cast(values, int64), _INT32_MIN)
    if not values.dtype.is_float:
        return cast(values, int64)
    values = converted(values, fp32)
    bits = bitcast(values, int32)
    order = where(less(bits, 0), sub(_INT32_MIN, bits), bits)
    return cast(where(equal(values, values), order, INT32_MAX), int64)


def _network(keys: Tensor) -> Tensor:
    """Sorts the rows of int64 keys by a bitonic network.

    In level `size`, the network merges pairs of sorted blocks to blocks of `size` keys. Every
    second block must be in descending order for the next level. The complements of its keys ascend
    instead, so that all stages compare in the same direction.
    """
    *lead, extent = keys.shape
    padded = 1 << (extent - 1).bit_length()
    keys = surrounded(keys, keys.ndim - 1, 0, padded - extent, _INT64_MAX)
    size = 2
    while size <= padded:
        keys = _complemented(keys, size, padded)
        distance = size // 2
        while distance:
            pairs = reshape(keys, (*lead, padded // (2 * distance), 2, distance))
            low, high = pairs[..., 0, :], pairs[..., 1, :]
            keys = stack([minimum(low, high), maximum(low, high)], -2)
            distance //= 2
        keys = reshape(keys, (*lead, padded))
        size *= 2
    return keys[..., :extent]


def _complemented(keys: Tensor, size: int, extent: int) -> Tensor:
    """Replaces the keys whose direction changes between the previous level and level `size`.

    In each level, the keys of every second block are complements, except in the last.
    """
    half = size // 2
    numbers = arange(extent // half)  # of the blocks of the previous level
    was = _is_odd(numbers) if half > 1 else None
    now = _is_odd(div(numbers, 2)) if size < extent else None
    if was is None and now is None:
        return keys
    changes = was if now is None else now if was is None else not_equal(was, now)
    assert changes is not None
    blocks = reshape(keys, (*keys.shape[:-1], extent // half, half))
    kept = where(reshape(changes, (extent // half, 1)), sub(-1, blocks), blocks)
    return shaped(kept, keys.shape)


def _is_odd(numbers: Tensor) -> Tensor:
    return equal(sub(numbers, mul(div(numbers, 2), 2)), 1)
