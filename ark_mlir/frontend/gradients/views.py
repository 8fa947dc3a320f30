"""Rules of views, ``windows`` and ``concat``."""

from __future__ import annotations

import builtins
import functools
import itertools
from typing import Any

from ..ops import add, reshape, slice, transpose
from ..ops.composed import surrounded
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


@derivative("reshape")
def reshaped(op: Any, step: Step) -> None:
    """Reshapes the cotangent."""
    step.give(op.source, lambda: reshape(step.g, shape_of(op.source)))


@derivative("transpose")
def transposed(op: Any, step: Step) -> None:
    """Transposes by the inverse permutation."""
    order = [int(axis) for axis in op.permutation]
    inverse = tuple(order.index(axis) for axis in range(len(order)))
    step.give(op.source, lambda: transpose(step.g, inverse))


@derivative("broadcast_to", "identity")
def passed(op: Any, step: Step) -> None:
    """Passes the cotangent; ``give`` sums it over dimensions that were broadcast."""
    step.give(op.source, lambda: step.g)


@derivative("slice")
def part(op: Any, step: Step) -> None:
    """Surrounds the cotangent with zeros."""

    def padded() -> Tensor:
        g = step.g
        bounds = zip(op.starts, op.stops, op.steps, shape_of(op.source), strict=True)
        for axis, (start, stop, stride, extent) in enumerate(bounds):
            g = _spread(g, axis, int(stride), int(stop) - int(start))
            g = surrounded(g, axis, int(start), extent - int(stop))
        return g

    step.give(op.source, padded)


def _spread(g: Tensor, axis: int, stride: int, length: int) -> Tensor:
    """Puts ``stride - 1`` zeros behind each element, and cuts or fills the axis to `length`."""
    if stride == 1:
        return g
    shape = g.shape
    g = reshape(g, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    g = surrounded(g, axis + 1, 0, stride - 1)
    g = reshape(g, (*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]))
    if g.shape[axis] <= length:
        return surrounded(g, axis, 0, length - g.shape[axis])
    stops = list(g.shape)
    stops[axis] = length
    return slice(g, [0] * g.ndim, stops)


@derivative("windows")
def windows(op: Any, step: Step) -> None:
    """Adds each element's cotangents at the positions that the windows read."""
    shape = shape_of(op.operand)
    lead = len(shape) - len(op.sizes)
    axes = [
        (lead + axis, int(size), int(stride), int(dilation))
        for axis, (size, stride, dilation) in enumerate(
            zip(op.sizes, op.strides, op.dilations, strict=True)
        )
    ]

    def placed(element: tuple[int, ...]) -> Tensor:
        """Returns the cotangents of one element of all windows, at their positions."""
        part = step.g[(*(builtins.slice(None),) * lead, *element)]
        for position, (axis, _, stride, dilation) in zip(element, axes, strict=True):
            begin, length = position * dilation, stride * (part.shape[axis] - 1) + 1
            part = _spread(part, axis, stride, length)
            part = surrounded(part, axis, begin, shape[axis] - begin - length)
        return part

    def added() -> Tensor:
        elements = itertools.product(*(range(size) for _, size, _, _ in axes))
        return functools.reduce(add, map(placed, elements))

    step.give(op.operand, added)


@derivative("concat")
def joined(op: Any, step: Step) -> None:
    """Gives each operand its part of the cotangent."""
    axis = int(op.axis.value)
    inputs = list(op.inputs)
    ends = itertools.accumulate((shape_of(value)[axis] for value in inputs), initial=0)
    for value, (begin, end) in zip(inputs, itertools.pairwise(ends), strict=True):
        starts, stops = [0] * step.g.ndim, list(step.g.shape)
        starts[axis], stops[axis] = begin, end
        step.give(value, lambda starts=starts, stops=stops: slice(step.g, starts, stops))
