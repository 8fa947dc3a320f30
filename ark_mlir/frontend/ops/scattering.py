"""Ops that write rows of a tensor by index: ``scatter``, ``scatter_add`` and ``bincount``."""

from __future__ import annotations

from ...dialects import ark as dialect
from ...dtypes import DType, bool_, int64
from ..operands import as_tensor
from ..shapes import as_axis, as_int, invalid
from ..tensor import Tensor
from .common import emit
from .conditions import greater_equal, where
from .conversions import converted
from .creation import arange, ones
from .elementwise import add, maximum
from .indexing import as_indices, gather
from .views import identity, reshape

__all__ = ["bincount", "scatter", "scatter_add"]


def scatter(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, name: str | None = None
) -> Tensor:
    """Returns `x` with slices along `axis` replaced by slices of `updates`.

    `indices` names the slices. Of several slices with the same index, the last one counts.

    Args:
        x: a tensor of any shape and dtype; the result has its shape and dtype.
        indices: integers, of any shape.
        updates: of the dtype of `x`; its shape is that of `x` with the extent of `axis` replaced by
            the shape of `indices`.
        axis: the dimension; a negative one counts from the end.

    ``ark.gradients`` passes the derivative of each slice to the tensor that it is from. Raises
    InvalidUsageError if `indices` is not a tensor of integers, dtypes or shapes do not fit, or `x`
    lacks `axis`. A run raises DataRangeError if an index is negative or not less than the extent.

    Example:
        >>> table = ark.parameter("table", (10, 64))
        >>> rows = ark.input("rows", (4,), ark.int32)
        >>> ark.scatter(table, rows, x).shape  # x: (4, 64)
        (10, 64)
    """
    target, written, positions, number = _checked(x, indices, updates, axis, "scatter")
    if positions.size == 0 or target.size == 0:
        return identity(target, name=name)
    checked = in_range(positions, target.shape[number], name or "scatter")
    return replaced(target, checked, written, number, name)


def bincount(
    indices: Tensor, length: int, weights: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Returns how often each of the integers from 0 to ``length - 1`` occurs.

    Args:
        indices: integers, of any shape.
        length: the length of the result, a positive integer.
        weights: numbers of the shape of `indices`, of any dtype except bool and 8-bit floats; the
            result then has their sums in place of counts.

    The result has the shape ``[length]``, and the dtype of `weights`, or int64 without them. An
    integer that is out of range counts nowhere, so that a mask can replace integers by -1; an index
    of :func:`scatter` names a slice of an operand, and must exist. Without integers the result is
    zero. Raises InvalidUsageError if `indices` is not a
    tensor of integers, `length` is not positive, or `weights` do not fit.

    Example:
        >>> experts = ark.input("experts", (4, 2), ark.int32)
        >>> ark.bincount(experts, 8).shape
        (8,)
    """
    op = "ark.bincount"
    positions, count = as_indices(indices, "bincount"), as_int(length, "length", op)
    if count < 1:
        raise invalid(f"length must be positive, not {count}", op)
    if weights is None:
        terms = ones(positions.shape, int64)
    else:
        terms = as_tensor(weights, "bincount", "weights")
        if terms.shape != positions.shape or not _has_sums(terms.dtype):
            raise invalid(
                f"weights must be numbers of shape {list(positions.shape)}, not {terms.dtype} of "
                f"shape {list(terms.shape)}",
                op,
            )
    numbers, flat = (reshape(each, (positions.size,)) for each in (positions, terms))
    return identity(scattered(numbers, flat, count, 0), name=name or "bincount")


def _has_sums(dtype: DType) -> bool:
    return dtype is not bool_ and (not dtype.is_float or dtype.itemsize > 1)


def _checked(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int, label: str
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Returns the operands of a scatter; raises InvalidUsageError if they do not fit."""
    op = f"ark.{label}"
    target, written = as_tensor(x, label), as_tensor(updates, label, "updates")
    positions = as_indices(indices, label)
    number = as_axis(axis, target.ndim, op)
    if not 0 <= number < target.ndim:
        raise invalid(f"axis {axis} is not a dimension of shape {list(target.shape)}", op)
    wanted = (*target.shape[:number], *positions.shape, *target.shape[number + 1 :])
    if written.shape != wanted:
        raise invalid(f"updates must have shape {list(wanted)}, not {list(written.shape)}", op)
    if written.dtype != target.dtype:
        raise invalid(f"updates of {written.dtype} do not fit x of {target.dtype}", op)
    return target, written, positions, number


def in_range(positions: Tensor, extent: int, name: str | None = None) -> Tensor:
    """Returns the positions themselves; a run raises DataRangeError if one is out of range.

    `name` is that of the task in the error.
    """
    # Element i of the table is i, so that the gather returns its indices; it also checks them.
    return gather(arange(extent, dtype=positions.dtype), positions, 0, name)


def latest(indices: Tensor, extent: int, name: str | None = None) -> Tensor:
    """Returns for each segment the position of the last of its indices, or -1, as int32.

    Args:
        indices: int32 or int64, of rank one; those out of range have no effect.
        extent: number of segments.
    """
    found = emit(
        "segment_max",
        dialect.SegmentMaxOp,
        name,
        operand=arange(indices.size),
        indices=indices,
        axis=0,
        segments=extent,
    )
    return maximum(found, -1)


def replaced(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int, name: str | None = None
) -> Tensor:
    """Returns `x` with slices of `updates`; see :func:`scatter`.

    An index out of range has no effect. There is at least one index.
    """
    label = name or "scatter"
    last = latest(reshape(indices, (indices.size,)), x.shape[axis], label)
    lead, rest = updates.shape[:axis], updates.shape[axis + indices.ndim :]
    slices = reshape(updates, (*lead, indices.size, *rest))
    chosen = gather(slices, maximum(last, 0), axis)
    is_written = reshape(greater_equal(last, 0), (x.shape[axis], *(1,) * len(rest)))
    return where(is_written, chosen, x, label)


def scatter_add(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, name: str | None = None
) -> Tensor:
    """Returns `x` with slices of `updates` added to the slices along `axis` that `indices` names.

    Slices with the same index are all added. The program fixes the order of the sum, so that equal
    inputs give equal bits. The op is the transpose of :func:`gather`.

    Args:
        x: a tensor of any shape, of any dtype except bool and 8-bit floats; the result has its
            shape and dtype.
        indices: integers, of any shape.
        updates: of the dtype of `x`; its shape is that of `x` with the extent of `axis` replaced by
            the shape of `indices`.
        axis: the dimension; a negative one counts from the end.

    Floats accumulate in fp32, in ascending order of the position in `indices`. Raises
    InvalidUsageError if `indices` is not a tensor of integers, dtypes or shapes do not fit, the
    dtype of `x` is bool or an 8-bit float type, or `x` lacks `axis`. A run raises DataRangeError if
    an index is negative or not less than the extent.

    Example:
        >>> sums = ark.zeros((10, 64))
        >>> rows = ark.input("rows", (4,), ark.int32)
        >>> ark.scatter_add(sums, rows, x).shape  # x: (4, 64)
        (10, 64)
    """
    target, added, positions, number = _checked(x, indices, updates, axis, "scatter_add")
    if not _has_sums(target.dtype):
        raise invalid(
            f"x has dtype {target.dtype}, which has no sums; ark.cast converts it",
            "ark.scatter_add",
        )
    extent, label = target.shape[number], name or "scatter_add"
    checked = in_range(positions, extent, label)
    return add(target, scattered(checked, added, extent, number), label)


def scattered(indices: Tensor, updates: Tensor, extent: int, axis: int) -> Tensor:
    """Returns zeros to which slices of `updates` are added along `axis`.

    An index out of range has no effect.

    Args:
        indices: int32 or int64.
        updates: see :func:`scatter_add`.
        extent: the result's extent of `axis`.
        axis: the dimension, not negative.
    """
    lead, rest = updates.shape[:axis], updates.shape[axis + indices.ndim :]
    total = emit(
        "segment_sum",
        dialect.SegmentSumOp,
        None,
        operand=reshape(updates, (*lead, indices.size, *rest)),
        indices=reshape(indices, (indices.size,)),
        axis=axis,
        segments=extent,
    )
    return converted(total, updates.dtype)
