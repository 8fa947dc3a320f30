"""Constants and views."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from .elements import to_array
from .interpreter import Machine, handles
from .values import Value, result_type

__all__: list[str] = []


@handles("constant")
def constant(op: Any, machine: Machine) -> Value:
    """Returns the attribute's elements."""
    dtype = result_type(op)[1]
    bits = to_array(op.value)
    data = bits.astype(np.float64) if dtype.is_float else bits
    return Value(data, dtype, np.zeros(data.shape) if machine.bound else None, bits=bits)


@handles("reshape")
def reshape(op: Any, machine: Machine) -> Value:
    """Interprets reshape."""
    shape = result_type(op)[0]
    return machine.read(op.source).view(lambda a: a.reshape(shape))


@handles("transpose")
def transpose(op: Any, machine: Machine) -> Value:
    """Interprets transpose."""
    permutation = list(op.permutation)
    return machine.read(op.source).view(lambda a: a.transpose(permutation))


@handles("slice")
def slice_(op: Any, machine: Machine) -> Value:
    """Interprets slice."""
    bounds = zip(op.starts, op.stops, op.steps, strict=True)
    index = tuple(slice(*bound) for bound in bounds)
    return machine.read(op.source).view(lambda a: a[index])


@handles("windows")
def windows(op: Any, machine: Machine) -> Value:
    """Returns the sliding windows over the last dimensions, their elements before the windows."""
    shape, spatial = result_type(op)[0], len(op.sizes)
    elements, counts = shape[-2 * spatial : -spatial], shape[-spatial:]
    positions = np.indices((*elements, *counts), sparse=True)
    index = tuple(
        positions[axis] * int(dilation) + positions[axis + spatial] * int(stride)
        for axis, (stride, dilation) in enumerate(zip(op.strides, op.dilations, strict=True))
    )
    return machine.read(op.operand).view(lambda a: a[(..., *index)])


@handles("broadcast_to")
def broadcast_to(op: Any, machine: Machine) -> Value:
    """Broadcasts as numpy does."""
    shape = result_type(op)[0]
    return machine.read(op.source).view(lambda a: np.broadcast_to(a, shape))


@handles("bitcast")
def bitcast(op: Any, machine: Machine) -> Value:
    """Reinterprets bytes as numpy does; the error is infinite if the operand has an error."""
    shape, dtype = result_type(op)
    source = machine.read(op.source)
    held = source.data.astype(source.dtype.numpy) if source.bits is None else source.bits
    bits = np.array(held, order="C").view(dtype.numpy).reshape(shape)
    data = bits.astype(np.float64) if dtype.is_float else bits
    if source.error is None:
        return Value(data, dtype, bits=bits)
    doubt = np.array(source.error > 0, order="C")
    if source.dtype.itemsize != dtype.itemsize:
        doubt = np.repeat(doubt, source.dtype.itemsize, -1)
        doubt = doubt.reshape(*shape, dtype.itemsize).any(-1)
    return Value(data, dtype, np.where(doubt, np.inf, 0.0), bits=bits)


@handles("noop")
def noop(op: Any, machine: Machine) -> Value:
    """Returns the operand: the interpreter computes all ops."""
    return machine.read(op.source)


@handles("identity")
def identity(op: Any, machine: Machine) -> Value:
    """Returns the operand: the program order meets all dependences."""
    return machine.read(op.source)


@handles("concat")
def concat(op: Any, machine: Machine) -> Value:
    """Interprets concat along one axis."""
    values = [machine.read(value) for value in op.inputs]
    axis = op.axis.value
    data = np.concatenate([v.data for v in values], axis)
    errors = [v.error for v in values if v.error is not None]
    return values[0].with_data(data, np.concatenate(errors, axis) if errors else None)
