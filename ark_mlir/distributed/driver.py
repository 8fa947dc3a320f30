"""The cpu driver of one rank: it runs the rank's lanes, in memory that all ranks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle, Opcode
from ..errors import DeviceError, InvalidUsageError, RankFailedError
from ..runtime.abi import Abort
from ..runtime.cpu.driver import GRACE_SECONDS, CpuDriver, Kernel, Run
from ..runtime.driver import Launch
from ..runtime.ranks.world import qualified

if TYPE_CHECKING:
    from ..runtime.cpu.lanes import Lanes
    from .circle import Turn, Words
    from .shared import Segment, SharedMemory

__all__ = ["RankDriver", "part_of"]


def part_of(joined: Bundle, rank: int) -> Bundle:
    """Returns a program of all ranks with the buffers of one rank, under their names in that rank.

    Slots, tables and tasks stay unchanged. Buffers of other ranks get the kind ``peer`` and are
    not bound in this process. Raises DeviceError if a lane of the rank accesses such a buffer.
    """
    manifest = joined.manifest
    prefix = qualified(rank, manifest.ranks, "")
    buffers = tuple(
        buffer
        if buffer.kind == "constant"
        else replace(buffer, name=buffer.name.removeprefix(prefix))
        if buffer.name.startswith(prefix)
        else replace(buffer, kind="peer")
        for buffer in manifest.buffers
    )
    part = replace(joined, manifest=replace(manifest, buffers=buffers))
    _check_slots(part, rank)
    return part


def own_lanes(bundle: Bundle, rank: int) -> tuple[int, ...]:
    """Returns the lanes on the SMs of a rank."""
    manifest = bundle.manifest
    share = manifest.target.sms // manifest.ranks
    sms = bundle.tables.lanes[:, 0]
    return tuple(np.flatnonzero(sms // share == rank).tolist())


def _check_slots(part: Bundle, rank: int) -> None:
    manifest, tables = part.manifest, part.tables
    foreign = [buffer.slot for buffer in manifest.buffers if buffer.kind == "peer"]
    for lane in own_lanes(part, rank):
        _, first, last = tables.lanes[lane].tolist()
        rows = tables.instructions[first:last]
        tasks: list[int] = np.unique(rows[rows[:, 0] == Opcode.RUN, 1]).tolist()
        for task in tasks:
            begin = int(tables.tasks[task, 1])
            slots = tables.operands[begin : begin + len(manifest.tasks[task].values), 0]
            if np.isin(slots, foreign).any():
                raise DeviceError(
                    f"task {manifest.tasks[task].name!r} of rank {rank} accesses a buffer that "
                    "another rank binds; such a program runs in one process only",
                    location=part.where,
                )


class RankDriver(CpuDriver):
    """Runs one rank's lanes; see :class:`ark_mlir.runtime.cpu.driver.CpuDriver`.

    Attributes:
        turn: the turn of the next launch, or None outside of a run.
    """

    def __init__(self, rank: int, segment: Segment) -> None:
        super().__init__()
        self.turn: Turn | None = None
        self._rank = rank
        self._segment = segment

    def _own_lanes(self, bundle: Bundle) -> Sequence[int]:
        return own_lanes(bundle, self._rank)

    def _take(self, nbytes: int) -> SharedMemory:
        return self._segment.take(nbytes)

    def _current_turn(self) -> Turn:
        if self.turn is None:
            raise DeviceError("a rank cannot run outside of a turn")
        return self.turn

    def _clear(self, kernel: Kernel, launch: Launch) -> None:
        """Waits for all ranks; rank 0 clears the shared words before any lane starts."""

        def clear(words: Words) -> None:
            if _is_stale(words):
                kernel.clear()
                # If a rank misses the answer of rank 0, the next turn clears again.
                self._dirty, self.epoch = True, 0
            kernel.report[:] = 0
            kernel.status[:] = 0

        state = {"epoch": self.epoch, "clean": not self._dirty, "iterations": launch.iterations}
        words = self._current_turn().meet("start", state, first=clear)
        _check_iterations(words)
        if _is_stale(words):
            self.epoch = 0
            # The abort of another rank may have ended some of the lanes that stay in the kernel.
            self._dismiss()

    def _watch(self, run: Run) -> None:
        if self._current_turn().trouble():
            run.abort()

    def _result(self, lanes: Lanes, run: Run) -> tuple[list[int], tuple[int, ...]]:
        report = run.kernel.report
        count = len(run.kernel.bundle.tables.lanes)
        if not report[0] or self._is_complete(run):
            # An abort after the end of the run has no effect.
            return [Abort.NONE, *report[1:].tolist()], (0,) * count
        others = self._settle(lanes, run)
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

    def _settle(self, lanes: Lanes, run: Run) -> dict[int, int]:
        """Returns what the lanes of all ranks returned in a run that failed.

        Waits until all lanes have left the kernel, so that the report is complete. Raises
        RankFailedError if the run failed because another rank failed.
        """
        own = dict(zip(run.kernel.lanes, lanes.codes, strict=True))
        try:
            turn = self._current_turn()
            words = turn.meet("end", sorted(own.items()), patience=min(GRACE_SECONDS, turn.timeout))
        except RankFailedError:
            if run.kernel.report[0] == Abort.HANG:
                return {}  # the report and the counters explain more than the missing rank
            raise
        return {lane: code for word in words for lane, code in word.body}


def _check_iterations(words: Words) -> None:
    counts = {word.sender: word.body["iterations"] for word in words}
    odd = next((rank for rank in counts if counts[rank] != counts[0]), None)
    if odd is not None:
        raise InvalidUsageError(
            f"rank 0 runs {counts[0]} iterations, and rank {odd} runs {counts[odd]}"
        )


def _is_stale(words: Words) -> bool:
    """Returns True if the semaphores may differ from the values that all ranks expect."""
    return (
        not all(word.body["clean"] for word in words) or len({w.body["epoch"] for w in words}) > 1
    )
