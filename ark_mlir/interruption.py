"""Compilations in a background thread, which end early when the process ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["checkpoint", "in_background", "interruptible"]

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("ark_check", default=None)


@contextmanager
def interruptible(check: Callable[[], None]) -> Generator[None]:
    """Returns a context in which compilations of this thread are background work.

    A compilation in this context shows no progress line. Passes run without Python's global lock,
    so that other threads continue; they must not use the MLIR context of the program.

    Args:
        check: a function that is called between the steps of a compilation. An exception that it
            raises ends the compilation.

    Example:
        >>> with interruptible(lambda: None):
        ...     in_background()
        True
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def in_background() -> bool:
    """Returns True in the context of :func:`interruptible`."""
    return _CHECK.get() is not None


def checkpoint() -> None:
    """Calls the function of :func:`interruptible`, if there is one."""
    check = _CHECK.get()
    if check is not None:
        check()
