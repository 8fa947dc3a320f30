"""Conversion of MLIR's diagnostics to exceptions of ark.

Only the C++ of the dialect has the rules for shapes and types; the frontend reports the messages of
the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .. import ir
from ..errors import ArkError
from .locations import describe

__all__ = ["Message", "to_error", "to_error_of"]

E = TypeVar("E", bound=ArkError)

# The message of a verifier begins with the op's name.
_OP_PREFIX = re.compile(r"^'([\w.]+)' op ")
# This message only follows a more specific one.
_UNINFORMATIVE = re.compile(r"failed to infer returned types$")


@dataclass
class Message:
    """A diagnostic: its location ``file:line``, or None, its text, and its notes."""

    location: str | None
    text: str
    notes: list[Message] = field(default_factory=list["Message"])

    def __str__(self) -> str:
        return f"{self.location}: {self.text}" if self.location else self.text


def to_error(
    kind: type[E], error: ir.MLIRError, *, location: str | None = None, op: str | None = None
) -> E:
    """Returns an error of class `kind` with the text of MLIR's diagnostics.

    `location` and `op` are used if the diagnostics do not name a location or an op.
    """
    messages = [_message(diagnostic) for diagnostic in error.error_diagnostics]
    return to_error_of(kind, messages or [Message(None, error.message)], location=location, op=op)


def to_error_of(
    kind: type[E],
    messages: Sequence[Message],
    *,
    location: str | None = None,
    op: str | None = None,
) -> E:
    """Returns an error of class `kind` with the text of `messages`, which must not be empty.

    `location` and `op` are used if the messages do not name a location or an op.
    """
    informative = [
        message for message in messages if not _UNINFORMATIVE.search(message.text)
    ] or messages
    first = informative[0]
    match = _OP_PREFIX.match(first.text)
    notes = [str(message) for message in informative[1:]]
    notes += [str(n) for message in informative for n in message.notes if _is_informative(n.text)]
    return kind(
        _OP_PREFIX.sub("", first.text),
        location=first.location or location,
        op=match.group(1) if match else op,
        notes=notes,
    )


def _message(diagnostic: ir.DiagnosticInfo) -> Message:
    return Message(
        describe(diagnostic.location),
        diagnostic.message,
        [_message(note) for note in diagnostic.notes],
    )


def _is_informative(note: str) -> bool:
    # MLIR's "see current operation" repeats the op with all its attributes.
    return not note.startswith("see current operation")
