"""Appends an op, with its location and plan, to the program that is under construction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import ir
from ..dtypes import from_mlir
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
    """Appends an op as :func:`append_op` does and returns the op's only result."""
    return append_op(build, op, tensors, name).results[0]


def append_op(
    build: Callable[..., Any], op: str, tensors: tuple[Tensor | None, ...], name: str | None
) -> ir.Operation:
    """Calls `build`, which creates one op, and returns the op.

    Args:
        build: takes the keywords ``loc`` and ``ip``.
        op: the op's mnemonic.
        tensors: the op's operands.
        name: the op's name; by default its mnemonic.

    Raises InvalidUsageError at the user's line if an operand belongs to another program, or if
    type inference or the verifier of the dialect rejects the op. A rejected op is erased.
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
        found = to_error(InvalidUsageError, error, location=str(frames[0]), op=f"ark.{op}")
        raise InvalidUsageError(
            _in_words_of_ark(found.message), location=found.location, op=found.op, notes=found.notes
        ) from None


# MLIR's message for an operand whose type does not meet the constraint of the dialect.
_WRONG_OPERAND = re.compile(
    r"operand #(\d+) must be (0D|statically shaped) tensor (?:\(at most 32 dimensions\) )?of (.+) "
    r"values, but got 'tensor<((?:\d+x)*)(\w+)>'"
)
_ELEMENTS = {
    "32-bit signless integer": "int32",
    "64-bit signless integer": "int64",
    "32-bit float": "fp32",
    "f32, f16 or bf16": "fp32, fp16 or bf16",
    "number": "a float or integer dtype, but not an 8-bit float",
}


def _in_words_of_ark(message: str) -> str:
    """Returns the message of a verifier, with the dtypes of a wrong operand by ark's names."""
    found = _WRONG_OPERAND.fullmatch(message)
    if found is None:
        return message
    number, rank, elements, extents, dtype = found.groups()
    for theirs, ours in _ELEMENTS.items():
        elements = re.sub(rf"\b{theirs}\b", ours, elements)
    shape = [int(extent) for extent in extents.split("x")[:-1]]
    scalar = " and no dimensions" if rank == "0D" else ""
    return (
        f"operand {number} is {from_mlir(dtype)}{shape}; expected {elements}{scalar}; "
        "ark.cast converts a tensor"
    )


def _finish(operation: ir.Operation, label: str) -> ir.Operation:
    # The location contains the name, too, but the text of a program has no locations.
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
    """Raises InvalidUsageError if a tensor belongs to another program."""
    for tensor in tensors:
        if tensor is not None and tensor.program is not program:
            state = "" if tensor.program.is_open else ", which is closed"
            raise invalid(
                f"tensor {tensor.name!r} belongs to program {tensor.program.name!r}{state}, "
                f"not to {program.name!r}",
                op,
            )
        if tensor is not None and tensor.body is not program.body:
            raise invalid(_describe_foreign(tensor, program.body is not None), op)


def _describe_foreign(tensor: Tensor, in_body: bool) -> str:
    if in_body:
        return (
            f"tensor {tensor.name!r} is not a tile of this custom op, whose body uses no other "
            "tensors; pass the tensor in inputs="
        )
    return (
        f"tensor {tensor.name!r} is a tile in the body of a custom op; outside of the body, use "
        "the result of ark.custom_op"
    )
