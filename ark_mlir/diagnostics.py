"""MLIR's diagnostics as exceptions of ark, which name the place first.

Shape and type rules live in the dialect's C++ alone; the frontend shows what they say.
"""

from __future__ import annotations

import re
from typing import TypeVar

from . import ir
from .errors import ArkError
from .places import describe

__all__ = ["to_error"]

E = TypeVar("E", bound=ArkError)

# MLIR starts the message of a verifier with the op it is about.
_OP_PREFIX = re.compile(r"^'([\w.]+)' op ")
# Says only that another message was emitted.
_HOLLOW = re.compile(r"failed to infer returned types$")


def to_error(
    kind: type[E], error: ir.MLIRError, *, location: str | None = None, op: str | None = None
) -> E:
    """The error of class `kind` that says what MLIR's diagnostics say.

    `location` and `op` serve where the diagnostics do not name theirs.
    """
    diagnostics = [d for d in error.error_diagnostics if not _HOLLOW.search(d.message)]
    diagnostics = diagnostics or list(error.error_diagnostics)
    if not diagnostics:
        return kind(error.message, location=location, op=op)
    first = diagnostics[0]
    match = _OP_PREFIX.match(first.message)
    notes = [_line(d) for d in diagnostics[1:]]
    notes += [_line(note) for d in diagnostics for note in d.notes if _is_telling(note.message)]
    return kind(
        _OP_PREFIX.sub("", first.message),
        location=describe(first.location) or location,
        op=match.group(1) if match else op,
        notes=notes,
    )


def _line(diagnostic: ir.DiagnosticInfo) -> str:
    place = describe(diagnostic.location)
    return f"{place}: {diagnostic.message}" if place else diagnostic.message


def _is_telling(note: str) -> bool:
    # MLIR's "see current operation" repeats the op with all its attributes.
    return not note.startswith("see current operation")
