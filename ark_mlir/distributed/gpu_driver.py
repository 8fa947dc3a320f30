"""The cuda driver of one rank in a process of its own."""

from __future__ import annotations

import time
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceError, InvalidUsageError, RankFailedError
from ..runtime.abi import Abort
from ..runtime.cuda.api import CudaApi
from ..runtime.cuda.driver import GRACE_SECONDS, CudaDriver
from ..runtime.driver import Fault, Outcome, Stop
from ..runtime.ranks.linking import LinkedRank, link
from ..runtime.ranks.outcomes import join_outcomes, join_traces
from .agreement import check_iterations, is_stale

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..runtime.arrays.streams import RunStream
    from ..runtime.cuda.kernel import SharedMemory
    from ..runtime.cuda.queue import QueueWatch
    from ..runtime.driver import Launch
    from .circle import Turn
    from .gpu_memory import GpuMemory

__all__ = ["GpuRankDriver"]


class GpuRankDriver(CudaDriver):
    """Runs one rank's lanes on its GPU; see :class:`ark_mlir.runtime.cuda.driver.CudaDriver`.

    A program that stays (`hold`) is launched again for every run.

    Attributes:
        turn: the turn of the next launch, or None outside of a run.
    """

    def __init__(self, joined: Bundle, rank: int, memory: GpuMemory) -> None:
        super().__init__(CudaApi(ordinal=memory.ordinal))
        self.turn: Turn | None = None
        self._joined = joined
        self._rank = rank
        self._memory = memory
        self._linked: list[LinkedRank] = []

    def load(self, bundle: Bundle, shared: SharedMemory | None = None) -> None:
        """See :meth:`Driver.load`; `bundle` has this rank's names."""
        self._linked = link(self._joined)
        program = self._linked[self._rank].bundle
        named = replace(program.manifest, buffers=bundle.manifest.buffers)
        shared = self._memory.shared if shared is None else shared
        super().load(replace(program, manifest=named), shared)
        self._watch = _PeerWatch(self._watch, self)
        self._clear()

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`; raises InvalidUsageError if the stream is being captured,
        since all ranks have to meet before each launch."""
        if super().captures(run_stream):
            raise InvalidUsageError("a run of several ranks cannot be part of a CUDA graph")
        return False

    def hold(self) -> None:
        """See :meth:`Driver.hold`: the kernel is launched for every run."""

    def release(self) -> None:
        """See :meth:`Driver.release`: no kernel stays."""

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`: after all ranks have come."""
        if self._given_up is not None:
            # Before the others hear of this rank: an earlier kernel may still signal to them.
            self._await_given_up(self._given_up)
        turn = self._current_turn()
        state = {"epoch": self.epoch, "clean": not self._dirty, "iterations": launch.iterations}
        words = turn.meet("start", state)
        check_iterations(words)
        if is_stale(words):
            # If a rank misses the next phase, the next turn clears again.
            self._dirty = True
            self._clear()
            turn.meet("clear")
        self._dirty = False
        super().launch(launch)

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`: the outcome of all ranks."""
        epoch = self.epoch
        outcome = super().wait()
        # Until all ranks have said that they are done.
        self._dirty = True
        outcomes = self._exchange(outcome)
        trace = None
        if outcome.trace is not None:
            trace = join_traces(self._joined, [self._linked[self._rank]], [outcome])
        joined = join_outcomes(self._joined, self._linked, outcomes)
        joined = joined._replace(epoch=epoch, trace=trace)
        if joined.good:
            self.epoch = (epoch + joined.iterations) % (1 << 64)
            self._dirty = False
        return joined

    def _exchange(self, outcome: Outcome) -> list[Outcome]:
        """Returns the outcomes of all ranks.

        A rank that does not answer counts as aborted if the report of this rank's hang explains
        more than the missing rank. Otherwise raises RankFailedError.
        """
        turn = self._current_turn()
        patience = turn.timeout if outcome.good else min(GRACE_SECONDS, turn.timeout)
        try:
            words = turn.meet("end", _encode(outcome), patience=patience)
        except RankFailedError:
            if outcome.stop.abort != Abort.HANG:
                raise
            outcomes = [_aborted(linked) for linked in self._linked]
            outcomes[self._rank] = outcome
            return outcomes
        # Traces stay in their process.
        return [
            _decode(word.body, len(linked.bundle.tables.lanes))
            for word, linked in zip(words, self._linked, strict=True)
        ]

    def look_at_peers(self, aborted_at: float | None) -> float | None:
        """Ends the kernel if another rank's has failed, and returns the time at which it was told.

        Raises RankFailedError if another rank cannot end this run, and DeviceError if the kernel
        does not end in time after it was told to.
        """
        turn = self._current_turn()
        if (trouble := turn.trouble()) is not None:
            turn.problem = trouble
            raise RankFailedError(f"rank {self._rank} cannot go on: {trouble}")
        if aborted_at is not None:
            if time.monotonic() - aborted_at > GRACE_SECONDS:
                raise DeviceError("the kernel does not end")
            return aborted_at
        if all(word.body["good"] for word in turn.arrived("end")):
            return None
        self.record.abort()
        return time.monotonic()

    def _current_turn(self) -> Turn:
        if self.turn is None:
            raise DeviceError("a rank cannot run outside of a turn")
        return self.turn

    def _clear(self) -> None:
        """Zeroes the counters and packets of this rank, and waits until that has happened."""
        self._api.enter()
        kernel = self._loaded()
        self.record.forget_queued()
        kernel.semaphores.clear(self._side)
        if kernel.own_packets is not None:
            kernel.own_packets.clear(self._side)
        self._api.await_stream(self._side)
        self.epoch = 0


class _PeerWatch:
    """Looks at the queue of the GPU and at the other ranks while a kernel runs."""

    def __init__(self, queue: QueueWatch, driver: GpuRankDriver) -> None:
        self._queue = queue
        self._driver = driver
        self._aborted_at: float | None = None

    def start(self, timeout_ns: int) -> _PeerWatch:
        self._queue.start(timeout_ns)
        self._aborted_at = None
        return self

    def look(self) -> None:
        self._queue.look()
        self._aborted_at = self._driver.look_at_peers(self._aborted_at)


def _encode(outcome: Outcome) -> dict[str, Any]:
    if outcome.good:
        return {"good": True, "iterations": outcome.iterations}
    return {
        "good": False,
        "iterations": outcome.iterations,
        "codes": outcome.codes,
        "stop": astuple(outcome.stop),
        "fault": astuple(outcome.fault),
        "counters": outcome.counters.tolist(),
    }


def _decode(said: dict[str, Any], lanes: int) -> Outcome:
    if said["good"]:
        return Outcome((0,) * lanes, iterations=said["iterations"])
    return Outcome(
        tuple(said["codes"]),
        Stop(*said["stop"]),
        Fault(*said["fault"]),
        np.array(said["counters"], np.uint64),
        iterations=said["iterations"],
    )


def _aborted(linked: LinkedRank) -> Outcome:
    return Outcome((int(Abort.HOST),) * len(linked.bundle.tables.lanes))
