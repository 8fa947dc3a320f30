"""The memory that the processes of a world share on their GPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..errors import DeviceError, UnsupportedError
from ..runtime.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from ..runtime.cuda.api import CudaApi
from ..runtime.cuda.kernel import SharedMemory
from ..runtime.cuda.memory import DeviceBytes
from ..runtime.cuda.peers import ExportedPart, MappedParts
from .frames import close_files
from .gpu_facts import check_facts, choose_device, peer_problem, read_facts

if TYPE_CHECKING:
    from ..bundle import Bundle
    from .circle import Turn
    from .engines.engine import EngineMemory

__all__ = ["GpuMemory", "share_gpu_memory"]


class GpuMemory:
    """The GPU of one rank, and the memory of all ranks as this process maps it.

    Args:
        api: the driver API of the GPU.
        engine: the engine that shares memory; None shares it by file descriptors.

    Attributes:
        ordinal: the number of the GPU among those that this process sees.
        shared: arena, counters and task packets.
    """

    def __init__(self, api: CudaApi, engine: EngineMemory | None = None) -> None:
        self.ordinal = api.ordinal
        self.shared: SharedMemory | None = None
        self._api = api
        self._engine = engine
        self._resources = ExitStack()
        self._resources.callback(api.close)
        try:
            api.open()
        except BaseException:
            self._resources.close()
            raise

    def take(self, turn: Turn, bundle: Bundle, rank: int) -> None:
        """Allocates the part of this rank, and maps those of all ranks, together with all of them.

        Raises the same UnsupportedError at every rank if GPUs or drivers of the ranks cannot share
        memory, and DeviceError if memory is short.
        """
        api, ranks = self._api, bundle.manifest.ranks
        words = turn.meet("GPU", {**read_facts(api), "engine": self._engine_name})
        check_facts(words, bundle)
        _agree(turn, "peers", peer_problem(api, words, rank))
        arena = self._share(turn, "arena", rank, bundle.manifest.arena // ranks)
        counters = self._share(turn, "counters", rank, RANK_COUNTERS * SEMAPHORE_STRIDE)
        packets = self._share(turn, "packets", rank, bundle.manifest.packets // ranks)
        assert counters is not None
        nothing = DeviceBytes(api, 0, 0)
        self.shared = SharedMemory(
            arena=nothing if arena is None else arena.all,
            semaphores=counters.part(rank),
            packets=nothing if packets is None else packets.all,
            own_packets=nothing if packets is None else packets.part(rank),
        )

    @property
    def _engine_name(self) -> str:
        return "file descriptors" if self._engine is None else self._engine.name

    def _share(self, turn: Turn, name: str, rank: int, part: int) -> MappedParts | None:
        """Returns memory with a part on the GPU of each rank; None if the parts have no bytes."""
        if not part:
            return None
        if self._engine is not None:
            shared = self._engine.share(turn, self._api, name, rank, part)
            self._resources.callback(shared.free)
            return shared
        own = ExportedPart(self._api, part)
        try:
            files = self._exchange(turn, name, rank, own)
            try:
                mapped, problem = self._map(own, files, part)
            finally:
                close_files([each for each in files if each is not None])
            _agree(turn, f"{name} mapped", problem)
            assert mapped is not None
            return mapped
        finally:
            own.release()

    def _exchange(self, turn: Turn, name: str, rank: int, own: ExportedPart) -> list[int | None]:
        """Returns file descriptors of the parts of all ranks, which the caller closes; None for the
        own part."""
        file, problem = self._export(own)
        try:
            words = turn.meet(name, problem, file=file)
        finally:
            if file is not None:
                os.close(file)
        files = [None if word.sender == rank else word.file for word in words]
        refused = next((word for word in words if word.body is not None), None)
        if refused is not None:
            close_files([each for each in files if each is not None])
            raise UnsupportedError(f"rank {refused.sender}: {refused.body}")
        return files

    def _export(self, own: ExportedPart) -> tuple[int | None, str | None]:
        """Returns a file descriptor, or the reason why the driver refuses it."""
        try:
            return own.export(), None
        except (DeviceError, UnsupportedError) as error:
            return None, f"this driver cannot share memory with other processes: {error.message}"

    def _map(
        self, own: ExportedPart, files: Sequence[int | None], part: int
    ) -> tuple[MappedParts | None, str | None]:
        """Returns the mapping, or the reason why the driver refuses it."""
        try:
            mapped = MappedParts(self._api, own, files, part)
        except (DeviceError, UnsupportedError) as error:
            return None, f"this driver cannot map the memory of other processes: {error.message}"
        self._resources.callback(mapped.free)
        return mapped, None

    def free(self) -> None:
        """Frees the memory; may be called again. The kernels of this process must have ended."""
        self._resources.close()


def share_gpu_memory(
    turn: Turn,
    bundle: Bundle,
    rank: int,
    local_rank: int,
    devices: Sequence[int] | None,
    engine: EngineMemory | None,
) -> GpuMemory:
    """Chooses the GPU of this rank and shares memory with all ranks, in a turn of the world.

    Raises the errors of `choose_device` and `GpuMemory.take`.
    """
    ordinal = choose_device(rank, local_rank, bundle.manifest.ranks, devices)
    memory = GpuMemory(CudaApi(ordinal=ordinal), engine)
    try:
        memory.take(turn, bundle, rank)
    except BaseException:
        memory.free()
        raise
    return memory


def _agree(turn: Turn, phase: str, problem: str | None) -> None:
    """Raises UnsupportedError at every rank if one of them has a problem."""
    for word in turn.meet(phase, problem):
        if word.body is not None:
            raise UnsupportedError(f"rank {word.sender}: {word.body}")
