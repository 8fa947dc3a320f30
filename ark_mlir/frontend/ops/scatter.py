"""``scatter_add``, which adds rows to a tensor by index."""

from __future__ import annotations

import numpy as np

from ...dialects import ark as dialect
from ...dtypes import bool_
from ..operands import as_tensor, constant_tensor
from ..shapes import as_axis, invalid
from ..tensor import Tensor
from .common import emit
from .elementwise import add, cast
from .indexing import as_indices, gather
from .views import reshape

__all__ = ["scatter_add"]


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
    op = "ark.scatter_add"
    target, added = as_tensor(x, "scatter_add"), as_tensor(updates, "scatter_add", "updates")
    positions = as_indices(indices, "scatter_add")
    number = as_axis(axis, target.ndim, op)
    if not 0 <= number < target.ndim:
        raise invalid(f"axis {number} is not a dimension of shape {list(target.shape)}", op)
    wanted = (*target.shape[:number], *positions.shape, *target.shape[number + 1 :])
    if added.shape != wanted:
        raise invalid(f"updates must have shape {list(wanted)}, not {list(added.shape)}", op)
    if added.dtype != target.dtype or target.dtype is bool_:
        raise invalid(f"cannot add updates of {added.dtype} to x of {target.dtype}", op)
    extent = target.shape[number]
    # A look-up in a table of the indices themselves: a run reports those out of range.
    table = constant_tensor(np.arange(extent, dtype=positions.dtype.numpy), positions.dtype)
    checked = gather(table, positions, 0)
    return add(target, scattered(checked, added, extent, number), name)


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
    return total if total.dtype == updates.dtype else cast(total, updates.dtype)
