"""Memory that the ranks share through a communicator of MSCCL++, and its port channels."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InvalidUsageError, UnsupportedError
from ...runtime.cuda.port_channels import PortChannels
from ...runtime.cuda.port_layouts import PortHandle, find_layout, read_handle
from ...runtime.gpu.blocks import NetworkHandles
from ...runtime.gpu.peers import ExportedPart, MappedParts
from ...runtime.ranks.routes import count_semaphores
from .engine import NO_NETWORK

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ...runtime.ranks.routes import NetworkPlan

__all__ = ["MscclppMemory"]

# The slots of the FIFO of a proxy. Lanes wait if all of them are used.
_FIFO_SLOTS = 512


class MscclppMemory:
    """Shares memory by the registered memory of an ``mscclpp.Communicator``.

    ark allocates the memory, and MSCCL++ exchanges it over its bootstrap. Ranks of one NVLink
    domain are on one host, and kernels access their memory without MSCCL++. For programs that were
    compiled with ``domains=`` and ``network="mscclpp"``, port channels reach ranks of other
    domains: a thread of MSCCL++ copies and signals for the kernel of this rank.

    Args:
        communicator: the communicator, with the same ranks as ark's world.
        tag: the tag of all that ark sends by the communicator. Nothing else that the communicator
            sends has this tag.
        transport: the transport to ranks of other domains, such as ``mscclpp.Transport.IB0``, or
            ``mscclpp.Transport.CudaIpc`` between domains of one host. None reaches ranks of one
            host alone, without port channels.

    Example:
        >>> engine = ark.distributed.MscclppMemory(communicator)
        >>> with ark.distributed.init(engine=engine) as world:
        ...     print(f"rank {world.rank} shares memory by {engine.name}")
        rank 0 shares memory by mscclpp
    """

    name = "mscclpp"

    def __init__(self, communicator: Any, tag: int = 0, transport: Any = None) -> None:
        self._communicator = communicator
        self._tag = tag
        self._transport = transport

    def check(self, rank: int, ranks: int) -> None:
        """See :meth:`Engine.check`."""
        bootstrap = self._communicator.bootstrap()
        found = (bootstrap.get_rank(), bootstrap.get_n_ranks())
        if found != (rank, ranks):
            raise InvalidUsageError(
                f"the communicator has this process as rank {found[0]} of {found[1]}, and ark as "
                f"rank {rank} of {ranks}"
            )
        local = bootstrap.get_n_ranks_per_node()
        if local != ranks and self._transport is None:
            raise UnsupportedError(
                f"the communicator has {local} of {ranks} ranks on this host, and without a "
                "transport ranks share memory within one host only: pass transport="
                "mscclpp.Transport.IB0 to MscclppMemory, and compile with domains= and "
                "network='mscclpp'"
            )

    def allocate(self, api: CudaApi, nbytes: int) -> _MscclppRegion:
        """See :meth:`Engine.allocate`."""
        library = _import()
        part = ExportedPart(api, nbytes, rdma=self._transport is not None)
        try:
            mapped = MappedParts(api, part, [None], nbytes)
        finally:
            part.release()
        try:
            transports = library.TransportFlags(library.Transport.CudaIpc)
            if self._transport is not None:
                transports = transports | self._transport
            memory = self._communicator.register_memory(mapped.address, nbytes, transports)
        except Exception as error:
            mapped.free()
            raise UnsupportedError(f"mscclpp cannot register memory: {error}") from error
        return _MscclppRegion(self._communicator, self._tag, self._transport, api, mapped, memory)


class _MscclppRegion:
    """Registered memory; see :class:`.engine.PeerRegion`."""

    def __init__(
        self,
        communicator: Any,
        tag: int,
        transport: Any,
        api: CudaApi,
        mapped: MappedParts,
        memory: Any,
    ) -> None:
        self._communicator = communicator
        self._tag = tag
        self._transport = transport
        self._api = api
        self._mapped = mapped
        bootstrap = communicator.bootstrap()
        self._rank, self._ranks = bootstrap.get_rank(), bootstrap.get_n_ranks()
        self._memory = memory
        # The memories of the other ranks.
        self._memories: dict[int, Any] = {}
        self._ports: _Ports | None = None
        self.address = mapped.address

    def exchange(self, plan: NetworkPlan) -> Sequence[int | None]:
        """See :meth:`PeerRegion.exchange`."""
        communicator = self._communicator
        peers = [peer for peer in range(self._ranks) if peer != self._rank]
        try:
            for peer in peers:
                communicator.send_memory(self._memory, peer, self._tag)
            # A future does its work when it is read, so all of them are requested first.
            futures = {peer: communicator.recv_memory(peer, self._tag) for peer in peers}
            self._memories = {peer: future.get() for peer, future in futures.items()}
            far = () if self._transport is None else plan.others(self._rank)
            addresses = {
                # MSCCL++ returns 0 for memory that this process cannot map.
                peer: None if peer in far else int(memory.data()) or None
                for peer, memory in self._memories.items()
            }
        except Exception as error:
            raise UnsupportedError(f"mscclpp cannot exchange memory: {error}") from error
        return [addresses.get(peer, self.address) for peer in range(self._ranks)]

    def connect(self, plan: NetworkPlan) -> NetworkHandles:
        """See :meth:`PeerRegion.connect`: a proxy, and port channels to ranks of other domains."""
        if self._transport is None:
            raise UnsupportedError(NO_NETWORK)
        library = _import()
        self._api.enter()  # the proxy uses the GPU of the current context
        self._ports = _Ports(library)
        try:
            handles = self._open_channels(library, self._ports, plan)
        except UnsupportedError:
            raise
        except Exception as error:
            raise UnsupportedError(f"mscclpp has no port channels: {error}") from error
        self._api.enter()  # MSCCL++ may have made another context current
        channels = PortChannels(
            self._api, self._ports.layout, handles, plan.routes, self._rank, self._ranks
        )
        self._ports.channels = channels
        return NetworkHandles(channels.address, 0, channels)

    def _open_channels(
        self, library: Any, ports: _Ports, plan: NetworkPlan
    ) -> dict[int, list[PortHandle]]:
        """Returns the handles of the channels to each rank of another domain."""
        communicator, tag = self._communicator, self._tag
        device = library.Device(library.DeviceType.GPU, self._api.ordinal)
        others = plan.others(self._rank)
        requested = {
            other: communicator.connect(library.EndpointConfig(self._transport, device), other, tag)
            for other in others
        }
        connections = {other: future.get() for other, future in requested.items()}
        # Both ranks of a pair build the same number of semaphores, in the same order.
        futures = {
            other: [
                communicator.build_semaphore(connections[other], other, tag)
                for _ in range(count_semaphores(plan.routes, self._rank, other))
            ]
            for other in others
        }
        semaphores = {other: [future.get() for future in each] for other, each in futures.items()}
        return ports.open(self._memory, self._memories, semaphores)

    def free(self) -> None:
        """See :meth:`PeerRegion.free`."""
        if self._ports is not None:
            self._ports.close()
            self._ports = None
        self._memories.clear()
        self._memory = None
        self._mapped.free()


class _Ports:
    """A proxy of MSCCL++ with its channels.

    Attributes:
        layout: the layout of the channels, after `open`.
        channels: the channels as kernels use them; None until they exist.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._service = library.ProxyService(_FIFO_SLOTS)
        self._has_begun = False
        # MSCCL++ needs the objects as long as a kernel uses the channels.
        self._kept: list[Any] = []
        self.channels: PortChannels | None = None

    def open(
        self, own: Any, memories: Mapping[int, Any], semaphores: Mapping[int, Sequence[Any]]
    ) -> dict[int, list[PortHandle]]:
        """Returns the handles of a channel for each semaphore, and starts the proxy.

        Args:
            own: the registered memory of this rank.
            memories: the memories of the other ranks.
            semaphores: the semaphores by the rank to which they are connected.

        Raises UnsupportedError if ark does not know the layout of the handles.
        """
        service = self._service
        source = service.add_memory(own)
        handles: dict[int, list[PortHandle]] = {}
        for other, each in semaphores.items():
            target = service.add_memory(memories[other])
            numbers = [service.add_semaphore(semaphore) for semaphore in each]
            channels = [service.port_channel(number, target, source) for number in numbers]
            self._kept += [*each, *channels]
            handles[other] = [
                self._read(channel, (number, target, source))
                for number, channel in zip(numbers, channels, strict=True)
            ]
        service.start_proxy(True)
        self._has_begun = True
        return handles

    def _read(self, channel: Any, numbers: tuple[int, int, int]) -> PortHandle:
        raw = bytes(channel.device_handle().raw)
        self.layout = find_layout(str(self._library.__version__), len(raw))
        handle = read_handle(raw, self.layout)
        if (handle.semaphore, handle.destination, handle.source, handle.size) != (
            *numbers, _FIFO_SLOTS,
        ):  # fmt: skip
            raise UnsupportedError(
                f"the handle of a port channel does not have the layout of MSCCL++ "
                f"{self.layout.name}: {raw.hex()}"
            )
        return handle

    def close(self) -> None:
        """Ends the proxy, and releases the channels; no kernel may use them any more."""
        if self._has_begun:
            self._service.stop_proxy()
            self._has_begun = False
        if self.channels is not None:
            self.channels.free()
        self._kept.clear()


def _import() -> Any:
    try:
        return importlib.import_module("mscclpp")
    except ImportError as error:
        raise UnsupportedError(
            f"a communicator of MSCCL++ needs its package, built from source: {error}"
        ) from None
