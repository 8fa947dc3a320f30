"""Runs that are part of CUDA graphs, and what their replays leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidUsageError
from ..driver import Launch, Outcome
from .memory import download
from .record import read_results

if TYPE_CHECKING:
    from .kernel import CudaKernel
    from .memory import DeviceBytes
    from .record import LaunchRecord


@dataclass
class CapturedRun:
    """A launch that is part of a graph: its own record and semaphores, and what it uses."""

    record: LaunchRecord
    semaphores: DeviceBytes
    launch: Launch | None = None


class CapturedRuns:
    """The captured runs of one kernel.

    Memory for the next capture is kept ready, since nothing may be allocated while a stream is
    captured.

    Args:
        kernel: the kernel.

    Attributes:
        runs: the captured runs, in the order of their captures.
    """

    def __init__(self, kernel: CudaKernel) -> None:
        self.runs: list[CapturedRun] = []
        self._kernel = kernel
        self._spare: CapturedRun | None = None

    @property
    def records(self) -> list[LaunchRecord]:
        """The launch records of all captured runs."""
        return [run.record for run in self.runs]

    def clear(self) -> None:
        """Forgets all runs; their memory is given back with the kernel."""
        self.runs.clear()
        self._spare = None

    def provide_spare(self) -> None:
        """Makes the memory that the next captured run needs, unless it is there."""
        if self._spare is None:
            semaphores = self._kernel.make_semaphores()
            self._spare = CapturedRun(self._kernel.make_record(semaphores), semaphores)

    def take_spare(self) -> CapturedRun:
        """Returns a captured run with memory of its own; raises InvalidUsageError if there is
        none."""
        if self._spare is None:
            program = self._kernel.bundle.manifest.program
            raise InvalidUsageError(
                f"cannot capture a run of {program!r}: run it once outside "
                "of a graph first, which makes the memory that each captured run needs"
            )
        spare, self._spare = self._spare, None
        self.runs.append(spare)
        return spare

    def capture(
        self, run: CapturedRun, launch: Launch, ordinary: LaunchRecord, stream: int
    ) -> None:
        """Adds a run to the graph that a stream is captured in.

        A replay has the launch record copied from the host, which leaves epoch and report at
        zero, and its semaphores zeroed, whatever became of the replay before.

        Args:
            run: the run, from :meth:`take_spare`.
            launch: its arguments.
            ordinary: the launch record of ordinary runs, which has small inputs.
            stream: the stream.
        """
        run.launch = launch
        record, layout = run.record, self._kernel.layout
        record.slots[record.layout.bound] = launch.addresses
        for slot, offset in layout.inputs.items():
            if record.slots[slot] == ordinary.device.address + offset:
                record.slots[slot] = record.device.address + offset
        begin = layout.slots + 8 * layout.slot_count
        record.host.bytes[begin : layout.report] = ordinary.host.bytes[begin : layout.report]
        record.prepare(0, launch.iterations, launch.timeout_ns)
        record.mark_queued()
        record.upload(stream)
        run.semaphores.clear(stream)
        self._kernel.launch(record, stream)

    def outcome(self, run: CapturedRun, stream: object) -> Outcome:
        """Returns the outcome of the last replay of a run, which has ended.

        Args:
            run: the run.
            stream: what the copy from the device goes through.
        """
        launch, layout, kernel = run.launch, self._kernel.layout, self._kernel
        assert launch is not None
        # Not to the record's copy on the host, which replays begin from.
        size = (layout.result_end - layout.report,)
        address = run.record.report_address
        words = download(kernel.api, stream, address, np.dtype(np.uint8), size)
        codes, stop, fault, stopped = read_results(layout, words)
        counters = kernel.counters(run.semaphores, stream)
        return Outcome(codes, stop, fault, counters, 0, stopped or launch.iterations)
