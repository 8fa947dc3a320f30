"""``top_k``, composed of comparisons and reductions."""

from __future__ import annotations

from ...dtypes import int32, int64
from ..operands import as_tensor
from ..shapes import as_axis, as_int, invalid
from ..tensor import Tensor
from .conditions import less, where
from .creation import arange
from .elementwise import add, cast, mul, sub
from .reductions import reduce_max
from .sorting import INT32_MAX, along_rows, ordered, rank_all, sort_long_rows
from .views import concat, transpose

__all__ = ["top_k"]

# In a row of more than _LONG_ROW elements, up to _MAX_PASSES passes find one element each.
_LONG_ROW, _MAX_PASSES = 1024, 64


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

    All pairs of the n elements of a row are compared. If n is above 1024, `k` passes over the row
    find one element each for a `k` of at most 64, and the row is sorted (:func:`sort`) for a larger
    one, unless its dtype is int64. Raises InvalidUsageError if `k` is out of range, `x` lacks
    `axis`, or its dtype is bool.

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
    indices = _find(rows, count, name)
    values = along_rows(rows, indices, name)
    if number == last:
        return values, indices
    back = [order.index(dim) for dim in range(source.ndim)]
    return transpose(values, back), transpose(indices, back)


def _find(rows: Tensor, count: int, name: str | None) -> Tensor:
    """Returns the indices of the `count` largest elements of each row."""
    # A key holds 32 bits of an element.
    if rows.shape[-1] <= _LONG_ROW or rows.dtype is int64:
        return rank_all(rows, count, True, name)
    if count <= _MAX_PASSES:
        return _find_one_per_pass(rows, count, name)
    return sort_long_rows(rows, True, name)[..., :count]


def _find_one_per_pass(x: Tensor, count: int, name: str | None) -> Tensor:
    """Returns the indices of the `count` largest elements of each row, each in a pass over the row.

    Each element has a unique 64-bit key: an integer in the order of the values in the upper half,
    the complement of the index in the lower half. A pass finds the largest key that is less than
    the key of the previous pass.
    """
    key = add(mul(ordered(x), 1 << 32), sub(INT32_MAX, arange(x.shape[-1], dtype=int64)))
    found = [reduce_max(key, -1, name=name)]
    least = int64.integer_range[0]
    while len(found) < count:
        found.append(reduce_max(where(less(key, found[-1]), key, least), -1, name=name))
    keys = concat(found, -1, name=name) if count > 1 else found[0]
    # The cast to int32 keeps the lower half of a key, from which the index follows.
    return sub(INT32_MAX, cast(keys, int32), name=name)
