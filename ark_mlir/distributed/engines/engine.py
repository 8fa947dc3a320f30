"""The interface of an engine, and the memory that ranks share through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Protocol, TypeVar, cast, get_args

import numpy as np

from ...errors import ArkError, DeviceError, UnsupportedError
from ...runtime.cuda.port_channels import PortMemory
from ...runtime.gpu.memory import download
from ...typing import Network

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ...runtime.gpu.blocks import NetworkHandles
    from ...runtime.ranks.routes import NetworkPlan
    from ..communicator import CollectiveCall

__all__ = ["Engine", "EngineMemory", "PeerRegion"]

_T = TypeVar("_T")
# In the self-test, a rank writes the sum of this number and its rank to its memory.
_MARK = 0x41524B5F50454552
_PAGE = 2 << 20
# The error of engines without a network.
NO_NETWORK = (
    "this engine reaches GPUs of one NVLink domain alone; ark.distributed.NcclMemory, and "
    "MscclppMemory with a transport, also reach ranks by a network"
)


class PeerRegion(Protocol):
    """Memory on the GPU of one rank that an engine has allocated.

    Attributes:
        address: the address of the memory in this process.
    """

    address: int

    def exchange(self, plan: NetworkPlan) -> Sequence[int | None]:
        """Exchanges the regions of all ranks; a collective call, which all ranks make together.

        Returns the address at which this process maps the region of each rank, in the order of the
        ranks; None for a rank that only a network reaches. Raises UnsupportedError if the engine
        fails.

        Args:
            plan: the requirements of the program for the network.
        """
        ...

    def connect(self, plan: NetworkPlan) -> NetworkHandles:
        """Connects to the ranks without an address; a collective call.

        Returns what kernels need for the network. Raises UnsupportedError if the engine has no
        network that kernels can use.

        Args:
            plan: the requirements of the program for the network.
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
        """Raises an error if the engine cannot serve this process.

        Raises UnsupportedError if the library cannot be used here, and InvalidUsageError if it is
        not initialised or assigns this process another rank than ark does.

        Args:
            rank: the rank of this process.
            ranks: the number of ranks.
        """
        ...

    def allocate(self, api: CudaApi, nbytes: int) -> PeerRegion:
        """Allocates memory whose address is a multiple of 2 MiB in every process.

        Args:
            api: the API of NVIDIA's driver on the rank's GPU, with its context open.
            nbytes: the size, a multiple of 2 MiB.

        Raises DeviceError or UnsupportedError if the allocation fails.
        """
        ...


class EngineMemory:
    """Memory of the ranks that an engine makes accessible.

    Kernels use the memory at the addresses of the engine.

    Args:
        engine: the engine.
        ranks: the number of ranks.
    """

    def __init__(self, engine: Engine, ranks: int) -> None:
        self.name = engine.name
        self._engine = engine
        self._ranks = ranks

    def share(
        self,
        call: CollectiveCall,
        api: CudaApi,
        rank: int,
        nbytes: int,
        plan: NetworkPlan,
        resources: ExitStack,
    ) -> tuple[list[int | None], NetworkHandles | None]:
        """Allocates memory and shares it; a collective call, which all ranks make together.

        Returns the address at which this process maps the memory of each rank, or None for a rank
        that only a network reaches; and the handles of the network if there is such a rank.

        Args:
            call: the collective call of the world.
            api: the API of NVIDIA's driver on this rank's GPU, with its context open.
            rank: the rank of this process.
            nbytes: bytes of each rank, a multiple of 2 MiB.
            plan: the requirements of the program for the network.
            resources: the stack to which the function that frees the memory is added.

        Raises the same UnsupportedError at every rank if the memory of one rank cannot be shared,
        if a network alone reaches a rank that the program has in the same domain, or if the program
        was compiled for the network of another engine.
        """

        def allocate() -> PeerRegion:
            self._engine.check(rank, self._ranks)
            region = self._engine.allocate(api, nbytes)
            resources.callback(region.free)
            return region

        def exchange() -> list[int | None]:
            addresses = list(region.exchange(plan))
            _check_addresses(addresses, self._ranks)
            _check_domains(addresses, rank, plan.domains)
            return addresses

        def connect() -> NetworkHandles:
            _check_library(self.name, plan)
            return region.connect(plan)

        region = _together(call, "memory allocated", allocate)
        addresses = _together(call, "memory exchanged", exchange)
        _test(call, api, rank, region.address, addresses)
        # If one rank needs the network, all ranks connect. A rank may access the memory of another
        # rank that cannot access its memory.
        apart = [message.body for message in call.all_gather("apart", None in addresses)]
        if not any(apart):
            return addresses, None
        network = _together(call, "network", connect)
        if network.ports is not None:
            memory = PortMemory(region.address, _MARK)
            ports = network.ports
            _together(call, "network tested", lambda: ports.test(memory))
        return addresses, network


def _check_library(name: str, plan: NetworkPlan) -> None:
    """Raises UnsupportedError if an engine's network is not that of the program."""
    if name in get_args(Network) and name != plan.library:
        raise UnsupportedError(
            f"the program was compiled with network={plan.library!r}, and the engine is {name}: "
            f"compile with network={name!r}, or use the engine {plan.library}"
        )


def _check_domains(addresses: Sequence[int | None], rank: int, domains: Sequence[int]) -> None:
    for other, address in enumerate(addresses):
        if address is None and (not domains or domains[other] == domains[rank]):
            raise UnsupportedError(
                f"this GPU cannot access the memory of rank {other}, which has the same domain in "
                "the program: compile with domains=, a number for each rank, such as [0, 0, 1, 1]"
            )


def _check_addresses(addresses: Sequence[int | None], ranks: int) -> None:
    if len(addresses) != ranks:
        raise UnsupportedError(f"{len(addresses)} addresses for {ranks} ranks")
    for rank, address in enumerate(addresses):
        if address is not None and address % _PAGE:
            raise UnsupportedError(
                f"the engine maps the memory of rank {rank} at {address:#x}, and ark needs a "
                "multiple of 2 MiB: use memory that the engine allocates by cuMemCreate"
            )


def _test(
    call: CollectiveCall,
    api: CudaApi,
    rank: int,
    own_address: int,
    addresses: Sequence[int | None],
) -> None:
    """Tests the addresses; raises UnsupportedError at every rank if an address is wrong.

    Each rank writes a word to its own memory, at the address of the allocation, `own_address`. Then
    it reads the words of all ranks at the addresses that kernels will use.
    """
    api.enter()  # the engine may have made another context current
    stream = api.call("cuStreamCreate", api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING)

    def write() -> None:
        word = np.array([_MARK + rank], np.uint64)
        api.call("cuMemcpyHtoDAsync", own_address, word.ctypes.data, word.nbytes, stream)
        api.call("cuStreamSynchronize", stream)

    def read() -> None:
        for other, address in enumerate(addresses):
            if address is None:
                continue
            word = int(download(api, stream, address, np.dtype(np.uint64), (1,))[0])
            if word != _MARK + other:
                raise UnsupportedError(
                    f"the engine's address of the memory of rank {other} is wrong: the self-test "
                    f"read {word:#x} there instead of {_MARK + other:#x}"
                )

    try:
        _together(call, "memory written", write)
        _together(call, "memory tested", read)
    except BaseException:
        with suppress(DeviceError):  # an access of the self-test may have ended the context
            api.call("cuStreamDestroy", stream)
        raise
    api.call("cuStreamDestroy", stream)


def _together(call: CollectiveCall, phase: str, work: Callable[[], _T]) -> _T:
    """Calls `work` at every rank, and returns its result after it has succeeded at all ranks.

    Raises UnsupportedError at every rank if `work` fails at one rank.
    """
    try:
        result, problem = work(), None
    except ArkError as error:
        result, problem = None, [error.message, list(error.notes)]
    for message in call.all_gather(phase, problem):
        if message.body is not None:
            text, notes = message.body
            raise UnsupportedError(f"rank {message.sender}: {text}", notes=notes)
    return cast("_T", result)
