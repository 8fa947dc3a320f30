"""The memory that the processes of a world share on their GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..runtime.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from ..runtime.cuda.api import CudaApi
from ..runtime.cuda.kernel import SharedMemory
from ..runtime.cuda.memory import DeviceBytes
from .gpu_facts import check_facts, choose_device, peer_problem, read_facts
from .sharing import agree

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..runtime.cuda.peers import MappedParts
    from .circle import Turn
    from .sharing import Sharing

__all__ = ["GpuMemory", "share_gpu_memory"]


class GpuMemory:
    """The GPU of one rank, and the memory of all ranks as this process maps it.

    Attributes:
        ordinal: the number of the GPU among those that this process sees.
        shared: arena, counters and task packets.
    """

    def __init__(self, api: CudaApi, sharing: Sharing) -> None:
        self.ordinal = api.ordinal
        self.shared: SharedMemory | None = None
        self._api = api
        self._sharing = sharing
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
        words = turn.meet("GPU", {**read_facts(api), "sharing": self._sharing.name})
        check_facts(words, bundle)
        agree(turn, "peers", peer_problem(api, words, rank))
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

    def _share(self, turn: Turn, name: str, rank: int, part: int) -> MappedParts | None:
        """Returns memory with a part on the GPU of each rank; None if the parts have no bytes."""
        if not part:
            return None
        mapped = self._sharing.share(turn, self._api, name, rank, part)
        self._resources.callback(mapped.free)
        return mapped

    def free(self) -> None:
        """Frees the memory; may be called again. The kernels of this process must have ended."""
        self._resources.close()


def share_gpu_memory(
    turn: Turn,
    bundle: Bundle,
    rank: int,
    local_rank: int,
    devices: Sequence[int] | None,
    sharing: Sharing,
) -> GpuMemory:
    """Chooses the GPU of this rank and shares memory with all ranks, in a turn of the world.

    Raises the errors of `choose_device` and `GpuMemory.take`.
    """
    ordinal = choose_device(rank, local_rank, bundle.manifest.ranks, devices)
    memory = GpuMemory(CudaApi(ordinal=ordinal), sharing)
    try:
        memory.take(turn, bundle, rank)
    except BaseException:
        memory.free()
        raise
    return memory
