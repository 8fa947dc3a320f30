"""Elementwise ops."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType
from .bounded import Array, Bounded
from .interpreter import Machine, handles
from .values import Value, result_type, uncertain

__all__: list[str] = []

# ---------------------------------------------------------------- floats

# erf at multiples of 1/64 up to 6; beyond, it is 1 in float64.
_ERF_STEP = 1 / 64
_ERF = np.array([math.erf(i * _ERF_STEP) for i in range(6 * 64 + 1)])
# Three-point Gauss-Legendre on [0, 1]: over half a step its error is below 1e-18.
_NODES = 0.5 + np.sqrt(0.6) / 2 * np.array([-1.0, 0.0, 1.0])
_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18


def erf(x: Array) -> Array:
    """Returns the error function, which numpy lacks, with an error of about 1e-16.

    The function adds the integral from the nearest point of a table to the value at that point.
    """
    size = np.minimum(np.abs(x), 6.0)
    index = np.rint(np.nan_to_num(size) / _ERF_STEP).astype(np.int64)
    start = index * _ERF_STEP
    rest = size - start
    slope = sum(
        w * np.exp(-((start + u * rest) ** 2)) for u, w in zip(_NODES, _WEIGHTS, strict=True)
    )
    return np.copysign(_ERF[index] + rest * slope * (2 / math.sqrt(math.pi)), x)


def sigmoid(x: Array) -> Array:
    """Returns ``1 / (1 + exp(-x))`` without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def silu(x: Array) -> Array:
    """Returns ``x * sigmoid(x)``, with its limit at minus infinity."""
    return np.where(np.isneginf(x), 0.0, x * sigmoid(x))


def gelu_exact(x: Array) -> Array:
    """Returns ``x * Phi(x)``, with its limit at minus infinity."""
    return np.where(np.isneginf(x), 0.0, 0.5 * x * (1 + erf(x / math.sqrt(2))))


def gelu_tanh(x: Array) -> Array:
    """Returns the tanh approximation, ``x * sigmoid(2 y)`` with ``y`` the argument of tanh."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return np.where(np.isneginf(x), 0.0, x * sigmoid(2 * inner))


Function = Callable[[Array], Array]

_MONOTONE: dict[str, Function] = {
    "ark.exp": np.exp,
    "ark.log": np.log,
    "ark.sqrt": np.sqrt,
    "ark.tanh": np.tanh,
    "ark.erf": erf,
    "ark.sigmoid": sigmoid,
}


@handles("exp", "log", "sqrt", "tanh", "erf", "sigmoid")
def monotone(op: Any, machine: Machine) -> Bounded:
    """Interprets monotone functions."""
    return machine.read(op.operand).bounded.monotone(_MONOTONE[op.operation.name])


@handles("rsqrt", "reciprocal")
def inverse(op: Any, machine: Machine) -> Bounded:
    """Interprets functions with a pole at zero; no bound if the operand may be zero."""
    function: Function = {
        "ark.rsqrt": lambda a: 1 / np.sqrt(a),
        "ark.reciprocal": lambda a: 1 / a,
    }[op.operation.name]
    x = machine.read(op.operand).bounded
    result = x.monotone(function)
    if result.error is None:
        return result
    crosses = (np.abs(x.value) <= x.slack) & (x.slack > 0)
    return Bounded(result.value, np.where(crosses, np.inf, result.error))


@handles("sin", "cos")
def periodic(op: Any, machine: Machine) -> Bounded:
    """Interprets sine and cosine: the Lipschitz constant is 1, the error at most 2."""
    function = {"ark.sin": np.sin, "ark.cos": np.cos}[op.operation.name]
    result = machine.read(op.operand).bounded.lipschitz(function, 1.0)
    if result.error is None:
        return result
    return Bounded(result.value, np.minimum(result.error, 2.0))


# The smallest normal number of f32. The sigmoid of a number below -87 may be less.
_LEAST_NORMAL, _LEAST_EXPONENT = 2.0**-126, 87.0


# The Lipschitz constants of silu and gelu below are their largest slopes, rounded up.
@handles("silu")
def silu_op(op: Any, machine: Machine) -> Bounded:
    """Interprets silu, whose slope is below 1.1."""
    x = machine.read(op.operand).bounded
    result = x.lipschitz(silu, 1.1)
    if result.error is None:
        return result
    # Devices may round a sigmoid below the normal numbers to zero, and multiply it by x.
    flushed = np.where(np.isfinite(x.value) & (x.value < -_LEAST_EXPONENT), np.abs(x.value), 0.0)
    return Bounded(result.value, result.error + _LEAST_NORMAL * flushed)


@handles("gelu")
def gelu(op: Any, machine: Machine) -> Bounded:
    """Interprets both forms of gelu, whose slope is below 1.13."""
    x = machine.read(op.operand).bounded
    exact = "none" in str(op.approximate)
    result = x.lipschitz(gelu_exact if exact else gelu_tanh, 1.13)
    if result.error is None:
        return result
    # 1 + tanh(y) and 1 + erf(y) cancel for negative x, which leaves an absolute error of u. The
    # limit at minus infinity is exact.
    cancelled = np.where(np.isfinite(x.value) & (x.value < 0), np.abs(x.value), 0.0)
    return Bounded(result.value, result.error + 2.0**-23 * cancelled)


# ---------------------------------------------------------------- numbers and bool


@handles("copy")
def copy(op: Any, machine: Machine) -> Value:
    """Returns a copy of the operand."""
    return machine.read(op.operand).view(np.copy)


@handles("logical_not")
def logical_not(op: Any, machine: Machine) -> Value:
    """Interprets logical_not on bools."""
    x = machine.read(op.operand)
    return x.with_data(np.logical_not(x.data), x.error)


@handles("abs", "neg", "relu")
def sign(op: Any, machine: Machine) -> Value:
    """Interprets abs, neg and relu, which are exact; integers wrap."""
    x = machine.read(op.operand)
    function: Function = {
        "ark.abs": np.abs,
        "ark.neg": np.negative,
        "ark.relu": lambda a: np.maximum(a, a.dtype.type(0)),
    }[op.operation.name]
    return x.with_data(np.asarray(function(x.data)), x.error)


_ARITHMETIC: dict[str, Callable[[Bounded, Bounded], Bounded]] = {
    "ark.add": lambda a, b: a + b,
    "ark.sub": lambda a, b: a - b,
    "ark.mul": lambda a, b: a * b,
    "ark.div": lambda a, b: a / b,
}


@handles("add", "sub", "mul", "div")
def arithmetic(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets arithmetic: floats with their errors, integers that wrap."""
    a, b = machine.read(op.lhs), machine.read(op.rhs)
    name = op.operation.name
    if a.dtype.is_float:
        return _ARITHMETIC[name](a.bounded, b.bounded)
    function = {
        "ark.add": np.add, "ark.sub": np.subtract, "ark.mul": np.multiply, "ark.div": truncated
    }[name]  # fmt: skip
    data = np.asarray(function(a.data, b.data))
    return a.with_data(data, uncertain((a, b), data.shape))


def truncated(a: Array, b: Array) -> Array:
    """Returns integer quotients, truncated toward zero; the quotient by zero is zero."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    # The quotient of the least integer by -1 wraps; numpy reports an overflow.
    negated = (divisor == -1) if np.issubdtype(b.dtype, np.signedinteger) else np.False_
    divisor = np.where(negated, b.dtype.type(1), divisor)
    quotient = np.floor_divide(a, divisor)
    remainder = a - quotient * divisor
    quotient = quotient + ((remainder != 0) & ((a < 0) != (divisor < 0))).astype(a.dtype)
    quotient = np.where(negated, np.negative(a), quotient)
    return np.where(b == 0, a.dtype.type(0), quotient)


@handles("maximum", "minimum")
def extremum(op: Any, machine: Machine) -> Value:
    """Interprets maximum and minimum: NaN if an operand is; the error is the larger one."""
    a, b = machine.read(op.lhs), machine.read(op.rhs)
    function = np.maximum if op.operation.name == "ark.maximum" else np.minimum
    data = np.asarray(function(a.data, b.data))
    if a.error is None or b.error is None:
        return a.with_data(data, None)
    return a.with_data(data, np.maximum(a.error, b.error))


@handles("pow")
def power(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets pow; floats have the bound of ``exp(b log a)``, integers are exact."""
    base, exponent = machine.read(op.lhs), machine.read(op.rhs)
    if not base.dtype.is_float:
        data = _integer_power(*np.broadcast_arrays(base.data, exponent.data))
        return base.with_data(data, uncertain((base, exponent), data.shape))
    a, b = machine.read(op.lhs).bounded, machine.read(op.rhs).bounded
    value = np.power(a.value, b.value)

    def error() -> Array:
        logs = a.monotone(np.log)
        exponent = logs * b
        relative = np.expm1(exponent.slack + 8 * 2.0**-24 * np.abs(exponent.value))
        exact_operands = (a.slack == 0) & (b.slack == 0)
        rounding = 16 * 2.0**-24 * (1 + np.abs(np.log(np.abs(a.value)) * b.value))
        rounding = np.where(value == 0, 0, rounding)
        return np.abs(value) * np.where(exact_operands, rounding, relative)

    return a.result(value, error, b)


def _integer_power(base: Array, exponent: Array) -> Array:
    """Returns integer powers, which wrap; a negative exponent gives ``1 / a**|b|`` truncated."""
    negative = exponent < 0
    unit = (base == 1) | (base == -1) if base.dtype.kind == "i" else base == 1
    rest = np.where(negative, exponent % 2, exponent).astype(base.dtype)  # used for 1 and -1 only
    result = np.power(base, rest)
    return np.where(negative & ~unit, 0, result).astype(base.dtype)


@handles("logical_and", "logical_or")
def logical(op: Any, machine: Machine) -> Value:
    """Interprets logical_and and logical_or on bools."""
    a, b = machine.read(op.lhs), machine.read(op.rhs)
    function = np.logical_and if op.operation.name == "ark.logical_and" else np.logical_or
    data = np.asarray(function(a.data, b.data))
    return a.with_data(data, uncertain((a, b), data.shape))


_PREDICATES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@handles("compare")
def compare(op: Any, machine: Machine) -> Value:
    """Interprets comparisons; the error is infinite if operands are closer than their errors."""
    from ..dtypes import bool_

    a, b = machine.read(op.lhs), machine.read(op.rhs)
    predicate = _PREDICATES[_word(op.predicate)]
    data = np.asarray(predicate(a.data, b.data))
    if a.error is None or b.error is None:
        return Value(data, bool_)
    if op.lhs == op.rhs:  # both sides have the same error
        return Value(data, bool_, np.zeros(data.shape))
    spread = a.error + b.error
    distance = np.abs(a.data.astype(np.float64) - b.data.astype(np.float64))
    return Value(data, bool_, np.where((spread > 0) & (distance <= spread), np.inf, 0.0))


def _word(attribute: Any) -> str:
    """Returns the value of an enum attribute, such as ``lt`` of ``#ark<predicate lt>``."""
    return str(attribute).removesuffix(">").replace("<", " ").split()[-1]


@handles("where")
def where(op: Any, machine: Machine) -> Value:
    """Interprets where; if the condition has an error, that of the result includes the distance of
    both values."""
    condition = machine.read(op.condition)
    a, b = machine.read(op.lhs), machine.read(op.rhs)
    data = np.where(condition.data, a.data, b.data)
    if a.error is None or b.error is None or condition.error is None:
        return a.with_data(data, None)
    error = np.where(condition.data, a.error, b.error)
    distance = np.abs(a.data.astype(np.float64) - b.data.astype(np.float64)) + a.error + b.error
    return a.with_data(data, np.where(condition.error > 0, distance, error))


# ---------------------------------------------------------------- conversion


@handles("cast")
def cast(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets cast; a conversion to a float type does not round, since values are float64."""
    x = machine.read(op.operand)
    dtype = result_type(op)[1]
    if dtype.is_float:
        return Bounded(x.data.astype(np.float64), x.error)
    if dtype.kind == "bool":
        data = x.data != 0
        doubt = None if x.error is None else (np.abs(x.data.astype(np.float64)) <= x.error)
    elif x.dtype.is_float:
        data = to_integer(x.data, dtype)
        doubt = None if x.error is None else _crosses(x, dtype)
    else:
        data = x.data.astype(dtype.numpy)
        if x.dtype.kind == "bool" and x.error is not None:
            return Value(data, dtype, np.minimum(x.error, 1))
        return Value(data, dtype, x.error)
    error = None
    if x.error is not None and doubt is not None:
        error = np.where(doubt & (x.error > 0), np.inf, 0.0)
    return Value(data, dtype, error)


def to_integer(data: Array, dtype: DType) -> Array:
    """Converts floats to integers: truncates toward zero and saturates; NaN becomes zero."""
    low, high = dtype.integer_range
    whole = np.trunc(np.nan_to_num(data, nan=0.0, posinf=np.inf, neginf=-np.inf))
    # float64 cannot represent 2**63 - 1, so that larger values need a separate case.
    inside = (whole > float(low)) & (whole < float(high))
    result = np.where(inside, whole, 0).astype(dtype.numpy)
    result = np.where(whole >= float(high), dtype.numpy.type(high), result)
    return np.where(whole <= float(low), dtype.numpy.type(low), result)


def _crosses(x: Value, dtype: DType) -> Array:
    assert x.error is not None
    ends = (to_integer(x.data - x.error, dtype), to_integer(x.data + x.error, dtype))
    return np.asarray(ends[0] != ends[1])
