"""Rules of collectives.

The loss is the sum of the losses of all ranks. Each rank calls ``ark.gradients``.
"""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedError
from ..locations import user_frames
from ..ops import all_gather, all_reduce, all_to_all, identity, reduce_scatter, zeros
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


def _check_sum(op: Any) -> None:
    if "sum" not in str(op.kind):
        raise UnsupportedError(
            "a maximum or minimum over ranks has no derivative in ark; a sum has one",
            location=str(user_frames(0)[0]),
            op="ark.gradients",
        )


@derivative("all_reduce")
def reduced(op: Any, step: Step) -> None:
    """Sums the cotangents of all ranks, since the operand affects the result of each rank."""
    if step.needs(op.operand):
        _check_sum(op)
    step.give(op.operand, lambda: all_reduce(step.g))


@derivative("all_gather")
def gathered(op: Any, step: Step) -> None:
    """Sums the cotangents of all ranks; each rank gets its part."""
    step.give(op.operand, lambda: reduce_scatter(step.g, int(op.axis.value)))


@derivative("reduce_scatter")
def scattered(op: Any, step: Step) -> None:
    """Gathers the cotangents of all parts."""
    if step.needs(op.operand):
        _check_sum(op)
    step.give(op.operand, lambda: all_gather(step.g, int(op.axis.value)))


@derivative("all_to_all")
def exchanged(op: Any, step: Step) -> None:
    """Returns each part of the cotangent to the rank that sent the part."""
    step.give(op.operand, lambda: all_to_all(step.g, int(op.axis.value)))


@derivative("broadcast")
def broadcast(op: Any, step: Step) -> None:
    """Sums the cotangents of all ranks at the root; other ranks get zeros."""

    def at_root() -> Tensor:
        total = all_reduce(step.g)
        if step.program.rank == int(op.root.value):
            return total
        # Every rank takes part in the sum, also where the result is not read.
        return identity(zeros(total.shape, total.dtype), deps=[total])

    step.give(op.operand, at_root)
