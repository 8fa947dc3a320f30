"""A progress line on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Progress"]

_SECONDS_BETWEEN_UPDATES = 1.0
_CLEAR = "\r\x1b[K"


class Progress:
    """A context manager that shows a progress line on stderr if its block takes more than a second.

    The line has the name of the work, its current step, the elapsed seconds and a detail. Nothing
    is shown if stderr is not a terminal.

    Args:
        name: the name of the work.
        detail: a function that returns the end of the line; a background thread calls it.
        shown: False never shows the line.

    Example:
        >>> with Progress("compiling") as progress:
        ...     progress.step("tiling")
    """

    def __init__(
        self, name: str, detail: Callable[[], str] = lambda: "", shown: bool = True
    ) -> None:
        self._name = name
        self._may_show = shown
        self._detail = detail
        self._step = ""
        self._start = 0.0
        self._shown = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        # A process without a console has no stderr.
        if self._may_show and sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
            self._start = time.monotonic()
            self._thread = threading.Thread(target=self._update, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()
        if self._shown:
            _print(_CLEAR)

    def step(self, name: str) -> None:
        """Shows `name` as the current step."""
        with self._lock:
            self._step = f": {name}"
            if self._shown:
                self._show()

    def _update(self) -> None:
        while not self._done.wait(_SECONDS_BETWEEN_UPDATES):
            with self._lock:
                self._shown = True
                self._show()

    def _show(self) -> None:
        seconds = time.monotonic() - self._start
        _print(f"{_CLEAR}ark: {self._name}{self._step} … {seconds:.0f} s{self._detail()}")


def _print(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
