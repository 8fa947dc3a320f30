"""Runs that are part of graphs of the vendor, and the outcomes of their replays."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidUsageError
from ..drivers.interface import Launch, Outcome
from .memory import DeviceBytes, DeviceMemory, download
from .record import read_results

if TYPE_CHECKING:
    from .kernel import GpuKernel
    from .record import LaunchRecord

_ALIGNMENT = 256


@dataclass
class CapturedRun:
    """A launch that is part of a graph, with its own launch record and semaphores, and the owners
    of the memory that it uses.

    Attributes:
        record: the launch record.
        semaphores: the semaphores.
        image: the bytes of record and semaphores before a replay, on the device; None if they are
            not in one block of memory.
        launch: the arguments of the launch.
    """

    record: LaunchRecord
    semaphores: DeviceBytes
    image: DeviceMemory | None = None
    launch: Launch | None = None


class CapturedRuns:
    """The captured runs of one kernel.

    The memory for the next capture is allocated in advance, since nothing may be allocated while a
    stream is being captured.

    Args:
        kernel: the kernel.

    Attributes:
        runs: the captured runs, in the order of their captures.
    """

    def __init__(self, kernel: GpuKernel) -> None:
        self.runs: list[CapturedRun] = []
        self._kernel = kernel
        self._spare: CapturedRun | None = None

    @property
    def records(self) -> list[LaunchRecord]:
        """The launch records of all captured runs."""
        return [run.record for run in self.runs]

    def clear(self) -> None:
        """Drops all runs; their memory is freed with the kernel."""
        self.runs.clear()
        self._spare = None

    def provide_spare(self) -> None:
        """Allocates the memory of the next captured run, unless it is allocated already."""
        if self._spare is None:
            self._spare = self._make_run()

    def _make_run(self) -> CapturedRun:
        # Each run tries again after an error, so that an attempt that fails frees its memory.
        with ExitStack() as attempt:
            run = self._allocate(attempt)
            attempt.pop_all()
        return run

    def _allocate(self, attempt: ExitStack) -> CapturedRun:
        """Returns a captured run; the stack frees its memory on the device."""
        kernel = self._kernel
        # The host reads the record while the kernel runs. Memory for that is slow for semaphores,
        # unless all memory of the device is coherent.
        if kernel.is_shared or not kernel.api.is_coherent:
            semaphores = kernel.make_semaphores()
            if isinstance(semaphores, DeviceMemory):
                attempt.callback(semaphores.free)
            return CapturedRun(kernel.make_record(semaphores), semaphores)
        # No output of a captured run is in the record, so that semaphores follow the results.
        begin = -(-kernel.layout.result_end // _ALIGNMENT) * _ALIGNMENT
        nbytes = begin + kernel.semaphore_bytes
        block = kernel.memory(nbytes)
        attempt.callback(block.free)
        image = kernel.memory(nbytes)
        attempt.callback(image.free)
        semaphores = DeviceBytes(kernel.api, block.address + begin, kernel.semaphore_bytes)
        return CapturedRun(kernel.make_record(semaphores, block), semaphores, image)

    def take_spare(self) -> CapturedRun:
        """Returns a captured run with its own memory; raises InvalidUsageError if no memory was
        allocated in advance."""
        if self._spare is None:
            program = self._kernel.bundle.manifest.program
            raise InvalidUsageError(
                f"cannot capture a run of {program!r}: run it once outside "
                "of a graph first, which allocates the memory of the captured run"
            )
        spare, self._spare = self._spare, None
        self.runs.append(spare)
        return spare

    def capture(
        self, run: CapturedRun, launch: Launch, ordinary: LaunchRecord, stream: int
    ) -> None:
        """Adds a run to the graph into which a stream is being captured.

        Each replay resets the launch record, with epoch and report, and zeroes the semaphores, so
        that it does not depend on the previous replay. One copy of an image on the device does
        both, and takes 1 us on an H200. A copy from the host and a memset take 4 us.

        Args:
            run: the run, from :meth:`take_spare`.
            launch: the arguments of the launch.
            ordinary: the launch record of ordinary runs, which holds the small inputs.
            stream: the handle of the stream.
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
        if run.image is None:
            record.upload(stream)
            run.semaphores.clear(stream)
        else:
            self._copy_image(record, run.image, stream)
        self._kernel.launch(record, stream)

    def _copy_image(self, record: LaunchRecord, image: DeviceMemory, stream: int) -> None:
        """Sets the image of a captured run, and adds the copy of the image to the graph."""
        api = self._kernel.api
        begin = np.zeros(image.nbytes, np.uint8)
        begin[: record.layout.result_end] = record.host.bytes[: record.layout.result_end]
        # The upload waits for its stream, which the mode of the capture may forbid.
        with api.within():
            image.upload(begin)
        api.call(
            api.names.within_device, record.device.address, image.address, image.nbytes, stream
        )

    def outcome(self, run: CapturedRun, stream: object) -> Outcome:
        """Returns the outcome of the last replay of a run, which has ended.

        Args:
            run: the run.
            stream: the stream for the copy from the device.
        """
        launch, layout, kernel = run.launch, self._kernel.layout, self._kernel
        assert launch is not None
        # The copy must not overwrite the launch record on the host, which replays copy again.
        size = (layout.result_end - layout.report,)
        address = run.record.report_address
        words = download(kernel.api, stream, address, np.dtype(np.uint8), size)
        codes, stop, fault, stopped = read_results(layout, words)
        counters = kernel.counters(run.semaphores, stream)
        return Outcome(codes, stop, fault, counters, 0, stopped or launch.iterations)
