"""The op that made the first value of a program that is not finite."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ir
from ..frontend import Program
from ..mlir.locations import describe
from .binding import bind
from .interpreter import Machine, find_program, signature

__all__ = ["find_origin"]


def find_origin(
    program: Program, inputs: Mapping[str, Any], state: Mapping[str, Any], name: str
) -> str | None:
    """Returns the op that made the first NaN or infinity on the way to a state, as text.

    Interprets one iteration, whose results are rounded to their dtypes, and follows values that are
    not finite from the state `name` backwards, to an op whose operands are finite.

    Args:
        inputs: arrays of inputs, parameters and scalars by name.
        state: arrays of states by name, before the iteration.
        name: a state that the program updates; its value before the iteration counts as zeros.

    Returns an op with its line, or an argument such as ``input 'x'``; None if the interpreter
    computes a finite state.

    Example:
        >>> with ark.Program("log") as program:
        ...     y = ark.log(ark.input("x", (2,)))
        ...     total = ark.update(ark.state("total", (2,)), y * 2, (0,))
        >>> find_origin(program, {"x": [1, 0]}, {}, "total")
        'ark.log at ...'
        >>> find_origin(program, {"x": [np.nan, 1]}, {}, "total")
        "input 'x'"
    """
    op = find_program(program.module)
    machine = Machine(round_to_dtype=True)
    arrays = bind(signature(op), inputs, state)
    arrays[name] = np.zeros_like(arrays[name])
    machine.run(op, arrays, inputs)
    block = op.operation.regions[0].blocks[0]
    arguments = {
        value: f"{each.kind} {each.name!r}"
        for value, each in zip(block.arguments, signature(op), strict=True)
    }
    # The ops that make values, in the order of the program.
    makers = {
        result: (number, each)
        for number, each in enumerate(block.operations)
        for result in each.operation.results
    }
    states = [value for value in makers if machine.read(value).state == name]
    reached = states[-1] if states and _kind(machine, states[-1]) else None
    while reached is not None and reached not in arguments:
        maker = makers[reached][1]
        bad = [each for each in maker.operation.operands if _counts(machine, makers, each)]
        if not bad:
            return _label(maker.operation)
        # NaN comes from NaN rather than from an infinity, which may be a mask.
        reached = max(bad, key=lambda each: (_kind(machine, each), -makers.get(each, (-1,))[0]))
    return None if reached is None else arguments[reached]


def _label(op: Any) -> str:
    """Returns an op, with its name and its line if it has them."""
    line, parts = describe(op.location), [str(op.name)]
    if op.location.is_a_name() and op.location.name_str not in (op.name, op.name[4:]):
        parts.append(repr(op.location.name_str))
    return " ".join([*parts, *([f"at {line}"] if line else [])])


def _kind(machine: Machine, value: ir.Value) -> int:
    """Returns 2 if a tensor has a NaN, 1 if it has an infinity, else 0."""
    data = machine.read(value).data
    if np.isnan(data).any():
        return 2
    return int(np.isinf(data).any())


def _counts(machine: Machine, makers: Mapping[ir.Value, Any], value: ir.Value) -> bool:
    """Returns True if an operand is not finite; infinite constants are masks."""
    made = makers.get(value)
    constant = made is not None and made[1].operation.name == "ark.constant"
    return not constant and _kind(machine, value) > 0
