"""Memory that the ranks share through windows of an NCCL communicator."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidUsageError, UnsupportedError
from ...pins import NCCL4PY_VERSION, NCCL_VERSION
from ...runtime.gpu.blocks import NetworkHandles
from ...runtime.gpu.memory import DeviceMemory

if TYPE_CHECKING:
    from ...runtime.cuda.api import CudaApi
    from ...runtime.ranks.routes import NetworkPlan

__all__ = ["NcclMemory"]


class NcclMemory:
    """Shares memory by windows of a communicator of nccl4py.

    NCCL allocates the memory, and maps it for all ranks whose GPUs can load and store it (NCCL's
    LSA team). Such ranks are on one host, or on hosts of one NVLink domain. For programs that were
    compiled with ``domains=``, kernels reach the other ranks by NCCL's network functions (GIN).

    Args:
        communicator: an ``nccl.core.Communicator`` with the same ranks as ark's world.

    Example:
        >>> engine = ark.distributed.NcclMemory(communicator)
        >>> with ark.distributed.init(engine=engine) as world:
        ...     print(f"rank {world.rank} shares memory by {engine.name}")
        rank 0 shares memory by nccl
    """

    name = "nccl"

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator

    def check(self, rank: int, ranks: int) -> None:
        """See :meth:`Engine.check`."""
        _check_versions(_import().get_version())
        found = (self._communicator.rank, self._communicator.nranks)
        if found != (rank, ranks):
            raise InvalidUsageError(
                f"the communicator has this process as rank {found[0]} of {found[1]}, and ark as "
                f"rank {rank} of {ranks}"
            )

    def allocate(self, api: CudaApi, nbytes: int) -> _NcclRegion:
        """See :meth:`Engine.allocate`."""
        library = _import()
        try:
            buffer = library.mem_alloc(nbytes, api.ordinal)
        except Exception as error:
            raise UnsupportedError(f"nccl cannot allocate memory: {error}") from error
        return _NcclRegion(library, self._communicator, api, buffer)


class _NcclRegion:
    """A window of all ranks; see :class:`.engine.PeerRegion`."""

    def __init__(self, library: Any, communicator: Any, api: CudaApi, buffer: Any) -> None:
        self._library = library
        self._communicator = communicator
        self._api = api
        self._buffer = buffer
        self._window: Any = None
        self._device_communicator: Any = None
        # The device communicator in memory of the GPU, and the stream of its copies.
        self._record: DeviceMemory | None = None
        self._stream: object = None
        self.address = int(buffer.handle)

    def exchange(self, plan: NetworkPlan) -> Sequence[int | None]:
        """See :meth:`PeerRegion.exchange`."""
        del plan  # the library knows which ranks it reaches
        flags = self._library.WindowFlag.COLL_SYMMETRIC
        try:
            self._window = self._communicator.register_window(self._buffer, flags)
            addresses = [
                self._window.get_peer_device_pointer(peer)
                for peer in range(self._communicator.nranks)
            ]
        except Exception as error:
            raise UnsupportedError(f"nccl cannot register a window: {error}") from error
        return [None if address is None else int(address) for address in addresses]

    def connect(self, plan: NetworkPlan) -> NetworkHandles:
        """See :meth:`PeerRegion.connect`: a device communicator with a network (GIN)."""
        del plan
        library = self._library
        requirements = library.NCCLDevCommRequirements(
            gin_context_count=1,
            gin_connection_type=library.NcclGinConnectionType.FULL,
            gin_strong_signals_required=True,
            gin_va_signals_required=True,
        )
        try:
            made = self._communicator.create_dev_comm(requirements)
        except Exception as error:
            raise UnsupportedError(f"nccl has no network for kernels (GIN): {error}") from error
        self._device_communicator = made
        # The kernel reads NCCL's record in memory of its GPU.
        text = ctypes.string_at(made.ptr, _communicator_bytes())
        self._api.enter()  # NCCL may have made another context current
        self._stream = self._api.call(
            "cuStreamCreate", self._api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        )
        self._record = DeviceMemory(self._api, self._stream, len(text))
        self._record.upload(np.frombuffer(text, np.uint8))
        return NetworkHandles(self._record.address, int(self._window.handle))

    def free(self) -> None:
        """See :meth:`PeerRegion.free`."""
        if self._record is not None:
            self._record.free()
        if self._stream is not None:
            self._api.call("cuStreamDestroy", self._stream)
        if self._device_communicator is not None:
            self._device_communicator.close()
        if self._window is not None:
            self._window.close()
        self._buffer.close()


def _check_versions(found: Any) -> None:
    """Raises UnsupportedError unless the versions are those of the extra `nccl`."""
    library = found.libnccl
    versions = {
        "nccl4py": (str(found.nccl4py), NCCL4PY_VERSION),
        "NCCL": ("none" if library is None else str(library.version), NCCL_VERSION),
    }
    for name, (version, needed) in versions.items():
        if version != needed:
            path = f" ({library.path})" if name == "NCCL" and library is not None else ""
            raise UnsupportedError(
                f"this process has {name} {version}{path}, and ark needs {needed}: "
                "pip install 'ark-mlir[nccl]', and load it before another library loads its own"
            )


def _import() -> Any:
    try:
        return importlib.import_module("nccl.core")
    except ImportError as error:
        raise UnsupportedError(
            f"a communicator of NCCL needs the package nccl4py: pip install 'ark-mlir[nccl]': "
            f"{error}"
        ) from None


def _communicator_bytes() -> int:
    """Returns the size of NCCL's record of a device communicator (``ncclDevComm``)."""
    bindings: Any = importlib.import_module("nccl.bindings.nccl")
    return int(bindings.dev_comm_dtype.itemsize)
