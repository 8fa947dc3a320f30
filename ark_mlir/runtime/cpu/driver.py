"""The cpu driver: one thread per lane, all of which call the same function of a shared object.

The calling thread itself runs a program of one lane whose predicted time is short.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError, InvalidUsageError
from ..arrays.streams import RunStream
from ..drivers import abi
from ..drivers.doorbell import Doorbell, rest
from ..drivers.interface import Fault, Launch, Outcome, Stop
from . import host
from .elf import check_image
from .exchange import HostExchange
from .kernel import HostMemory, Kernel, Run
from .lanes import CallingThread, Lanes, LaneThreads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ...bundle import Bundle

# Interval at which a waiting host checks if the run is to be aborted.
_POLL_SECONDS = 0.25
# Seconds within which a lane has to notice an abort. Lanes check for an abort in every wait and
# before every instruction, so this bounds the duration of an instruction.
GRACE_SECONDS = 10.0
# Ctrl-C returns within two seconds, whatever the lanes do.
INTERRUPT_GRACE_SECONDS = 1.5
# The calling thread runs a lane only if its predicted time is below this limit, since Ctrl-C waits
# for the end of the lane. The prediction may be wrong by a factor, not by a thousand.
SHORT_NS = 100_000
# The calling thread may have a small stack, and bodies keep tiles on it. Tiles are parts of the
# buffers of the program.
_SMALL_BYTES = 1 << 20


class CpuDriver:
    """Runs a bundle for `cpu` on threads of this process.

    See :class:`ark_mlir.runtime.Driver`. A lane that never ends (a body in an endless loop)
    cannot be stopped: `wait` raises DeviceError, and so does every launch until the lane has ended.
    """

    def __init__(self) -> None:
        # The epoch of the last completed iteration.
        self.epoch = 0
        self._kernel: Kernel | None = None
        self._lanes: Lanes | None = None
        # The threads of the last launch: `_lanes`, or the calling thread.
        self._used: LaneThreads | None = None
        self._is_small = False
        # The run that the lanes execute, or the last one.
        self._run: Run | None = None
        self._is_resident = False
        self._process = os.getpid()
        self._dirty = False
        # True from a launch until `wait` has ended, or an error has ended the run.
        self._is_pending = False

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        target = bundle.manifest.target
        host.check_target(target, bundle.where)
        check_image(bundle.sections["kernel"], target.arch, bundle.where)
        self._kernel = Kernel(bundle, self._lanes_here(bundle), self._take)
        self._is_small = self._fits_the_caller(bundle)

    def _fits_the_caller(self, bundle: Bundle) -> bool:
        """Returns True if the calling thread may run the program where it takes little time."""
        manifest = bundle.manifest
        nbytes = manifest.arena + sum(buffer.bytes for buffer in manifest.buffers)
        return (
            len(bundle.tables.lanes) == 1
            and nbytes <= _SMALL_BYTES
            and 0 < bundle.tables.predicted_ns <= SHORT_NS
        )

    def _lanes_here(self, bundle: Bundle) -> Sequence[int]:
        """Returns the lanes that run in this process."""
        return range(len(bundle.tables.lanes))

    def _take(self, nbytes: int) -> HostMemory:
        """Allocates zeroed memory that lanes share; called in the order of `shared_sizes`."""
        return HostMemory(nbytes)

    def allocate(
        self,
        nbytes: int,
        alignment: int,
        *,
        zeroed: bool = True,
        lasting: bool = False,
        rank: int = 0,
    ) -> HostMemory:
        """See :meth:`Driver.allocate`: the memory is always zeroed and lasting."""
        del zeroed, lasting, rank
        return HostMemory(nbytes, alignment)

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: any aligned array of this process can be used in place."""
        address = array.ctypes.data
        return address if address % alignment == 0 else None

    def run_stream(self, stream: object, values: Iterable[object]) -> RunStream:
        """See :meth:`Driver.run_stream`."""
        del values
        if stream is not None:
            raise InvalidUsageError("a program for cpu takes no stream")
        return RunStream()

    def synchronize(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.synchronize`: arrays on the host are always ready."""

    def download(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], rank: int = 0
    ) -> NDArray[Any]:
        """See :meth:`Driver.download`."""
        raise DeviceError("this process has no memory of a device")

    def exchange(self, stays: bool) -> HostExchange:
        """See :meth:`Driver.exchange`."""
        return HostExchange(self, self._loaded().bundle.manifest, stays)

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`."""
        del run_stream
        return False

    def recorded(self, stream: object) -> list[Outcome]:
        """See :meth:`Driver.recorded`: the host has no graphs."""
        self.run_stream(stream, ())
        return []

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`."""
        kernel = self._loaded()
        self._used = CallingThread() if self._is_short(launch) else self._ready_lanes()
        self._clear(kernel, launch)
        # Until this run has ended without an error, the counters are invalid.
        self._dirty = self._is_pending = True
        try:
            self._start(kernel, self._used, launch)
        except BaseException:
            self._interrupt()
            raise

    def _clear(self, kernel: Kernel, launch: Launch) -> None:
        """Sets the words that lanes share to their values at the start of a run."""
        del launch
        if self._dirty:
            kernel.clear()
            self.epoch = 0
        kernel.report[:] = 0
        kernel.status[:] = 0

    def _is_short(self, launch: Launch) -> bool:
        """Returns True if the calling thread runs the launch."""
        if not self._is_small or self._is_resident or self._run is not None:
            return False
        if self._lanes is not None and self._lanes.stopping:
            return False
        return launch.iterations * self._loaded().bundle.tables.predicted_ns <= SHORT_NS

    def _start(self, kernel: Kernel, lanes: LaneThreads, launch: Launch) -> None:
        """Rings the doorbell if the lanes are in the kernel, and launches the kernel otherwise."""
        run = self._run
        if run is not None:
            run.prepare(launch, self.epoch)
        else:
            doorbell = _doorbell(kernel) if self._is_resident else None
            run = Run(kernel, doorbell)
            run.prepare(launch, self.epoch)
            self._run = run
            lanes.run(run)
        if run.doorbell is not None:
            run.doorbell.ring()

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        if self._run is None or self._used is None:
            raise DeviceError("nothing was launched")
        try:
            self._join(self._used, self._run)
            return self._finish(self._used, self._run)
        except DeviceError:
            self._stop()
            raise
        except BaseException:
            self._interrupt()
            raise

    def cancel(self) -> None:
        """See :meth:`Driver.cancel`."""
        if self._is_pending:
            self._interrupt()

    def make_resident(self) -> None:
        """See :meth:`Driver.make_resident`: from the next launch on, lanes stay in the kernel."""
        self._is_resident = True

    def make_coherent(self) -> None:
        """See :meth:`Driver.make_coherent`: memory is always coherent."""

    def end_residency(self) -> None:
        """See :meth:`Driver.end_residency`."""
        self._is_resident = False
        try:
            self._dismiss()
        except BaseException:
            self._interrupt()
            raise

    def _dismiss(self) -> None:
        """Ends a resident kernel whose lanes are in no run."""
        run, lanes = self._run, self._lanes
        if run is None or run.doorbell is None or lanes is None or os.getpid() != self._process:
            return
        run.dismiss(run.doorbell)
        self._run = None
        # Threads may not run any more at the end of the process, so that the join may time out.
        if not sys.is_finalizing() and not lanes.join(GRACE_SECONDS):
            raise _never_ended(lanes)

    def close(self) -> None:
        """See :meth:`Driver.close`: a lane that never ends keeps only the memory that it uses."""
        if os.getpid() != self._process:
            # A fork has no lanes, and the shared memory belongs to the run of the parent.
            self._lanes = self._used = self._run = self._kernel = None
            return
        if self._run is not None:
            self._interrupt()
        self._stop()
        if self._lanes is not None:
            # Idle threads end without delay.
            self._lanes.ended(INTERRUPT_GRACE_SECONDS)
        self._lanes = self._used = self._kernel = None

    # -- lanes -------------------------------------------------------------------------------

    def _ready_lanes(self) -> Lanes:
        if os.getpid() != self._process:
            # A fork copies the pool without its threads, so that it needs a new pool.
            self._lanes, self._run, self._process = None, None, os.getpid()
        if self._lanes is not None and self._lanes.stopping:
            if not self._lanes.ended(GRACE_SECONDS):
                raise _never_ended(self._lanes)
            self._lanes = None
        if self._lanes is None:
            bundle = self._loaded().bundle
            self._lanes = Lanes(len(self._loaded().lanes), f"ark:{bundle.manifest.program}")
        return self._lanes

    def _join(self, lanes: LaneThreads, run: Run) -> None:
        if run.doorbell is None:
            ended = self._until_ended(lanes, run)
        else:
            ended = self._until_answered(lanes, run, run.doorbell)
        if not ended and not lanes.join(GRACE_SECONDS):
            raise _never_ended(lanes)

    def _until_ended(self, lanes: LaneThreads, run: Run) -> bool:
        """Waits until the lanes have left the kernel.

        Returns False if lanes are still in the kernel after an abort.
        """
        while not lanes.join(_POLL_SECONDS):
            if lanes.failure is not None:
                run.abort()
            self._watch(run)
            if run.kernel.report[0]:
                return False
        return True

    def _until_answered(self, lanes: LaneThreads, run: Run, doorbell: Doorbell) -> bool:
        """Waits until the lanes have completed their run.

        Returns False if the lanes leave the kernel instead.
        """
        start = time.monotonic()
        while not doorbell.answered:
            if lanes.failure is not None:
                run.abort()
            self._watch(run)
            # A kernel of a bundle without support for doorbells runs once and ends.
            if run.kernel.report[0] or lanes.idle:
                return False
            rest(start)
        return True

    def _watch(self, run: Run) -> None:
        """Called while the host waits for a run; subclasses abort the run for external reasons."""

    def _result(self, lanes: LaneThreads, run: Run) -> tuple[list[int], tuple[int, ...]]:
        """Returns the words of the report, and the return values of all lanes of the program."""
        return run.kernel.report.tolist(), lanes.codes

    def _finish(self, lanes: LaneThreads, run: Run) -> Outcome:
        self._is_pending = False
        if lanes.failure is not None:
            raise DeviceError(f"a lane failed: {lanes.failure!r}") from lanes.failure
        (report, codes), status = self._result(lanes, run), run.kernel.status.tolist()
        stays = run.doorbell is not None and run.doorbell.answered and not report[0]
        # Another process that shares the report may have aborted the lanes.
        stays = stays and not lanes.idle
        outcome = Outcome(
            (0,) * len(run.kernel.bundle.tables.lanes) if stays else codes,
            Stop(*report[:6]),
            Fault.of(status),
            run.kernel.arrivals(self.epoch) if report[0] else np.array(run.kernel.counters),
            self.epoch,
            report[6] or run.launch.iterations,
            run.trace,
        )
        if outcome.good:
            self.epoch = (self.epoch + outcome.iterations) % (1 << 64)
            self._dirty = False
        if not stays:
            self._run = None
        elif not outcome.good:
            self._dismiss()
        return outcome

    def _interrupt(self) -> None:
        """Aborts the current run, and waits for its end for a limited time."""
        self._is_pending = False
        if self._run is not None:
            self._run.abort()
            self._run = None
        self._stop()
        if self._lanes is not None and self._lanes.ended(INTERRUPT_GRACE_SECONDS):
            self._lanes = None

    def _stop(self) -> None:
        self._is_pending = False
        self._run = None
        if self._lanes is not None:
            self._lanes.stop()

    def _loaded(self) -> Kernel:
        if self._kernel is None:
            raise DeviceError("no kernel is loaded")
        return self._kernel


def _doorbell(kernel: Kernel) -> Doorbell:
    return Doorbell(HostMemory(8 * abi.DOORBELL_WORDS), len(kernel.lanes))


def _never_ended(lanes: LaneThreads) -> DeviceError:
    stuck = ", ".join(map(str, lanes.running)) or "some"
    return DeviceError(
        f"lanes {stuck} did not end within {GRACE_SECONDS:g} s after an abort; "
        "their threads continue, and the program cannot run again until they have ended"
    )


def make_driver(devices: Sequence[int] | None = None) -> CpuDriver:
    """Returns a driver; `devices` has no effect on processors."""
    del devices
    return CpuDriver()
