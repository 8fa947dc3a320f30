"""Meetings of the ranks of a world where each is run by a thread of its own."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Any, overload

from ... import knobs
from ...errors import ArkError, HangError, InvalidUsageError, RankFailedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...typing import Array, HostInput, HostInputs, Inputs
    from .world import World


class Rank:
    """One rank of a :class:`World`; :meth:`World.rank` makes it."""

    def __init__(self, meeting: Meeting, number: int) -> None:
        self._meeting = meeting
        self.number = number

    @overload
    def run(
        self, inputs: HostInputs | None = None, /, **named: HostInput
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def run(self, inputs: Inputs | None = None, /, **named: Array | int) -> dict[str, Any]: ...
    def run(self, inputs: Inputs | None = None, /, **named: Array | int) -> dict[str, Any]:
        """Runs together with all other ranks, when the last of them calls this.

        Args and result as :meth:`Executable.run`, of this rank alone.

        Raises:
            RankFailedError: another rank failed, or did not come within ``ARK_TIMEOUT``
                seconds. The ranks can meet again afterwards.
            HangError: a wait of the kernel lasted too long; every rank gets it.
            InvalidUsageError: this rank's inputs are wrong, or two threads run it at once.
        """
        return self._meeting.join(self.number, {**(inputs or {}), **named})

    def fail(self, reason: str) -> None:
        """Sends home the others that wait for this rank: they get a RankFailedError at once.

        Example:
            >>> world.rank(1).fail("its data could not be read")
        """
        self._meeting.fail(self.number, reason)


class _Round:
    """One run: who has come, and what became of it."""

    def __init__(self) -> None:
        self.inputs: dict[int, Inputs] = {}
        self.done = threading.Event()
        self.results: list[dict[str, Any]] = []
        self.error: BaseException | None = None
        # The rank to raise the error itself; all others get one that refers to it.
        self.culprit: int | None = None

    def end(self, error: BaseException | None = None, culprit: int | None = None) -> None:
        self.error, self.culprit = error, culprit
        self.done.set()

    def outcome(self, rank: int) -> dict[str, Any]:
        """The outputs of a rank; raises what it has to know."""
        if self.error is None:
            return self.results[rank]
        # One exception must not be raised in two threads: each would write its traceback there.
        if rank == self.culprit:
            raise self.error
        if isinstance(self.error, HangError):
            raise HangError(
                self.error.message,
                location=self.error.location,
                op=self.error.op,
                notes=self.error.notes,
            )
        who = "" if self.culprit is None else f"rank {self.culprit} failed: "
        raise RankFailedError(f"rank {rank} cannot go on: {who}{self.error}")


class Meeting:
    """Gathers the inputs of all ranks; the last one to come runs the world for all."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._round = _Round()

    def join(self, rank: int, inputs: Inputs) -> dict[str, Any]:
        """The outputs of `rank`, when all have come; see :meth:`Rank.run`."""
        patience = knobs.TIMEOUT.get()
        with self._lock:
            present = self._round
            if rank in present.inputs:
                raise InvalidUsageError(f"rank {rank} is run by two threads at once")
            present.inputs[rank] = inputs
            complete = len(present.inputs) == self._world.size
            if complete:
                self._round = _Round()
        if complete:
            self._run(present, rank)
        else:
            try:
                self._await(present, patience)
            except BaseException as error:  # Ctrl-C: the others must not wait for this rank
                self._give_up(present, rank, f"it was interrupted: {error!r}")
                raise
        return present.outcome(rank)

    def fail(self, rank: int, reason: str) -> None:
        """Ends the present round for `rank`, which will not come."""
        self._give_up(self._round, rank, reason)

    def _give_up(self, present: _Round, rank: int, reason: str) -> None:
        with self._lock:
            if self._round is not present:
                return  # all have come
            self._round = _Round()
        present.end(RankFailedError(reason), rank)

    def _run(self, present: _Round, rank: int) -> None:
        try:
            inputs = [present.inputs[number] for number in range(self._world.size)]
            present.results = self._world.run(inputs)
        except ArkError as error:
            # The thread that ran for all is not to blame, but one has to raise the original.
            present.end(error, self._culprit(error, rank))
        except BaseException as error:
            present.end(error, rank)
        else:
            present.end()

    def _culprit(self, error: ArkError, rank: int) -> int:
        """The one rank that an error is about; else the one whose thread met it."""
        named = {int(number) for number in re.findall(r"'rank(\d+)/", str(error))}
        return named.pop() if len(named) == 1 else rank

    def _await(self, present: _Round, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not present.done.wait(max(0.0, deadline - time.monotonic())):
            with self._lock:
                if self._round is not present:
                    # All have come: from here on the kernel's own watchdog counts.
                    deadline = time.monotonic() + patience
                    continue
                missing = [n for n in range(self._world.size) if n not in present.inputs]
                self._round = _Round()
                present.end(
                    RankFailedError(f"{_ranks(missing)} did not come within {patience:g} s")
                )


def _ranks(numbers: list[int]) -> str:
    words = ", ".join(map(str, numbers))
    return f"rank {words}" if len(numbers) == 1 else f"ranks {words}"
