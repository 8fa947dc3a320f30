"""A loaded kernel of the cpu driver: its memory, its tables, and its execution."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import DeviceError
from ..drivers import abi
from ..drivers.abi import Abort, ArkContext
from .image import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ...bundle import Bundle, Manifest
    from ..drivers.doorbell import Doorbell
    from ..drivers.interface import Launch

    Take = Callable[[int], "HostMemory"]


class HostMemory:
    """Zeroed, aligned memory of this process; see :class:`ark_mlir.runtime.Memory`."""

    def __init__(self, nbytes: int, alignment: int = 64) -> None:
        try:
            # numpy.zeros calls calloc, which allocates no pages before they are touched.
            block = np.zeros(nbytes + alignment, np.uint8)
        except (MemoryError, ValueError):
            raise DeviceError(f"no memory for {nbytes} bytes") from None
        start = -block.ctypes.data % alignment
        self._hold(block[start : start + nbytes])

    def _hold(self, part: NDArray[np.uint8]) -> None:
        self.bytes = part
        # numpy takes a microsecond for an address, which every launch needs.
        self._address: int = part.ctypes.data

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return self._address

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
        self.addresses: dict[str, int] = {
            "semaphores": self.lines.address,
            "report": self.report.ctypes.data,
            "status": self.status.ctypes.data,
            **{name: table.ctypes.data for name, table in self.tables.items()},
        }

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
            epoch: the epoch of the last iteration before the launch, at most 2^32 iterations ago.
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
            doorbell=None if doorbell is None else doorbell.address,
            **kernel.addresses,
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


def _aligned(data: memoryview) -> NDArray[np.uint8]:
    """Returns the bytes, copied only if they are not aligned for the kernel's vector loads."""
    array = np.frombuffer(data, np.uint8)
    if array.ctypes.data % 64 == 0:
        return array
    memory = HostMemory(array.nbytes)
    memory.bytes[:] = array
    return memory.bytes
