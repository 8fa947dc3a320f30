"""The threads that run lanes on a cpu: one worker per lane, or the calling thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ...errors import DeviceError
from ...monitor import Monitor

__all__ = ["STACK_BYTES", "CallingThread", "LaneThreads", "Lanes"]

# Large, since bodies keep tiles on the stack; the system allocates only pages that are touched.
STACK_BYTES = 64 << 20

# The stack size of new threads is a setting of the process, so that two pools must not start at
# once.
_starting = threading.Lock()


def _renew_lock() -> None:
    """Renews the lock in a forked child: a thread of the parent may hold it."""
    global _starting
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class LaneThreads(Protocol):
    """The threads that run the lanes of one launch."""

    failure: BaseException | None

    def run(self, work: Callable[[int], int]) -> None:
        """Calls `work(lane)` for every lane, or starts the threads that do so."""

    def join(self, timeout: float) -> bool:
        """Returns True if every lane ended within `timeout` seconds."""
        ...

    @property
    def idle(self) -> bool:
        """True if no lane is running."""
        ...

    @property
    def codes(self) -> tuple[int, ...]:
        """The result of the function on each lane, or -1 if the lane has not ended."""
        ...

    @property
    def running(self) -> tuple[int, ...]:
        """The lanes that have not ended their work."""
        ...


class CallingThread:
    """Runs the only lane of a program on the thread that calls `run`.

    A hand-off to another thread and back takes 20 µs. Python handles Ctrl-C after the end of the
    lane, so that only short lanes run here.
    """

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self._code = 0

    def run(self, work: Callable[[int], int]) -> None:
        """Calls `work(0)`; an exception of the work becomes `failure`."""
        self.failure = None
        self._code = -1
        try:
            self._code = work(0)
        except Exception as error:  # the driver raises it, as that of another thread
            self.failure = error

    def join(self, timeout: float) -> bool:
        """Returns True: the lane has ended."""
        del timeout
        return True

    @property
    def idle(self) -> bool:
        """True: the lane has ended."""
        return True

    @property
    def codes(self) -> tuple[int, ...]:
        """The result of the lane, or -1 if it failed."""
        return (self._code,)

    @property
    def running(self) -> tuple[int, ...]:
        """No lane."""
        return ()


class Lanes:
    """A pool of threads that runs one function on all lanes at once.

    Each lane has its own thread, since lanes wait for each other. The threads are daemons, so that
    a lane that never ends does not keep the process alive.
    """

    def __init__(self, count: int, name: str) -> None:
        self.failure: BaseException | None = None
        self._codes: list[int | None] = [0] * count
        self._work: Callable[[int], int] | None = None
        self._left = 0
        self._monitor = Monitor()  # guards `_left`
        # One lock per lane: its release starts the lane. The lock is held while the lane waits or
        # works.
        self._go = [threading.Lock() for _ in range(count)]
        for lock in self._go:
            lock.acquire()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._loop, args=(lane,), name=f"{name}:{lane}", daemon=True)
            for lane in range(count)
        ]
        self._start()

    def _start(self) -> None:
        with _starting:
            before = threading.stack_size(STACK_BYTES)
            try:
                for thread in self._threads:
                    thread.start()
            except RuntimeError as error:
                self.stop()
                raise DeviceError(f"cannot start {len(self._threads)} threads: {error}") from None
            except BaseException:
                self.stop()
                raise
            finally:
                threading.stack_size(before)

    def _loop(self, lane: int) -> None:
        go = self._go[lane]
        while True:
            go.acquire()
            if self._stopping:
                return
            self._codes[lane] = self._call(lane)
            with self._monitor.lock:
                self._left -= 1
                if self._left == 0:
                    self._monitor.notify_all()

    def _call(self, lane: int) -> int:
        # The local reference keeps the code and memory of the work alive while the lane runs it,
        # also if the lane never ends.
        work = self._work
        try:
            return work(lane) if work else 0
        except BaseException as error:  # the launching thread raises it
            self.failure = error
            return -1

    def run(self, work: Callable[[int], int]) -> None:
        """Starts `work(lane)` on every lane; all lanes must be idle."""
        self._work = work
        self.failure = None
        self._codes = [None] * len(self._threads)
        self._left = len(self._threads)
        for lock in self._go:
            lock.release()

    def join(self, timeout: float) -> bool:
        """Returns True if every lane ended within `timeout` seconds; signals interrupt the wait."""
        ended = self._monitor.wait_for(lambda: self.idle, timeout)
        if ended:
            self._work = None
        return ended

    @property
    def idle(self) -> bool:
        """True if no lane is running."""
        return self._left == 0

    @property
    def codes(self) -> tuple[int, ...]:
        """The result of the function on each lane, or -1 if the lane has not ended."""
        return tuple(-1 if code is None else code for code in self._codes)

    @property
    def running(self) -> tuple[int, ...]:
        """The lanes that have not ended their work."""
        return tuple(lane for lane, code in enumerate(self._codes) if code is None)

    @property
    def stopping(self) -> bool:
        """True if `stop` was called."""
        return self._stopping

    def stop(self) -> None:
        """Tells the threads to end after their present work, and does not wait for them."""
        self._stopping = True
        for lock in self._go:
            if lock.locked():
                lock.release()

    def ended(self, timeout: float) -> bool:
        """Returns True if all threads of a stopped pool ended within `timeout` seconds.

        A thread of the pool may call this method, since the garbage collector may free an
        executable in any thread. Such a thread does not wait for itself.
        """
        deadline = time.monotonic() + timeout
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in others:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in others)
