"""Every environment variable that ark reads, in one typed table.

Code reads ``knobs.DUMP_DIR.get()`` and never ``os.environ``; a variable is read at each
use, so that a test or a user can change it at any time:

    >>> with scope(ARK_TIMEOUT="2.5"):
    ...     TIMEOUT.get()
    2.5
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import InvalidUsageError

__all__ = [
    "CACHE",
    "CACHE_DIR",
    "CACHE_SIZE",
    "DUMP_DIR",
    "LOG_LEVEL",
    "TARGET",
    "THREADS",
    "TIMEOUT",
    "XDG_CACHE_HOME",
    "Knob",
    "registry",
    "scope",
]

T = TypeVar("T")

_REGISTRY: dict[str, Knob[Any]] = {}


@dataclass(frozen=True)
class Knob(Generic[T]):
    """One variable: its name, the value when unset, how text becomes a value, what it does."""

    variable: str
    default: T
    parse: Callable[[str], T]
    help: str

    def __post_init__(self) -> None:
        _REGISTRY[self.variable] = self

    def get(self) -> T:
        """The value now; raises InvalidUsageError when the text makes no sense."""
        text = os.environ.get(self.variable)
        if text is None or text == "":
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            raise InvalidUsageError(
                f"{text!r} is not a value of {self.variable}: {error}"
            ) from None

    @property
    def is_set(self) -> bool:
        """Whether the environment overrides the default."""
        return bool(os.environ.get(self.variable))


def registry() -> dict[str, Knob[Any]]:
    """All knobs by variable name, sorted."""
    return dict(sorted(_REGISTRY.items()))


@contextmanager
def scope(**variables: str | None) -> Generator[None, None, None]:
    """Sets variables (None unsets) for the duration of a ``with`` block.

    Raises InvalidUsageError on a name that no knob has, which catches misspellings.
    """
    unknown = sorted(set(variables) - set(_REGISTRY))
    if unknown:
        raise InvalidUsageError(f"no such variable: {', '.join(unknown)}")
    saved = {name: os.environ.get(name) for name in variables}
    try:
        _apply(variables)
        yield
    finally:
        _apply(saved)


def _apply(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _optional_text(text: str) -> str | None:
    return text


def _positive_float(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError("must be a positive number")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("must not be negative")
    return value


def _switch(text: str) -> bool:
    values = {"0": False, "false": False, "off": False, "1": True, "true": True, "on": True}
    if text.lower() not in values:
        raise ValueError("expected 0 or 1")
    return values[text.lower()]


def _size(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    return _count(text) if factor is None else _count(text[:-1]) * factor


def _level(text: str) -> str:
    levels = ("debug", "info", "warning", "error")
    if text.lower() not in levels:
        raise ValueError(f"expected one of {', '.join(levels)}")
    return text.lower()


TARGET: Knob[str] = Knob("ARK_TARGET", "cpu", str, "target of ark.compile where none is given")
DUMP_DIR: Knob[str | None] = Knob(
    "ARK_DUMP_DIR", None, _optional_text, "folder for the IR after every stage (NN-<stage>.mlir)"
)
CACHE: Knob[bool] = Knob("ARK_CACHE", True, _switch, "whether compiled programs are kept: 0 or 1")
CACHE_DIR: Knob[str | None] = Knob(
    "ARK_CACHE_DIR",
    None,
    _optional_text,
    "folder for compiled programs; ark in the user's folder for caches when unset",
)
CACHE_SIZE: Knob[int] = Knob(
    "ARK_CACHE_SIZE", 1 << 30, _size, "bytes of compiled programs to keep: 500M, 2G …"
)
XDG_CACHE_HOME: Knob[str | None] = Knob(
    "XDG_CACHE_HOME", None, _optional_text, "the user's folder for caches; ~/.cache when unset"
)
TIMEOUT: Knob[float] = Knob(
    "ARK_TIMEOUT", 10.0, _positive_float, "seconds that a wait may last before it is a hang"
)
THREADS: Knob[int] = Knob(
    "ARK_THREADS", 0, _count, "worker threads of the cpu target; 0 takes one per core"
)
LOG_LEVEL: Knob[str] = Knob("ARK_LOG_LEVEL", "warning", _level, "debug, info, warning or error")
