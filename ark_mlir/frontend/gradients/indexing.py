"""Rules of ops that read by index: the cotangent is added to the rows that were read."""

from __future__ import annotations

from typing import Any

from ..ops import gather as gathered
from ..ops import greater_equal, less, logical_and, reshape, where, zeros
from ..ops.scattering import scattered
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


@derivative("embedding")
def embedding(op: Any, step: Step) -> None:
    """Adds the cotangent of each row that was read to the row of the table."""
    rows = shape_of(op.weight)[0]
    step.give(op.weight, lambda: scattered(step.read(op.indices), step.g, rows, 0))


@derivative("gather")
def gather(op: Any, step: Step) -> None:
    """Adds the cotangent of each slice that was read to the slice of the source."""
    axis = int(op.axis.value)
    extent = shape_of(op.source)[axis]
    step.give(op.source, lambda: scattered(step.read(op.indices), step.g, extent, axis))


@derivative("segment_sum")
def segment_sum(op: Any, step: Step) -> None:
    """Returns to each slice the cotangent of its segment, or zero if its index is out of range."""
    step.give(op.operand, lambda: _of_segments(step.g, step.read(op.indices), int(op.axis.value)))


def _of_segments(g: Tensor, indices: Tensor, axis: int) -> Tensor:
    count = g.shape[axis]
    if count == 0:
        return zeros((*g.shape[:axis], indices.size, *g.shape[axis + 1 :]), g.dtype)
    has_segment = logical_and(greater_equal(indices, 0), less(indices, count))
    found = gathered(g, where(has_segment, indices, 0), axis)
    wide = reshape(has_segment, (indices.size, *(1,) * (g.ndim - axis - 1)))
    return where(wide, found, 0)
