"""One line on a terminal that shows the step of a long compilation."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from typing_extensions import Self

_PATIENCE_SECONDS = 1.0
_CLEAR = "\r\x1b[K"


class Progress:
    """Shows the present step on stderr once the whole has taken a second.

    Silent when stderr is no terminal.

    Example:
        >>> with Progress("compiling") as progress:
        ...     progress.step("tiling")
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._step = ""
        self._shown = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
            self._timer = threading.Timer(_PATIENCE_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._shown:
                print(_CLEAR, end="", file=sys.stderr, flush=True)

    def step(self, name: str) -> None:
        """The work goes on with `name`."""
        with self._lock:
            self._step = name
            if self._shown:
                self._print()

    def _show(self) -> None:
        with self._lock:
            self._shown = True
            self._print()

    def _print(self) -> None:
        print(f"{_CLEAR}ark: {self._what}: {self._step}", end="", file=sys.stderr, flush=True)
