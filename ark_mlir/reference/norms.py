"""Norms over the last dimension, their statistics and their gradient."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from .bounded import Bounded, exact
from .interpreter import Machine, handles

__all__: list[str] = []


def _mean(x: Bounded) -> Bounded:
    return x.mean((x.value.ndim - 1,))


def _scale(x: Bounded, eps: float) -> Bounded:
    """Returns the reciprocal root of the mean square of each row plus `eps`."""
    power = _mean(x * x) + exact(np.float64(eps), x)
    return power.monotone(lambda a: 1 / np.sqrt(a))


def _normalised(x: Bounded, eps: float) -> Bounded:
    return x * _scale(x, eps)


@handles("rmsnorm")
def rmsnorm(op: Any, machine: Machine) -> Bounded:
    """Interprets rmsnorm over the last dimension."""
    y = _normalised(machine.read(op.operand).bounded, op.eps.value)
    weight = machine.read_optional(op.weight)
    return y if weight is None else y * weight.bounded


@handles("layernorm")
def layernorm(op: Any, machine: Machine) -> Bounded:
    """Interprets layernorm over the last dimension."""
    x = machine.read(op.operand).bounded
    y = _normalised(x - _mean(x), op.eps.value)
    weight, bias = machine.read_optional(op.weight), machine.read_optional(op.bias)
    y = y if weight is None else y * weight.bounded
    return y if bias is None else y + bias.bounded


@handles("norm_statistics")
def norm_statistics(op: Any, machine: Machine) -> Bounded:
    """Interprets the mean and the scale of each row, or the scale alone."""
    x = machine.read(op.operand).bounded
    if not op.centred:
        return _scale(x, op.eps.value)
    mean = _mean(x)
    scale = _scale(x - mean, op.eps.value)
    value = np.concatenate([mean.value, scale.value], -1)
    if mean.error is None or scale.error is None:
        return Bounded(value)
    return Bounded(value, np.concatenate([mean.error, scale.error], -1))


@handles("norm_input_gradient")
def norm_input_gradient(op: Any, machine: Machine) -> Bounded:
    """Interprets the gradient of the operand of a norm."""
    x, slopes = machine.read(op.operand).bounded, machine.read(op.cotangent).bounded
    weight = machine.read_optional(op.weight)
    slopes = slopes if weight is None else slopes * weight.bounded
    if op.centred:
        x = x - _mean(x)
    scale = _scale(x, op.eps.value)
    unit = x * scale
    result = slopes - unit * _mean(slopes * unit)
    return scale * (result - _mean(slopes) if op.centred else result)
