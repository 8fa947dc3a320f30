"""Arrays with a bound on the error that an implementation may make.

A :class:`Bounded` is a float64 value and optionally a bound: the largest difference of a correct
implementation in fp32 arithmetic. The bounds are those of forward error analysis (Higham, 2002).
With unit roundoff u, each operation adds ``u |y|`` and propagates the errors of its operands; a sum
of n terms in any order adds ``n u`` times the sum of the magnitudes. Terms of second order in u are
dropped. :meth:`Bounded.rounded` adds the error of rounding a result to its dtype. Fused or wider
intermediate results have smaller errors.

The implementation of an op on this class computes both its value and its bound.
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

# The largest number of fp32: larger intermediate results are infinite in an implementation.
_LARGEST = float(np.finfo(np.float32).max)

# The largest error of vectorised exp, tanh and similar functions, in ulps of fp32.
FUNCTION_ULPS = 4.0


class Bounded:
    """A float64 array, and the bound of its error, None if bounds are not tracked."""

    __slots__ = ("error", "value")

    def __init__(self, value: Array, error: Array | None = None) -> None:
        self.value = np.asarray(value, np.float64)
        self.error = error
        if error is not None:
            # An implementation must return the same infinities and NaN: their error is zero.
            error = np.where(np.isnan(error), np.inf, error)
            self.error = np.where(np.isfinite(self.value), error, 0.0)

    # ---------------------------------------------------------------- helpers

    @property
    def slack(self) -> Array:
        """Returns the error, zeros if it is not tracked."""
        return np.zeros_like(self.value) if self.error is None else self.error

    @property
    def magnitude(self) -> Array:
        """Returns the largest absolute value that an implementation may have."""
        return np.abs(self.value) + self.slack

    def result(self, value: Array, error: Callable[[], Array], *others: Bounded) -> Bounded:
        """Returns a result; its error is ``error()`` and one rounding if an operand is tracked."""
        if self.error is None and all(other.error is None for other in others):
            return Bounded(value)
        with np.errstate(all="ignore"):
            bound = error() + UNIT * np.abs(value)
            return Bounded(value, np.where(np.abs(value) + bound > _LARGEST, np.inf, bound))

    def view(self, function: Callable[[Array], Array]) -> Bounded:
        """Applies `function`, which only moves elements, to value and error."""
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
        """Returns the product with an exact number."""
        return self * exact(np.float64(factor), self)

    # ---------------------------------------------------------------- functions

    def monotone(self, function: Callable[[Array], Array], ulps: float = FUNCTION_ULPS) -> Bounded:
        """Applies a monotone function, whose error is largest at an end of the interval."""
        value = function(self.value)

        def error() -> Array:
            ends = [function(self.value + self.slack), function(self.value - self.slack)]
            moved = np.maximum(*(np.abs(end - value) for end in ends))
            return np.where(self.slack == 0, 0, moved) + ulps * UNIT * np.abs(value)

        return self.result(value, error)

    def lipschitz(
        self, function: Callable[[Array], Array], slope: float, ulps: float = FUNCTION_ULPS
    ) -> Bounded:
        """Applies a function with the Lipschitz constant `slope`."""
        value = function(self.value)
        scale = np.maximum(np.abs(value), 0)
        return self.result(value, lambda: slope * self.slack + ulps * UNIT * scale)

    # ---------------------------------------------------------------- over dimensions

    def sum(self, axes: tuple[int, ...]) -> Bounded:
        """Returns the sum over `axes`, which are kept with extent one."""
        value = self.value.sum(axes, keepdims=True)
        terms = math.prod(self.value.shape[a] for a in axes)
        return self.result(
            value,
            lambda: (
                self.slack.sum(axes, keepdims=True)
                + terms * UNIT * self.magnitude.sum(axes, keepdims=True)
            ),
        )

    def sum_by(self, function: Callable[[Array], Array], terms: int) -> Bounded:
        """Returns ``function(value)``, whose elements are sums of at most `terms` elements."""
        return self.result(
            function(self.value),
            lambda: function(self.slack) + terms * UNIT * function(self.magnitude),
        )

    def mean(self, axes: tuple[int, ...]) -> Bounded:
        """Returns the mean over `axes`, which are kept with extent one."""
        terms = math.prod(self.value.shape[a] for a in axes)
        return self.sum(axes).scaled(1 / terms if terms else math.nan)

    def extremum(self, function: Callable[..., Array], axes: tuple[int, ...]) -> Bounded:
        """Returns ``np.max`` or ``np.min`` over `axes`, which are kept with extent one."""
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
        """Adds the error of rounding to `dtype`, with underflow and overflow."""
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
    """Returns a value with error zero, tracked if `like` is."""
    array = np.asarray(value, np.float64)
    return Bounded(array, None if like.error is None else np.zeros_like(array))
