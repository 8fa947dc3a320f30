"""The cpu driver of one rank: it runs the rank's lanes, in memory that all ranks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle
from ..errors import DeviceError, RankFailedError
from ..runtime.cpu.driver import GRACE_SECONDS, CpuDriver
from ..runtime.cpu.kernel import Kernel, Run
from ..runtime.drivers.abi import Abort
from ..runtime.drivers.interface import Launch
from ..runtime.ranks.rank_bundle import lanes_of_rank
from .agreement import check_iterations, is_stale

if TYPE_CHECKING:
    from ..runtime.cpu.lanes import LaneThreads
    from .communicator import CollectiveCall, ControlMessages
    from .shared import Segment, SharedMemory

__all__ = ["RankDriver"]


class RankDriver(CpuDriver):
    """Runs one rank's lanes; see :class:`ark_mlir.runtime.cpu.driver.CpuDriver`.

    Attributes:
        call: the collective call of the next launch, or None outside of a run.
    """

    def __init__(self, rank: int, segment: Segment) -> None:
        super().__init__()
        self.call: CollectiveCall | None = None
        self._rank = rank
        self._segment = segment

    def _lanes_here(self, bundle: Bundle) -> Sequence[int]:
        return lanes_of_rank(bundle, self._rank)

    def _fits_the_caller(self, bundle: Bundle) -> bool:
        """Returns False: the calling thread watches for failures of other ranks."""
        del bundle
        return False

    def _take(self, nbytes: int) -> SharedMemory:
        return self._segment.take(nbytes)

    def _current_call(self) -> CollectiveCall:
        if self.call is None:
            raise DeviceError("a rank cannot run outside of a collective call")
        return self.call

    def _clear(self, kernel: Kernel, launch: Launch) -> None:
        """Waits for all ranks; rank 0 clears the shared words before any lane starts."""

        def clear(messages: ControlMessages) -> None:
            if is_stale(messages):
                kernel.clear()
                # If a rank misses the answer of rank 0, the next collective call clears again.
                self._dirty, self.epoch = True, 0
            kernel.report[:] = 0
            kernel.status[:] = 0

        state = {"epoch": self.epoch, "clean": not self._dirty, "iterations": launch.iterations}
        messages = self._current_call().all_gather("start", state, first=clear)
        check_iterations(messages)
        if is_stale(messages):
            self.epoch = 0
            # The abort of another rank may have ended some of the lanes that stay in the kernel.
            self._dismiss()

    def _watch(self, run: Run) -> None:
        if self._current_call().find_failure():
            run.abort()

    def _result(self, lanes: LaneThreads, run: Run) -> tuple[list[int], tuple[int, ...]]:
        report = run.kernel.report
        count = len(run.kernel.bundle.tables.lanes)
        if not report[0] or self._is_complete(run):
            # An abort after the end of the run has no effect.
            return [Abort.NONE, *report[1:].tolist()], (0,) * count
        others = self._exchange_codes(lanes, run)
        codes = dict(zip(run.kernel.lanes, lanes.codes, strict=True)) | others
        # Lanes of a rank that did not answer count as aborted.
        return report.tolist(), tuple(codes.get(lane, int(report[0])) for lane in range(count))

    def _is_complete(self, run: Run) -> bool:
        """Returns True if every lane of every rank has passed the barrier that ends the run."""
        kernel = run.kernel
        epoch = self.epoch + (int(kernel.report[6]) or run.launch.iterations)
        arrivals = [semaphore.arrivals for semaphore in kernel.bundle.manifest.semaphores]
        expected = np.array([epoch * count % (1 << 64) for count in arrivals], np.uint64)
        return bool((kernel.arrivals(self.epoch) == expected).all())

    def _exchange_codes(self, lanes: LaneThreads, run: Run) -> dict[int, int]:
        """Returns the return values of all ranks' lanes in a run that failed, by lane.

        Waits until all lanes have left the kernel, so that the report is complete. Raises
        RankFailedError if the run failed because another rank failed.
        """
        codes = dict(zip(run.kernel.lanes, lanes.codes, strict=True))
        try:
            call = self._current_call()
            messages = call.all_gather(
                "end", sorted(codes.items()), timeout=min(GRACE_SECONDS, call.timeout)
            )
        except RankFailedError:
            if run.kernel.report[0] == Abort.HANG:
                return {}  # the report explains the failure better than RankFailedError
            raise
        return {lane: code for message in messages for lane, code in message.body}
