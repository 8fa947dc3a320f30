"""Calls that may wait for other work on a GPU, each with a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...monitor import Monitor

_this_thread = threading.local()


class LimitedCall:
    """A call in a separate thread, so that the caller can stop waiting for it.

    A call within such a thread, and one for which no thread can be started (at the end of the
    process), has no limit and runs at once.

    Args:
        function: the function.
        late: called with the result in the call's thread, if the caller has stopped waiting;
            with None if `function` raised an error.

    Attributes:
        error: the error of the function, if it has raised one.
    """

    def __init__(self, function: Callable[[], Any], late: Callable[[Any], object]) -> None:
        self._function = function
        self._late = late
        self._monitor = Monitor()  # guards the next two
        self._abandoned = False
        self._ended = False
        self._result: Any = None
        self.error: BaseException | None = None

    @property
    def ended(self) -> bool:
        """Returns True if the function has returned or raised an error."""
        return self._ended

    def wait(self, seconds: float) -> bool:
        """Starts the call; returns False, and abandons the call, if it lasts longer than
        `seconds`."""
        thread = None if getattr(_this_thread, "is_helper", False) else self._start()
        if thread is None:
            self._work()
            return True
        interrupted = True
        try:
            if self._monitor.wait_for(lambda: self._ended, seconds):
                thread.join()  # Python warns of a fork while another thread exists
            interrupted = False
        finally:
            with self._monitor.lock:
                self._abandoned = not self.ended
            if interrupted and not self._abandoned:
                self._late(self._result)
        return not self._abandoned

    def result(self) -> Any:
        """Returns the result of a call that was not abandoned, or raises its error."""
        if self.error is None:
            return self._result
        error, self.error = self.error, None
        try:
            raise error
        finally:
            del error  # the traceback refers to this frame

    def _start(self) -> threading.Thread | None:
        """Returns the thread of the call, or None if the interpreter starts no more threads."""
        thread = threading.Thread(target=self._help, name="ark-driver-call", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter ends
            return None
        return thread

    def _help(self) -> None:
        _this_thread.is_helper = True
        self._work()
        if self._abandoned:
            self._late(self._result)

    def _work(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self.error = error
        with self._monitor.lock:
            self._ended = True
            self._monitor.notify_all()
