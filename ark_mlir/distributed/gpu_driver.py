"""The driver for GPUs of one rank in its own process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BusyError, DeviceError, InvalidUsageError, RankFailedError
from ..runtime.arrays.streams import RunStream
from ..runtime.drivers.abi import Abort
from ..runtime.drivers.interface import Fault, Outcome, Stop
from ..runtime.gpu.driver import BEGAN_LATE, GRACE_SECONDS, GpuDriver
from ..runtime.gpu.queue import QueueWatch
from ..runtime.ranks.linking import LinkedRank, link
from ..runtime.ranks.outcomes import join_outcomes, join_traces
from .agreement import check_iterations, is_stale

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..runtime.cuda.port_channels import PortChannels
    from ..runtime.drivers.interface import Launch
    from ..runtime.gpu.kernel import GpuKernel, SharedMemory
    from ..runtime.gpu.record import LaunchRecord
    from .communicator import CollectiveCall, ControlMessages
    from .gpu_memory import GpuMemory

__all__ = ["GpuRankDriver"]


class GpuRankDriver(GpuDriver):
    """Runs one rank's lanes on its GPU; see :class:`ark_mlir.runtime.gpu.driver.GpuDriver`.

    There are no resident kernels: every run is a launch.

    Attributes:
        call: the collective call of the current run, or None outside of a run.
    """

    def __init__(self, joined: Bundle, rank: int, memory: GpuMemory) -> None:
        super().__init__(memory.make_api())
        self.call: CollectiveCall | None = None
        self._joined = joined
        self._rank = rank
        self._memory = memory
        self._linked: list[LinkedRank] = []
        # The limit of a wait in the present run.
        self._limit_ns = 0
        # True if copies and signals of an aborted run between domains may be under way.
        self._was_aborted = False

    def load(self, bundle: Bundle, shared: SharedMemory | None = None) -> None:
        """See :meth:`Driver.load`; `bundle` has the buffers by their names in this rank."""
        self._linked = link(self._joined)
        program = self._linked[self._rank].bundle
        named = replace(program.manifest, buffers=bundle.manifest.buffers)
        shared = self._memory.shared if shared is None else shared
        super().load(self._memory.relocate(replace(program, manifest=named)), shared)
        self._clear()

    def _make_watch(self, kernel: GpuKernel) -> QueueWatch:
        return _PeerWatch(kernel, (self.record,), self._kernel_name(self._rank), self)

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`; raises InvalidUsageError if the stream is being captured,
        since all ranks exchange control messages before each launch."""
        if super().captures(run_stream):
            raise InvalidUsageError("a run of several ranks cannot be part of a CUDA graph")
        return False

    def make_resident(self) -> None:
        """See :meth:`Driver.make_resident`: the kernel is launched for every run."""

    def end_residency(self) -> None:
        """See :meth:`Driver.end_residency`: no kernel is resident."""

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`: launches when all ranks have arrived."""
        if self._abandoned is not None:
            # This rank waits before its control message: its abandoned kernel may still signal to
            # the other ranks.
            self._await_abandoned(self._abandoned)
        launch = self._after_earlier_work(launch)
        call = self._current_call()
        state = {
            "epoch": self.epoch,
            "clean": not self._dirty,
            "iterations": launch.iterations,
            "aborted": self._was_aborted,
            "meetings": 0 if self._ports is None else self._ports.meetings,
        }
        messages = call.all_gather("start", state)
        check_iterations(messages)
        if is_stale(messages):
            # If a rank misses the next phase, the next collective call zeroes the counters again.
            self._dirty = True
            self._await_late_signals(messages)
            self._clear()
            call.all_gather("clear")
        self._dirty = False
        self._was_aborted = True  # until it has ended
        self._limit_ns = launch.timeout_ns
        super().launch(launch)

    @property
    def _ports(self) -> PortChannels | None:
        return None if self._memory.shared is None else self._memory.shared.ports

    def _await_late_signals(self, messages: ControlMessages) -> None:
        """Waits for the copies and signals between domains of a run that was aborted.

        Late signals would otherwise count in the next run. Raises DeviceError if the network has no
        way to wait for them.
        """
        shared = self._memory.shared
        if shared is None or not shared.network:
            return
        if self._ports is not None:
            meetings = max(message.body["meetings"] for message in messages)
            self._ports.meet(meetings + 1, self._check_peers)
        elif any(message.body["aborted"] for message in messages):
            raise DeviceError(
                f"a run of {self._joined.manifest.program!r} was aborted, and its signals by "
                "NCCL's network may still arrive: load the program again",
                notes=[
                    "NCCL does not tell the host when signals of an earlier kernel have arrived"
                ],
            )

    def _after_earlier_work(self, launch: Launch) -> Launch:
        """Waits for the producer streams of a launch; returns the launch without them.

        The kernels of the other ranks then do not occupy their GPUs during this wait.
        """
        if not self.is_foreign(launch.run_stream):
            return launch
        stream = self._streams.follow(launch.run_stream)
        self._streams.record(self._streams.ready, stream)
        self._join(self._streams.ready)
        return launch._replace(run_stream=RunStream(self.device, stream))

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`: the outcome of all ranks."""
        epoch = self.epoch
        outcome = super().wait()
        # The counters are invalid until all ranks have reported success.
        self._dirty = True
        outcomes = self._exchange(outcome)
        self._was_aborted = any(each.stop.abort or any(each.codes) for each in outcomes)
        for each in outcomes:
            if each.stop.abort == Abort.PEERS:
                raise self._late(each.stop.seen)
        trace = None
        if outcome.trace is not None:
            trace = join_traces(self._joined, [self._linked[self._rank]], [outcome])
        joined = join_outcomes(self._joined, self._linked, outcomes)
        joined = joined._replace(epoch=epoch, trace=trace)
        if joined.good:
            self.epoch = (epoch + joined.iterations) % (1 << 64)
            self._dirty = False
        return joined

    def _late(self, rank: int) -> BusyError:
        """Returns the error for a kernel that began after another rank's wait for it timed out."""
        watch = QueueWatch(self._loaded(), (), self._kernel_name(rank))
        error = watch.start(self._limit_ns).error()
        error.notes += (BEGAN_LATE,)
        return error

    def _kernel_name(self, rank: int) -> str:
        return f"the kernel of rank {rank} of {self._joined.manifest.program!r}"

    def _exchange(self, outcome: Outcome) -> list[Outcome]:
        """Returns the outcomes of all ranks.

        If a rank does not answer and this rank has a report of a hang, the other ranks count as
        aborted, since the report explains more than the missing rank. Raises RankFailedError
        otherwise.
        """
        call = self._current_call()
        timeout = call.timeout if outcome.good else min(GRACE_SECONDS, call.timeout)
        try:
            messages = call.all_gather("end", _encode(outcome), timeout=timeout)
        except RankFailedError:
            if outcome.stop.abort != Abort.HANG:
                raise
            outcomes = [_aborted(linked) for linked in self._linked]
            outcomes[self._rank] = outcome
            return outcomes
        # Traces stay in their process.
        return [
            _decode(message.body, len(linked.bundle.tables.lanes))
            for message, linked in zip(messages, self._linked, strict=True)
        ]

    def poll_peers(self, aborted_at: float | None) -> float | None:
        """Aborts the kernel if another rank's kernel has failed; returns the time of the abort.

        `aborted_at` is the result of the previous call. Raises RankFailedError if another rank
        cannot end this run, BusyError if the kernel has not begun when another one has ended, and
        DeviceError if the kernel does not end within the grace period after the abort.
        """
        self._check_peers()
        call = self._current_call()
        if aborted_at is not None:
            if time.monotonic() - aborted_at > GRACE_SECONDS:
                raise DeviceError("the kernel does not end")
            return aborted_at
        if not any(_ended_early(message.body) for message in call.messages_at("end")):
            return None
        if self.record.queued:
            # The wait of another kernel for this one has timed out.
            raise self._watch.error()
        self.record.abort()
        return time.monotonic()

    def _check_peers(self) -> None:
        """Raises RankFailedError if another rank cannot continue this run."""
        call = self._current_call()
        if (failure := call.find_failure()) is not None:
            call.problem = failure
            raise RankFailedError(f"rank {self._rank} cannot continue: {failure}")

    def _current_call(self) -> CollectiveCall:
        if self.call is None:
            raise DeviceError("a rank cannot run outside of a collective call")
        return self.call

    def _clear(self) -> None:
        """Zeroes the counters and packets of this rank, and waits for the memset."""
        self._api.enter()
        self.record.forget_queued()
        self._loaded().clear_shared(self._streams.side)
        self._api.await_stream(self._streams.side)
        self.epoch = 0


class _PeerWatch(QueueWatch):
    """Polls the queue of the GPU and the other ranks while a kernel runs."""

    def __init__(
        self,
        kernel: GpuKernel,
        records: Iterable[LaunchRecord],
        name: str,
        driver: GpuRankDriver,
    ) -> None:
        super().__init__(kernel, records, name)
        self._driver = driver
        self._aborted_at: float | None = None

    def start(self, timeout_ns: int) -> QueueWatch:
        """See :meth:`QueueWatch.start`."""
        self._aborted_at = None
        return super().start(timeout_ns)

    def poll(self) -> None:
        """See :meth:`QueueWatch.poll` and :meth:`GpuRankDriver.poll_peers`."""
        super().poll()
        self._aborted_at = self._driver.poll_peers(self._aborted_at)


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


def _ended_early(outcome: dict[str, Any]) -> bool:
    """Returns True if a rank's kernel ended without signals for which other ranks wait."""
    return not outcome["good"] and (outcome["stop"][0] != Abort.NONE or any(outcome["codes"]))


def _decode(outcome: dict[str, Any], lanes: int) -> Outcome:
    if outcome["good"]:
        return Outcome((0,) * lanes, iterations=outcome["iterations"])
    return Outcome(
        tuple(outcome["codes"]),
        Stop(*outcome["stop"]),
        Fault(*outcome["fault"]),
        np.array(outcome["counters"], np.uint64),
        iterations=outcome["iterations"],
    )


def _aborted(linked: LinkedRank) -> Outcome:
    return Outcome((int(Abort.HOST),) * len(linked.bundle.tables.lanes))
