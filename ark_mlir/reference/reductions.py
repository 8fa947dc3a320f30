"""Reductions and softmax."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, int32, int64
from .bounded import Array, Bounded, exact
from .interpreter import Machine, handles
from .values import Value, integer_sum, result_type

__all__ = ["softmax"]


def _axes(op: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in op.axes)


@handles("reduce_sum", "reduce_mean")
def total(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets sum and mean; integers wrap."""
    x = machine.read(op.operand)
    shape, axes = result_type(op)[0], _axes(op)
    if x.dtype.is_float:
        mean = op.operation.name == "ark.reduce_mean"
        result = x.bounded.mean(axes) if mean else x.bounded.sum(axes)
        return result.view(lambda a: a.reshape(shape))
    return integer_sum(x, lambda a: a.sum(axes, dtype=a.dtype).reshape(shape))


def _any(error: Array | None, axes: tuple[int, ...], shape: tuple[int, ...]) -> Array | None:
    if error is None:
        return None
    return np.where((error > 0).any(axis=axes), np.inf, 0.0).reshape(shape)


@handles("reduce_max", "reduce_min")
def extremum(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets the maximum and minimum: NaN if an element is NaN. The maximum of an empty
    dimension is the least value of the dtype, the minimum the greatest."""
    x = machine.read(op.operand)
    shape, axes = result_type(op)[0], _axes(op)
    largest = op.operation.name == "ark.reduce_max"
    function = np.max if largest else np.min
    if not x.data.size:
        return _filled(x.dtype, shape, largest, machine)
    data = function(x.data, axis=axes).reshape(shape)
    error = None if x.error is None else x.error.max(axis=axes).reshape(shape)
    return x.with_data(data, error)


def _filled(dtype: DType, shape: tuple[int, ...], largest: bool, machine: Machine) -> Value:
    if dtype.is_float:
        data = np.full(shape, -np.inf if largest else np.inf)
    else:
        data = np.full(shape, dtype.integer_range[0 if largest else 1], dtype.numpy)
    return Value(data, dtype, np.zeros(shape) if machine.bound else None)


@handles("argmax")
def argmax(op: Any, machine: Machine) -> Value:
    """Returns the index of the first maximum; its error is infinite if another element may be
    larger within the errors."""
    x = machine.read(op.operand)
    axis = op.axis.value
    data = np.asarray(np.argmax(x.data, axis=axis), np.int32)
    if x.error is None:
        return Value(data, int32)
    index = np.expand_dims(data.astype(np.int64), axis)
    least = np.take_along_axis(x.data - x.error, index, axis)
    rivals = (x.data + x.error >= least).sum(axis=axis)
    blurred = np.take_along_axis(x.error, index, axis).squeeze(axis) > 0
    return Value(data, int32, np.where(blurred & (rivals > 1), np.inf, 0.0))


@handles("partial_argmax")
def partial_argmax(op: Any, machine: Machine) -> Value:
    """Returns maximum and index of each partition, packed into an integer that orders by both."""
    x = machine.read(op.operand)
    axis = op.axis.value
    partitions, extent = x.shape[axis - 1 : axis + 1]
    shape = [1] * (x.data.ndim - 1)
    shape[axis - 1] = partitions
    within = np.argmax(x.data, axis=axis, keepdims=True)
    best = np.take_along_axis(x.data, within, axis).squeeze(axis)
    index = within.squeeze(axis) + extent * np.arange(partitions).reshape(shape)
    order = _order(best) if x.dtype.is_float else best.astype(np.int64)
    if x.dtype.is_integer and x.dtype.integer_range[1] > np.iinfo(np.int32).max:
        order = order + np.iinfo(np.int32).min
    packed = (order << 32) | (~index & 0xFFFFFFFF)
    doubt = None if x.error is None else np.where((x.error > 0).any(axis=axis), np.inf, 0.0)
    return Value(packed, int64, doubt)


def _order(values: Array) -> Array:
    """Maps fp32 to 32-bit integers in the same order; NaN is the largest, and zeros are equal."""
    bits = (values.astype(np.float32) + np.float32(0)).view(np.int32)
    most = np.iinfo(np.int32).max
    return np.where(np.isnan(values), most, np.where(bits < 0, bits ^ most, bits)).astype(np.int64)


@handles("combine_argmax")
def combine_argmax(op: Any, machine: Machine) -> Value:
    """Returns the index in the largest packed integer."""
    x = machine.read(op.operand)
    axis = op.axis.value
    index = (~x.data.max(axis=axis) & 0xFFFFFFFF).astype(np.int32)
    return Value(index, int32, _any(x.error, (axis,), index.shape))


def softmax(x: Bounded, axis: int) -> Bounded:
    """Returns ``exp(x - max) / sum``; an error of ``max`` has no effect on the result."""
    shift = exact(np.max(x.value, axis=axis, keepdims=True, initial=-np.inf), x)
    weights = (x - shift).monotone(np.exp)
    return weights / weights.sum((axis,))


@handles("softmax")
def softmax_op(op: Any, machine: Machine) -> Bounded:
    """Interprets softmax along one axis."""
    return softmax(machine.read(op.operand).bounded, op.axis.value)
