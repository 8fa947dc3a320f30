"""Rules of elementwise ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ops import add, cos, equal, exp, greater, less, less_equal, log, logical_and, where
from ..ops import erf as erf_of
from ..ops import pow as power
from ..ops import sigmoid as sigmoid_of
from ..ops import sin as sin_of
from ..ops import tanh as tanh_of
from ..ops.conversions import wide
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []

# Takes the cotangent, the operand and the result, and returns the operand's cotangent.
Slope = Callable[[Tensor, Tensor, Tensor], Tensor]


def _gelu(g: Tensor, x: Tensor, exact: bool) -> Tensor:
    if exact:
        density = exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        return g * ((erf_of(x * math.sqrt(0.5)) + 1) * 0.5 + x * density)
    factor = math.sqrt(2 / math.pi)
    inner = tanh_of((x * x * x * 0.044715 + x) * factor)
    slope = (x * x * (3 * 0.044715) + 1) * factor
    return g * ((inner + 1) * 0.5 + x * 0.5 * (1 - inner * inner) * slope)


def _silu(g: Tensor, x: Tensor) -> Tensor:
    gate = sigmoid_of(x)
    return g * (gate * (1 + x * (1 - gate)))


# Every slope is computed in fp32, or in the type of the op if that is wider.
_SLOPES: dict[str, Slope] = {
    "abs": lambda g, x, y: where(greater(x, 0), g, where(less(x, 0), -g, 0)),
    "cos": lambda g, x, y: -(g * sin_of(x)),
    "erf": lambda g, x, y: g * (exp(-(x * x)) * (2 / math.sqrt(math.pi))),
    "exp": lambda g, x, y: g * y,
    "log": lambda g, x, y: g / x,
    "neg": lambda g, x, y: -g,
    "reciprocal": lambda g, x, y: -(g * y * y),
    # Where an element is NaN, torch passes the cotangent as well.
    "relu": lambda g, x, y: where(less_equal(x, 0), 0, g),
    "rsqrt": lambda g, x, y: g * (y * y * y * -0.5),
    "sigmoid": lambda g, x, y: g * (y * (1 - y)),
    "silu": lambda g, x, y: _silu(g, x),
    "sin": lambda g, x, y: g * cos(x),
    "sqrt": lambda g, x, y: g * 0.5 / y,
    "tanh": lambda g, x, y: g * (1 - y * y),
}


@derivative(*_SLOPES)
def unary(op: Any, step: Step) -> None:
    """Multiplies the cotangent by the op's slope."""
    slope = _SLOPES[op.operation.name.removeprefix("ark.")]
    step.give(op.operand, lambda: slope(wide(step.g), wide(step.read(op.operand)), wide(step.y)))


@derivative("gelu")
def gelu(op: Any, step: Step) -> None:
    """Differentiates both forms of gelu."""
    exact = "none" in str(op.approximate)
    step.give(op.operand, lambda: _gelu(wide(step.g), wide(step.read(op.operand)), exact))


@derivative("copy", "cast")
def copy(op: Any, step: Step) -> None:
    """Passes the cotangent, in the operand's dtype."""
    step.give(op.operand, lambda: step.g)


@derivative("add")
def sum_of_two(op: Any, step: Step) -> None:
    """Passes the cotangent to both operands."""
    step.give(op.lhs, lambda: step.g)
    step.give(op.rhs, lambda: step.g)


@derivative("sub")
def difference(op: Any, step: Step) -> None:
    """Passes the cotangent, and its negation."""
    step.give(op.lhs, lambda: step.g)
    step.give(op.rhs, lambda: -step.g)


@derivative("mul")
def product(op: Any, step: Step) -> None:
    """Multiplies the cotangent by the other operand."""
    step.give(op.lhs, lambda: step.g * step.read(op.rhs))
    step.give(op.rhs, lambda: step.g * step.read(op.lhs))


@derivative("div")
def quotient(op: Any, step: Step) -> None:
    """Differentiates ``a / b``."""
    step.give(op.lhs, lambda: step.g / step.read(op.rhs))
    step.give(op.rhs, lambda: -(wide(step.g) * wide(step.y) / wide(step.read(op.rhs))))


@derivative("maximum", "minimum")
def extremum(op: Any, step: Step) -> None:
    """Passes the cotangent to the operand that is the result; equal operands get half each."""
    chosen = greater if op.operation.name == "ark.maximum" else less

    def share(operand: Any, other: Any) -> Tensor:
        a, b = step.read(operand), step.read(other)
        return where(equal(a, b), step.g * 0.5, where(chosen(a, b), step.g, 0))

    step.give(op.lhs, lambda: share(op.lhs, op.rhs))
    step.give(op.rhs, lambda: share(op.rhs, op.lhs))


@derivative("pow")
def power_of(op: Any, step: Step) -> None:
    """Differentiates ``a**b``; ``0**b`` does not vary with b."""

    def of_base() -> Tensor:
        a, b = wide(step.read(op.lhs)), wide(step.read(op.rhs))
        return where(equal(b, 0), 0, wide(step.g) * (b * power(a, b - 1)))

    def of_exponent() -> Tensor:
        a, b = wide(step.read(op.lhs)), wide(step.read(op.rhs))
        constant = logical_and(equal(a, 0), add(b, 0) >= 0)
        return where(constant, 0, wide(step.g) * (wide(step.y) * log(a)))

    step.give(op.lhs, of_base)
    step.give(op.rhs, of_exponent)


@derivative("where")
def choice(op: Any, step: Step) -> None:
    """Passes the cotangent to the operand that the condition selected."""
    step.give(op.lhs, lambda: where(step.read(op.condition), step.g, 0))
    step.give(op.rhs, lambda: where(step.read(op.condition), 0, step.g))
