"""Elementwise ATen ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import frontend as ark
from ...dtypes import DType, bool_, int32
from .table import NO_DROPOUT, Noise, Out, Unavailable, aten, unsupported
from .values import Operand, promoted, tensor, to

__all__ = ["expm1", "log1p"]

_UNARY: dict[str, Callable[..., ark.Tensor]] = {
    "abs": ark.abs,
    "cos": ark.cos,
    "erf": ark.erf,
    "exp": ark.exp,
    "log": ark.log,
    "neg": ark.neg,
    "reciprocal": ark.reciprocal,
    "relu": ark.relu,
    "rsqrt": ark.rsqrt,
    "sigmoid": ark.sigmoid,
    "silu": ark.silu,
    "sin": ark.sin,
    "sqrt": ark.sqrt,
    "tanh": ark.tanh,
}
_ARITHMETIC: dict[str, Callable[..., ark.Tensor]] = {
    "div": ark.div,
    "maximum": ark.maximum,
    "minimum": ark.minimum,
    "mul": ark.mul,
}
# The same functions of booleans.
_OF_BOOLS: dict[str, Callable[..., ark.Tensor]] = {
    "maximum": ark.logical_or,
    "minimum": ark.logical_and,
    "mul": ark.logical_and,
}
_COMPARISONS: dict[str, Callable[..., ark.Tensor]] = {
    "eq": ark.equal,
    "ge": ark.greater_equal,
    "gt": ark.greater,
    "le": ark.less_equal,
    "lt": ark.less,
    "ne": ark.not_equal,
}


def _enter_number_of_two(name: str, op: Callable[..., ark.Tensor]) -> None:
    def extreme(out: Out, a: Operand, b: Operand) -> ark.Tensor:
        """Returns the extreme of two elements, or the one that is a number beside NaN."""
        lhs, rhs = tensor(a, out.dtype), tensor(b, out.dtype)
        if out.dtype is bool_:
            return _OF_BOOLS[op.__name__](lhs, rhs)
        found = op(lhs, rhs)
        if not out.dtype.is_float:
            return found
        return ark.where(lhs != lhs, rhs, ark.where(rhs != rhs, lhs, found))

    aten(f"{name}.default")(extreme)


_enter_number_of_two("fmax", ark.maximum)
_enter_number_of_two("fmin", ark.minimum)


@aten("ldexp.Tensor")
def _ldexp(out: Out, x: Operand, exponent: Operand) -> ark.Tensor:
    return ark.mul(tensor(x, out.dtype), ark.pow(2.0, tensor(exponent, out.dtype)))


def _enter_unary(name: str, op: Callable[..., ark.Tensor]) -> None:
    def unary(out: Out, x: Operand) -> ark.Tensor:
        # torch computes such a function of integers in floats.
        return op(tensor(x, out.dtype))

    aten(f"{name}.default")(unary)


def _enter_arithmetic(name: str, op: Callable[..., ark.Tensor]) -> None:
    def binary(out: Out, a: Operand, b: Operand) -> ark.Tensor:
        if out.dtype is bool_:
            if name not in _OF_BOOLS:
                raise unsupported("arithmetic on bool")
            return _OF_BOOLS[name](tensor(a, bool_), tensor(b, bool_))
        return op(to(a, out.dtype), to(b, out.dtype))

    overloads = ("default",) if name in ("maximum", "minimum") else ("Tensor", "Scalar")
    aten(*(f"{name}.{overload}" for overload in overloads))(binary)


def _enter_comparison(name: str, op: Callable[..., ark.Tensor]) -> None:
    def compare(out: Out, a: Operand, b: Operand) -> ark.Tensor:
        dtype = promoted(a, b)
        if dtype is bool_:  # ark compares numbers
            dtype = int32
        return op(to(a, dtype), to(b, dtype))

    aten(f"{name}.Tensor", f"{name}.Scalar")(compare)


for _name, _op in _UNARY.items():
    _enter_unary(_name, _op)
for _name, _op in _ARITHMETIC.items():
    _enter_arithmetic(_name, _op)
for _name, _op in _COMPARISONS.items():
    _enter_comparison(_name, _op)


def _scaled(value: Operand, alpha: float, dtype: DType) -> Operand:
    scaled = to(value, dtype)
    return scaled if alpha == 1 else scaled * alpha


@aten("add.Tensor", "add.Scalar")
def _add(out: Out, a: Operand, b: Operand, alpha: float = 1) -> ark.Tensor:
    if out.dtype is bool_:
        return ark.logical_or(tensor(a, bool_), tensor(b, bool_))
    return ark.add(to(a, out.dtype), _scaled(b, alpha, out.dtype))


@aten("sub.Tensor", "sub.Scalar")
def _sub(out: Out, a: Operand, b: Operand, alpha: float = 1) -> ark.Tensor:
    return ark.sub(to(a, out.dtype), _scaled(b, alpha, out.dtype))


@aten("rsub.Tensor", "rsub.Scalar")
def _rsub(out: Out, a: Operand, b: Operand, alpha: float = 1) -> ark.Tensor:
    return _sub(out, b, a, alpha)


_POWERS: dict[float, Callable[[ark.Tensor], ark.Tensor]] = {
    -1: ark.reciprocal,
    -0.5: ark.rsqrt,
    0.5: ark.sqrt,
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
}


@aten("pow.Tensor_Scalar")
def _pow_number(out: Out, x: Operand, exponent: float) -> ark.Tensor:
    base = tensor(x, out.dtype)
    whole = exponent == int(exponent) and exponent > 0
    if exponent in _POWERS and (out.dtype.is_float or whole):
        return _POWERS[exponent](base)
    return ark.pow(base, float(exponent))


@aten("pow.Tensor_Tensor", "pow.Scalar")
def _pow(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    return ark.pow(to(a, out.dtype), to(b, out.dtype))


@aten("square.default")
def _square(out: Out, x: Operand) -> ark.Tensor:
    return _pow_number(out, x, 2)


@aten("alias.default", "detach.default", view=True)
def _alias(out: Out, x: Operand) -> ark.Tensor:
    return tensor(x)


@aten("clone.default", "contiguous.default", "lift_fresh_copy.default")
def _clone(out: Out, x: Operand) -> ark.Tensor:
    return tensor(x)


@aten("_to_copy.default", "to.dtype")
def _to_copy(out: Out, x: Operand, dtype: DType | None = None, copy: bool = False) -> ark.Tensor:
    return tensor(x, out.dtype)


@aten("dropout.default", "native_dropout.default")
def _dropout(out: Any, x: Operand, p: float, train: bool | None, noise: Noise | None = None) -> Any:
    result = tensor(x)
    if train and p:
        if noise is None:
            raise unsupported(NO_DROPOUT)
        result = noise.drop(result, p)
    return (result, _NO_MASK) if isinstance(out, tuple) else result


_NO_MASK = Unavailable("the mask of dropout")


@aten("isnan.default")
def _isnan(out: Out, x: Operand) -> ark.Tensor:
    value = tensor(x)
    return value != value


@aten("isinf.default")
def _isinf(out: Out, x: Operand) -> ark.Tensor:
    return ark.abs(tensor(x)) == math.inf


@aten("sign.default")
def _sign(out: Out, x: Operand) -> ark.Tensor:
    value = tensor(x)
    # Zero and NaN are unchanged.
    return ark.where(value > 0, 1, ark.where(value < 0, -1, value))


@aten("gelu.default")
def _gelu(out: Out, x: Operand, approximate: str = "none") -> ark.Tensor:
    return ark.gelu(tensor(x), approximate="tanh" if approximate == "tanh" else "none")


@aten("leaky_relu.default")
def _leaky_relu(out: Out, x: Operand, negative_slope: float = 0.01) -> ark.Tensor:
    value = tensor(x)
    return ark.where(value > 0, value, value * negative_slope)


@aten("elu.default")
def _elu(
    out: Out, x: Operand, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> ark.Tensor:
    value = tensor(x)
    # The branch that is not selected must not overflow: infinity times zero is NaN.
    curved = (ark.exp(ark.minimum(value * input_scale, 0.0)) - 1) * alpha
    return ark.where(value > 0, value, curved) * scale


@aten("softplus.default")
def _softplus(out: Out, x: Operand, beta: float = 1, threshold: float = 20) -> ark.Tensor:
    value = tensor(x)
    scaled = value * beta
    bent = (ark.maximum(scaled, 0.0) + ark.log(ark.exp(-ark.abs(scaled)) + 1)) / beta
    return ark.where(scaled > threshold, value, bent)


@aten("hardtanh.default")
def _hardtanh(out: Out, x: Operand, min_val: float = -1, max_val: float = 1) -> ark.Tensor:
    return _clamp(out, x, min_val, max_val)


@aten("clamp.default", "clamp.Tensor")
def _clamp(
    out: Out, x: Operand, min: Operand | None = None, max: Operand | None = None
) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if min is not None:
        value = ark.maximum(value, to(min, out.dtype))
    if max is not None:
        value = ark.minimum(value, to(max, out.dtype))
    return value


@aten("clamp_min.default", "clamp_min.Tensor")
def _clamp_min(out: Out, x: Operand, min: Operand) -> ark.Tensor:
    return _clamp(out, x, min)


@aten("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(out: Out, x: Operand, max: Operand) -> ark.Tensor:
    return _clamp(out, x, None, max)


@aten("exp2.default")
def _exp2(out: Out, x: Operand) -> ark.Tensor:
    return ark.exp(tensor(x, out.dtype) * math.log(2))


@aten("log2.default")
def _log2(out: Out, x: Operand) -> ark.Tensor:
    return ark.log(tensor(x, out.dtype)) * (1 / math.log(2))


@aten("log10.default")
def _log10(out: Out, x: Operand) -> ark.Tensor:
    return ark.log(tensor(x, out.dtype)) * (1 / math.log(10))


@aten("log1p.default")
def _log1p(out: Out, x: Operand) -> ark.Tensor:
    return log1p(tensor(x, out.dtype))


def log1p(value: ark.Tensor) -> ark.Tensor:
    """Returns ``log(1 + value)``."""
    # The quotient cancels the rounding of the sum: log(1 + x) alone is wrong for small x.
    total = value + 1
    precise = ark.log(total) * (value / (total - 1))
    usual = ark.logical_and(total != 1, total < math.inf)
    return ark.where(usual, precise, ark.where(total == 1, value, ark.log(total)))


@aten("expm1.default")
def _expm1(out: Out, x: Operand) -> ark.Tensor:
    return expm1(tensor(x, out.dtype))


def expm1(value: ark.Tensor) -> ark.Tensor:
    """Returns ``exp(value) - 1``."""
    # As for log1p: exp(x) - 1 alone is wrong for small x.
    power = ark.exp(value)
    precise = (power - 1) * (value / ark.log(power))
    tiny, low = power == 1, power <= 0
    usual = ark.logical_and(ark.logical_not(tiny), ark.logical_and(power > 0, power < math.inf))
    return ark.where(usual, precise, ark.where(tiny, value, ark.where(low, -1.0, power)))


@aten("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def _where(out: Out, condition: Operand, a: Operand, b: Operand) -> ark.Tensor:
    return ark.where(tensor(condition, bool_), tensor(a, out.dtype), to(b, out.dtype))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(out: Out, x: Operand, mask: Operand, value: Operand) -> ark.Tensor:
    return _where(out, mask, value, x)


def _bool(out: Out, x: Operand) -> ark.Tensor:
    if out.dtype is not bool_:
        raise unsupported("bits of integers")
    return tensor(x, bool_)


@aten("__lshift__.Scalar", "bitwise_left_shift.Tensor_Scalar")
def _left_shift(out: Out, x: Operand, count: int) -> ark.Tensor:
    bits = 8 * out.dtype.itemsize
    if not 0 <= count < bits - 1:
        raise unsupported(f"a shift of {out.dtype} by {count} bits")
    return tensor(x, out.dtype) * (1 << count)


@aten("logical_not.default", "bitwise_not.default")
def _not(out: Out, x: Operand) -> ark.Tensor:
    if out.dtype.kind == "int":
        return -1 - tensor(x, out.dtype)
    return ark.logical_not(_bool(out, x))


@aten("logical_and.default", "bitwise_and.Tensor", "bitwise_and.Scalar")
def _and(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    return ark.logical_and(_bool(out, a), _bool(out, b))


@aten("logical_or.default", "bitwise_or.Tensor", "bitwise_or.Scalar")
def _or(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    return ark.logical_or(_bool(out, a), _bool(out, b))


@aten("logical_xor.default", "bitwise_xor.Tensor", "bitwise_xor.Scalar")
def _xor(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    return ark.not_equal(ark.cast(_bool(out, a), int32), ark.cast(_bool(out, b), int32))
