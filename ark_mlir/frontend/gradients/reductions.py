"""Rules of reductions and softmax, which compute in fp32 or wider."""

from __future__ import annotations

import math
from typing import Any

from ..ops import broadcast_to, cast, div, equal, reduce_sum, reshape
from ..ops.conversions import wide
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


def _axes(op: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in op.axes)


def _kept(op: Any) -> tuple[int, ...]:
    """Returns the shape of the result with the reduced dimensions, of extent one."""
    axes = _axes(op)
    return tuple(1 if i in axes else e for i, e in enumerate(shape_of(op.operand)))


@derivative("reduce_sum")
def total(op: Any, step: Step) -> None:
    """Repeats the cotangent along the reduced dimensions."""
    shape = shape_of(op.operand)
    step.give(op.operand, lambda: broadcast_to(reshape(step.g, _kept(op)), shape))


@derivative("reduce_mean")
def mean(op: Any, step: Step) -> None:
    """Repeats the cotangent, divided by the number of elements."""
    shape = shape_of(op.operand)
    count = math.prod(shape[axis] for axis in _axes(op))
    step.give(
        op.operand,
        lambda: broadcast_to(reshape(wide(step.g) * (1 / max(count, 1)), _kept(op)), shape),
    )


@derivative("reduce_max", "reduce_min")
def extremum(op: Any, step: Step) -> None:
    """Divides the cotangent evenly among the elements that are equal to the extremum."""

    def shared() -> Tensor:
        taken = cast(equal(step.read(op.operand), reshape(step.y, _kept(op))), wide(step.g).dtype)
        return taken * div(reshape(wide(step.g), _kept(op)), reduce_sum(taken, _axes(op)))

    step.give(op.operand, shared)


@derivative("softmax")
def softmax(op: Any, step: Step) -> None:
    """Returns ``y * (g - sum(g * y))``."""
    axis = int(op.axis.value)

    def moved() -> Tensor:
        g, y = wide(step.g), wide(step.y)
        return y * (g - reduce_sum(g * y, axis))

    step.give(op.operand, moved)
