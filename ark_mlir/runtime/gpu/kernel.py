"""A loaded kernel on a GPU, with its memory."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ..drivers import abi
from .memory import DeviceBytes, DeviceMemory, PinnedMemory, download
from .record import LaunchRecord, RecordLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle
    from ..cuda.port_channels import PortChannels
    from .api import GpuApi, Launcher

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
        network: the record of a network (`abi.NETWORK_WORDS`), or nothing if there is none.
        ports: the port channels whose tokens stand for counters; None for any other network.
    """

    arena: DeviceBytes
    semaphores: DeviceBytes
    packets: DeviceBytes
    own_packets: DeviceBytes
    begun: tuple[int, ...]
    slots: tuple[int, ...] = ()
    network: tuple[int, ...] = ()
    ports: PortChannels | None = None


def begun_word(counters: int, rank: int) -> int:
    """Returns the address of the word for the start of a rank, among the counters of a GPU."""
    return counters + 8 * (abi.BEGUN_WORD + rank)


class GpuKernel:
    """A loaded kernel: its function, arena, tables, and the semaphores of ordinary runs.

    Args:
        api: the API of the vendor's driver.
        stream: the stream for copies from and to the host.
        bundle: the program.
        shared: arena, semaphores and packets that kernels on other GPUs access, too; None
            allocates them.

    Attributes:
        lanes: the number of CTAs.
        most_lanes: the number of CTAs of the kernel that the GPU holds at once.

    Raises UnsupportedError if this GPU cannot hold all lanes at once, and DeviceError if there is
    not enough memory.
    """

    def __init__(
        self, api: GpuApi, stream: object, bundle: Bundle, shared: SharedMemory | None = None
    ) -> None:
        self.api = api
        self._shared = shared
        self.bundle = bundle
        self.lanes = len(bundle.tables.lanes)
        self.threads = bundle.manifest.target.warps * api.warp_size
        further = 0 if shared is None else len(shared.slots)
        self.layout = RecordLayout(bundle.manifest, self.lanes, further)
        self._stream = stream
        self._resources = ExitStack()
        self._launchers: dict[int, Launcher] = {}
        try:
            self._load()
            self._allocate()
        except BaseException:
            self.free()
            raise

    def _load(self) -> None:
        image = self.api.load_image(self.bundle)
        self._resources.callback(image.free)
        self._function = image.function(self.bundle.manifest.entry)
        self._shared_memory = self.api.take_shared_memory(self._function, self.bundle)
        self._check_residency()

    def _allocate(self) -> None:
        manifest, instructions = self.bundle.manifest, self.bundle.tables.instructions
        shared = self._shared
        self._arena = self.memory(manifest.arena) if shared is None else shared.arena
        self._tables: dict[str, DeviceMemory] = {}
        for name in _TABLES:
            table = np.frombuffer(self._table(name), np.uint8)
            self._tables[name] = self.memory(table.nbytes)
            self._tables[name].upload(table)
        self.semaphores = self.make_semaphores()
        if shared is not None:
            words = np.array(shared.begun, np.uint64)
            self._begun = self.memory(words.nbytes)
            self._begun.upload(words)
            self._network = self._upload_words(shared.network)
        self.trace = self.memory(16 * len(instructions) * manifest.traced, coherent=True)

    def _upload_words(self, words: tuple[int, ...]) -> DeviceMemory | None:
        """Returns memory with 64-bit words; None for no words."""
        if not words:
            return None
        memory = self.memory(8 * len(words))
        memory.upload(np.array(words, np.uint64))
        return memory

    def _table(self, name: str) -> memoryview | bytes:
        """The bytes of a table as the kernel reads it."""
        if name == "lanes" and self.bundle.manifest.ranks > 1 and self._shared is None:
            # Linking replaces the SMs by the indices of the lanes: see GpuPeerRanks.mlir.
            lanes = np.array(self.bundle.tables.lanes)
            lanes[:, 0] = np.arange(len(lanes))
            return lanes.tobytes()
        return self.bundle.sections[name]

    def memory(self, nbytes: int, coherent: bool = False) -> DeviceMemory:
        """Allocates device memory that is freed with the kernel; see :class:`DeviceMemory`."""
        memory = DeviceMemory(self.api, self._stream, nbytes, coherent=coherent)
        self._resources.callback(memory.free)
        return memory

    def pinned(self, nbytes: int) -> PinnedMemory:
        """Allocates pinned memory of the host that is freed with the kernel."""
        memory = PinnedMemory(self.api, nbytes)
        self._resources.callback(memory.free)
        return memory

    def clear_shared(self, stream: object) -> None:
        """Zeroes the counters and packets that other GPUs access, in the order of a stream."""
        shared = self._shared
        assert shared is not None
        shared.semaphores.clear(stream)
        shared.own_packets.clear(stream)
        if shared.ports is not None:
            shared.ports.arm(shared.semaphores, stream)

    def make_semaphores(self) -> DeviceBytes:
        """Allocates zeroed semaphores, followed by the task packets."""
        if self._shared is not None:
            return self._shared.semaphores
        return self.memory(self.semaphore_bytes)

    @property
    def is_shared(self) -> bool:
        """True if kernels on other GPUs access the semaphores, too."""
        return self._shared is not None

    @property
    def semaphore_bytes(self) -> int:
        """The size of the semaphores and of the task packets that follow them."""
        return self._packets_begin + self.bundle.manifest.packets

    @property
    def _packets_begin(self) -> int:
        manifest = self.bundle.manifest
        count = max(len(manifest.semaphores), 1)
        if manifest.ranks > 1:
            count = max(count, abi.RANK_COUNTERS)
        return count * abi.SEMAPHORE_STRIDE

    def make_record(
        self, semaphores: DeviceBytes, device: DeviceMemory | None = None
    ) -> LaunchRecord:
        """Returns a launch record in which all fields except those of a run are set; None allocates
        its memory on the device."""
        record = LaunchRecord(self.api, self._stream, self.layout, device)
        self._resources.callback(record.free)
        record.slots[0] = self._arena.address
        record.set(semaphores=semaphores.address)
        if self._shared is not None:
            record.slots[record.layout.slot_count - len(self._shared.slots) :] = self._shared.slots
            record.set(ranks=len(self._shared.begun), begun=self._begun.address)
            if self._network is not None:
                record.set(network=self._network.address)
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
        launch = self._launchers.get(stream)
        if launch is None:
            launch = self._launchers[stream] = self.api.make_launcher(
                self._function, self.lanes, self.threads, self._shared_memory, stream
            )
        launch(record.parameters)

    def counters(self, semaphores: DeviceBytes, stream: object) -> NDArray[np.uint64]:
        """Returns the counters of a set of semaphores, uint64 ``[S]``, read in the order of a
        stream."""
        count = len(self.bundle.manifest.semaphores)
        shape = (max(count, 1), abi.SEMAPHORE_STRIDE // 8)
        lines: NDArray[np.uint64]
        lines = download(self.api, stream, semaphores.address, np.dtype(np.uint64), shape)
        counters = np.array(lines[:count, 0])
        if self._shared is not None and self._shared.ports is not None:
            for number, arrivals in self._shared.ports.arrivals().items():
                counters[number] = arrivals
        return counters

    def _check_residency(self) -> None:
        """Raises UnsupportedError unless all CTAs fit on the device at once, as lanes that wait for
        each other require."""
        each = self.api.call(
            self.api.names.occupancy, self._function, self.threads, self._shared_memory,
        )  # fmt: skip
        self.most_lanes = each * self.api.multiprocessors
        if self.lanes > self.most_lanes:
            raise UnsupportedError(
                f"the program has {self.lanes} lanes; this GPU holds {self.most_lanes} of its CTAs "
                "at once",
                location=self.bundle.where,
            )

    def free(self) -> None:
        """Frees the kernel and all its memory."""
        self._resources.close()
