"""The table of rules: the derivative of each op of the graph level, or the reason for its absence.

A rule is a vector-Jacobian product. It gets the op and the cotangent of the op's result, which is
the derivative of the loss with respect to the result, and gives a cotangent to each operand.
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ... import ir
from ..derivatives import check_fresh
from ..ops import reduce_sum
from ..ops.conversions import converted, shaped
from ..program import Program, dtype_of, shape_of
from ..tensor import Tensor

__all__ = [
    "INERT",
    "REFUSED",
    "RULES",
    "Rule",
    "Step",
    "derivative",
    "unbroadcast",
]

Rule = Callable[[Any, "Step"], None]

RULES: dict[str, Rule] = {}

# Ops whose results are constant, or piecewise constant, in their operands. They pass no cotangent.
INERT: frozenset[str] = frozenset({
    "ark.argmax", "ark.compare", "ark.constant", "ark.logical_and", "ark.logical_not",
    "ark.logical_or", "ark.noop", "ark.philox",
})  # fmt: skip

# Ops that are not differentiated, and the reasons.
REFUSED: Mapping[str, str] = {
    "ark.bitcast": "the bits of a number have no derivative",
    "ark.custom": "a custom op has no rule; use other ops where a derivative is needed",
    "ark.quantized_matmul": "quantized weights are for inference; dequantize them with ark.cast "
    "and ark.mul, and use ark.matmul",
    "ark.recv": "the derivative belongs to the rank that sent the tensor; return it to that rank "
    "with ark.send, which passes it to ark.gradients as seed=",
    "ark.segment_max": "the maximum of a segment has no rule; ark.reduce_max has a derivative",
    "ark.send": "the derivative comes from the rank that received the tensor; receive it with "
    "ark.recv and pass it to ark.gradients as seed=",
    "ark.top_threshold": "a threshold selects; the comparison with it has no derivative",
    "ark.update": "an update of a state has no derivative; take the gradient of a tensor that is "
    "computed before the update",
}


def derivative(*names: str) -> Callable[[Rule], Rule]:
    """Returns a decorator that registers the rule of ``ark.<name>`` for each name."""

    def register(rule: Rule) -> Rule:
        RULES.update({f"ark.{name}": rule for name in names})
        return rule

    return register


@dataclass(frozen=True)
class Step:
    """The derivative of one op.

    Attributes:
        program: the program under construction.
        op: the label of the op, for messages.
        g: the cotangent of the op's result, of its shape and dtype.
        result: the op's result.
        active: the values whose cotangents are needed.
        receive: adds a tensor to the cotangent of a value.
    """

    program: Program
    op: str
    g: Tensor
    result: ir.Value
    active: Mapping[ir.Value, object]
    receive: Callable[[ir.Value, Tensor], None]

    @property
    def y(self) -> Tensor:
        """Returns the op's result."""
        return Tensor(self.program, self.result, self.op)

    def read(self, value: ir.Value) -> Tensor:
        """Returns an operand as a tensor."""
        check_fresh(self.program, value, f"the derivative of {self.op}")
        return Tensor(self.program, value, self.op)

    def needs(self, value: ir.Value | None) -> bool:
        """Returns True if the cotangent of an operand is needed; False for an absent operand."""
        return value is not None and value in self.active

    def give(self, value: ir.Value | None, make: Callable[[], Tensor]) -> None:
        """Adds `make()` to the cotangent of an operand; does nothing if no cotangent is needed.

        The sum over broadcast dimensions gives `make()` the operand's shape; a cast gives it the
        operand's dtype.
        """
        if value is not None and self.needs(value):
            self.receive(value, converted(unbroadcast(make(), shape_of(value)), dtype_of(value)))


def unbroadcast(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Returns the sum of `x` over the dimensions along which `shape` was broadcast."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = [*range(lead)]
    axes += [lead + i for i, extent in enumerate(shape) if x.shape[lead + i] != extent]
    total = reduce_sum(x, tuple(axes)) if axes else x
    return shaped(total, shape)
