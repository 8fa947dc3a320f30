"""The thread that runs a model for the requests of a server, one after another."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import Any

__all__ = ["Job", "StoppedError", "Worker"]

_END = object()


class StoppedError(Exception):
    """The worker has stopped."""

    def __init__(self) -> None:
        super().__init__("the server shuts down")


class Job:
    """Work for the worker: an iterator of results, which an asyncio task receives.

    Args:
        work: returns an iterator of results; the worker's thread calls and exhausts it.

    The constructor must be called in the event loop of the receiver.
    """

    def __init__(self, work: Callable[[], Iterator[Any]]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._results: asyncio.Queue[Any] = asyncio.Queue()
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ends the work after its current result; a job that has not begun is skipped."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """True after :meth:`cancel`."""
        return self._cancelled.is_set()

    async def results(self) -> AsyncGenerator[Any]:
        """Yields the results; raises the exception that ended the work.

        A receiver that stops before the end cancels the job.
        """
        try:
            while (result := await self._results.get()) is not _END:
                if isinstance(result, Exception):
                    raise result
                yield result
        finally:
            self.cancel()

    def run(self) -> None:
        """Does the work; called by the worker."""
        try:
            if self._cancelled.is_set():
                return
            with contextlib.closing(_closable(self._work())) as results:
                for result in results:
                    if self._cancelled.is_set():
                        return
                    self._put(result)
        except Exception as error:  # the receiver reports it; the worker takes the next job
            self._put(error)
        finally:
            self._put(_END)

    def fail(self, error: Exception) -> None:
        """Ends a job that will not run."""
        self._put(error)

    def _put(self, result: Any) -> None:
        # The event loop is closed while the server shuts down.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._results.put_nowait, result)


def _closable(results: Iterator[Any]) -> Generator[Any]:
    """Returns a generator, which has a method to close it."""
    yield from results


class Worker:
    """A thread with a bounded queue of jobs.

    Args:
        limit: maximum number of jobs that wait. A job that was cancelled does not count.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ark-serve", daemon=True)
        self._closed = False
        self._current: Job | None = None

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        with self._changed:
            return sum(not job.cancelled for job in self._waiting)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def submit(self, job: Job) -> bool:
        """Queues a job; returns False if the queue is full.

        Raises StoppedError if the worker has stopped.
        """
        with self._changed:
            if self._closed:
                raise StoppedError
            if len(self._waiting) >= self._limit:
                # Clients that have disconnected must not keep others out.
                self._waiting = deque(each for each in self._waiting if not each.cancelled)
            if len(self._waiting) >= self._limit:
                return False
            self._waiting.append(job)
            self._changed.notify()
        return True

    def stop(self) -> None:
        """Cancels the current job, fails the waiting jobs, and ends the thread."""
        with self._changed:
            self._closed = True
            if self._current is not None:
                self._current.cancel()
            for job in self._waiting:
                job.fail(StoppedError())
            self._waiting.clear()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> Job | None:
        """Waits for a job and makes it the current one; returns None after :meth:`stop`."""
        with self._changed:
            self._current = None
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            self._current = self._waiting.popleft()
            return self._current
