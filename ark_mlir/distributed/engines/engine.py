"""The interface of an engine, and the memory that ranks share through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import numpy as np

from ...errors import ArkError, DeviceError, UnsupportedError
from ...runtime.cuda.memory import download
from ...runtime.cuda.peers import RemappedParts

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ..circle import Turn

__all__ = ["Engine", "EngineMemory", "PeerRegion"]

_T = TypeVar("_T")
# With the rank in its lower bits, the word that a rank writes in the self-test.
_MARK = 0x41524B5F50454552


class PeerRegion(Protocol):
    """Memory on the GPU of one rank that an engine has allocated.

    Attributes:
        address: of the memory in this process.
    """

    address: int

    def exchange(self) -> Sequence[int]:
        """Returns the addresses of the regions of all ranks, in the order of the ranks, as this
        process maps them.

        Every rank calls this method together with the others. Raises UnsupportedError if the
        engine fails.
        """
        ...

    def free(self) -> None:
        """Frees the region and the mappings of the engine."""
        ...


class Engine(Protocol):
    """A library that makes memory of one process accessible to the GPUs of others.

    Attributes:
        name: the name in messages.
    """

    name: str

    def check(self, rank: int, ranks: int) -> None:
        """Raises InvalidUsageError or UnsupportedError if the library is not ready, or numbers the
        processes in another way.

        Args:
            rank: the rank of this process.
            ranks: the number of ranks.
        """
        ...

    def allocate(self, api: CudaApi, nbytes: int) -> PeerRegion:
        """Allocates memory that the driver can map at other addresses, too.

        Args:
            api: the driver API of the rank's GPU, with its context open.
            nbytes: the size, a multiple of 2 MiB.

        Raises DeviceError or UnsupportedError if the allocation fails.
        """
        ...


class EngineMemory:
    """Memory of the ranks that an engine makes accessible.

    The driver maps the parts a second time, at consecutive addresses, since tables hold offsets.
    Afterwards the engine's own mappings are freed.

    Args:
        engine: the engine.
        ranks: the number of ranks.
    """

    def __init__(self, engine: Engine, ranks: int) -> None:
        self.name = engine.name
        self._engine = engine
        self._ranks = ranks

    def share(self, turn: Turn, api: CudaApi, name: str, rank: int, part: int) -> RemappedParts:
        """Returns memory with a part on the GPU of each rank, together with all ranks.

        Args:
            turn: the turn of the world.
            api: the driver API of this rank's GPU, with its context open.
            name: the name of the memory, for phases of the turn.
            rank: the rank of this process.
            part: bytes of each part, a multiple of 2 MiB.

        Raises the same UnsupportedError at every rank if the memory of one of them cannot be
        shared.
        """

        with ExitStack() as on_error, ExitStack() as engine:

            def allocate() -> PeerRegion:
                self._engine.check(rank, self._ranks)
                region = self._engine.allocate(api, part)
                engine.callback(region.free)
                return region

            def map_again() -> RemappedParts:
                mapped = _map(api, addresses, self._ranks, part)
                on_error.callback(mapped.free)
                return mapped

            region = _together(turn, f"{name} allocated", allocate)
            addresses = _together(turn, f"{name} exchanged", region.exchange)
            mapped = _together(turn, f"{name} mapped", map_again)
            _test(turn, api, name, rank, self._ranks, region.address, mapped)
            on_error.pop_all()
            return mapped


def _map(api: CudaApi, addresses: Sequence[int], ranks: int, part: int) -> RemappedParts:
    if len(addresses) != ranks:
        raise UnsupportedError(f"{len(addresses)} addresses for {ranks} ranks")
    try:
        return RemappedParts(api, addresses, part)
    except DeviceError as error:
        raise UnsupportedError(
            "the engine's memory cannot be mapped again; it must be virtual memory of the driver "
            f"(cuMemCreate): {error.message}"
        ) from None


def _test(
    turn: Turn,
    api: CudaApi,
    name: str,
    rank: int,
    ranks: int,
    address: int,
    mapped: RemappedParts,
) -> None:
    """Raises UnsupportedError at every rank unless each part is the memory of its rank.

    Each rank writes a word to its memory, at the address where it allocated the memory, and reads
    the words of all ranks at the addresses that kernels will use.
    """
    stream = api.call("cuStreamCreate", api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    destroy = api.own(mapped, "cuStreamDestroy", stream)

    def write() -> None:
        word = np.array([_MARK + rank], np.uint64)
        api.call("cuMemcpyHtoDAsync", address, word.ctypes.data, word.nbytes, stream)
        api.call("cuStreamSynchronize", stream)

    def read() -> None:
        for other in range(ranks):
            place = mapped.part(other).address
            word = int(download(api, stream, place, np.dtype(np.uint64), (1,))[0])
            if word != _MARK + other:
                raise UnsupportedError(
                    f"the engine's address of the memory of rank {other} is not that of an "
                    f"allocation of its own: the self-test read {word:#x} there"
                )

    try:
        _together(turn, f"{name} written", write)
        _together(turn, f"{name} tested", read)
    finally:
        destroy()


def _together(turn: Turn, phase: str, work: Callable[[], _T]) -> _T:
    """Returns the result of `work`, after all ranks have come as far.

    Raises UnsupportedError at every rank if `work` fails at one of them.
    """
    try:
        result, problem = work(), None
    except ArkError as error:
        result, problem = None, error.message
    for word in turn.meet(phase, problem):
        if word.body is not None:
            raise UnsupportedError(f"rank {word.sender}: {word.body}")
    return cast("_T", result)
