"""Rules of the matrix product and of the rotary position embedding."""

from __future__ import annotations

from typing import Any

from ..ops import matmul, reshape, rope, slice
from ..ops.conversions import wide
from ..program import shape_of
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


@derivative("matmul")
def product(op: Any, step: Step) -> None:
    """Multiplies the cotangent by the other operand, transposed as the shapes require."""
    first, second = bool(op.transpose_input), bool(op.transpose_other)
    g = step.g

    def of_lhs() -> Tensor:
        b = step.read(op.rhs)
        if first:
            return matmul(b, g, transpose_input=second, transpose_other=True)
        return matmul(g, b, transpose_other=not second)

    def of_rhs() -> Tensor:
        a = step.read(op.lhs)
        rows = g
        if not first and len(shape_of(op.rhs)) == 2 and a.ndim > 2:
            # One product over all rows instead of one for each batch and a sum.
            a, rows = reshape(a, (-1, a.shape[-1])), reshape(g, (-1, g.shape[-1]))
        if second:
            return matmul(rows, a, transpose_input=True, transpose_other=first)
        return matmul(a, rows, transpose_input=not first)

    step.give(op.lhs, of_lhs)
    step.give(op.rhs, of_rhs)


@derivative("rope")
def rotated(op: Any, step: Step) -> None:
    """Rotates the cotangent back by the same angles."""
    interleaved = bool(op.interleaved)
    cos, sin = step.read(op.cos), step.read(op.sin)
    step.give(op.operand, lambda: rope(step.g, cos, -sin, interleaved=interleaved))
    if not (step.needs(op.cos) or step.needs(op.sin)):
        return
    g, x = _halves(wide(step.g), interleaved), _halves(wide(step.read(op.operand)), interleaved)
    step.give(op.cos, lambda: g[0] * x[0] + g[1] * x[1])
    step.give(op.sin, lambda: g[1] * x[0] - g[0] * x[1])


def _halves(x: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    """Returns the first and the second elements of the pairs that rope rotates."""
    half = x.shape[-1] // 2
    lead = [0] * (x.ndim - 1)
    if interleaved:
        steps = [1] * (x.ndim - 1) + [2]
        return (
            slice(x, [*lead, 0], x.shape, steps),
            slice(x, [*lead, 1], x.shape, steps),
        )
    return (
        slice(x, [*lead, 0], [*x.shape[:-1], half]),
        slice(x, [*lead, half], x.shape),
    )
