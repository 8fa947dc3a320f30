"""Ops that read by index, and update."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .bounded import Array, Bounded
from .interpreter import Machine, handles
from .values import Value, fail, integer_sum

__all__: list[str] = []

_DYNAMIC = -(2**63)


def _checked(op: Any, indices: Value, extent: int) -> Array:
    if indices.error is not None and (indices.error > 0).any():
        raise fail(op, "an index depends on rounding, so the result has no bound")
    outside = (indices.data < 0) | (indices.data >= extent)
    if outside.any():
        raise fail(op, f"index {indices.data[outside].flat[0]} is out of range [0, {extent})")
    return indices.data


@handles("embedding")
def embedding(op: Any, machine: Machine) -> Value:
    """Returns rows of a table."""
    table = machine.read(op.weight)
    rows = _checked(op, machine.read(op.indices), table.shape[0])
    return table.view(lambda a: a[rows])


@handles("gather")
def gather(op: Any, machine: Machine) -> Value:
    """Interprets gather as ``numpy.take``; an index out of range is an error."""
    source, axis = machine.read(op.source), op.axis.value
    indices = _checked(op, machine.read(op.indices), source.shape[axis])
    return source.view(lambda a: np.take(a, indices, axis))


@handles("segment_sum")
def segment_sum(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets the sums of segments; integers wrap, and indices out of range have no effect."""
    x, (inside, indices) = machine.read(op.operand), _members(op, machine)
    axis, segments = op.axis.value, op.segments.value

    def total(a: Array) -> Array:
        moved = np.moveaxis(a, axis, 0)[inside]
        sums = np.zeros((segments, *moved.shape[1:]), a.dtype)
        np.add.at(sums, indices, moved)
        return np.moveaxis(sums, 0, axis)

    if x.dtype.is_float:
        return x.bounded.sum_by(total, terms=int(np.bincount(indices).max(initial=0)))
    return integer_sum(x, total)


def _members(op: Any, machine: Machine) -> tuple[Array, Array]:
    """Returns which slices belong to a segment, and the segments of those slices."""
    named = machine.read(op.indices)
    if named.error is not None and (named.error > 0).any():
        raise fail(op, "an index depends on rounding, so the result has no bound")
    inside = (named.data >= 0) & (named.data < op.segments.value)
    return inside, named.data[inside]


@handles("segment_max")
def segment_max(op: Any, machine: Machine) -> Value:
    """Interprets the maxima of segments; a segment without a slice is the least value."""
    x, (inside, indices) = machine.read(op.operand), _members(op, machine)
    axis, segments = op.axis.value, op.segments.value

    def largest(a: Array, least: Any) -> Array:
        moved = np.moveaxis(a, axis, 0)[inside]
        found = np.full((segments, *moved.shape[1:]), least, a.dtype)
        np.maximum.at(found, indices, moved)
        return np.moveaxis(found, 0, axis)

    least = -np.inf if x.dtype.is_float else x.dtype.integer_range[0]
    return x.with_data(largest(x.data, least), None if x.error is None else largest(x.error, 0))


@handles("update")
def update(op: Any, machine: Machine) -> Value:
    """Returns a copy of the state with a new slice, which the machine records as the state."""
    state, value = machine.read(op.state), machine.read(op.value)
    dynamic = iter([np.asarray(machine.read(offset).data) for offset in op.offsets])
    offsets = [
        next(dynamic) if offset == _DYNAMIC else np.array(offset) for offset in op.static_offsets
    ]
    if all(offset.ndim == 0 for offset in offsets):
        return _update(op, state, value, [int(offset) for offset in offsets])
    # Each sequence has its own offsets.
    for sequence in range(value.shape[0]):
        own = [int(offset[sequence] if offset.ndim else offset) for offset in offsets]
        if not offsets[0].ndim:  # otherwise the offset is the row of the sequence
            own[0] += sequence
        error = None if value.error is None else value.error[sequence : sequence + 1]
        part = replace(value, data=value.data[sequence : sequence + 1], error=error)
        state = _update(op, state, part, own, f" of sequence {sequence}")
    return state


def _update(op: Any, state: Value, value: Value, offsets: list[int], owner: str = "") -> Value:
    for axis, (offset, extent) in enumerate(zip(offsets, value.shape, strict=True)):
        if not 0 <= offset <= state.shape[axis] - extent:
            raise fail(
                op,
                f"a slice of extent {extent}{owner} at offset {offset} does not fit into dimension "
                f"{axis} of extent {state.shape[axis]}",
            )
    index = tuple(slice(o, o + e) for o, e in zip(offsets, value.shape, strict=True))
    error = None
    if state.error is not None and value.error is not None:
        error = _written(state.error, index, value.error)
    return replace(state, data=_written(state.data, index, value.data), error=error)


def _written(target: Array, index: tuple[slice, ...], value: Array) -> Array:
    result = np.array(target)
    result[index] = value
    return result
