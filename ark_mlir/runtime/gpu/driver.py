"""The driver for GPUs: one launch of the kernel, with a CTA for each lane."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import BusyError, DeviceError
from ..arrays.streams import RunStream, current_stream, stream_handle
from ..drivers.interface import Launch, Outcome
from .api import GpuApi
from .exchange import GpuExchange
from .graphs import CapturedRun, CapturedRuns
from .kernel import GpuKernel, SharedMemory
from .memory import DeviceMemory, download
from .queue import AbandonedLaunch, QueueWatch
from .record import LaunchRecord
from .resident import GpuResident
from .streams import GpuStreams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle

# Seconds for lanes to notice an abort, which they poll in every wait and before every iteration.
GRACE_SECONDS = 10.0
# The note of an error for a kernel that began while the host abandoned its run.
BEGAN_LATE = "the kernel began while the run was abandoned: states may hold part of the run"
# Seconds within which all CTAs of a launch begin.
_SETTLE_SECONDS = 0.005


class GpuDriver:
    """Runs a bundle on one GPU; see :class:`ark_mlir.runtime.Driver`.

    Args:
        api: the API of the vendor's driver on the GPU.

    Attributes:
        record: the launch record of ordinary runs.
        reads_outputs: True if outputs of the present run are copied to the host with the record.
    """

    def __init__(self, api: GpuApi) -> None:
        # The epoch of the last completed iteration.
        self.epoch = 0
        self.reads_outputs = False
        self._api = api
        self.device = (api.device_type, api.ordinal)
        self._kernel: GpuKernel | None = None
        self._launch: Launch | None = None
        self._abandoned: AbandonedLaunch | None = None
        self._dirty = False
        self._resident: GpuResident | None = None
        self._is_resident = False
        self._handed_out: weakref.WeakSet[DeviceMemory] = weakref.WeakSet()
        self._resources = ExitStack()
        try:
            self._resources.callback(self._api.close)
            self._api.open()
            self._streams = GpuStreams(api, self._resources)
        except BaseException:
            self._resources.close()
            raise

    # -- bundle and memory -------------------------------------------------------------------

    def load(self, bundle: Bundle, shared: SharedMemory | None = None) -> None:
        """See :meth:`Driver.load`; `shared` is memory that other GPUs access, too."""
        self._api.enter()
        self._kernel = GpuKernel(self._api, self._streams.side, bundle, shared)
        self._captured = CapturedRuns(self._kernel)
        self.record = self._kernel.make_record(self._kernel.semaphores)
        self._watch = self._make_watch(self._kernel)
        self._captured.provide_spare()

    def _make_watch(self, kernel: GpuKernel) -> QueueWatch:
        return QueueWatch(kernel, (self.record,))

    @property
    def bundle(self) -> Bundle:
        """The program that is loaded."""
        return self._loaded().bundle

    def allocate(
        self,
        nbytes: int,
        alignment: int,
        *,
        zeroed: bool = True,
        lasting: bool = False,
        rank: int = 0,
        coherent: bool = False,
    ) -> DeviceMemory:
        """See :meth:`Driver.allocate`: every allocation is aligned to 256 bytes.

        `coherent` is that of :class:`DeviceMemory`.
        """
        del alignment, rank
        # Lasting memory is allocated in runs, which the thread of a limit would slow down.
        memory = DeviceMemory(
            self._api, self._streams.side, nbytes, zeroed, limited=not lasting, coherent=coherent
        )
        if not lasting:
            self._handed_out.add(memory)
        return memory

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: arrays of the host are copied."""
        del array, alignment
        return None

    def download(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], rank: int = 0
    ) -> NDArray[Any]:
        """See :meth:`Driver.download`."""
        del rank
        return download(self._api, self._streams.side, address, dtype, shape)

    def send(self, memory: DeviceMemory, array: NDArray[Any], run_stream: RunStream) -> None:
        """Queues a copy of an array of the host to the device on the stream of a run."""
        if memory.nbytes:
            self._api.call(
                self._api.names.to_device, memory.address, array.ctypes.data, memory.nbytes,
                self._streams.handle_of(run_stream),
            )  # fmt: skip

    # -- streams -----------------------------------------------------------------------------

    def run_stream(self, stream: object, values: Iterable[object]) -> RunStream:
        """See :meth:`Driver.run_stream`; all further calls for the run come from this thread."""
        self._api.enter()
        return self._streams.choose(stream, values, is_resident=self._is_resident)

    def is_foreign(self, run_stream: RunStream) -> bool:
        """Returns True if the stream of a run, or a producer stream, is not the driver's own."""
        return self._streams.is_foreign(run_stream)

    def synchronize(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.synchronize`."""
        self._api.enter()
        self._streams.synchronize(run_stream)

    def exchange(self, stays: bool) -> GpuExchange:
        """See :meth:`Driver.exchange`: every exchange keeps its buffers between runs."""
        return GpuExchange(self, eager=stays)

    # -- graphs ------------------------------------------------------------------------------

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`."""
        return self._streams.is_captured(run_stream)

    def recorded(self, stream: object) -> list[Outcome]:
        """See :meth:`Driver.recorded`."""
        kernel = self._loaded()
        self._api.enter()
        handle = current_stream(self.device[1]) if stream is None else stream_handle(stream)
        return [self._recorded(kernel, run, handle) for run in self._captured.runs]

    def _recorded(self, kernel: GpuKernel, run: CapturedRun, stream: int) -> Outcome:
        assert run.launch is not None
        if self._abandoned is not None:
            self._await_abandoned(self._abandoned)
        self._streams.record(self._streams.done, stream)
        # The caller owns the replay: an error leaves it queued, and a later check waits again.
        watch = QueueWatch(kernel, self._captured.records)
        self._join(self._streams.done, watch.start(run.launch.timeout_ns))
        return self._captured.outcome(run, self._streams.side)

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`."""
        kernel, record = self._loaded(), self.record
        if launch.captured:
            run = self._captured.take_spare()
            self._captured.capture(run, launch, record, self._streams.follow(launch.run_stream))
            return
        if self._abandoned is not None:
            self._await_abandoned(self._abandoned)
        if self._dirty:
            record.forget_queued()
        stream = self._streams.follow(launch.run_stream)
        try:
            if (resident := self._resident_kernel) is not None:
                self._ring(resident, kernel, record, launch)
            else:
                self._captured.provide_spare()
                self._start(kernel, record, launch, stream)
        except BaseException:
            # The kernel may have begun, and reads memory that the next run changes.
            with suppress(DeviceError):
                self._undo(
                    launch, stream if self._resident_kernel is None else self._streams.kernels
                )
            raise

    def _start(self, kernel: GpuKernel, record: LaunchRecord, launch: Launch, stream: int) -> None:
        dirty = self._dirty
        # Until the run succeeds, counters are invalid.
        self._dirty = True
        if dirty:
            self.epoch = 0
        record.slots[record.layout.bound] = launch.addresses
        trace = kernel.trace.address if launch.trace else 0
        record.prepare(self.epoch, launch.iterations, launch.timeout_ns, trace)
        record.mark_queued()
        record.upload(stream)
        # The memset needs SMs, too, and waits in the same stream.
        if dirty:
            kernel.semaphores.clear(stream)
        if launch.trace:
            kernel.trace.clear(stream)
        self._launch = launch
        kernel.launch(record, stream)
        record.download(stream, self.reads_outputs)
        self._streams.record(self._streams.done, stream)

    def _ring(
        self, resident: GpuResident, kernel: GpuKernel, record: LaunchRecord, launch: Launch
    ) -> None:
        clear = None
        if self._dirty:
            resident.dismiss(record, GRACE_SECONDS)
            clear, self.epoch = kernel.semaphores, 0
        self._dirty = True
        record.slots[record.layout.bound] = launch.addresses
        trace = 0
        if launch.trace:
            # A copy of zeros, since a memset would need an SM.
            kernel.trace.upload(np.zeros(kernel.trace.nbytes, np.uint8))
            trace = kernel.trace.address
        record.prepare(self.epoch, launch.iterations, launch.timeout_ns, trace, resident.address)
        self._launch = launch
        resident.ring(record, clear)

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        if self._launch is None:
            raise DeviceError("nothing was launched")
        watch = self._watch.start(self._launch.timeout_ns)
        try:
            if self._is_resident and self._resident is not None:
                self._join_resident(self._resident, watch)
            else:
                self._join(self._streams.done, watch)
        except BusyError as error:
            self._interrupt()
            if self._abandoned is None:
                error.notes += (BEGAN_LATE,)
            raise
        except BaseException:
            self._interrupt()
            raise
        return self._finish(self._loaded(), self._launch)

    def cancel(self) -> None:
        """See :meth:`Driver.cancel`."""
        if self._launch is not None:
            self._api.enter()
            self._interrupt()

    def _join_resident(self, resident: GpuResident, watch: QueueWatch) -> None:
        record = self.record

        def download() -> None:
            record.download(self._streams.side, self.reads_outputs)
            self._streams.record(self._streams.done, self._streams.side)
            resident.wait_for(self._streams.done)

        def again() -> bool:
            """Rings again, and returns True, if the kernel ended before it saw that the host rang.

            A kernel ends so if it waits at the doorbell for longer than its limit; the report then
            has no error.
            """
            if not resident.missed_run:
                return False
            download()
            if not record.results().good:
                return False
            resident.ring(record, None)
            return True

        resident.join(again, watch.poll)
        download()

    def make_resident(self) -> None:
        """See :meth:`Driver.make_resident`."""
        self._api.enter()
        kernel, streams = self._loaded(), self._streams
        self._captured.provide_spare()
        if self._resident is None:
            self._resident = GpuResident(
                self._api, kernel, streams.kernels, streams.side, streams.ended, streams.done
            )
        self._is_resident = True

    def make_coherent(self) -> None:
        """See :meth:`Driver.make_coherent`: the next run launches a resident kernel again."""
        resident = self._resident_kernel
        if resident is not None and self._abandoned is None and not self._api.is_coherent:
            self._api.enter()
            resident.dismiss(self.record, GRACE_SECONDS)

    def end_residency(self) -> None:
        """See :meth:`Driver.end_residency`."""
        self._is_resident = False
        # The kernel of an abandoned run ends by the earlier abort.
        if self._resident is not None and self._abandoned is None:
            self._api.enter()
            self._resident.dismiss(self.record, GRACE_SECONDS)

    def close(self) -> None:
        """See :meth:`Driver.close`: releases may wait for other kernels, up to a limit."""
        if self._api.forked:
            return
        # Each step runs even if an earlier one fails.
        with self._resources as resources:
            if self._kernel is not None:
                resources.callback(self._kernel.free)
            for memory in list(self._handed_out):
                resources.callback(memory.free)
            try:
                self._end_kernel()
            finally:
                if self._kernel is not None:
                    self._captured.clear()
                self._kernel = self._resident = None
                self._launch = self._abandoned = None

    def _end_kernel(self) -> None:
        """Aborts a kernel that is queued or runs, and waits for its end.

        Raises DeviceError after the grace period. Releases are then deferred until the kernel ends.
        """
        launch, kept = self._launch, self._resident
        if launch is not None:
            self._abandoned = AbandonedLaunch(self._end, launch.timeout_ns, launch.owners)
        elif self._abandoned is None and kept is not None:
            self._abandoned = AbandonedLaunch(self._streams.ended, 0, None)
        # The garbage collector may call this in any thread.
        with self._api.within():
            try:
                if launch is not None or (kept is not None and kept.is_running):
                    self.record.abort()
            finally:
                if (launch := self._abandoned) is not None:
                    self._await_end(launch.end, launch.owners, self._not_ended)
            if self._kernel is not None and self._api.release_deferred():
                self._await_others()

    def _await_others(self) -> None:
        """Waits for foreign kernels on the default stream and on blocking streams.

        The vendor's driver waits for all kernels when memory is freed, and may block other calls
        meanwhile. Kernels on non-blocking streams cannot be queried; for them, the limit of each
        call is the only one.
        """
        if self._api.record_after_others(self._streams.ready):
            self._await_end(self._streams.ready, None, self._others_not_ended)

    def _await_end(self, event: object, owners: object, error: Callable[[], DeviceError]) -> None:
        """Waits for an event.

        Raises `error()` after the grace period, and defers all releases until the event.
        """
        if not self._streams.wait(event, seconds=GRACE_SECONDS):
            self._api.wait_for(event, owners)
            raise error()

    def _others_not_ended(self) -> BusyError:
        return BusyError(
            f"{self.bundle.manifest.program!r} is closed, and work of others on the GPU has not "
            f"ended within {GRACE_SECONDS:g} s",
            notes=["ark frees the memory when that work has ended"],
        )

    def _not_ended(self) -> DeviceError:
        program = self.bundle.manifest.program
        note = "its memory is freed when the kernel has ended"
        if self.record.queued:
            return BusyError(
                f"{program!r} is closed, and its last run is still queued: another kernel holds "
                "SMs that it needs",
                notes=[note],
            )
        return DeviceError(
            f"{program!r} is closed, and its kernel has not ended within {GRACE_SECONDS:g} s",
            notes=[note],
        )

    def _loaded(self) -> GpuKernel:
        if self._kernel is None:
            raise DeviceError("no program is loaded")
        return self._kernel

    def _join(
        self, event: object, watch: QueueWatch | None = None, seconds: float = float("inf")
    ) -> None:
        """Waits for an event.

        Raises DeviceError after `seconds`, and the errors of `watch`, which a long wait polls.
        """
        if not self._streams.wait(event, watch, seconds):
            raise DeviceError("the kernel does not end")

    def _finish(self, kernel: GpuKernel, launch: Launch) -> Outcome:
        self._launch = None
        results = self.record.results()
        if results.good and not launch.trace:
            iterations = results.stopped or launch.iterations
            outcome = Outcome(results.codes, epoch=self.epoch, iterations=iterations)
            self._advance(outcome)
            return outcome
        counters = kernel.counters(kernel.semaphores, self._streams.side)
        trace = None
        if launch.trace:
            shape = (kernel.trace.nbytes // 16, 2)
            trace = kernel.trace.read(np.dtype(np.int64), shape)
        outcome = Outcome(
            results.codes, results.stop, results.fault, counters, self.epoch,
            results.stopped or launch.iterations, trace,
        )  # fmt: skip
        if results.good:
            self._advance(outcome)
        return outcome

    def _advance(self, outcome: Outcome) -> None:
        """Adds the completed iterations to the epoch of the last completed iteration."""
        self.epoch = (self.epoch + outcome.iterations) % (1 << 64)
        self._dirty = False

    # -- failed runs -------------------------------------------------------------------------

    @property
    def _end(self) -> object:
        """The event of the end of a run's kernel."""
        return self._streams.done if self._resident_kernel is None else self._streams.ended

    @property
    def _resident_kernel(self) -> GpuResident | None:
        return self._resident if self._is_resident else None

    def _interrupt(self) -> None:
        """Aborts the current run, and waits for its end if it ends within the grace period.

        A kernel that is still queued ends when it begins; the launch is abandoned. Raises
        DeviceError if a kernel that has begun does not end.
        """
        launch, self._launch = self._launch, None
        end = self._end
        if launch is not None:
            self._abandoned = AbandonedLaunch(end, launch.timeout_ns, launch.owners)
        self.record.abort()
        if self.record.queued:
            # All CTAs begin together. If one of them read the report before the abort arrived, the
            # mark is cleared by then.
            time.sleep(_SETTLE_SECONDS)
            if self.record.queued and not self._api.has_happened(end):
                return
        self._join(end, seconds=GRACE_SECONDS)
        self._abandoned = None

    def _undo(self, launch: Launch, stream: int) -> None:
        """Aborts a partly issued launch on a stream."""
        self._launch = launch
        self._streams.record(self._end, stream)
        self._interrupt()

    def _await_abandoned(self, launch: AbandonedLaunch) -> None:
        """Waits for the end of an abandoned launch, before its memory is reused."""
        self._join(launch.end, self._watch.start(launch.timeout_ns))
        self._abandoned = None
