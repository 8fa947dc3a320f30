"""The cuda driver: one CTA per lane, all of them resident, in one cooperative launch."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import BusyError, DeviceError
from ..arrays.streams import CUDA, RunStream, choose_run_stream, current_stream, stream_handle
from ..driver import Launch, Outcome
from .api import CudaApi
from .exchange import CudaExchange
from .graphs import CapturedRun, CapturedRuns
from .kernel import CudaKernel, SharedMemory
from .memory import CudaMemory, download
from .queue import GivenUp, QueueWatch
from .record import LaunchRecord
from .resident import CudaResident

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle

# A waiting host first spins, since most runs are short, then sleeps between looks.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005
# What the lanes may take to notice an abort; they look in every wait and before every iteration.
GRACE_SECONDS = 10.0
# The note of an error for a kernel that began when its run was cancelled.
BEGAN_LATE = "it began at that moment: states may hold part of the run"
# What the CTAs of one launch may take to begin all.
_SETTLE_SECONDS = 0.005


class CudaDriver:
    """Runs a bundle for `cuda` on the first GPU; see :class:`ark_mlir.runtime.driver.Driver`.

    Runs go to the caller's stream, or to one of the driver's own; what the host copies besides
    goes through a second one, so that it can end a kernel that runs. Neither waits for work on
    other streams than those that a run names.

    Attributes:
        record: the launch record of ordinary runs.
        reads_outputs: whether outputs of the present run come back with the record.
    """

    def __init__(self, api: CudaApi | None = None) -> None:
        self.epoch = 0
        self.reads_outputs = False
        self._api = CudaApi() if api is None else api
        self.device = (CUDA, self._api.ordinal)
        self._not_capturing = self._api.driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
        self._kernel: CudaKernel | None = None
        self._launch: Launch | None = None
        self._given_up: GivenUp | None = None
        self._dirty = False
        self._resident: CudaResident | None = None
        self._held = False
        self._handed_out: weakref.WeakSet[CudaMemory] = weakref.WeakSet()
        self._resources = ExitStack()
        try:
            self._resources.callback(self._api.close)
            self._api.open()
            # The one for kernels; the other tells a kernel that runs to end.
            self._stream, self._side = self._make_stream(), self._make_stream()
            # Says when a run has ended, and when the work of another stream has.
            self._done, self._ready = self._make_event(), self._make_event()
            # Says when a kernel that stays has ended.
            self._ended = self._make_event()
        except BaseException:
            self._resources.close()
            raise

    def _make_stream(self) -> int:
        flag = self._api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        stream = self._api.call("cuStreamCreate", flag)
        self._resources.callback(self._api.own(self, "cuStreamDestroy", stream))
        return int(stream)

    def _make_event(self) -> Any:
        flag = self._api.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = self._api.call("cuEventCreate", flag)
        self._resources.callback(self._api.own(self, "cuEventDestroy", event))
        return event

    # -- what there is -----------------------------------------------------------------------

    def load(self, bundle: Bundle, shared: SharedMemory | None = None) -> None:
        """See :meth:`Driver.load`; `shared` is memory that other GPUs use, too."""
        self._api.enter()
        self._kernel = CudaKernel(self._api, self._side, bundle, shared)
        self._captured = CapturedRuns(self._kernel)
        self.record = self._kernel.make_record(self._kernel.semaphores)
        self._watch = self._make_watch(self._kernel)
        self._captured.provide_spare()

    def _make_watch(self, kernel: CudaKernel) -> QueueWatch:
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
    ) -> CudaMemory:
        """See :meth:`Driver.allocate`: memory of a GPU is aligned to 256 bytes."""
        del alignment, rank
        # Lasting memory is made in runs, which a thread for a limit would slow down.
        memory = CudaMemory(self._api, self._side, nbytes, zeroed, limited=not lasting)
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
        return download(self._api, self._side, address, dtype, shape)

    def send(self, memory: CudaMemory, array: NDArray[Any], run_stream: RunStream) -> None:
        """Copies an array of the host to the device, in the order of a run's stream."""
        if memory.nbytes:
            self._api.call(
                "cuMemcpyHtoDAsync", memory.address, array.ctypes.data, memory.nbytes,
                self._stream_of(run_stream),
            )  # fmt: skip

    # -- streams -----------------------------------------------------------------------------

    def run_stream(self, stream: object, values: Iterable[object]) -> RunStream:
        """See :meth:`Driver.run_stream`; the calls for a run that follow are of the same thread."""
        self._api.enter()
        if self._held:
            # A kernel that stays has its stream; what runs need is copied beside it.
            run_stream = RunStream(self.device, self._side)
        else:
            run_stream = choose_run_stream(stream, values, self.device, self._stream)
        run_stream.locate = self._api.ordinal_of
        return run_stream

    def _stream_of(self, run_stream: RunStream) -> int:
        return self._stream if run_stream.stream is None else run_stream.stream

    def is_foreign(self, run_stream: RunStream) -> bool:
        """Returns True if a stream, or what a run on it waits for, is not the driver's."""
        return bool(run_stream.producers) or self._stream_of(run_stream) != self._stream

    def _follow(self, run_stream: RunStream) -> int:
        """Returns the stream of a run, made to wait for those that write what the run reads."""
        stream = self._stream_of(run_stream)
        for producer in run_stream.producers:
            if producer != stream:
                self._api.call("cuEventRecord", self._ready, producer)
                self._api.call("cuStreamWaitEvent", stream, self._ready, 0)
        return stream

    def settle(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.settle`."""
        self._api.enter()
        self._api.call("cuStreamSynchronize", self._follow(run_stream))

    def exchange(self, stays: bool) -> CudaExchange:
        """See :meth:`Driver.exchange`: its buffers stay in any case."""
        return CudaExchange(self, eager=stays)

    # -- graphs ------------------------------------------------------------------------------

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`."""
        stream = self._stream_of(run_stream)
        if stream in (self._stream, self._side):
            return False
        return self._api.call("cuStreamIsCapturing", stream) != self._not_capturing

    def recorded(self, stream: object) -> list[Outcome]:
        """See :meth:`Driver.recorded`."""
        kernel = self._loaded()
        self._api.enter()
        handle = current_stream(self.device[1]) if stream is None else stream_handle(stream)
        return [self._recorded(kernel, run, handle) for run in self._captured.runs]

    def _recorded(self, kernel: CudaKernel, run: CapturedRun, stream: int) -> Outcome:
        assert run.launch is not None
        if self._given_up is not None:
            self._await_given_up(self._given_up)
        self._api.call("cuEventRecord", self._done, stream)
        # The replay stays queued, and is the caller's: another check waits again.
        watch = QueueWatch(kernel, self._captured.records)
        self._join(self._done, watch.start(run.launch.timeout_ns))
        return self._captured.outcome(run, self._side)

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`."""
        kernel, record = self._loaded(), self.record
        if launch.captured:
            run = self._captured.take_spare()
            self._captured.capture(run, launch, record, self._follow(launch.run_stream))
            return
        if self._given_up is not None:
            self._await_given_up(self._given_up)
        if self._dirty:
            record.forget_queued()
        stream = self._follow(launch.run_stream)
        try:
            if (resident := self._held_kernel) is not None:
                self._ring(resident, kernel, record, launch)
            else:
                self._captured.provide_spare()
                self._start(kernel, record, launch, stream)
        except BaseException:
            # The kernel may have been started, and reads what the next run changes.
            with suppress(DeviceError):
                self._undo(launch, stream if self._held_kernel is None else self._stream)
            raise

    def _start(self, kernel: CudaKernel, record: LaunchRecord, launch: Launch, stream: int) -> None:
        dirty = self._dirty
        # From here until a good end, whatever happens leaves counters that mean nothing.
        self._dirty = True
        if dirty:
            self.epoch = 0
        record.slots[record.layout.bound] = launch.addresses
        trace = kernel.trace.address if launch.trace else 0
        record.prepare(self.epoch, launch.iterations, launch.timeout_ns, trace)
        record.mark_queued()
        record.upload(stream)
        # What zeroes waits for SMs as the kernel does, and with it.
        if dirty:
            kernel.semaphores.clear(stream)
        if launch.trace:
            kernel.trace.clear(stream)
        self._launch = launch
        kernel.launch(record, stream)
        record.download(stream, self.reads_outputs)
        self._api.call("cuEventRecord", self._done, stream)

    def _ring(
        self, resident: CudaResident, kernel: CudaKernel, record: LaunchRecord, launch: Launch
    ) -> None:
        clear = None
        if self._dirty:
            resident.dismiss(record, GRACE_SECONDS)
            clear, self.epoch = kernel.semaphores, 0
        self._dirty = True
        record.slots[record.layout.bound] = launch.addresses
        trace = 0
        if launch.trace:
            # From the host: to zero it on the device would take an SM.
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
            if self._held and self._resident is not None:
                self._join_resident(self._resident, watch)
            else:
                self._join(self._done, watch)
        except BusyError as error:
            self._interrupt()
            if self._given_up is None:
                error.notes += (BEGAN_LATE,)
            raise
        except BaseException:
            self._interrupt()
            raise
        return self._finish(self._loaded(), self._launch)

    def _join_resident(self, resident: CudaResident, watch: QueueWatch) -> None:
        record = self.record

        def download() -> None:
            record.download(self._side, self.reads_outputs)
            self._api.call("cuEventRecord", self._done, self._side)
            resident.wait_for(self._done)

        def again() -> bool:
            """A kernel that left at the doorbell, with nothing wrong, had not seen the ring."""
            if not resident.left_alone:
                return False
            download()
            if not record.results().good:
                return False
            resident.ring(record, None)
            return True

        resident.join(again, watch.look)
        download()

    def hold(self) -> None:
        """See :meth:`Driver.hold`."""
        self._api.enter()
        kernel = self._loaded()
        self._captured.provide_spare()
        if self._resident is None:
            self._resident = CudaResident(
                self._api, kernel, self._stream, self._side, self._ended, self._done
            )
        self._held = True

    def release(self) -> None:
        """See :meth:`Driver.release`."""
        self._held = False
        # A run that was given up ends its kernel without being told again.
        if self._resident is not None and self._given_up is None:
            self._api.enter()
            self._resident.dismiss(self.record, GRACE_SECONDS)

    def close(self) -> None:
        """See :meth:`Driver.close`: to give back may wait for other kernels, up to a limit."""
        if self._api.forked:
            return
        # All of it is attempted, whatever of it fails.
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
                self._launch = self._given_up = None

    def _end_kernel(self) -> None:
        """Ends a kernel that is queued or runs, and waits for its end.

        Raises DeviceError where that takes too long. Nothing is given back then until it has ended.
        """
        launch, kept = self._launch, self._resident
        if launch is not None:
            self._given_up = GivenUp(self._end, launch.timeout_ns, launch.owners)
        elif self._given_up is None and kept is not None:
            self._given_up = GivenUp(self._ended, 0, None)
        # The garbage collector may do this in any thread.
        with self._api.within():
            try:
                if launch is not None or (kept is not None and kept.there):
                    self.record.abort()
            finally:
                if (launch := self._given_up) is not None:
                    self._await_end(launch.end, launch.owners, self._not_ended)
            if self._kernel is not None and self._api.settle():
                self._await_others()

    def _await_others(self) -> None:
        """Waits for kernels of others on the default stream and on blocking streams.

        The driver waits for them when memory is freed, and may keep other calls waiting meanwhile.
        For kernels on non-blocking streams, of which it does not tell, only the limit of the calls
        holds.
        """
        if self._api.record_after_others(self._ready):
            self._await_end(self._ready, None, self._others_not_ended)

    def _await_end(self, event: object, owners: object, error: Callable[[], DeviceError]) -> None:
        """Waits for an event; when that takes too long, raises an error and gives nothing back
        before the event."""
        start = time.monotonic()
        while not self._api.has_happened(event):
            waited = time.monotonic() - start
            if waited > GRACE_SECONDS:
                self._api.wait_for(event, owners)
                raise error()
            if waited > _SPIN_SECONDS:
                time.sleep(_SLEEP_SECONDS)

    def _others_not_ended(self) -> BusyError:
        return BusyError(
            f"{self.bundle.manifest.program!r} is closed, and work of others on the GPU has not "
            f"ended within {GRACE_SECONDS:g} s",
            notes=["to free memory would wait for it: that is given back when it has ended"],
        )

    def _not_ended(self) -> DeviceError:
        program = self.bundle.manifest.program
        note = "what it may use is given back when it has ended"
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

    def _loaded(self) -> CudaKernel:
        if self._kernel is None:
            raise DeviceError("no program is loaded")
        return self._kernel

    def _join(
        self, event: object, watch: QueueWatch | None = None, seconds: float = float("inf")
    ) -> None:
        """Waits for an event; raises BusyError as `watch` does, DeviceError after `seconds`."""
        if self._api.has_happened(event):
            return
        start = time.monotonic()
        while not self._api.has_happened(event):
            waited = time.monotonic() - start
            if waited > seconds:
                raise DeviceError("the kernel does not end")
            if waited > _SPIN_SECONDS:
                time.sleep(_SLEEP_SECONDS)
                if watch is not None:
                    watch.look()

    def _finish(self, kernel: CudaKernel, launch: Launch) -> Outcome:
        self._launch = None
        results = self.record.results()
        if results.good and not launch.trace:
            iterations = results.stopped or launch.iterations
            outcome = Outcome(results.codes, epoch=self.epoch, iterations=iterations)
            self._advance(outcome)
            return outcome
        counters = kernel.counters(kernel.semaphores, self._side)
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
        """The counters stand where this run left them."""
        self.epoch = (self.epoch + outcome.iterations) % (1 << 64)
        self._dirty = False

    # -- runs that go wrong ------------------------------------------------------------------

    @property
    def _end(self) -> object:
        """The event that happens when the kernel of a run has ended."""
        return self._done if self._held_kernel is None else self._ended

    @property
    def _held_kernel(self) -> CudaResident | None:
        return self._resident if self._held else None

    def _interrupt(self) -> None:
        """Ends the run that is under way, as far as it lets itself be ended in time.

        A kernel that has not begun will end at its begin, and is not waited for.
        """
        launch, self._launch = self._launch, None
        end = self._end
        if launch is not None:
            self._given_up = GivenUp(end, launch.timeout_ns, launch.owners)
        self.record.abort()
        if self.record.queued:
            # All CTAs begin together: one that looked before the abort was there shows by then.
            time.sleep(_SETTLE_SECONDS)
            if self.record.queued and not self._api.has_happened(end):
                return
        self._join(end, seconds=GRACE_SECONDS)
        self._given_up = None

    def _undo(self, launch: Launch, stream: int) -> None:
        """Ends what may have been started on a stream before its launch failed."""
        self._launch = launch
        self._api.call("cuEventRecord", self._end, stream)
        self._interrupt()

    def _await_given_up(self, launch: GivenUp) -> None:
        """Waits for the end of a launch that was given up, before what it touches is used."""
        self._join(launch.end, self._watch.start(launch.timeout_ns))
        self._given_up = None
