"""Memory that the ranks share through PyTorch's symmetric memory."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InvalidUsageError, UnsupportedError
from .engine import NO_NETWORK

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ...runtime.gpu.blocks import NetworkHandles
    from ...runtime.ranks.routes import NetworkPlan

__all__ = ["TorchSymmetricMemory"]


class TorchSymmetricMemory:
    """Shares memory by ``torch.distributed._symmetric_memory``, in a process with a process group.

    PyTorch allocates the memory and exchanges it in the process group, with the group's timeout.

    Args:
        group: the process group, with the same ranks as ark's world; by default the group of all
            processes.

    Example:
        >>> engine = ark.distributed.TorchSymmetricMemory()
        >>> with ark.distributed.init(engine=engine) as world:
        ...     print(f"rank {world.rank} shares memory by {engine.name}")
        rank 0 shares memory by torch symmetric memory
    """

    name = "torch symmetric memory"

    def __init__(self, group: Any = None) -> None:
        self._group = group

    def check(self, rank: int, ranks: int) -> None:
        """See :meth:`Engine.check`."""
        distributed = _import("torch.distributed")
        if not distributed.is_initialized():
            raise InvalidUsageError(
                "torch symmetric memory needs a process group: call "
                "torch.distributed.init_process_group first"
            )
        group = self._process_group(distributed)
        found = (distributed.get_rank(group), distributed.get_world_size(group))
        if found != (rank, ranks):
            raise InvalidUsageError(
                f"the process group has this process as rank {found[0]} of {found[1]}, and ark as "
                f"rank {rank} of {ranks}"
            )

    def allocate(self, api: CudaApi, nbytes: int) -> _TorchRegion:
        """See :meth:`Engine.allocate`."""
        torch = _import("torch")
        symmetric = _import("torch.distributed._symmetric_memory")
        group = self._process_group(_import("torch.distributed"))
        device = torch.device("cuda", api.ordinal)
        try:
            tensor = symmetric.empty(nbytes, dtype=torch.uint8, device=device)
        except Exception as error:
            raise UnsupportedError(
                f"torch symmetric memory cannot allocate memory: {error}"
            ) from error
        return _TorchRegion(symmetric, tensor, group)

    def _process_group(self, distributed: Any) -> Any:
        return distributed.group.WORLD if self._group is None else self._group


class _TorchRegion:
    """A tensor of symmetric memory; see :class:`.engine.PeerRegion`."""

    def __init__(self, symmetric: Any, tensor: Any, group: Any) -> None:
        self._symmetric = symmetric
        self._tensor = tensor
        self._group = group
        self._handle: Any = None
        self.address = int(tensor.data_ptr())

    def exchange(self, plan: NetworkPlan) -> Sequence[int]:
        """See :meth:`PeerRegion.exchange`."""
        del plan  # the library knows which ranks it reaches
        try:
            self._handle = self._symmetric.rendezvous(self._tensor, self._group)
        except Exception as error:
            raise UnsupportedError(
                f"torch symmetric memory cannot exchange memory: {error}"
            ) from error
        return [int(address) for address in self._handle.buffer_ptrs]

    def connect(self, plan: NetworkPlan) -> NetworkHandles:
        """See :meth:`PeerRegion.connect`."""
        del plan
        raise UnsupportedError(NO_NETWORK)

    def free(self) -> None:
        """See :meth:`PeerRegion.free`."""
        self._handle = self._tensor = None


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnsupportedError(
            f"torch symmetric memory needs the package torch for CUDA: {error}"
        ) from None
