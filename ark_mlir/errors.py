"""The exceptions of ark.

Every exception that ark raises on purpose derives from :class:`ArkError`, except errors of the
operating system (OSError) and those of Python's protocols, such as a missing attribute. A message
is one line, followed by a line for each note. The line begins with a location if the problem has
one: the Python ``file:line`` that made an op, a location in an ``.mlir`` file, or the path of a
file.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ArkError",
    "BundleError",
    "BusyError",
    "CompileError",
    "DataRangeError",
    "DeviceError",
    "HangError",
    "InvalidUsageError",
    "MemoryLimitError",
    "RankFailedError",
    "UnprovenWarning",
    "UnsupportedError",
    "VerificationError",
]


class ArkError(Exception):
    """Base class of every error that ark raises.

    Args:
        message: the problem, in one sentence.
        location: the location of the problem, ``file:line`` or a path, or None.
        op: the op that has the problem, such as ``ark.matmul``.
        notes: further lines, such as the other op of a conflict or a hint.

    Example:
        >>> str(ArkError("shapes differ", location="net.py:3", op="ark.add"))
        'net.py:3: ark.add: shapes differ'
    """

    def __init__(
        self,
        message: str,
        *,
        location: str | None = None,
        op: str | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.op = op
        self.notes = tuple(notes)

    def __str__(self) -> str:
        parts = [part for part in (self.location, self.op, self.message) if part]
        return "\n  note: ".join([": ".join(parts), *self.notes])


class InvalidUsageError(ArkError, ValueError):
    """A call is invalid: its shapes, names or types do not fit, or it comes at the wrong time."""


class UnsupportedError(ArkError):
    """A call is valid, but this version of ark, the target or the machine does not support it."""


class CompileError(ArkError):
    """The compiler failed on a valid program, or MLIR text does not parse or verify."""


class MemoryLimitError(CompileError):
    """The intermediates of a program do not fit into the limit of the option `memory`. The notes
    name the largest intermediates that are live at the same time."""


class VerificationError(CompileError):
    """The proof of a schedule failed: a race, a deadlock, or memory that is reused too early."""


class BundleError(ArkError):
    """A bundle is truncated, damaged, of another format version, or made for another target."""


class DeviceError(ArkError):
    """The vendor's driver or the device reported an error, or a run found invalid data, such as an
    index out of range."""


class DataRangeError(InvalidUsageError, DeviceError):
    """A run found an index in the caller's data that is out of range."""


class BusyError(DeviceError):
    """Other work occupies the device: a run or some of its lanes did not start, or loading, binding
    or closing a program took too long. A later run, load or bind may succeed."""


class HangError(DeviceError):
    """A wait timed out. The message names the waiting op, the semaphore and the producer."""


class RankFailedError(DeviceError):
    """Another rank of the program failed, so that this rank cannot continue."""


class UnprovenWarning(UserWarning):
    """A program was compiled without a proof: with ``verify=False``, or from a module at the stage
    ``kernel`` or ``target``."""


def a_type(value: object) -> str:
    """Returns the type of a value with its article, for a message.

    Example:
        >>> a_type(3), a_type([])
        ('an int', 'a list')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def shorten(value: object, limit: int = 60) -> str:
    """Returns the repr of a value for a message: one line, cut to `limit` characters.

    A hostile string must not fill the terminal. The repr of an array has several lines.

    Example:
        >>> shorten("a" * 100, 10)
        "'aaaaaaaa…"
    """
    try:
        text = " ".join(line.strip() for line in repr(value).split("\n"))
    except ValueError:  # Python refuses to print an integer of so many digits
        return "a huge integer"
    return text if len(text) <= limit else text[: limit - 1] + "…"
