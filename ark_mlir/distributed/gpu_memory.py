"""The memory that the processes of a world share on their GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..backends import backend_info
from ..errors import ArkError, DeviceError, UnsupportedError
from ..runtime.cuda.api import CudaApi
from ..runtime.drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from ..runtime.gpu.blocks import NetworkHandles, divide_blocks
from ..runtime.gpu.kernel import SharedMemory, begun_word
from ..runtime.gpu.legacy_ipc import BorrowedBlock, LentBlock
from ..runtime.gpu.memory import DeviceBytes
from ..runtime.gpu.peers import ExportedPart, MappedParts, page_size
from ..runtime.ranks.rank_bundle import bytes_of_block
from ..runtime.ranks.relocation import PartAddresses, relocate
from ..runtime.ranks.routes import plan_network
from .frames import close_files
from .gpu_facts import check_facts, choose_device, peer_problem, read_facts

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..runtime.gpu.api import GpuApi
    from .communicator import CollectiveCall, Communicator
    from .engines.engine import EngineMemory

__all__ = ["GpuMemory", "find_sharing", "free_kept", "share_gpu_memory"]

# Errors of the vendors' drivers after which no other way of sharing memory is tried.
_NOT_REFUSED = ("OUT_OF_MEMORY", "ILLEGAL_ADDRESS", "OutOfMemory", "IllegalAddress")
# The alignment of memory that ranks share, in bytes.
_PAGE = 2 << 20


# The ways of sharing memory, as reports name them.
FILES = "file descriptors"
LEGACY = "legacy {} IPC, since file descriptors of memory are refused"


class _RefusedError(Exception):
    """One way of sharing memory fails at a rank; every rank raises the error with the same text."""


class GpuMemory:
    """The GPU of one rank, and the memory of all ranks as this process maps it.

    Args:
        api: the API of the vendor's driver on the GPU.
        engine: the engine that shares memory; None shares it by file descriptors.

    Attributes:
        ordinal: the vendor's ordinal of the GPU in this process.
        shared: arena, counters and task packets.
        sharing: the way in which the processes share memory.
    """

    def __init__(self, api: GpuApi, engine: EngineMemory | None = None) -> None:
        self.ordinal = api.ordinal
        self.shared: SharedMemory | None = None
        self.sharing = FILES if engine is None else engine.name
        self._api = api
        self._engine = engine
        self._addresses: PartAddresses | None = None
        self._lent: LentBlock | None = None
        self._borrowed = ExitStack()
        self._mappings: Communicator | None = None
        self._resources = ExitStack()
        self._resources.callback(api.close)
        try:
            api.open()
        except BaseException:
            self._resources.close()
            raise

    def make_api(self) -> GpuApi:
        """Returns another API of the vendor's driver on the GPU, for the driver of this rank."""
        return type(self._api)(ordinal=self.ordinal)  # type: ignore[call-arg]

    def take(self, call: CollectiveCall, bundle: Bundle, rank: int) -> None:
        """Allocates the part of this rank, and maps the parts of all ranks; a collective call.

        Raises the same UnsupportedError at every rank if GPUs or drivers of the ranks cannot share
        memory, and DeviceError if memory is short.
        """
        messages = call.all_gather("GPU", {**read_facts(self._api), "engine": self.sharing})
        check_facts(messages, bundle)
        # Only an engine can reach another domain.
        domains = () if self._engine is None else bundle.manifest.domains
        _agree(call, "peers", peer_problem(self._api, messages, rank, domains))
        if self._engine is not None:
            self._take_engine(call, bundle, rank, self._engine)
            return
        mapped = ExitStack()
        try:
            self._take_files(call, bundle, rank, mapped)
        except _RefusedError as refusal:
            mapped.close()
            try:
                self._take_legacy(call, bundle, rank)
            except _RefusedError as second:
                raise _refuse(self._api, refusal, second) from None
            self.sharing = LEGACY.format(self._api.library)
        except BaseException:
            mapped.close()
            raise
        else:
            self._resources.enter_context(mapped)

    def relocate(self, linked: Bundle) -> Bundle:
        """Returns the linked program of this rank with tables for the addresses of the memory."""
        return linked if self._addresses is None else relocate(linked, self._addresses)

    # -- file descriptors --------------------------------------------------------------------

    def _take_files(
        self, call: CollectiveCall, bundle: Bundle, rank: int, mapped: ExitStack
    ) -> None:
        api, ranks = self._api, bundle.manifest.ranks

        def share(name: str, part: int) -> MappedParts | None:
            return self._share(call, name, rank, part, mapped) if part else None

        arena = share("arena", bundle.manifest.arena // ranks)
        counters = share("counters", RANK_COUNTERS * SEMAPHORE_STRIDE)
        packets = share("packets", bundle.manifest.packets // ranks)
        assert counters is not None
        nothing = DeviceBytes(api, 0, 0)
        self.shared = SharedMemory(
            arena=nothing if arena is None else arena.all,
            semaphores=counters.part(rank),
            packets=nothing if packets is None else packets.all,
            own_packets=nothing if packets is None else packets.part(rank),
            begun=tuple(begun_word(counters.part(each).address, rank) for each in range(ranks)),
        )

    def _share(
        self, call: CollectiveCall, name: str, rank: int, part: int, mapped: ExitStack
    ) -> MappedParts:
        """Returns memory with a part on the GPU of each rank."""
        exported, problem = self._create(part)
        try:
            files = self._exchange(call, name, rank, exported, problem)
            assert exported is not None
            try:
                parts, problem = self._map(exported, files, part)
            finally:
                close_files([each for each in files if each is not None])
            if parts is not None:
                mapped.callback(parts.free)
            _agree_or_refuse(call, f"{name} mapped", problem)
            assert parts is not None
            return parts
        finally:
            if exported is not None:
                exported.release()

    def _create(self, part: int) -> tuple[ExportedPart | None, str | None]:
        """Returns the part of this rank, or the reason why the vendor's driver refuses it."""
        try:
            return ExportedPart(self._api, part), None
        except (DeviceError, UnsupportedError) as error:
            return None, self._refusal("cannot share memory with other processes", error)

    def _exchange(
        self,
        call: CollectiveCall,
        name: str,
        rank: int,
        exported: ExportedPart | None,
        problem: str | None,
    ) -> list[int | None]:
        """Returns file descriptors of the parts by rank, which the caller closes.

        The entry of this rank is None.
        """
        file = None
        if exported is not None:
            file, problem = self._export(exported)
        try:
            messages = call.all_gather(name, problem, file=file)
        finally:
            if file is not None:
                os.close(file)
        files = [None if message.sender == rank else message.file for message in messages]
        refused = next((message for message in messages if message.body is not None), None)
        if refused is not None:
            close_files([each for each in files if each is not None])
            raise _RefusedError(f"rank {refused.sender}: {refused.body}")
        return files

    def _export(self, exported: ExportedPart) -> tuple[int | None, str | None]:
        """Returns a file descriptor, or the reason why the vendor's driver refuses it."""
        try:
            return exported.export(), None
        except (DeviceError, UnsupportedError) as error:
            return None, self._refusal("cannot share memory with other processes", error)

    def _map(
        self, exported: ExportedPart, files: Sequence[int | None], part: int
    ) -> tuple[MappedParts | None, str | None]:
        """Returns the mapping, or the reason why the vendor's driver refuses it."""
        try:
            return MappedParts(self._api, exported, files, part), None
        except (DeviceError, UnsupportedError) as error:
            return None, self._refusal("cannot map the memory of other processes", error)

    # -- legacy IPC --------------------------------------------------------------------------

    def _take_legacy(self, call: CollectiveCall, bundle: Bundle, rank: int) -> None:
        self._lent = LentBlock(self._api, bytes_of_block(bundle))
        self._use_blocks(bundle, rank, self._borrow(call, rank, self._lent))

    def _refusal(self, problem: str, error: ArkError) -> str:
        """Returns the reason why a rank cannot share memory in one way.

        Raises `error` itself if memory is short or the GPU has failed, since another way of sharing
        memory would fail as well.
        """
        if any(name in error.message for name in _NOT_REFUSED):
            raise error
        return f"{self._api.vendor}'s driver {problem}: {error.message}"

    # -- an engine ---------------------------------------------------------------------------

    def _take_engine(
        self, call: CollectiveCall, bundle: Bundle, rank: int, engine: EngineMemory
    ) -> None:
        nbytes = -(-bytes_of_block(bundle) // _PAGE) * _PAGE
        plan = plan_network(bundle)
        assert isinstance(self._api, CudaApi)  # the engines are libraries for NVIDIA GPUs
        begins, network = engine.share(call, self._api, rank, nbytes, plan, self._resources)
        self._use_blocks(bundle, rank, begins, network)

    # -- blocks at any addresses -------------------------------------------------------------

    def _use_blocks(
        self,
        bundle: Bundle,
        rank: int,
        begins: Sequence[int | None],
        network: NetworkHandles | None = None,
    ) -> None:
        """Divides the block of each rank into arena, counters and task packets."""
        self._addresses, self.shared = divide_blocks(self._api, bundle, rank, begins, network)

    def _borrow(self, call: CollectiveCall, rank: int, lent: LentBlock) -> list[int]:
        """Returns the address of the memory of each rank."""
        try:
            handle, problem = lent.handle().hex(), None
        except (DeviceError, UnsupportedError) as error:
            handle, problem = "", self._refusal("cannot lend memory to other processes", error)
        messages = call.all_gather("handles", [problem, handle, lent.offset])
        for message in messages:
            if message.body[0] is not None:
                raise _RefusedError(f"rank {message.sender}: {message.body[0]}")
        begins: list[int] = []
        problem = None
        try:
            for message in messages:
                if message.sender == rank:
                    begins.append(lent.address)
                    continue
                block = BorrowedBlock(self._api, bytes.fromhex(message.body[1]), message.body[2])
                self._borrowed.callback(block.close)
                begins.append(block.address)
        except (DeviceError, UnsupportedError) as error:
            problem = self._refusal("cannot map the memory of other processes", error)
        _agree_or_refuse(call, "handles opened", problem)
        return begins

    # -- the end -----------------------------------------------------------------------------

    def keep_until_left(self, mappings: Communicator) -> None:
        """Keeps memory that other ranks map by legacy IPC until they have left a communicator."""
        self._mappings = mappings

    def free(self) -> None:
        """Unmaps and frees the memory; may be called again.

        The kernels of this process must have ended.

        Memory that other ranks have mapped by legacy IPC is kept until they have unmapped it.
        """
        self._borrowed.close()
        if self._mappings is not None and self._lent is not None:
            self._mappings.leave("has unmapped the memory of a program")
            _kept.append((self._mappings, self.end))
            self._mappings = None
            free_kept()
        elif all(end != self.end for _, end in _kept):
            self.end()

    def end(self) -> None:
        """Frees the memory of this rank; may be called again."""
        if self._lent is not None:
            self._lent.free()
            self._lent = None
        self._resources.close()


# Functions that free memory which other ranks may still have mapped, each with a communicator. A
# rank leaves the communicator when it has unmapped the memory.
_kept: list[tuple[Communicator, Callable[[], None]]] = []


def free_kept(*, leaving: bool = False) -> None:
    """Frees the memory that all other ranks have unmapped.

    With `leaving`, this rank leaves the world, and all memory is freed.
    """
    for entry in list(_kept):
        mappings, end = entry
        if leaving or mappings.all_others_left():
            _kept.remove(entry)
            end()


def find_sharing(backend: str) -> str:
    """Returns a description of the way in which the first GPU of a backend can share memory with
    processes."""
    try:
        api = backend_info(backend).make_gpu_api()
        api.open()
    except ArkError as error:
        return f"unknown: {error.message}"
    with ExitStack() as resources:
        resources.callback(api.close)
        try:
            part = ExportedPart(api, page_size(api))
            resources.callback(part.release)
            os.close(part.export())
            return FILES
        except (DeviceError, UnsupportedError):
            pass  # the next way of sharing memory is tried
        try:
            block = LentBlock(api, _PAGE)
            resources.callback(block.free)
            block.handle()
            return LEGACY.format(api.library)
        except (DeviceError, UnsupportedError) as error:
            return f"refused: {error.message}"


def share_gpu_memory(
    call: CollectiveCall,
    bundle: Bundle,
    rank: int,
    local_rank: int,
    devices: Sequence[int] | None,
    engine: EngineMemory | None,
) -> GpuMemory:
    """Chooses the GPU of this rank and shares memory with all ranks, in a collective call.

    Raises the errors of `choose_device` and `GpuMemory.take`, and UnsupportedError for an engine
    whose library is not for these GPUs.
    """
    backend = backend_info(bundle.manifest.target.backend)
    if engine is not None and not backend.links_domains:
        raise UnsupportedError(
            f"engine={engine.name!r} shares memory of GPUs of NVIDIA, not of {backend.name}",
            notes=["call ark.distributed.init() without engine="],
        )
    count = backend.make_gpu_api().device_count
    ordinal = choose_device(count, rank, local_rank, bundle.manifest.ranks, devices)
    free_kept()
    memory = GpuMemory(backend.make_gpu_api(ordinal), engine)
    try:
        memory.take(call, bundle, rank)
    except BaseException:
        memory.free()
        raise
    return memory


def _agree(call: CollectiveCall, phase: str, problem: str | None) -> None:
    """Raises UnsupportedError at every rank if one rank has a problem."""
    for message in call.all_gather(phase, problem):
        if message.body is not None:
            raise UnsupportedError(f"rank {message.sender}: {message.body}")


def _agree_or_refuse(call: CollectiveCall, phase: str, problem: str | None) -> None:
    """Raises _RefusedError at every rank if one rank has a problem."""
    for message in call.all_gather(phase, problem):
        if message.body is not None:
            raise _RefusedError(f"rank {message.sender}: {message.body}")


def _refuse(api: GpuApi, first: _RefusedError, second: _RefusedError) -> UnsupportedError:
    return UnsupportedError(
        str(first),
        notes=[
            f"legacy {api.library} IPC does not work either: {second}",
            "run all ranks in one process: ark.load(path, devices=[0, 1]) without "
            "ark.distributed.init()",
        ],
    )
