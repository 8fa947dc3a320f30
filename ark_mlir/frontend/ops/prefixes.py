"""Sums and other reductions of all prefixes of a row, composed of reductions of blocks."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import bool_, int64
from ..derivatives import GroupStep, attach
from ..operands import as_tensor
from ..shapes import as_axis, invalid
from ..tensor import Tensor
from .composed import surrounded
from .conditions import greater_equal, less_equal, where
from .conversions import converted, wide
from .creation import arange
from .elementwise import add, cast
from .reductions import reduce_sum
from .views import identity, reshape, transpose, unsqueeze

__all__ = ["cumsum"]

# A row of at most _DIRECT elements has one block. The work is the product of the elements of a row
# and of a block.
_DIRECT, _BLOCK = 64, 32

Reduce = Callable[..., Tensor]
Join = Callable[[Tensor, Tensor], Tensor]


def cumsum(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns the sums of all prefixes along dimension `axis`.

    Element ``i`` of the result is the sum of elements 0 to ``i`` of `x`.

    Args:
        x: a tensor of any dtype except 8-bit floats.
        axis: the dimension; a negative one counts from the end.

    The result has the shape and dtype of `x`; for bools it is int64, the number of elements that
    are true. Floats accumulate in fp32; integers wrap. Sums of blocks of a row are added, so that
    the error of a sum grows with the logarithm of its position. Raises InvalidUsageError if `x`
    lacks `axis` or has elements of an 8-bit float type. The result of a tensor without elements has
    none.

    Example:
        >>> ark.cumsum(x, axis=0).shape  # x: (4, 64)
        (4, 64)
    """
    source = as_tensor(x, "cumsum")
    number = as_axis(axis, source.ndim, "ark.cumsum")
    if not 0 <= number < source.ndim:
        raise invalid(f"axis {axis} is not a dimension of shape {list(source.shape)}", "ark.cumsum")
    if source.dtype.is_float and source.dtype.itemsize == 1:
        raise invalid(
            f"x has dtype {source.dtype}, which has no sums; ark.cast converts it", "ark.cumsum"
        )
    values = cast(source, int64) if source.dtype is bool_ else source
    return _sums(values, number, False, name or "cumsum")


def _sums(x: Tensor, axis: int, is_reverse: bool, name: str) -> Tensor:
    """Returns sums of prefixes, or of suffixes, which are the derivative of the former."""
    if x.size == 0 or x.shape[axis] == 1:
        return identity(x, name=name)
    result = converted(scan(wide(x), axis, reduce_sum, add, 0, is_reverse), x.dtype, name)

    def rule(step: GroupStep) -> list[Tensor | None]:
        (slopes,) = step.cotangents
        assert slopes is not None
        return [_sums(slopes, axis, not is_reverse, name)]

    if x.dtype.is_float:
        attach("cumsum", [x], [result], rule)
    return result


def scan(
    x: Tensor, axis: int, reduce: Reduce, join: Join, neutral: float, is_reverse: bool = False
) -> Tensor:
    """Returns reductions of all prefixes along an axis.

    Args:
        x: a tensor with elements.
        axis: the dimension, not negative.
        reduce: reduces the last dimension, such as :func:`reduce_sum`.
        join: reduces two tensors elementwise, such as :func:`add`.
        neutral: the reduction of no element.
        is_reverse: True reduces all suffixes in place of prefixes.
    """
    if x.size == 0:
        return x
    last = x.ndim - 1
    order = [*(dim for dim in range(x.ndim) if dim != axis), axis]
    rows = x if axis == last else transpose(x, order)
    found = _scan_rows(rows, reduce, join, neutral, is_reverse)
    return found if axis == last else transpose(found, [order.index(d) for d in range(x.ndim)])


def _scan_rows(x: Tensor, reduce: Reduce, join: Join, neutral: float, is_reverse: bool) -> Tensor:
    *lead, extent = x.shape
    if extent == 1:
        return x
    if extent <= _DIRECT:
        return _scan_block(x, reduce, neutral, is_reverse)
    axis = x.ndim - 1
    blocks = -(-extent // _BLOCK)
    whole = surrounded(x, axis, 0, blocks * _BLOCK - extent, neutral)
    whole = reshape(whole, (*lead, blocks, _BLOCK))
    inner = _scan_block(whole, reduce, neutral, is_reverse)
    totals = inner[..., 0] if is_reverse else inner[..., -1]
    sums = _scan_rows(totals, reduce, join, neutral, is_reverse)
    # The reduction of all blocks before (or after) each one.
    if is_reverse:
        others = surrounded(sums[..., 1:], axis, 0, 1, neutral)
    else:
        others = surrounded(sums[..., :-1], axis, 1, 0, neutral)
    found = join(inner, unsqueeze(others, -1))
    return reshape(found, (*lead, blocks * _BLOCK))[..., :extent]


def _scan_block(x: Tensor, reduce: Reduce, neutral: float, is_reverse: bool) -> Tensor:
    extent = x.shape[-1]
    position = arange(extent)
    here, there = reshape(position, (extent, 1)), reshape(position, (1, extent))
    counts = (greater_equal if is_reverse else less_equal)(there, here)
    # A product with a matrix of zeros and ones would make NaN of infinities.
    return reduce(where(counts, unsqueeze(x, -2), neutral), -1, keepdims=False)
