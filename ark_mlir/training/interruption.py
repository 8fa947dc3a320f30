"""Ctrl-C during a training: the first one ends it after a launch, the second one at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


__all__ = ["Interruption"]


class Interruption:
    """A context manager that defers Ctrl-C within its block; a second Ctrl-C acts at once.

    Outside of the main thread, which alone receives signals, the block changes nothing.

    Attributes:
        came: True if Ctrl-C came since the block began.
    """

    def __init__(self) -> None:
        self.came = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        self.came = False
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._previous)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
