"""Derivatives of groups of ops, which replace the derivatives of the single ops.

A function of the frontend that creates several ops of the dialect, such as ``ark.dropout``, may
attach one rule for all of them. ``ark.gradients`` applies this rule instead of the rules of the
single ops, because it is cheaper, more exact, or keeps less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import ir
from .program import Program
from .shapes import invalid
from .tensor import Tensor

__all__ = ["Group", "GroupRule", "GroupStep", "attach", "check_fresh", "find_group", "frozen"]


@dataclass(frozen=True)
class GroupStep:
    """The arguments of a group's rule.

    Attributes:
        inputs: the tensors that were given to :func:`attach`.
        results: the results of the group.
        cotangents: the cotangent of each result; None if the loss does not depend on the result.
        needed: True for each input whose cotangent is needed.
        reverse_pass: the pass over the program, for rules that create ops and differentiate them.
    """

    reverse_pass: Any
    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    cotangents: tuple[Tensor | None, ...]
    needed: tuple[bool, ...]


# Returns a cotangent for each input, or None for an input without a cotangent.
GroupRule = Callable[[GroupStep], Sequence[Tensor | None]]


@dataclass(frozen=True)
class Group:
    """A group of ops and its rule."""

    name: str
    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    rule: GroupRule


def attach(name: str, inputs: Sequence[Tensor], results: Sequence[Tensor], rule: GroupRule) -> None:
    """Makes `rule` the derivative of `results` with respect to `inputs`.

    The last element of `results` must be the result of the last op of the program: the reverse pass
    applies the rule when it reaches that op.
    """
    fixed = tuple(frozen(tensor) for tensor in inputs)
    group = Group(name, fixed, tuple(results), rule)
    program = results[-1].program
    for result in results:
        program.groups[result.value] = group


def find_group(program: Program, value: ir.Value) -> Group | None:
    """Returns the group that has `value` as a result, or None."""
    group = program.groups.get(value)
    assert group is None or isinstance(group, Group)
    return group


def frozen(tensor: Tensor) -> Tensor:
    """Returns a tensor with the present value of `tensor`, which later updates do not change."""
    return Tensor(tensor.program, tensor.value, tensor.name)


def check_fresh(program: Program, value: ir.Value, reader: str) -> None:
    """Raises InvalidUsageError if `value` is an old value of a state, before its last update."""
    state = program.outdated_state(value)
    if state is not None:
        raise invalid(
            f"{reader} needs the value of state {state.name!r} that the loss read, but ark.update "
            "replaced it; call ark.gradients before ark.update",
            "ark.gradients",
        )
