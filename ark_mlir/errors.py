"""The exceptions of ark.

Everything that ark raises on purpose derives from :class:`ArkError`, so that one
``except`` catches it and anything else is a bug. A message is one line that names the
place first: the Python ``file:line`` that made an op, a location in an ``.mlir`` file, or
the path of a bundle or model.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ArkError",
    "BundleError",
    "BusyError",
    "CompileError",
    "DeviceError",
    "HangError",
    "InvalidUsageError",
    "RankFailedError",
    "UnprovenWarning",
    "UnsupportedError",
    "VerificationError",
]


class ArkError(Exception):
    """Base of every error that ark raises.

    Args:
        message: what is wrong, in one sentence.
        location: where, as ``file:line`` or a path; None where there is no place.
        op: the op concerned, such as ``ark.matmul``.
        notes: further lines: the other op of a conflict, a hint.

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
    """The caller asked for something that has no meaning: shapes, names, types, order."""


class UnsupportedError(ArkError):
    """A meaningful request that this version, this target or this machine cannot serve."""


class CompileError(ArkError):
    """The compiler failed on a valid program, or was given MLIR that does not parse."""


class VerificationError(CompileError):
    """The checker could not prove a schedule: a race, a wait that starves, a reuse too early."""


class BundleError(ArkError):
    """A bundle is truncated, altered, of another format version or made for another target."""


class DeviceError(ArkError):
    """The driver or the device reported a failure, or a run met bad data on the device."""


class BusyError(DeviceError):
    """Other work keeps the device, so that a run did not begin, or loading, binding or closing did
    not end in time. A run, a load or a bind may be tried again."""


class HangError(DeviceError):
    """A wait exceeded its deadline; the message names the waiter, the semaphore, the producer."""


class RankFailedError(DeviceError):
    """Another rank of the program failed, so that this one cannot go on."""


class UnprovenWarning(UserWarning):
    """A schedule is used that was not proven: it was compiled with ``verify=False``."""


def a_type(value: object) -> str:
    """The type of a value in a message.

    Example:
        >>> a_type(3), a_type([])
        ('an int', 'a list')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def shorten(value: object, limit: int = 60) -> str:
    """The repr of a value in a message, cut: a hostile string must not fill the terminal.

    Example:
        >>> shorten("a" * 100, 10)
        "'aaaaaaaa…"
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a huge integer"
    return text if len(text) <= limit else text[: limit - 1] + "…"
