"""Dimensions of tensors whose sizes are known only at run time.

A graph is compiled for padded tensors: each size that may change is replaced by the size of its
bucket. An axis of a padded tensor is a product of factors, from the outermost to the innermost. A
factor is a fixed number or a dynamic size. Only the first indices of a dynamic size have data.
"""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch

__all__ = [
    "Axes", "Axis", "Dynamic", "Refusal", "Sizes", "axis_of_expression", "axis_of_size", "bucket",
    "expression", "grouped", "is_fixed", "is_plain", "size_of",
]  # fmt: skip


class Refusal(Exception):
    """The reason why a graph cannot be computed on padded tensors."""


@dataclass(frozen=True)
class Dynamic:
    """The size ``symbol + offset``."""

    symbol: Any
    offset: int = 0

    @property
    def expression(self) -> Any:
        """The size as an expression of sympy."""
        return self.symbol + self.offset


Factor: TypeAlias = int | Dynamic
Axis: TypeAlias = tuple[Factor, ...]  # empty: of extent one
Axes: TypeAlias = tuple[Axis, ...]


def is_fixed(axis: Axis) -> bool:
    """Returns True if no factor of an axis is dynamic."""
    return all(isinstance(factor, int) for factor in axis)


def is_plain(axis: Axis) -> bool:
    """Returns True if an axis is one dynamic size."""
    return len(axis) == 1 and isinstance(axis[0], Dynamic)


def is_prefix(axis: Axis) -> bool:
    """Returns True if the indices with data are the first ones of an axis."""
    return is_fixed(axis[1:])


def expression(size: Any) -> Any:
    """Returns a size (an int, a SymInt or an expression of sympy) as an expression of sympy."""
    if isinstance(size, sympy.Basic):
        return size
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(int(size))


def axis_of_size(size: Any) -> Axis:
    """Returns the axis with a size of torch; see :func:`axis_of_expression`."""
    return axis_of_expression(expression(size))


def axis_of_expression(value: Any) -> Axis:
    """Returns the axis with a size: a fixed number, or a multiple of a symbol plus a number.

    The data of the axis is a prefix. Raises Refusal if the size is another expression, whose layout
    is unknown.
    """
    if value.is_Integer:
        return () if value == 1 else (int(value),)
    symbols = list(value.free_symbols)
    if len(symbols) == 1:
        count, rest = (sympy.expand(value).coeff(symbols[0], power) for power in (1, 0))
        linear = sympy.expand(value - count * symbols[0] - rest) == 0
        if linear and count.is_Integer and count > 0 and (rest / count).is_Integer:
            factor = Dynamic(symbols[0], int(rest / count))
            return (factor,) if count == 1 else (factor, int(count))
    raise Refusal(f"the size {value}")


def bucket(size: int) -> int:
    """Returns the padded size: the next of 4, 6, 8, 12, 16, 24, 32, 48 and so on.

    Example:
        >>> [bucket(size) for size in (1, 4, 5, 7, 33, 64, 100)]
        [4, 4, 6, 8, 48, 64, 128]
    """
    power = 4
    while power < size:
        if size <= power + power // 2:
            return power + power // 2
        power *= 2
    return power


class Sizes:
    """The padded size of each symbol."""

    def __init__(self, sizes: Mapping[Any, int]) -> None:
        self._sizes = dict(sizes)

    def of_factor(self, factor: Factor) -> int:
        """Returns the number of indices of a factor."""
        if isinstance(factor, int):
            return factor
        if factor.symbol not in self._sizes:
            raise Refusal(f"the size {factor.symbol}, which is not a size of an input")
        return self._sizes[factor.symbol] + factor.offset

    def of(self, axis: Axis) -> int:
        """Returns the extent of an axis of a padded tensor."""
        return math.prod(map(self.of_factor, axis))

    def shape(self, axes: Axes) -> list[int]:
        """Returns the shape of a padded tensor."""
        return [self.of(axis) for axis in axes]


def size_of(axis: Axis) -> Any:
    """Returns the number of elements with data along an axis, as an expression of sympy."""
    return sympy.Mul(*(f if isinstance(f, int) else f.expression for f in axis))


def grouped(axes: Iterable[Axis], shape: Sequence[Any]) -> Axes:
    """Returns the axes of a tensor that is reshaped to `shape`.

    The factors keep their order, and only fixed numbers are split. Raises Refusal if a size of the
    shape is not a product of neighbouring factors.
    """
    rest = _joined([factor for axis in axes for factor in axis])
    result: list[Axis] = []
    for size in shape:
        needed = expression(size)
        axis: list[Factor] = []
        while needed != 1:
            if not rest:
                raise Refusal(f"a reshape to {list(shape)}")
            factor, needed = _take(rest[0], needed, shape)
            rest[0:1] = _leftover(rest[0], factor)
            axis.append(factor)
        result.append(tuple(_joined(axis)))
    if rest:
        raise Refusal(f"a reshape to {list(shape)}")
    return tuple(result)


def _joined(factors: Iterable[Factor]) -> list[Factor]:
    """Returns the factors with neighbouring numbers multiplied, and without ones."""
    result: list[Factor] = []
    for factor in factors:
        if isinstance(factor, int) and result and isinstance(result[-1], int):
            result[-1] = result[-1] * factor
        elif factor != 1:
            result.append(factor)
    return result


def _take(factor: Factor, needed: Any, shape: Sequence[Any]) -> tuple[Factor, Any]:
    """Returns the outer part of a factor that belongs to a size, and the rest of the size."""
    if isinstance(factor, int):
        content = int(sympy.Poly(needed).content()) if needed.free_symbols else int(needed)
        divisor = math.gcd(factor, content)
        if divisor > 1:
            return divisor, sympy.expand(needed / divisor)
    elif needed.free_symbols:
        quotient, remainder = sympy.div(
            sympy.Poly(needed, *needed.free_symbols | {factor.symbol}),
            sympy.Poly(factor.expression, *needed.free_symbols | {factor.symbol}),
        )
        if remainder.is_zero:
            return factor, sympy.expand(quotient.as_expr())
    raise Refusal(f"a reshape to {list(shape)}")


def _leftover(factor: Factor, taken: Factor) -> list[Factor]:
    if isinstance(factor, int) and isinstance(taken, int) and factor != taken:
        return [factor // taken]
    return []
