"""ATen's trigonometric and hyperbolic functions, composed of ops of ark, in fp32 or wider."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ... import frontend as ark
from ...dtypes import bf16, fp32, int32
from .elementwise import expm1, log1p
from .table import Out, aten
from .values import Operand, tensor, wide

# Number of terms of the series of the arc tangent up to tan(pi / 8), where the next term is below
# half of the last digit of fp32.
_TERMS = 10
# From here on, x squared overflows; the logarithm of 2x is exact before.
_LARGE = 1e15


def _enter(name: str, op: Callable[[ark.Tensor], ark.Tensor]) -> None:
    def handler(out: Out, x: Operand) -> ark.Tensor:
        # torch computes such a function of integers in floats.
        return tensor(op(wide(tensor(x, out.dtype))), out.dtype)

    aten(f"{name}.default")(handler)


def _is_negative(x: ark.Tensor) -> ark.Tensor:
    """Returns True for elements with a sign bit, as -0.0 has."""
    return ark.bitcast(ark.cast(x, fp32), int32) < 0


def _signed(x: ark.Tensor, sign: ark.Tensor) -> ark.Tensor:
    """Returns `x`, which is not negative, with the sign of `sign`."""
    return ark.where(_is_negative(sign), -x, x)


def _atan_of_positive(x: ark.Tensor) -> ark.Tensor:
    """Reduces an element to at most tan(pi / 8), and sums the series of the arc tangent."""
    steep = x > 1
    low = ark.where(steep, 1 / x, x)
    middle = low > math.tan(math.pi / 8)
    low = ark.where(middle, (low - 1) / (low + 1), low)
    square = low * low
    total = ark.full((), 0.0, x.dtype)
    for term in reversed(range(_TERMS)):
        total = total * square + (-1) ** term / (2 * term + 1)
    angle = total * low
    angle = ark.where(middle, angle + math.pi / 4, angle)
    return ark.where(steep, math.pi / 2 - angle, angle)


def _atan(x: ark.Tensor) -> ark.Tensor:
    return _signed(_atan_of_positive(ark.abs(x)), x)


def _asin(x: ark.Tensor) -> ark.Tensor:
    return _signed(_atan_of_positive(ark.abs(x) / ark.sqrt((1 - x) * (1 + x))), x)


def _acos(x: ark.Tensor) -> ark.Tensor:
    angle = _atan_of_positive(ark.sqrt((1 - x) * (1 + x)) / ark.abs(x))
    return ark.where(x < 0, math.pi - angle, angle)


def _sinh(x: ark.Tensor) -> ark.Tensor:
    size = ark.abs(x)
    small = expm1(ark.minimum(size, 1.0))
    near = (small + small / (small + 1)) / 2
    root = ark.exp(size / 2)  # exp(size) alone overflows before the result does
    return _signed(ark.where(size < 1, near, root / 2 * root - 0.5 / root / root), x)


def _cosh(x: ark.Tensor) -> ark.Tensor:
    root = ark.exp(ark.abs(x) / 2)
    return root / 2 * root + 0.5 / root / root


def _asinh(x: ark.Tensor) -> ark.Tensor:
    size = ark.abs(x)
    bounded = ark.minimum(size, _LARGE)
    square = bounded * bounded
    near = log1p(bounded + square / (1 + ark.sqrt(1 + square)))
    return _signed(ark.where(size < _LARGE, near, ark.log(size) + math.log(2)), x)


def _acosh(x: ark.Tensor) -> ark.Tensor:
    beyond = ark.minimum(x, _LARGE) - 1
    near = log1p(beyond + ark.sqrt(2 * beyond + beyond * beyond))
    return ark.where(x < _LARGE, near, ark.log(x) + math.log(2))


def _atanh(x: ark.Tensor) -> ark.Tensor:
    size = ark.abs(x)
    return _signed(log1p(2 * size / (1 - size)) / 2, x)


_enter("tan", lambda x: ark.sin(x) / ark.cos(x))
_enter("atan", _atan)
_enter("asin", _asin)
_enter("acos", _acos)
_enter("sinh", _sinh)
_enter("cosh", _cosh)
_enter("asinh", _asinh)
_enter("acosh", _acosh)
_enter("atanh", _atanh)


# Coefficients of a polynomial whose relative error is below 1.2e-7 for all arguments (Press et al.,
# Numerical Recipes, section 6.2), from the constant on.
_ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
)  # fmt: skip


@aten("erfc.default", "special_erfc.default")
def _erfc(out: Out, x: Operand) -> ark.Tensor:
    """Returns one minus the error function, with correct digits where it is small."""
    value = wide(tensor(x, out.dtype))
    size = ark.minimum(ark.abs(value), 12.0)  # erfc(12) is below the smallest number of fp32
    t = 1 / (1 + size / 2)
    power = functools.reduce(lambda sum, each: sum * t + each, _ERFC[-2::-1], _ERFC[-1] + 0 * t)
    # The square of a number of 8 bits is exact; the exponent of the rest is small.
    coarse = ark.cast(ark.cast(size, bf16), fp32)
    tail = ark.exp(-coarse * coarse) * ark.exp(power + (coarse - size) * (coarse + size)) * t
    result = ark.where(value < 0, 2 - tail, tail)
    return tensor(ark.where(value != value, value, result), out.dtype)


@aten("atan2.default")
def _atan2(out: Out, y: Operand, x: Operand) -> ark.Tensor:
    up, right = (wide(tensor(value, out.dtype)) for value in (y, x))
    height, width = ark.abs(up), ark.abs(right)
    # The quotients 0 / 0 and inf / inf are NaN: the angles are 0 and that of the diagonal.
    height, width = _finite_pair(height, width)
    angle = _atan_of_positive(height / width)
    angle = ark.where(ark.logical_and(height == 0, width == 0), 0.0, angle)
    angle = ark.where(_is_negative(right), math.pi - angle, angle)
    return tensor(_signed(angle, up), out.dtype)


def _finite_pair(a: ark.Tensor, b: ark.Tensor) -> tuple[ark.Tensor, ark.Tensor]:
    both = ark.logical_and(a == math.inf, b == math.inf)
    return ark.where(both, 1.0, a), ark.where(both, 1.0, b)


@aten("hypot.default")
def _hypot(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    x, y = (ark.abs(wide(tensor(value, out.dtype))) for value in (a, b))
    large, small = ark.maximum(x, y), ark.minimum(x, y)
    ratio = small / ark.where(large == 0, 1.0, large)  # at most one, so that no square overflows
    length = large * ark.sqrt(1 + ratio * ratio)
    return tensor(ark.where(large == math.inf, large, length), out.dtype)


@aten("copysign.Tensor", "copysign.Scalar")
def _copysign(out: Out, x: Operand, sign: Operand) -> ark.Tensor:
    return _signed(ark.abs(tensor(x, out.dtype)), tensor(sign, out.dtype))


@aten("signbit.default")
def _signbit(out: Out, x: Operand) -> ark.Tensor:
    value = tensor(x)
    return _is_negative(value) if value.dtype.is_float else value < 0
