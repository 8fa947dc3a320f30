"""A loaded kernel on a GPU, with its memory."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import BusyError, DeviceError, UnsupportedError
from ..drivers import abi
from .image import CudaImage
from .memory import CudaMemory, DeviceBytes, PinnedMemory, download
from .record import LaunchRecord, RecordLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle
    from .api import CudaApi

_TABLES = ("instructions", "lanes", "tasks", "operands")


class SharedMemory(NamedTuple):
    """Memory of a kernel that kernels on other GPUs access, too.

    Attributes:
        arena: the arena of all ranks.
        semaphores: the counters of this GPU.
        packets: the task packets of all ranks.
        own_packets: the task packets on this GPU.
        begun: for each rank, the address of the word on its GPU that records the start of this
            kernel.
        slots: addresses for further slots, in which linked tables have the parts of other ranks.
    """

    arena: DeviceBytes
    semaphores: DeviceBytes
    packets: DeviceBytes
    own_packets: DeviceBytes
    begun: tuple[int, ...]
    slots: tuple[int, ...] = ()


def begun_word(counters: int, rank: int) -> int:
    """Returns the address of the word for the start of a rank, among the counters of a GPU."""
    return counters + 8 * (abi.BEGUN_WORD + rank)


class CudaKernel:
    """A loaded kernel: its function, arena, tables, and the semaphores of ordinary runs.

    Args:
        api: the driver API.
        stream: the stream for copies from and to the host.
        bundle: the program.
        shared: arena, semaphores and packets that kernels on other GPUs access, too; None
            allocates them.

    Raises UnsupportedError if this GPU cannot hold all lanes at once, and DeviceError if there is
    not enough memory.
    """

    def __init__(
        self, api: CudaApi, stream: object, bundle: Bundle, shared: SharedMemory | None = None
    ) -> None:
        self.api = api
        self._shared = shared
        self.bundle = bundle
        self.lanes = len(bundle.tables.lanes)
        self.threads = bundle.manifest.target.warps * abi.CUDA_WARP_SIZE
        further = 0 if shared is None else len(shared.slots)
        self.layout = RecordLayout(bundle.manifest, self.lanes, further)
        self._stream = stream
        self._resources = ExitStack()
        self._configs: dict[int, Any] = {}
        try:
            self._load()
            self._allocate()
        except BaseException:
            self.free()
            raise

    def _load(self) -> None:
        image = CudaImage(self.api, self.bundle)
        self._resources.callback(image.free)
        self._function = image.function(self.bundle.manifest.entry)
        self._shared_memory = self._take_shared_memory()
        self._check_residency()

    def _allocate(self) -> None:
        manifest, instructions = self.bundle.manifest, self.bundle.tables.instructions
        shared = self._shared
        self._arena = self.memory(manifest.arena) if shared is None else shared.arena
        self._tables: dict[str, CudaMemory] = {}
        for name in _TABLES:
            table = np.frombuffer(self._table(name), np.uint8)
            self._tables[name] = self.memory(table.nbytes)
            self._tables[name].upload(table)
        self.semaphores = self.make_semaphores()
        if shared is not None:
            words = np.array(shared.begun, np.uint64)
            self._begun = self.memory(words.nbytes)
            self._begun.upload(words)
        self.trace = self.memory(16 * len(instructions) * manifest.traced)

    def _table(self, name: str) -> memoryview | bytes:
        """The bytes of a table as the kernel reads it."""
        if name == "lanes" and self.bundle.manifest.ranks > 1 and self._shared is None:
            # Linking replaces the SMs by the indices of the lanes: see CudaPeerRanks.mlir.
            lanes = np.array(self.bundle.tables.lanes)
            lanes[:, 0] = np.arange(len(lanes))
            return lanes.tobytes()
        return self.bundle.sections[name]

    def memory(self, nbytes: int) -> CudaMemory:
        """Allocates device memory that is freed with the kernel."""
        memory = CudaMemory(self.api, self._stream, nbytes)
        self._resources.callback(memory.free)
        return memory

    def pinned(self, nbytes: int) -> PinnedMemory:
        """Allocates pinned memory of the host that is freed with the kernel."""
        memory = PinnedMemory(self.api, nbytes)
        self._resources.callback(memory.free)
        return memory

    def clear_shared(self, stream: object) -> None:
        """Zeroes the counters and packets that other GPUs access, in the order of a stream."""
        assert self._shared is not None
        self._shared.semaphores.clear(stream)
        self._shared.own_packets.clear(stream)

    def make_semaphores(self) -> DeviceBytes:
        """Allocates zeroed semaphores, followed by the task packets."""
        if self._shared is not None:
            return self._shared.semaphores
        return self.memory(self._packets_begin + self.bundle.manifest.packets)

    @property
    def _packets_begin(self) -> int:
        manifest = self.bundle.manifest
        count = max(len(manifest.semaphores), 1)
        if manifest.ranks > 1:
            count = max(count, abi.RANK_COUNTERS)
        return count * abi.SEMAPHORE_STRIDE

    def make_record(self, semaphores: DeviceBytes) -> LaunchRecord:
        """Returns a launch record in which all fields except those of a run are set."""
        record = LaunchRecord(self.api, self._stream, self.layout)
        self._resources.callback(record.free)
        record.slots[0] = self._arena.address
        record.set(semaphores=semaphores.address)
        if self._shared is not None:
            record.slots[record.layout.slot_count - len(self._shared.slots) :] = self._shared.slots
            record.set(ranks=len(self._shared.begun), begun=self._begun.address)
        if self.bundle.manifest.packets:
            record.slots[record.layout.bound.stop] = (
                semaphores.address + self._packets_begin
                if self._shared is None
                else self._shared.packets.address
            )
        record.set(**{name: table.address for name, table in self._tables.items()})
        return record

    def launch(self, record: LaunchRecord, stream: int) -> None:
        """Launches the kernel in a stream."""
        config = self._configs.get(stream)
        if config is None:
            config = self._configs[stream] = self._config(stream)
        try:
            self.api.call("cuLaunchKernelEx", config, self._function, record.parameters, 0)
        except DeviceError as error:
            # The occupancy query at load does not count resources that other kernels occupy.
            if "COOPERATIVE_LAUNCH_TOO_LARGE" not in error.message:
                raise
            note = (
                f"all {self.lanes} CTAs of the program must be on the GPU at once, and other "
                "work on the GPU leaves too few SMs"
            )
            raise BusyError(error.message, notes=[note]) from None

    def _config(self, stream: int) -> Any:
        driver = self.api.driver
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self.lanes, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = self.threads, 1, 1
        config.sharedMemBytes = self._shared_memory
        config.hStream = stream
        config.attrs = [attribute]
        config.numAttrs = 1
        return config

    def counters(self, semaphores: DeviceBytes, stream: object) -> NDArray[np.uint64]:
        """Returns the counters of a set of semaphores, uint64 ``[S]``, read in the order of a
        stream."""
        count = len(self.bundle.manifest.semaphores)
        shape = (max(count, 1), abi.SEMAPHORE_STRIDE // 8)
        lines: NDArray[np.uint64]
        lines = download(self.api, stream, semaphores.address, np.dtype(np.uint64), shape)
        return np.array(lines[:count, 0])

    def _take_shared_memory(self) -> int:
        """Sets the kernel's dynamic shared memory, and returns its size in bytes.

        The rest of an SM's memory serves as its L1 cache.
        """
        wanted = self.bundle.manifest.target.shared_memory
        most = self.api.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if wanted > most:
            raise UnsupportedError(
                f"the program needs {wanted} bytes of shared memory; a CTA of this GPU has {most}",
                location=self.bundle.where,
            )
        key = self.api.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.api.call("cuFuncSetAttribute", self._function, key, wanted)
        return wanted

    def _check_residency(self) -> None:
        """Raises UnsupportedError unless all CTAs fit on the device at once, as lanes that wait for
        each other require."""
        each = self.api.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            self._function, self.threads, self._shared_memory,
        )  # fmt: skip
        room = each * self.api.attribute("MULTIPROCESSOR_COUNT")
        if self.lanes > room:
            raise UnsupportedError(
                f"the program has {self.lanes} lanes; this GPU holds {room} of its CTAs at once",
                location=self.bundle.where,
            )

    def free(self) -> None:
        """Frees the kernel and all its memory."""
        self._resources.close()
