"""Memory that the ranks share through a communicator of MSCCL++."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InvalidUsageError, UnsupportedError
from ...runtime.cuda.peers import ExportedPart, MappedParts
from .engine import NO_NETWORK

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ...runtime.cuda.blocks import NetworkHandles

__all__ = ["MscclppMemory"]


class MscclppMemory:
    """Shares memory by the registered memory of an ``mscclpp.Communicator``.

    ark allocates the memory, and MSCCL++ exchanges it over its bootstrap. All ranks are on one
    host. ark uses only the addresses of MSCCL++, and not its channels.

    Args:
        communicator: the communicator, with the same ranks as ark's world.
        tag: the tag of the memory handles that ark sends. Nothing else that the communicator sends
            has this tag.

    Example:
        >>> engine = ark.distributed.MscclppMemory(communicator)
        >>> with ark.distributed.init(engine=engine) as world:
        ...     print(f"rank {world.rank} shares memory by {engine.name}")
        rank 0 shares memory by mscclpp
    """

    name = "mscclpp"

    def __init__(self, communicator: Any, tag: int = 0) -> None:
        self._communicator = communicator
        self._tag = tag

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
        if local != ranks:
            raise UnsupportedError(
                f"the communicator has {local} of {ranks} ranks on this host, and ranks share "
                "memory within one host only"
            )

    def allocate(self, api: CudaApi, nbytes: int) -> _MscclppRegion:
        """See :meth:`Engine.allocate`."""
        library = _import()
        part = ExportedPart(api, nbytes)
        try:
            mapped = MappedParts(api, part, [None], nbytes)
        finally:
            part.release()
        try:
            transport = library.TransportFlags(library.Transport.CudaIpc)
            memory = self._communicator.register_memory(mapped.address, nbytes, transport)
        except Exception as error:
            mapped.free()
            raise UnsupportedError(f"mscclpp cannot register memory: {error}") from error
        return _MscclppRegion(self._communicator, self._tag, mapped, memory)


class _MscclppRegion:
    """Registered memory; see :class:`.engine.PeerRegion`."""

    def __init__(self, communicator: Any, tag: int, mapped: MappedParts, memory: Any) -> None:
        self._communicator = communicator
        self._tag = tag
        self._mapped = mapped
        self._memories = [memory]
        self.address = mapped.address

    def exchange(self) -> Sequence[int]:
        """See :meth:`PeerRegion.exchange`."""
        communicator, memory = self._communicator, self._memories[0]
        bootstrap = communicator.bootstrap()
        rank, ranks = bootstrap.get_rank(), bootstrap.get_n_ranks()
        peers = [peer for peer in range(ranks) if peer != rank]
        try:
            for peer in peers:
                communicator.send_memory(memory, peer, self._tag)
            # A future does its work when it is read, so all of them are requested first.
            futures = [communicator.recv_memory(peer, self._tag) for peer in peers]
            self._memories += [future.get() for future in futures]
            addresses = {
                peer: int(memory.data())
                for peer, memory in zip(peers, self._memories[1:], strict=True)
            }
        except Exception as error:
            raise UnsupportedError(f"mscclpp cannot exchange memory: {error}") from error
        return [addresses.get(peer, self.address) for peer in range(ranks)]

    def connect(self) -> NetworkHandles:
        """See :meth:`PeerRegion.connect`."""
        raise UnsupportedError(NO_NETWORK)

    def free(self) -> None:
        """See :meth:`PeerRegion.free`."""
        self._memories.clear()
        self._mapped.free()


def _import() -> Any:
    try:
        return importlib.import_module("mscclpp")
    except ImportError as error:
        raise UnsupportedError(
            f"a communicator of MSCCL++ needs its package, built from source: {error}"
        ) from None
