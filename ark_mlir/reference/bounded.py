"""Arrays with a bound on the error that an implementation may make.

A :class:`Bounded` is a float64 value and, where bounds are asked for, the largest amount by
which a correct implementation in fp32 arithmetic may differ from it. The bounds are those of
standard forward error analysis: with unit roundoff u, every operation adds ``u |y|`` and passes
on the errors of its operands; a sum of n terms in any order adds ``n u`` times the sum of the
magnitudes. Terms of second order in u are dropped, and rounding the last result to its dtype
is added by :meth:`Bounded.rounded`. Fused or wider intermediate results only do better.

An op is written once, on this class, for both purposes.
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType

__all__ = ["UNIT", "Array", "Bounded", "exact"]

Array = NDArray[Any]

# Arithmetic inside of an op is fp32 for every float type.
UNIT = 2.0**-24

# The largest number of fp32: what goes beyond on the way is infinite in an implementation.
_LARGEST = float(np.finfo(np.float32).max)

# What vectorised exp, tanh and the like may be off by, in units in the last place of fp32.
FUNCTION_ULPS = 4.0


class Bounded:
    """A float64 array, and the bound of its error or None where bounds are not tracked."""

    __slots__ = ("error", "value")

    def __init__(self, value: Array, error: Array | None = None) -> None:
        self.value = np.asarray(value, np.float64)
        self.error = error
        if error is not None:
            # Infinities and NaN must come out as they are: no bound says more than that.
            error = np.where(np.isnan(error), np.inf, error)
            self.error = np.where(np.isfinite(self.value), error, 0.0)

    # ---------------------------------------------------------------- helpers

    @property
    def slack(self) -> Array:
        """The error, zero where it is not tracked."""
        return np.zeros_like(self.value) if self.error is None else self.error

    @property
    def magnitude(self) -> Array:
        """The largest absolute value that an implementation may see."""
        return np.abs(self.value) + self.slack

    def result(self, value: Array, error: Callable[[], Array], *others: Bounded) -> Bounded:
        """A result with ``error()`` and one rounding, where any operand is tracked."""
        if self.error is None and all(other.error is None for other in others):
            return Bounded(value)
        with np.errstate(all="ignore"):
            bound = error() + UNIT * np.abs(value)
            return Bounded(value, np.where(np.abs(value) + bound > _LARGEST, np.inf, bound))

    def view(self, function: Callable[[Array], Array]) -> Bounded:
        """`function`, which moves elements and computes nothing, on value and error."""
        moved = function(self.value)
        return Bounded(moved, None if self.error is None else function(self.error))

    # ---------------------------------------------------------------- arithmetic

    def __add__(self, other: Bounded) -> Bounded:
        return self.result(self.value + other.value, lambda: self.slack + other.slack, other)

    def __sub__(self, other: Bounded) -> Bounded:
        return self.result(self.value - other.value, lambda: self.slack + other.slack, other)

    def __mul__(self, other: Bounded) -> Bounded:
        return self.result(
            self.value * other.value,
            lambda: self.magnitude * other.slack + np.abs(other.value) * self.slack,
            other,
        )

    def __truediv__(self, other: Bounded) -> Bounded:
        value = self.value / other.value

        def error() -> Array:
            # a'/b' - a/b = (a' - a - (a/b)(b' - b)) / b', with |b'| at least |b| - error.
            divisor = np.abs(other.value) - other.slack
            spread = self.slack + np.abs(value) * other.slack
            return np.where(spread == 0, 0, np.where(divisor > 0, spread / divisor, np.inf))

        return self.result(value, error, other)

    def __neg__(self) -> Bounded:
        return self.view(np.negative)

    def scaled(self, factor: float) -> Bounded:
        """Times an exact number."""
        return self * exact(np.float64(factor), self)

    # ---------------------------------------------------------------- functions

    def monotone(self, function: Callable[[Array], Array], ulps: float = FUNCTION_ULPS) -> Bounded:
        """A function that rises or falls all along: its error is attained at an end."""
        value = function(self.value)

        def error() -> Array:
            ends = [function(self.value + self.slack), function(self.value - self.slack)]
            moved = np.maximum(*(np.abs(end - value) for end in ends))
            return np.where(self.slack == 0, 0, moved) + ulps * UNIT * np.abs(value)

        return self.result(value, error)

    def lipschitz(
        self, function: Callable[[Array], Array], slope: float, ulps: float = FUNCTION_ULPS
    ) -> Bounded:
        """A function that nowhere changes faster than `slope`."""
        value = function(self.value)
        scale = np.maximum(np.abs(value), 0)
        return self.result(value, lambda: slope * self.slack + ulps * UNIT * scale)

    # ---------------------------------------------------------------- over dimensions

    def sum(self, axes: tuple[int, ...]) -> Bounded:
        """The sum over `axes`, which stay with extent one."""
        value = self.value.sum(axes, keepdims=True)
        terms = math.prod(self.value.shape[a] for a in axes)
        return self.result(
            value,
            lambda: (
                self.slack.sum(axes, keepdims=True)
                + terms * UNIT * self.magnitude.sum(axes, keepdims=True)
            ),
        )

    def mean(self, axes: tuple[int, ...]) -> Bounded:
        """The mean over `axes`, which stay with extent one."""
        terms = math.prod(self.value.shape[a] for a in axes)
        return self.sum(axes).scaled(1 / terms if terms else math.nan)

    def extremum(self, function: Callable[..., Array], axes: tuple[int, ...]) -> Bounded:
        """``np.max`` or ``np.min`` over `axes`, which stay with extent one."""
        value = function(self.value, axis=axes, keepdims=True)
        if self.error is None:
            return Bounded(value)
        return Bounded(value, self.error.max(axis=axes, keepdims=True, initial=0))

    def __matmul__(self, other: Bounded) -> Bounded:
        def error() -> Array:
            terms = self.value.shape[-1]
            passed = self.magnitude @ other.slack + self.slack @ np.abs(other.value)
            return passed + terms * UNIT * (self.magnitude @ other.magnitude)

        return self.result(self.value @ other.value, error, other)

    # ---------------------------------------------------------------- storing

    def rounded(self, dtype: DType) -> Bounded:
        """The error that storing as `dtype` may add, underflow and overflow included."""
        if self.error is None:
            return self
        import ml_dtypes

        limits = ml_dtypes.finfo(dtype.numpy)
        with np.errstate(all="ignore"):
            error = self.error + dtype.unit_roundoff * self.magnitude
            error = error + float(limits.smallest_normal)  # devices may flush to zero
            overflow = np.abs(self.value) + error > float(limits.max)
            return Bounded(self.value, np.where(overflow, np.inf, error))


def exact(value: object, like: Bounded) -> Bounded:
    """A value without error, tracked where `like` is."""
    array = np.asarray(value, np.float64)
    return Bounded(array, None if like.error is None else np.zeros_like(array))
