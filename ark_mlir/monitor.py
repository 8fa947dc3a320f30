"""A lock and a condition that Ctrl-C cannot leave locked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Monitor"]


class Monitor:
    """The state that several threads share: its lock, and the wait for a change of it.

    A monitor does the same as :class:`threading.Condition`, and is safe in the main thread, where
    Python raises KeyboardInterrupt between any two calls. ``Condition.__enter__`` is a Python
    function: an interrupt right before its return leaves the lock acquired for good, and all other
    threads wait for ever. Events, queues and barriers of the standard library use conditions. A
    ``with`` block on a lock itself runs no Python code between the acquisition and the block.

    Attributes:
        lock: guards the state. A thread that has acquired the lock may acquire it again.

    Example:
        >>> monitor = Monitor()
        >>> with monitor.lock:
        ...     ended = True
        ...     monitor.notify_all()
        >>> monitor.wait_for(lambda: ended, seconds=1)
        True
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        # One acquired lock for each wait: its release ends the wait.
        self._waits: list[threading.Lock] = []

    def notify_all(self) -> None:
        """Lets all waiting threads check their conditions. The lock must be held."""
        waits, self._waits = self._waits, []
        for wait in waits:
            wait.release()

    def wait_for(self, condition: Callable[[], object], seconds: float) -> bool:
        """Waits until `condition()` is true, and returns True; False after `seconds`.

        Calls `condition` with the lock held: at once, and after each `notify_all`. The calling
        thread must not hold the lock. An interrupt ends the wait with KeyboardInterrupt.
        """
        deadline = time.monotonic() + seconds
        while True:
            wait = threading.Lock()
            with self.lock:
                if condition():
                    return True
                wait.acquire()
                self._waits.append(wait)
            left = deadline - time.monotonic()
            try:
                wait.acquire(timeout=min(max(left, 0.0), threading.TIMEOUT_MAX))
            finally:
                with self.lock:
                    if wait in self._waits:
                        self._waits.remove(wait)
            if left <= 0:
                return False
