"""Stand-ins for libraries that share memory of GPUs: PyTorch's symmetric memory, MSCCL++, NCCL.

The stand-ins have the names, arguments and results of the libraries as far as ark calls them, and
raise on anything else. The memory is that of the stand-in for CUDA. Processes find the file
descriptors of each other in a folder.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
import weakref
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from port_library import Connection, Tokens

from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.peers import ExportedPart, MappedParts

PAGE = 2 << 20


class Broker:
    """Exchanges memory between processes, each of which maps it at addresses of its own choice.

    Args:
        folder: common to all processes.
        rank, ranks: the rank of this process, and the number of ranks.

    Attributes:
        fault: what is wrong on purpose: ``swapped``, ``refused`` or ``plain``; empty for nothing.
        seconds: how long to wait for another process.
    """

    def __init__(self, folder: Path, rank: int, ranks: int, fault: str = "") -> None:
        self.rank = rank
        self.ranks = ranks
        self.fault = fault
        self.seconds = 20.0
        self._folder = folder
        self._count = 0

    def exchange(self, api: CudaApi, part: ExportedPart, nbytes: int) -> list[MappedParts]:
        """Returns mappings of the memory of all ranks but this one."""
        if self.fault == "refused":
            raise RuntimeError("the fabric is down")
        number, self._count = self._count, self._count + 1
        with ExitStack() as files:
            file = part.export()
            files.callback(os.close, file)
            # A rename, so that no process reads half of it.
            unfinished = self._folder / f"{number}-{self.rank}.part"
            unfinished.write_text(f"/proc/{os.getpid()}/fd/{file}")
            unfinished.rename(self._folder / f"{number}-{self.rank}")
            others = [other for other in range(self.ranks) if other != self.rank]
            mappings: list[MappedParts] = []
            for other in others:
                path = self._folder / f"{number}-{other}"
                self._await(path, other)
                opened = os.open(path.read_text(), os.O_RDWR)
                files.callback(os.close, opened)
                mappings.append(MappedParts(api, None, [opened], nbytes))
                (self._folder / f"{number}-{other}-seen-by-{self.rank}").touch()
            for other in others:
                self._await(self._folder / f"{number}-{self.rank}-seen-by-{other}", other)
            return mappings

    def _await(self, path: Path, other: int) -> None:
        deadline = time.monotonic() + self.seconds
        while not path.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank {other} did not come in time")
            time.sleep(0.001)

    def spoil(self, api: CudaApi, addresses: list[int]) -> list[int]:
        """Returns the addresses as a library with the fault would give them."""
        if self.fault == "swapped":
            return addresses[::-1]
        if self.fault == "plain":
            return [int(api.call("cuMemAlloc", PAGE))] * self.ranks
        return addresses


class _Allocation:
    """Memory that other processes can map."""

    def __init__(self, cuda: Any, nbytes: int, ordinal: int) -> None:
        self._resources = ExitStack()
        self.nbytes = nbytes
        self.api = CudaApi(cuda, ordinal)
        try:
            self.api.open()
            self._resources.callback(self.api.close)
            self.part = ExportedPart(self.api, nbytes)
            self._resources.callback(self.part.release)
            self.own = MappedParts(self.api, self.part, [None], nbytes)
            self._resources.callback(self.own.free)
        except BaseException:
            self._resources.close()
            raise

    def close(self) -> None:
        """Frees the memory."""
        self._resources.close()


def install_torch(cuda: Any, broker: Broker, is_initialized: bool = True) -> None:
    """Replaces the modules of PyTorch."""

    class Tensor(_Allocation):
        def data_ptr(self) -> int:
            return self.own.address

        def __del__(self) -> None:
            self.close()

    class Handle:
        def __init__(self, tensor: Tensor) -> None:
            self._mapped = broker.exchange(tensor.api, tensor.part, tensor.nbytes)
            addresses = [mapped.address for mapped in self._mapped]
            addresses.insert(broker.rank, tensor.own.address)
            self.buffer_ptrs = broker.spoil(tensor.api, addresses)

        def __del__(self) -> None:
            for mapped in getattr(self, "_mapped", ()):
                mapped.free()

    world = SimpleNamespace(rank=broker.rank, size=broker.ranks)

    def empty(*size: int, dtype: str, device: tuple[str, int]) -> Tensor:
        assert dtype == "uint8"
        assert device[0] == "cuda"
        (nbytes,) = size
        # PyTorch appends a pad for signals, so the allocation is larger than the tensor.
        return Tensor(cuda, nbytes + PAGE, device[1])

    def rendezvous(tensor: Tensor, group: object) -> Handle:
        assert group is world
        return Handle(tensor)

    torch: Any = ModuleType("torch")
    torch.uint8 = "uint8"
    # A module for hip: ark takes none of its streams for one of CUDA.
    torch.version = SimpleNamespace(hip="stand-in")
    torch.device = lambda kind, ordinal: (kind, ordinal)
    torch.distributed = ModuleType("torch.distributed")
    torch.distributed.is_initialized = lambda: is_initialized
    torch.distributed.group = SimpleNamespace(WORLD=world)
    torch.distributed.get_rank = lambda group: group.rank
    torch.distributed.get_world_size = lambda group: group.size
    symmetric: Any = ModuleType("torch.distributed._symmetric_memory")
    symmetric.empty, symmetric.rendezvous = empty, rendezvous
    for module in (torch, torch.distributed, symmetric):
        sys.modules[module.__name__] = module


class Communicator:
    """A stand-in for ``mscclpp.Communicator``; its futures do their work when they are read."""

    def __init__(self, cuda: Any, broker: Broker, local: int | None = None) -> None:
        self._cuda = cuda
        self._broker = broker
        self._local = broker.ranks if local is None else local
        self._sent: list[Any] = []
        self._received: list[MappedParts] = []
        self._tokens: weakref.ref[Tokens] | None = None

    def bootstrap(self) -> Any:
        """Returns the control plane."""
        return SimpleNamespace(
            get_rank=lambda: self._broker.rank,
            get_n_ranks=lambda: self._broker.ranks,
            get_n_ranks_per_node=lambda: self._local,
        )

    def register_memory(self, ptr: int, size: int, transports: object) -> Any:
        """Returns memory at an address, which other processes can map."""
        assert transports in ({"CudaIpc"}, {"CudaIpc", "IB0"})
        block = self._cuda.find_block(ptr)
        assert block is not None
        assert block.nbytes == size
        api = CudaApi(self._cuda, block.charged.ordinal)
        return SimpleNamespace(data=lambda: ptr, size=lambda: size, api=api, address=ptr)

    def send_memory(self, memory: Any, remote_rank: int, tag: int) -> None:
        """Sends memory to a rank; `tag` has to be that of `recv_memory`."""
        assert (remote_rank != self._broker.rank, tag) == (True, 7)
        self._sent.append(memory)

    def recv_memory(self, remote_rank: int, tag: int) -> Any:
        """Returns a future of the memory of a rank."""
        assert (remote_rank != self._broker.rank, tag) == (True, 7)
        return SimpleNamespace(get=lambda: self._get(remote_rank))

    def _get(self, remote_rank: int) -> Any:
        own = self._sent[0]
        assert len(self._sent) == self._broker.ranks - 1, "a future is read before all are sent"
        if not self._received:
            try:
                self._received = self._broker.exchange(own.api, _Retained(own), own.size())
            except BaseException:
                self._sent = []
                raise
            addresses = [mapped.address for mapped in self._received]
            self._addresses = self._broker.spoil(own.api, addresses)
        index = remote_rank - (remote_rank > self._broker.rank)
        mapped, address = self._received[index], self._addresses[index]
        if index == len(self._received) - 1:
            self._received, self._sent = [], []
        return SimpleNamespace(data=lambda: address, kept=mapped, address=mapped.address)

    def connect(self, local_config: Any, remote_rank: int, tag: int) -> Any:
        """Returns a future of a connection to a rank."""
        assert local_config == ("IB0", ("GPU", self._broker.rank))
        assert (remote_rank != self._broker.rank, tag) == (True, 7)
        return SimpleNamespace(get=lambda: self._connect(remote_rank))

    def _connect(self, remote_rank: int) -> Connection:
        if self._broker.fault == "no network":
            raise RuntimeError("no network adapter")
        # The connections of a program share the tokens.
        tokens = None if self._tokens is None else self._tokens()
        if tokens is None:
            tokens = Tokens(self._cuda, self._broker)
            self._tokens = weakref.ref(tokens)
        return Connection(tokens, self._broker.rank, remote_rank)

    def build_semaphore(self, connection: Connection, remote_rank: int, tag: int) -> Any:
        """Returns a future of a semaphore of a connection."""
        assert (remote_rank != self._broker.rank, tag) == (True, 7)
        return SimpleNamespace(get=connection.build)


class _Retained:
    """Registered memory as `Broker.exchange` takes it."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def export(self) -> int:
        """Returns a file descriptor of the memory."""
        api = self._memory.api
        handle = api.call("cuMemRetainAllocationHandle", self._memory.data())
        kind = api.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        try:
            return int(api.call("cuMemExportToShareableHandle", handle, kind, 0))
        finally:
            api.call("cuMemRelease", handle)


class _Flags(set[str]):
    """A stand-in for ``mscclpp.TransportFlags``."""

    def __or__(self, other: Any) -> Any:
        return _Flags({*self, other})


def install_mscclpp() -> None:
    """Replaces the module of MSCCL++."""
    module: Any = ModuleType("mscclpp")
    module.Transport = SimpleNamespace(CudaIpc="CudaIpc", IB0="IB0")
    module.TransportFlags = lambda transport: _Flags({transport})
    sys.modules["mscclpp"] = module


class NcclCommunicator:
    """A stand-in for ``nccl.core.Communicator``.

    Args:
        broker: the connection to the other processes.
        reachable: the number of consecutive ranks whose GPUs access each other; None for all.

    Attributes:
        open: the number of device communicators that are open.
    """

    def __init__(self, broker: Broker, reachable: int | None = None) -> None:
        self._broker = broker
        self.rank = broker.rank
        self.nranks = broker.ranks
        self._reachable = broker.ranks if reachable is None else reachable
        self.open = 0

    def register_window(self, buffer: NcclBuffer, flags: int) -> Any:
        """Returns a window of all ranks."""
        assert flags == 1
        mapped = self._broker.exchange(buffer.api, buffer.part, buffer.nbytes)
        addresses = [each.address for each in mapped]
        addresses.insert(self._broker.rank, buffer.handle)
        addresses = self._broker.spoil(buffer.api, addresses)

        def close() -> None:
            for each in mapped:
                each.free()

        def find(peer: int) -> int | None:
            is_near = peer // self._reachable == self.rank // self._reachable
            return addresses[peer] if is_near else None

        return SimpleNamespace(get_peer_device_pointer=find, close=close, handle=0x1234)

    def create_dev_comm(self, requirements: Any) -> Any:
        """Returns a device communicator with a network."""
        if self._broker.fault == "no network":
            raise RuntimeError("no network adapter")
        assert requirements.gin_connection_type == 1
        assert requirements.gin_strong_signals_required
        assert requirements.gin_va_signals_required
        self.open += 1
        record = ctypes.create_string_buffer(b"ncclDevComm", 248)

        def close() -> None:
            self.open -= 1

        return SimpleNamespace(ptr=ctypes.addressof(record), close=close, record=record)


class NcclBuffer(_Allocation):
    """A stand-in for the result of ``nccl.core.mem_alloc``."""

    @property
    def handle(self) -> int:
        """The address."""
        return self.own.address


def install_nccl(cuda: Any, version: str = "2.32.3") -> None:
    """Replaces the module of nccl4py, with a version of NCCL."""
    module: Any = ModuleType("nccl.core")
    module.mem_alloc = lambda nbytes, device: NcclBuffer(cuda, nbytes, device)
    module.WindowFlag = SimpleNamespace(COLL_SYMMETRIC=1)
    module.NCCLDevCommRequirements = SimpleNamespace
    module.NcclGinConnectionType = SimpleNamespace(FULL=1)
    library = SimpleNamespace(version=version, path="libnccl.so.2")
    module.get_version = lambda: SimpleNamespace(nccl4py="0.6.0", libnccl=library)
    sys.modules["nccl"] = ModuleType("nccl")
    sys.modules["nccl.core"] = module
    sys.modules["nccl.bindings"] = ModuleType("nccl.bindings")
    bindings: Any = ModuleType("nccl.bindings.nccl")
    bindings.dev_comm_dtype = SimpleNamespace(itemsize=248)
    sys.modules["nccl.bindings.nccl"] = bindings
