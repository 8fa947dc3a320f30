"""Rules of ops that read by index: the cotangent is added to the rows that were read."""

from __future__ import annotations

from typing import Any

from ..ops import gather as gathered
from ..ops.scattering import scattered
from ..program import shape_of
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
    """Returns to each slice the cotangent of its segment.

    An index out of range is an error of the run, although the op itself ignores it: the frontend
    checks the indices of every sum that a user can write.
    """
    step.give(op.operand, lambda: gathered(step.g, step.read(op.indices), int(op.axis.value)))
