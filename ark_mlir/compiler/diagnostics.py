"""MLIR's diagnostics as exceptions that name the place first."""

from __future__ import annotations

import re
from typing import TypeVar

from .. import ir
from ..errors import ArkError
from ..places import describe

__all__ = ["to_error"]

E = TypeVar("E", bound=ArkError)

# MLIR starts the message of a verifier with the op it is about.
_OP_PREFIX = re.compile(r"^'([\w.]+)' op ")
# "see current operation" repeats the op with all its attributes.
_ECHO = "see current operation"


def to_error(kind: type[E], error: ir.MLIRError, where: str | None = None) -> E:
    """The error of class `kind` that says what MLIR's diagnostics say.

    `where` is the place to name where the diagnostics have none.
    """
    diagnostics = list(error.error_diagnostics)
    if not diagnostics:
        return kind(error.message, location=where)
    first = diagnostics[0]
    match = _OP_PREFIX.match(first.message)
    notes = [_line(diagnostic) for diagnostic in diagnostics[1:]]
    notes += [
        _line(note)
        for diagnostic in diagnostics
        for note in diagnostic.notes
        if not note.message.startswith(_ECHO)
    ]
    return kind(
        _OP_PREFIX.sub("", first.message),
        location=describe(first.location) or where,
        op=match.group(1) if match else None,
        notes=notes,
    )


def _line(diagnostic: ir.DiagnosticInfo) -> str:
    place = describe(diagnostic.location)
    return f"{place}: {diagnostic.message}" if place else diagnostic.message
