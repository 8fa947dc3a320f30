"""Memory that several GPUs access: a part on each GPU, at consecutive addresses.

The addresses are the same for all GPUs, so that a kernel reaches the part of another GPU by an
offset. The memory is made by CUDA's functions for virtual memory (``cuMemCreate``, ``cuMemMap``):
only this memory becomes visible to other GPUs, whereas ``cuCtxEnablePeerAccess`` would open all
memory of the process to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from .memory import DeviceBytes

if TYPE_CHECKING:
    from .api import CudaApi

__all__ = ["PeerMemory", "require_peer_access"]


def require_peer_access(apis: Sequence[CudaApi]) -> None:
    """Raises UnsupportedError if one of the GPUs cannot access the memory of another."""
    for api in apis:
        for other in apis:
            if api is other:
                continue
            if not api.call("cuDeviceCanAccessPeer", api.device, other.device):
                raise UnsupportedError(
                    f"GPU {api.ordinal} cannot access the memory of GPU {other.ordinal}: ranks on "
                    "GPUs of their own need GPUs linked by NVLink, or by PCIe with peer access"
                )


class PeerMemory:
    """Zeroed memory with a part on each of several GPUs; every GPU can access every part.

    Args:
        apis: the driver API of each GPU, with its context open.
        part: bytes of each part, a multiple of the GPUs' page size (2 MiB).

    Attributes:
        address: of the first part; the others follow.

    Raises UnsupportedError if a part is not a multiple of the page size, DeviceError if memory is
    short.
    """

    def __init__(self, apis: Sequence[CudaApi], part: int) -> None:
        self._apis = apis
        self._part = part
        first = apis[0]
        properties = [_properties(api) for api in apis]
        page = max(_page(api, known) for api, known in zip(apis, properties, strict=True))
        if part % page:
            raise UnsupportedError(
                f"the GPUs share memory in pages of {page} bytes, and the program was compiled "
                "for pages of 2 MiB"
            )
        total = part * len(apis)
        self._frees: list[Any] = []
        try:
            self.address = int(first.call("cuMemAddressReserve", total, page, 0, 0))
            self._own("cuMemAddressFree", self.address, total)
            for number, (api, known) in enumerate(zip(apis, properties, strict=True)):
                self._map(api, known, self.address + number * part)
            access = [_access(api) for api in apis]
            first.call("cuMemSetAccess", self.address, total, access, len(access))
        except BaseException:
            self.free()
            raise

    def _own(self, give: str, *handle: object) -> None:
        # One API owns all handles: it keeps their order if their release is deferred. Virtual
        # memory belongs to no context, so that any of them can release it.
        self._frees.append(self._apis[0].own(self, give, *handle))

    def _map(self, api: CudaApi, properties: Any, address: int) -> None:
        api.enter()
        handle = api.call("cuMemCreate", self._part, properties, 0)
        try:
            api.call("cuMemMap", address, self._part, 0, handle, 0)
        finally:
            # The mapping keeps the memory.
            api.call("cuMemRelease", handle)
        self._own("cuMemUnmap", address, self._part)

    @property
    def all(self) -> DeviceBytes:
        """All parts."""
        return DeviceBytes(self._apis[0], self.address, self._part * len(self._apis))

    def part(self, number: int) -> DeviceBytes:
        """The part on one GPU."""
        return DeviceBytes(self._apis[number], self.address + number * self._part, self._part)

    def free(self) -> None:
        """Frees the memory; no kernel may use it any more."""
        while self._frees:
            self._frees.pop()()


def _properties(api: CudaApi) -> Any:
    driver = api.driver
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location = _location(api)
    return properties


def _location(api: CudaApi) -> Any:
    location = api.driver.CUmemLocation()
    location.type = api.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    location.id = api.ordinal
    return location


def _access(api: CudaApi) -> Any:
    access = api.driver.CUmemAccessDesc()
    access.location = _location(api)
    access.flags = api.driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return access


def _page(api: CudaApi, properties: Any) -> int:
    flags = api.driver.CUmemAllocationGranularity_flags
    minimum = flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    return int(api.call("cuMemGetAllocationGranularity", properties, minimum))
