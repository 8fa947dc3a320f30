"""The cpu driver: one thread per lane, all of which call the same function of a shared object."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import DeviceError, InvalidUsageError
from .. import abi
from ..abi import Abort, ArkContext
from ..arrays.streams import RunStream
from ..doorbell import Doorbell, rest
from ..driver import Fault, Launch, Outcome, Stop
from . import host
from .elf import check_image
from .exchange import HostExchange
from .image import Image
from .lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ...bundle import Bundle, Manifest

    Take = Callable[[int], "HostMemory"]

# Interval at which a waiting host checks if the run is to be aborted.
_POLL_SECONDS = 0.25
# Seconds within which a lane has to notice an abort. Lanes check for an abort in every wait and
# before every instruction, so this bounds the duration of an instruction.
GRACE_SECONDS = 10.0
# Ctrl-C returns within two seconds, whatever the lanes do.
INTERRUPT_GRACE_SECONDS = 1.5


class HostMemory:
    """Zeroed, aligned memory of this process; see :class:`ark_mlir.runtime.driver.Memory`."""

    def __init__(self, nbytes: int, alignment: int = 64) -> None:
        try:
            # numpy.zeros calls calloc, which allocates no pages before they are touched.
            block = np.zeros(nbytes + alignment, np.uint8)
        except (MemoryError, ValueError):
            raise DeviceError(f"no memory for {nbytes} bytes") from None
        start = -block.ctypes.data % alignment
        self.bytes: NDArray[np.uint8] = block[start : start + nbytes]

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return self.bytes.ctypes.data

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.bytes.nbytes

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """See :meth:`Memory.write`."""
        self.read(dtype, shape)[...] = value

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """See :meth:`Memory.read`: no copy."""
        return np.ndarray(shape, dtype, self.bytes.data)

    def free(self) -> None:
        """See :meth:`Memory.free`: the memory is freed with the last array that shares it."""


class Kernel:
    """A loaded kernel with its arena, semaphores, report and tables.

    Args:
        bundle: the program.
        lanes: the lanes that run in this process.
        take: allocates zeroed memory that all lanes share, also those of other processes.
    """

    def __init__(self, bundle: Bundle, lanes: Sequence[int], take: Take) -> None:
        manifest = bundle.manifest
        self.bundle = bundle
        self.lanes = lanes
        self.image = Image(bundle.sections["kernel"], bundle.where)
        self.entry = self.image.function(manifest.entry)
        sizes = shared_sizes(manifest)
        self.arena = take(sizes.arena)
        count = len(manifest.semaphores)
        self.lines = take(sizes.semaphores)
        stride = abi.SEMAPHORE_STRIDE
        self.counters = np.ndarray((count,), np.uint64, self.lines.bytes.data, 0, (stride,))
        words = take(sizes.words).bytes.data
        self.report = np.ndarray((abi.REPORT_WORDS,), np.uint64, words)
        self.status = np.ndarray((abi.STATUS_WORDS,), np.int64, words, 64)
        self.tables = {name: _aligned(bundle.sections[name]) for name in _TABLES}

    def clear(self) -> None:
        """Resets semaphores and rank packets after a failed run, so that later runs do not read the
        packets of that run."""
        self.counters[:] = 0
        if self.bundle.tables.packets:
            self.arena.bytes[:] = 0

    def arrivals(self, epoch: int) -> NDArray[np.uint64]:
        """Returns the counters of all semaphores, uint64 ``[S]``.

        A semaphore with rank packets has no counter; its element is the value of an equivalent one.

        Args:
            epoch: the epoch of the launch, at most 2^32 iterations ago.
        """
        counters = np.array(self.counters)
        for semaphore, offsets in self.bundle.tables.packets.items():
            for first, last in offsets.tolist():
                count, memory = (last - first) // 8 + 1, self.arena.bytes.data
                flags = np.ndarray((count,), np.uint32, memory, first + 4, (8,))
                # A packet that was not sent yet has the epoch of the previous iteration.
                ahead = (flags - np.uint32(epoch % (1 << 32))).astype(np.int32)
                counters[semaphore] += np.uint64((epoch + int(ahead.min())) % (1 << 64))
        return counters


_TABLES = ("instructions", "lanes", "tasks", "operands")


class SharedSizes(NamedTuple):
    """The sizes in bytes of the memory that all lanes share, in the order of allocation."""

    arena: int
    semaphores: int
    words: int


def shared_sizes(manifest: Manifest) -> SharedSizes:
    """Returns the sizes of the memory that the lanes of a program share."""
    semaphores = max(len(manifest.semaphores), 1) * abi.SEMAPHORE_STRIDE
    return SharedSizes(manifest.arena, semaphores, 64 + 64)


class Run:
    """A kernel in execution: ``run(i)`` executes the `i`-th lane of this process.

    The object lives as long as a lane is in the kernel: for one launch, or for many launches with
    a doorbell.
    """

    def __init__(self, kernel: Kernel, doorbell: Doorbell | None) -> None:
        self.kernel = kernel
        self.doorbell = doorbell
        self.context = ArkContext(
            semaphores=kernel.lines.address,
            report=kernel.report.ctypes.data,
            status=kernel.status.ctypes.data,
            doorbell=None if doorbell is None else doorbell.address,
            **{name: table.ctypes.data for name, table in kernel.tables.items()},
        )
        self._pointer = ctypes.addressof(self.context)

    def prepare(self, launch: Launch, epoch: int) -> None:
        """Writes the arguments of a launch, and keeps their owners alive while lanes may use
        them."""
        self.launch = launch
        self.trace: NDArray[np.int64] | None = None
        if launch.trace:
            self.trace = np.zeros((len(self.kernel.bundle.tables.instructions), 2), np.int64)
        self._slots = np.empty(1 + len(launch.addresses), np.uint64)
        self._slots[0] = self.kernel.arena.address
        self._slots[1:] = launch.addresses
        self.context.buffers = self._slots.ctypes.data
        self.context.epoch = epoch
        self.context.iterations = launch.iterations
        self.context.timeout_ns = launch.timeout_ns
        self.context.trace = None if self.trace is None else self.trace.ctypes.data

    def dismiss(self, doorbell: Doorbell) -> None:
        """Makes the lanes return from a resident kernel; no lane may be in a run."""
        self.context.iterations = 0
        doorbell.ring()

    def __call__(self, index: int) -> int:
        code = int(self.kernel.entry(self._pointer, self.kernel.lanes[index]))
        if code:
            # Other lanes may wait for this lane, so that its failure ends them, too.
            self.abort()
        return code

    def abort(self) -> None:
        """Tells all lanes to end, unless the run was aborted already."""
        if not self.kernel.report[0]:
            self.kernel.report[0] = Abort.HOST


class CpuDriver:
    """Runs a bundle for `cpu` on threads of this process.

    See :class:`ark_mlir.runtime.driver.Driver`. A lane that never ends (a body in an endless loop)
    cannot be stopped: `wait` raises DeviceError, and so does every launch until the lane has ended.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._kernel: Kernel | None = None
        self._lanes: Lanes | None = None
        # The run that the lanes execute, or the last one.
        self._run: Run | None = None
        self._is_resident = False
        self._process = os.getpid()
        self._dirty = False

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        target = bundle.manifest.target
        host.check_target(target, bundle.where)
        check_image(bundle.sections["kernel"], target.arch, bundle.where)
        self._kernel = Kernel(bundle, self._own_lanes(bundle), self._take)

    def _own_lanes(self, bundle: Bundle) -> Sequence[int]:
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

    def settle(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.settle`: arrays on the host are always ready."""

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
        lanes = self._ready_lanes()
        self._clear(kernel, launch)
        # Until this run has ended without an error, the counters are invalid.
        self._dirty = True
        try:
            self._start(kernel, lanes, launch)
        except BaseException:
            self._interrupt()
            raise

    def _clear(self, kernel: Kernel, launch: Launch) -> None:
        """Sets the words that lanes share to their values at the begin of a run."""
        del launch
        if self._dirty:
            kernel.clear()
            self.epoch = 0
        kernel.report[:] = 0
        kernel.status[:] = 0

    def _start(self, kernel: Kernel, lanes: Lanes, launch: Launch) -> None:
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
        if self._run is None or self._lanes is None:
            raise DeviceError("nothing was launched")
        try:
            self._join(self._lanes, self._run)
            return self._finish(self._lanes, self._run)
        except DeviceError:
            self._stop()
            raise
        except BaseException:
            self._interrupt()
            raise

    def make_resident(self) -> None:
        """See :meth:`Driver.make_resident`: from the next launch on, lanes stay in the kernel."""
        self._is_resident = True

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
            self._lanes = self._run = self._kernel = None
            return
        if self._run is not None:
            self._interrupt()
        self._stop()
        if self._lanes is not None:
            # Idle threads end without delay.
            self._lanes.ended(INTERRUPT_GRACE_SECONDS)
        self._lanes = self._kernel = None

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

    def _join(self, lanes: Lanes, run: Run) -> None:
        if run.doorbell is None:
            ended = self._until_ended(lanes, run)
        else:
            ended = self._until_answered(lanes, run, run.doorbell)
        if not ended and not lanes.join(GRACE_SECONDS):
            raise _never_ended(lanes)

    def _until_ended(self, lanes: Lanes, run: Run) -> bool:
        """Waits until the lanes have left the kernel; returns False if they are still leaving it
        after an abort."""
        while not lanes.join(_POLL_SECONDS):
            if lanes.failure is not None:
                run.abort()
            self._watch(run)
            if run.kernel.report[0]:
                return False
        return True

    def _until_answered(self, lanes: Lanes, run: Run, doorbell: Doorbell) -> bool:
        """Waits until the lanes have completed their run; returns False if they leave the kernel
        instead."""
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

    def _result(self, lanes: Lanes, run: Run) -> tuple[list[int], tuple[int, ...]]:
        """Returns the words of the report, and the return values of all lanes of the program."""
        return run.kernel.report.tolist(), lanes.codes

    def _finish(self, lanes: Lanes, run: Run) -> Outcome:
        if lanes.failure is not None:
            raise DeviceError(f"a lane failed: {lanes.failure!r}") from lanes.failure
        (report, codes), status = self._result(lanes, run), run.kernel.status.tolist()
        stays = run.doorbell is not None and run.doorbell.answered and not report[0]
        # Another process that shares the report may have aborted the lanes.
        stays = stays and not lanes.idle
        outcome = Outcome(
            (0,) * len(run.kernel.bundle.tables.lanes) if stays else codes,
            Stop(*report[:6]),
            Fault(*status),
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
        if self._run is not None:
            self._run.abort()
            self._run = None
        self._stop()
        if self._lanes is not None and self._lanes.ended(INTERRUPT_GRACE_SECONDS):
            self._lanes = None

    def _stop(self) -> None:
        self._run = None
        if self._lanes is not None:
            self._lanes.stop()

    def _loaded(self) -> Kernel:
        if self._kernel is None:
            raise DeviceError("no kernel is loaded")
        return self._kernel


def _doorbell(kernel: Kernel) -> Doorbell:
    return Doorbell(HostMemory(8 * abi.DOORBELL_WORDS), len(kernel.lanes))


def _never_ended(lanes: Lanes) -> DeviceError:
    stuck = ", ".join(map(str, lanes.running)) or "some"
    return DeviceError(
        f"lanes {stuck} did not end within {GRACE_SECONDS:g} s after an abort; "
        "their threads continue, and the program cannot run again until they have ended"
    )


def _aligned(data: memoryview) -> NDArray[np.uint8]:
    """Returns the bytes, copied only if they are not aligned for the kernel's vector loads."""
    array = np.frombuffer(data, np.uint8)
    if array.ctypes.data % 64 == 0:
        return array
    memory = HostMemory(array.nbytes)
    memory.bytes[:] = array
    return memory.bytes
