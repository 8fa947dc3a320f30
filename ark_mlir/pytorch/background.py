"""A thread that compiles programs while calls continue.

There is one thread for all graphs, which ends when it has no work. It is not a daemon thread: the
interpreter waits for it, because LLVM must not run while the interpreter ends. When the main thread
ends, the job that runs ends after its present step, and other jobs are dropped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from ..interruption import interruptible

__all__ = ["Job", "can_start", "idle", "reserved", "start", "wait_for_programs"]

_LOG = logging.getLogger("ark.pytorch")
# Jobs that wait; a program that is requested again after its job was dropped gets a new one.
_MAX_WAITING = 32


class _Ending(Exception):
    """The process ends."""


class Job:
    """The compilation of one program.

    Attributes:
        name: the name of the program, for the log.
        result: the program; None before the end, and if the job was dropped or failed.
        error: the exception with which the job failed, or None.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.result: Any = None
        self.error: BaseException | None = None
        self._make: Callable[[], Any] | None = make
        self._process = os.getpid()
        self._ended = threading.Event()

    @property
    def running(self) -> bool:
        """True if the job runs, or will run. A forked child has no thread that runs it."""
        return not self._ended.is_set() and self._process == os.getpid()

    def wait(self) -> None:
        """Waits until the job has ended, or was dropped."""
        if self._process == os.getpid():
            self._ended.wait()

    def run(self) -> None:
        """Compiles the program; keeps an exception in `error`."""
        begin = time.perf_counter()
        assert self._make is not None
        try:
            with interruptible(_check):
                self.result = self._make()
            seconds = time.perf_counter() - begin
            _LOG.info("torch.compile: %s: compiled in the background, %.3f s", self.name, seconds)
        except _Ending:
            _LOG.debug("torch.compile: %s: not compiled, the process ends", self.name)
        except BaseException as error:  # the next call of the program raises it
            self.error = error
        finally:
            self.drop()

    def drop(self) -> None:
        """Ends the job; a job that waits never runs."""
        self._make = None  # the graph may be freed
        self._ended.set()


def _check() -> None:
    time.sleep(0)  # a call that waits for Python's global lock gets it now, not 5 ms later
    if not threading.main_thread().is_alive():
        raise _Ending


class _Worker:
    """The jobs that wait, and the thread that runs them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # of the fields; never held while a job runs
        self.running = threading.Lock()  # held while a job runs
        self.jobs: deque[Job] = deque()
        self.present: Job | None = None
        self.thread: threading.Thread | None = None

    def start(self, job: Job) -> bool:
        """Returns False, and drops the job, if the system has no further thread."""
        with self.lock:
            if self.thread is None:
                thread = threading.Thread(target=self._loop, name="ark: compile", daemon=False)
                try:
                    thread.start()  # it waits for the lock
                except RuntimeError as error:
                    _LOG.warning("torch.compile: %s: not compiled yet: %s", job.name, error)
                    job.drop()
                    return False
                self.thread = thread
            self.jobs.append(job)
            if len(self.jobs) > _MAX_WAITING:
                self.jobs.popleft().drop()
        return True

    def _loop(self) -> None:
        while (job := self._next()) is not None:
            with self.running:
                job.run()

    def _next(self) -> Job | None:
        with self.lock:
            if not threading.main_thread().is_alive():
                while self.jobs:
                    self.jobs.popleft().drop()
            self.present = self.jobs.popleft() if self.jobs else None
            if self.present is None:
                self.thread = None
            return self.present

    def unfinished(self) -> list[Job]:
        with self.lock:
            present = [] if self.present is None else [self.present]
            return present + list(self.jobs)


_worker = _Worker()


def start(job: Job) -> bool:
    """Runs a job in the background, after those that wait already.

    Returns False if no thread can start.
    """
    if not can_start():
        job.drop()
        return False
    return _worker.start(job)


def can_start() -> bool:
    """Returns False after the end of the main thread: Python starts no further thread then."""
    return threading.main_thread().is_alive()


def idle() -> bool:
    """Returns True if no job runs or waits."""
    return not _worker.unfinished()


@contextlib.contextmanager
def reserved() -> Generator[bool]:
    """Returns a context in which no job begins; its value is False if a job runs already.

    A job that ran during the capture of a CUDA graph would invalidate the capture.
    """
    running = _worker.running
    alone = running.acquire(blocking=False)
    try:
        yield alone
    finally:
        if alone:
            running.release()


def wait_for_programs(timeout: float | None = None) -> bool:
    """Waits until all programs that a background thread compiles for ``torch.compile`` are ready.

    Later calls with the same sizes use these programs, so that measurements can begin.

    Args:
        timeout: seconds to wait at most; None waits until the end.

    Returns:
        True if no program is left to compile, False after the timeout.

    Example:
        >>> ark.pytorch.wait_for_programs(timeout=60)
        True
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while (thread := _worker.thread) is not None and thread.is_alive():
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        if deadline is not None and time.monotonic() >= deadline:
            return idle()
    return True


def _renew() -> None:
    """Gives a forked child its own worker: the thread of the parent does not exist there."""
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
