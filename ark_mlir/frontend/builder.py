"""Appends one op to the program being built, with its location, plan and error handling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir
from ..errors import InvalidUsageError
from .diagnostics import to_error
from .locations import to_location, user_frames
from .planner import plan_attribute
from .program import Program, current
from .shapes import as_name, invalid
from .tensor import Tensor

__all__ = ["append", "check_tensors"]


def append(
    build: Callable[..., Any], op: str, tensors: tuple[Tensor | None, ...], name: str | None
) -> ir.Value:
    """Calls `build`, which makes one op, and returns the op's result.

    `build` is called with ``loc`` and ``ip``. What the dialect's inference or verifier
    says against the op becomes an InvalidUsageError at the user's line, and the op is
    removed again. `op` is the mnemonic; `tensors` are checked to belong to the program.
    """
    program = current(f"ark.{op}")
    check_tensors(program, f"ark.{op}", tensors)
    label = as_name(name, "an op's name") if name is not None else op
    frames = user_frames()
    location = to_location(program.op_name(label), frames, program.context)
    try:
        with location, program.context:
            built = build(loc=location, ip=program.insertion_point)
            return _finish(built.operation)
    except ir.MLIRError as error:
        raise to_error(InvalidUsageError, error, location=str(frames[0]), op=f"ark.{op}") from None


def _finish(operation: ir.Operation) -> ir.Value:
    plan = plan_attribute()
    if plan is not None:
        operation.attributes["ark.plan"] = plan
    try:
        operation.verify()
    except ir.MLIRError:
        operation.erase()
        raise
    return operation.results[0]


def check_tensors(program: Program, op: str, tensors: tuple[Tensor | None, ...]) -> None:
    """Raises InvalidUsageError where a tensor belongs to another program."""
    for tensor in tensors:
        if tensor is not None and tensor.program is not program:
            state = "" if tensor.program.is_open else ", which is closed"
            raise invalid(
                f"tensor {tensor.name!r} belongs to program {tensor.program.name!r}{state}, "
                f"not to {program.name!r}",
                op,
            )
