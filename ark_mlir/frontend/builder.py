"""Appends one op to the program being built, with its location, plan and error handling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir
from ..errors import InvalidUsageError
from ..mlir.diagnostics import to_error
from .locations import to_location, user_frames
from .planner import plan_attribute
from .program import Program, current
from .shapes import as_name, invalid
from .tensor import Tensor

__all__ = ["append", "append_op", "check_tensors"]


def append(
    build: Callable[..., Any], op: str, tensors: tuple[Tensor | None, ...], name: str | None
) -> ir.Value:
    """As :func:`append_op`, of an op with a result, which it returns."""
    return append_op(build, op, tensors, name).results[0]


def append_op(
    build: Callable[..., Any], op: str, tensors: tuple[Tensor | None, ...], name: str | None
) -> ir.Operation:
    """Calls `build`, which makes one op, and returns the op.

    `build` is called with ``loc`` and ``ip``. What the dialect's inference or verifier
    says against the op becomes an InvalidUsageError at the user's line, and the op is
    removed again. `op` is the mnemonic; `tensors` are checked to belong to the program.
    """
    program = current(f"ark.{op}")
    check_tensors(program, f"ark.{op}", tensors)
    label = program.op_name(as_name(name, "an op's name") if name is not None else op)
    frames = user_frames()
    location = to_location(label, frames, program.context)
    try:
        with location, program.context:
            built = build(loc=location, ip=program.insertion_point)
            return _finish(built.operation, label)
    except ir.MLIRError as error:
        raise to_error(InvalidUsageError, error, location=str(frames[0]), op=f"ark.{op}") from None


def _finish(operation: ir.Operation, label: str) -> ir.Operation:
    # The location has the name as well, and is lost where a program becomes text.
    if operation.name != f"ark.{label}":
        operation.attributes["ark.name"] = ir.StringAttr.get(label)
    plan = plan_attribute()
    if plan is not None:
        operation.attributes["ark.plan"] = plan
    try:
        operation.verify()
    except ir.MLIRError:
        operation.erase()
        raise
    return operation


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
