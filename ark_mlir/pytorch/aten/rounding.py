"""ATen ops that round, and divisions with a rounded quotient."""

from __future__ import annotations

from collections.abc import Callable

from ... import frontend as ark
from ...dtypes import bf16
from .table import Out, aten, unsupported
from .values import Operand, tensor, to, wide

__all__ = ["floor_divide", "truncated"]


def _enter(name: str, op: Callable[[ark.Tensor], ark.Tensor]) -> None:
    def handler(out: Out, x: Operand) -> ark.Tensor:
        value = tensor(x, out.dtype)
        return op(value) if out.dtype.is_float else value

    aten(f"{name}.default")(handler)


def _ceil(x: ark.Tensor) -> ark.Tensor:
    return ark.neg(ark.floor(ark.neg(x)))


def truncated(x: ark.Tensor) -> ark.Tensor:
    """Returns the whole part of floats, rounded toward zero."""
    return ark.where(x < 0, _ceil(x), ark.floor(x))


def _rounded(x: ark.Tensor) -> ark.Tensor:
    """Returns the nearest whole number; of two, the even one."""
    low = ark.floor(x)
    rest = x - low  # exact
    odd = ark.floor(low / 2) * 2 != low
    up = ark.logical_or(rest > 0.5, ark.logical_and(rest == 0.5, odd))
    return ark.where(up, low + 1, low)


_enter("floor", ark.floor)
_enter("ceil", _ceil)
_enter("trunc", truncated)
_enter("round", _rounded)


@aten("round.decimals")
def _round_decimals(out: Out, x: Operand, decimals: int = 0) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if not out.dtype.is_float:
        if decimals < 0:
            raise unsupported("decimals of integers")
        return value
    scale = float(10 ** abs(decimals))
    value = wide(value)
    if decimals >= 0:
        return tensor(_rounded(value * scale) / scale, out.dtype)
    return tensor(_rounded(value / scale) * scale, out.dtype)


# -- divisions -------------------------------------------------------------------------------------


def _remainder_of(a: ark.Tensor, b: ark.Tensor) -> ark.Tensor:
    """Returns the remainder of a division of floats, with the sign of the dividend.

    The quotient may be rounded up to the next whole number: the remainder then has the other sign.
    """
    rest = _minus_product(a, truncated(a / b), b)
    divisor = ark.abs(b)
    negative = a < 0
    wrong = ark.logical_or(
        ark.logical_and(negative, rest > 0), ark.logical_and(ark.logical_not(negative), rest < 0)
    )
    mended = ark.where(wrong, rest + ark.where(negative, -divisor, divisor), rest)
    # A division by infinity leaves the dividend, and the product above is then NaN.
    unbounded = ark.logical_and(divisor == float("inf"), ark.abs(a) < float("inf"))
    return ark.where(unbounded, a, mended)


def _minus_product(a: ark.Tensor, x: ark.Tensor, y: ark.Tensor) -> ark.Tensor:
    """Returns ``a - x * y`` without rounding the product, which is close to `a`.

    The products of terms of 8 bits are exact, and so are the differences, from the largest on.
    """
    pairs = [(i, j, p, q) for i, p in enumerate(_terms(x)) for j, q in enumerate(_terms(y))]
    for _, _, p, q in sorted(pairs, key=lambda pair: pair[0] + pair[1]):
        a = a - p * q
    return a


def _terms(x: ark.Tensor) -> list[ark.Tensor]:
    """Returns three terms whose sum is `x`, each with the 8 bits of a significand of bf16."""
    terms: list[ark.Tensor] = []
    for _ in range(3):
        terms.append(ark.cast(ark.cast(x, bf16), x.dtype))
        x = x - terms[-1]
    return terms


def _floored(a: ark.Tensor, b: ark.Tensor, rest: ark.Tensor) -> ark.Tensor:
    """Returns a remainder with the sign of the divisor."""
    apart = ark.logical_and(rest != 0, (rest < 0) != (b < 0))
    return ark.where(apart, rest + b, rest)


@aten("fmod.Tensor", "fmod.Scalar")
def _fmod(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    lhs, rhs = tensor(a, out.dtype), tensor(b, out.dtype)
    if out.dtype.is_float:
        return tensor(_remainder_of(wide(lhs), wide(rhs)), out.dtype)
    return lhs - ark.div(lhs, rhs) * rhs


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    lhs, rhs = tensor(a, out.dtype), tensor(b, out.dtype)
    if out.dtype.is_float:
        lhs, rhs = wide(lhs), wide(rhs)
        return tensor(_floored(lhs, rhs, _remainder_of(lhs, rhs)), out.dtype)
    return lhs - floor_divide(out, lhs, rhs) * rhs


@aten("floor_divide.default", "floor_divide.Scalar")
def floor_divide(out: Out, a: Operand, b: Operand) -> ark.Tensor:
    """Returns the quotient, rounded toward negative infinity."""
    lhs, rhs = tensor(a, out.dtype), tensor(b, out.dtype)
    if out.dtype.is_float:
        lhs, rhs = wide(lhs), wide(rhs)
        whole = _rounded((lhs - _floored(lhs, rhs, _remainder_of(lhs, rhs))) / rhs)
        return tensor(ark.where(rhs == 0, lhs / rhs, whole), out.dtype)
    quotient = ark.div(lhs, rhs)
    if out.dtype.kind == "uint":
        return quotient
    # ark.div truncates: the floor is one less if the signs differ and the remainder is not zero.
    apart = ark.logical_or(ark.logical_and(lhs < 0, rhs > 0), ark.logical_and(lhs > 0, rhs < 0))
    below = ark.logical_and(quotient * rhs != lhs, apart)
    return ark.where(below, quotient - 1, quotient)


@aten("div.Tensor_mode", "div.Scalar_mode")
def _div(out: Out, a: Operand, b: Operand, rounding_mode: str | None = None) -> ark.Tensor:
    if rounding_mode == "floor":
        return floor_divide(out, a, b)
    if rounding_mode == "trunc" and out.dtype.is_float:
        quotient = ark.div(wide(tensor(a, out.dtype)), wide(tensor(b, out.dtype)))
        return tensor(truncated(quotient), out.dtype)
    return ark.div(to(a, out.dtype), to(b, out.dtype))
