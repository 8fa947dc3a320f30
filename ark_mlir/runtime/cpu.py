"""The cpu driver: one thread per lane, each in the same function of a shared object."""

from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceError
from . import abi, host
from .abi import Abort, ArkContext
from .driver import Fault, Launch, Outcome, Stop
from .elf import check_image
from .image import Image
from .lanes import Lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Bundle

# How often a waiting host looks whether the kernel gave up.
_POLL_SECONDS = 0.25
# What a lane may take to notice an abort. It looks in every wait and before every instruction,
# so this bounds one instruction.
GRACE_SECONDS = 10.0
# Ctrl-C returns within two seconds, whatever the lanes do.
INTERRUPT_GRACE_SECONDS = 1.5


class HostMemory:
    """Zeroed, aligned memory of this process; see :class:`ark_mlir.runtime.driver.Memory`."""

    def __init__(self, nbytes: int, alignment: int = 64) -> None:
        try:
            # calloc: pages that are never touched are never real.
            block = np.zeros(nbytes + alignment, np.uint8)
        except (MemoryError, ValueError):
            raise DeviceError(f"no memory for {nbytes} bytes") from None
        start = -block.ctypes.data % alignment
        self.bytes: NDArray[np.uint8] = block[start : start + nbytes]

    @property
    def address(self) -> int:
        """Where it begins."""
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


class _Kernel:
    """A loaded kernel and what belongs to it: arena, semaphores, report, tables."""

    def __init__(self, bundle: Bundle) -> None:
        manifest = bundle.manifest
        self.bundle = bundle
        self.image = Image(bundle.sections["kernel"], bundle.where)
        self.entry = self.image.function(manifest.entry)
        self.arena = HostMemory(manifest.arena)
        count = len(manifest.semaphores)
        stride = abi.SEMAPHORE_STRIDE
        self._lines = HostMemory(max(count, 1) * stride)
        self.counters = np.ndarray((count,), np.uint64, self._lines.bytes.data, 0, (stride,))
        words = HostMemory(64 + 64).bytes.data
        self.report = np.ndarray((abi.REPORT_WORDS,), np.uint64, words)
        self.status = np.ndarray((abi.STATUS_WORDS,), np.int64, words, 64)
        self._tables = {name: _aligned(bundle.sections[name]) for name in _TABLES}

    def context(self, launch: Launch, epoch: int, trace: NDArray[np.int64] | None) -> _Run:
        """What the lanes of one launch need, kept alive while one of them runs."""
        slots = (ctypes.c_uint64 * (1 + len(launch.addresses)))(
            self.arena.address, *launch.addresses
        )
        context = ArkContext(
            buffers=ctypes.addressof(slots),
            semaphores=self._lines.address,
            report=self.report.ctypes.data,
            epoch=epoch,
            iterations=launch.iterations,
            timeout_ns=launch.timeout_ns,
            trace=None if trace is None else trace.ctypes.data,
            status=self.status.ctypes.data,
            **{name: table.ctypes.data for name, table in self._tables.items()},
        )
        return _Run(self, launch, context, slots, trace)


_TABLES = ("instructions", "lanes", "tasks", "operands")


@dataclass
class _Run:
    """One launch, as the lanes see it: ``run(lane)`` is the kernel's code for that lane."""

    kernel: _Kernel
    launch: Launch
    context: ArkContext
    slots: Any
    trace: NDArray[np.int64] | None

    def __post_init__(self) -> None:
        self._pointer = ctypes.addressof(self.context)

    def __call__(self, lane: int) -> int:
        code = int(self.kernel.entry(self._pointer, lane))
        if code:
            # Whatever made this lane give up, those that wait for it must not wait on.
            self.abort()
        return code

    def abort(self) -> None:
        """Tells all lanes to end, unless one has already."""
        if not self.kernel.report[0]:
            self.kernel.report[0] = Abort.HOST


class CpuDriver:
    """Runs a bundle for `cpu` on threads of this process.

    See :class:`ark_mlir.runtime.driver.Driver`. A lane that never ends (a body in an endless
    loop) cannot be stopped from outside: `wait` raises DeviceError, and so does every launch
    until that lane has ended after all.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._kernel: _Kernel | None = None
        self._lanes: Lanes | None = None
        self._run: _Run | None = None
        self._process = os.getpid()
        self._dirty = False

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        target = bundle.manifest.target
        host.check_target(target, bundle.where)
        check_image(bundle.sections["kernel"], target.arch, bundle.where)
        self._kernel = _Kernel(bundle)

    def allocate(self, nbytes: int, alignment: int) -> HostMemory:
        """See :meth:`Driver.allocate`."""
        return HostMemory(nbytes, alignment)

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: any array of this process will do."""
        address = array.ctypes.data
        return address if address % alignment == 0 else None

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`."""
        kernel = self._loaded()
        lanes = self._ready_lanes()
        if self._dirty:
            kernel.counters[:] = 0
            self.epoch = 0
        # From here until a good end, whatever happens leaves counters that mean nothing.
        self._dirty = True
        kernel.report[:] = 0
        kernel.status[:] = 0
        trace = np.zeros((len(kernel.bundle.tables.instructions), 2), np.int64)
        self._run = kernel.context(launch, self.epoch, trace if launch.trace else None)
        try:
            lanes.run(self._run)
        except BaseException:
            self._interrupt()
            raise

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        if self._run is None or self._lanes is None:
            raise DeviceError("nothing was launched")
        try:
            self._join(self._lanes, self._run)
        except DeviceError:
            self._stop()
            raise
        except BaseException:
            self._interrupt()
            raise
        return self._finish(self._lanes, self._run)

    def close(self) -> None:
        """See :meth:`Driver.close`."""
        if self._run is not None:
            self._interrupt()
        self._stop()
        if self._lanes is not None:
            # Idle threads end at once; one that never ends keeps what it uses, and nothing else.
            self._lanes.ended(INTERRUPT_GRACE_SECONDS)
        self._lanes = self._kernel = None

    # -- lanes -------------------------------------------------------------------------------

    def _ready_lanes(self) -> Lanes:
        if os.getpid() != self._process:
            # A fork copies no threads; what it copied of ours waits for ever.
            self._lanes, self._process = None, os.getpid()
        if self._lanes is not None and self._lanes.stopping:
            if not self._lanes.ended(GRACE_SECONDS):
                raise _never_ended(self._lanes)
            self._lanes = None
        if self._lanes is None:
            bundle = self._loaded().bundle
            self._lanes = Lanes(len(bundle.tables.lanes), f"ark:{bundle.manifest.program}")
            weakref.finalize(self, self._lanes.stop).atexit = False
        return self._lanes

    def _join(self, lanes: Lanes, run: _Run) -> None:
        while not lanes.join(_POLL_SECONDS):
            if lanes.failure is not None:
                run.abort()
            if run.kernel.report[0]:
                break
        else:
            return
        if not lanes.join(GRACE_SECONDS):
            raise _never_ended(lanes)

    def _finish(self, lanes: Lanes, run: _Run) -> Outcome:
        self._run = None
        if lanes.failure is not None:
            raise DeviceError(f"a lane failed: {lanes.failure!r}") from lanes.failure
        report, status = run.kernel.report.tolist(), run.kernel.status.tolist()
        outcome = Outcome(
            lanes.codes,
            Stop(*report[:6]),
            Fault(*status),
            np.array(run.kernel.counters),
            self.epoch,
            run.trace,
        )
        if outcome.good:
            self.epoch = (self.epoch + run.launch.iterations) % (1 << 64)
            self._dirty = False
        return outcome

    def _interrupt(self) -> None:
        """Ends the run that is under way, as far as it lets itself be ended in time."""
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

    def _loaded(self) -> _Kernel:
        if self._kernel is None:
            raise DeviceError("no kernel is loaded")
        return self._kernel


def _never_ended(lanes: Lanes) -> DeviceError:
    stuck = ", ".join(map(str, lanes.running)) or "some"
    return DeviceError(
        f"lanes {stuck} did not end within {GRACE_SECONDS:g} s of being told to; "
        "their threads go on, and nothing runs here until they have ended"
    )


def _aligned(data: memoryview) -> NDArray[np.uint8]:
    """The bytes, copied only where they lie badly for the kernel's vector loads."""
    array = np.frombuffer(data, np.uint8)
    if array.ctypes.data % 64 == 0:
        return array
    memory = HostMemory(array.nbytes)
    memory.bytes[:] = array
    return memory.bytes
