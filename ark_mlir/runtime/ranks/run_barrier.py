"""The barrier at which the threads of all ranks wait for each other before and after a run."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import knobs
from ...errors import ArkError, HangError, InvalidUsageError, RankFailedError
from ...monitor import Monitor

if TYPE_CHECKING:
    from ...typing import Arrays, Inputs
    from .world import World


class Call(NamedTuple):
    """The arguments of one rank: its inputs, the handle of its stream, and arrays for outputs."""

    inputs: Inputs
    stream: int | None
    out: Arrays


class _JointRun:
    """One run of all ranks: the calls so far, then the results or the error."""

    def __init__(self) -> None:
        self.calls: dict[int, Call] = {}
        self._monitor = Monitor()  # guards `_ended`
        self._ended = False
        self.results: list[dict[str, Any]] = []
        self.error: BaseException | None = None
        # The rank whose thread raises `error`; the other threads raise errors that name this rank.
        self.culprit: int | None = None

    def end(self, error: BaseException | None = None, culprit: int | None = None) -> None:
        self.error, self.culprit = error, culprit
        with self._monitor.lock:
            self._ended = True
            self._monitor.notify_all()

    def await_end(self, seconds: float) -> bool:
        """Returns True if the run ends within `seconds`."""
        return self._monitor.wait_for(lambda: self._ended, seconds)

    def outcome(self, rank: int) -> dict[str, Any]:
        """Returns the outputs of a rank, or raises its error."""
        if self.error is None:
            return self.results[rank]
        # An exception must not be raised in two threads, since both would change its traceback.
        if rank == self.culprit:
            raise self.error
        if isinstance(self.error, HangError):
            raise HangError(
                self.error.message,
                location=self.error.location,
                op=self.error.op,
                notes=self.error.notes,
            )
        subject = "" if self.culprit is None else f"rank {self.culprit} failed: "
        raise RankFailedError(f"rank {rank} cannot continue: {subject}{self.error}")


class RunBarrier:
    """A barrier for the threads of the ranks of a world, one thread for each rank.

    The last thread to arrive executes the run of all ranks, like the action of
    :class:`threading.Barrier`. The other threads wait until the run has ended.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._next_run = _JointRun()

    def run(self, rank: int, call: Call) -> dict[str, Any]:
        """Waits until all ranks have run; returns the outputs of `rank`. See :meth:`Rank.run`."""
        timeout = knobs.TIMEOUT.get()
        with self._lock:
            present = self._next_run
            if rank in present.calls:
                raise InvalidUsageError(f"rank {rank} is run by two threads at once")
            present.calls[rank] = call
            complete = len(present.calls) == self._world.size
            if complete:
                self._next_run = _JointRun()
        if complete:
            self._run_all(present, rank)
        else:
            try:
                self._await(present, timeout)
            except BaseException as error:  # Ctrl-C: the others must not wait for this rank
                self._give_up(present, rank, f"it was interrupted: {error!r}")
                raise
        return present.outcome(rank)

    def fail(self, rank: int, reason: str) -> None:
        """Ends the wait of the other ranks with an error: `rank` will not call :meth:`run`."""
        self._give_up(self._next_run, rank, reason)

    def _give_up(self, present: _JointRun, rank: int, reason: str) -> None:
        with self._lock:
            if self._next_run is not present:
                return  # all ranks have called `run`
            self._next_run = _JointRun()
        present.end(RankFailedError(reason), rank)

    def _run_all(self, present: _JointRun, rank: int) -> None:
        try:
            calls = [present.calls[number] for number in range(self._world.size)]
            streams = [call.stream for call in calls]
            present.results = self._world.run(
                [call.inputs for call in calls],
                stream=None if streams.count(None) == len(streams) else streams,
                out=[call.out for call in calls],
            )
        except ArkError as error:
            # One rank has to raise the original error: the rank that the error names, if any.
            present.end(error, self._culprit(error, rank))
        except BaseException as error:
            present.end(error, rank)
        else:
            present.end()

    def _culprit(self, error: ArkError, rank: int) -> int:
        """Returns the rank that an error names, if it names exactly one; `rank` otherwise."""
        named = {int(number) for number in re.findall(r"'rank(\d+)/", str(error))}
        return named.pop() if len(named) == 1 else rank

    def _await(self, present: _JointRun, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not present.await_end(max(0.0, deadline - time.monotonic())):
            with self._lock:
                if self._next_run is not present:
                    # All ranks have called `run`: the timeout of the kernel's waits applies now.
                    deadline = time.monotonic() + timeout
                    continue
                missing = [n for n in range(self._world.size) if n not in present.calls]
                self._next_run = _JointRun()
                present.end(
                    RankFailedError(f"{_ranks(missing)} did not call run within {timeout:g} s")
                )


def _ranks(numbers: list[int]) -> str:
    words = ", ".join(map(str, numbers))
    return f"rank {words}" if len(numbers) == 1 else f"ranks {words}"
