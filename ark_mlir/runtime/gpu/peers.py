"""Memory that several GPUs access: a part on each GPU, at consecutive addresses.

The addresses are the same for all GPUs, so that a kernel reaches the part of another GPU by an
offset. The vendor's functions for virtual memory (``cuMemCreate`` or ``hipMemCreate``) allocate the
memory. Other GPUs can access only this memory, whereas ``cuCtxEnablePeerAccess`` or
``hipDeviceEnablePeerAccess`` would give them access to all memory of the process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from .memory import DeviceBytes

if TYPE_CHECKING:
    from .api import GpuApi

__all__ = [
    "USE_ONE", "ExportedPart", "MappedParts", "PeerMemory", "page_size",
    "require_one_kind", "require_peer_access",
]  # fmt: skip

# The remedy for too few GPUs, or GPUs without a link.
USE_ONE = "compile with devices=[0] to run all ranks on one GPU"


def require_one_kind(apis: Sequence[GpuApi]) -> None:
    """Raises UnsupportedError if two of the GPUs differ: the schedule is for GPUs of one speed."""
    first = apis[0]
    for other in apis[1:]:
        if other.kind != first.kind:
            raise UnsupportedError(
                f"GPU {first.ordinal} is {first.kind}, and GPU {other.ordinal} is "
                f"{other.kind}: ranks need GPUs of one kind",
                notes=[USE_ONE],
            )


def require_peer_access(apis: Sequence[GpuApi]) -> None:
    """Raises UnsupportedError if one of the GPUs cannot access the memory of another."""
    for api in apis:
        for other in apis:
            if api.ordinal == other.ordinal:
                continue
            if not api.can_access(other.ordinal):
                raise UnsupportedError(
                    f"GPU {api.ordinal} cannot access the memory of GPU {other.ordinal}: ranks on "
                    "several GPUs need GPUs linked by NVLink or xGMI, or by PCIe with peer access",
                    notes=[USE_ONE],
                )


class PeerMemory:
    """Memory with a part on each of several GPUs; every GPU can access every part.

    Args:
        apis: the API of the vendor's driver on each GPU, with its context open.
        part: bytes of each part, a multiple of the GPUs' page size (2 MiB).

    Attributes:
        address: the address of the first part, which the other parts follow.

    Raises UnsupportedError if a part is not a multiple of the page size, DeviceError if memory is
    short.
    """

    def __init__(self, apis: Sequence[GpuApi], part: int) -> None:
        self._apis = apis
        self._part = part
        first = apis[0]
        properties = [api.memory_properties() for api in apis]
        page = max(api.page_of(known) for api, known in zip(apis, properties, strict=True))
        if part % page:
            raise UnsupportedError(
                f"the GPUs share memory in pages of {page} bytes, and the program was compiled "
                "for pages of 2 MiB"
            )
        total = part * len(apis)
        self._frees: list[Any] = []
        try:
            self.address = int(first.call(first.names.reserve_addresses, total, page, 0, 0))
            self._own(first.names.free_addresses, self.address, total)
            for number, (api, known) in enumerate(zip(apis, properties, strict=True)):
                self._map(api, known, self.address + number * part)
            ordinals = list(dict.fromkeys(api.ordinal for api in apis))
            first.grant_access(self.address, total, ordinals)
        except BaseException:
            self.free()
            raise

    def _own(self, release: str, *handle: object) -> None:
        # One API owns all handles: it keeps their order if their release is deferred. Virtual
        # memory belongs to no context, so that any of them can release it.
        self._frees.append(self._apis[0].own(self, release, *handle))

    def _map(self, api: GpuApi, properties: Any, address: int) -> None:
        api.enter()
        handle = api.create_memory(self._part, properties)
        try:
            api.call(api.names.map_memory, address, self._part, 0, handle, 0)
        finally:
            # The mapping keeps the memory.
            api.call(api.names.release_memory, handle)
        self._own(api.names.unmap_memory, address, self._part)

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


class ExportedPart:
    """Memory on one GPU that other processes can map, by a file descriptor.

    Args:
        api: the API of the vendor's driver on the GPU, with its context open.
        nbytes: the size, a multiple of the GPU's page size.
        rdma: True if network adapters access the memory, too.
    """

    def __init__(self, api: GpuApi, nbytes: int, rdma: bool = False) -> None:
        self._api = api
        api.enter()
        properties = api.memory_properties(shared=True, rdma=rdma)
        self.handle = api.create_memory(nbytes, properties)
        self._release = api.own(self, api.names.release_memory, self.handle)

    def export(self) -> int:
        """Returns a file descriptor of the memory, which the caller closes."""
        file = self._api.export_memory(self.handle)
        os.set_inheritable(file, False)
        return file

    def release(self) -> None:
        """Releases the handle; mappings keep the memory."""
        self._release()


class MappedParts:
    """Parts of memory on the GPUs of several processes, mapped for the GPU of this process at
    consecutive addresses.

    Args:
        api: the API of the vendor's driver on the GPU of this process, with its context open.
        exported: the part of this process; None if all parts are imported.
        files: the file descriptors of the parts, in the order of the ranks; None for the part of
            this process.
        part: bytes of each part.

    Raises DeviceError or UnsupportedError if the vendor's driver refuses one of the parts.
    """

    def __init__(
        self, api: GpuApi, exported: ExportedPart | None, files: Sequence[int | None], part: int
    ) -> None:
        self._api = api
        self._part = part
        self._count = len(files)
        self._frees: list[Any] = []
        total = part * len(files)
        api.enter()
        try:
            page = page_size(api)
            self.address = int(api.call(api.names.reserve_addresses, total, page, 0, 0))
            self._own(api.names.free_addresses, self.address, total)
            for number, file in enumerate(files):
                address = self.address + number * part
                if file is None:
                    assert exported is not None
                    self._map(exported.handle, address)
                else:
                    self._import(file, address)
            api.grant_access(self.address, total, [api.ordinal])
        except BaseException:
            self.free()
            raise

    def _own(self, release: str, *handle: object) -> None:
        self._frees.append(self._api.own(self, release, *handle))

    def _take(self, source: int) -> object:
        """Returns a handle of the memory of another process, which the caller releases."""
        return self._api.import_memory(source)

    def _import(self, file: int, address: int) -> None:
        handle = self._take(file)
        try:
            self._map(handle, address)
        finally:
            # The mapping keeps the memory.
            self._api.call(self._api.names.release_memory, handle)

    def _map(self, handle: object, address: int) -> None:
        self._api.call(self._api.names.map_memory, address, self._part, 0, handle, 0)
        self._own(self._api.names.unmap_memory, address, self._part)

    @property
    def all(self) -> DeviceBytes:
        """All parts."""
        return DeviceBytes(self._api, self.address, self._part * self._count)

    def part(self, number: int) -> DeviceBytes:
        """The part of one rank."""
        return DeviceBytes(self._api, self.address + number * self._part, self._part)

    def free(self) -> None:
        """Unmaps the parts; no kernel of this process may use them any more."""
        while self._frees:
            self._frees.pop()()


def page_size(api: GpuApi) -> int:
    """Returns the size of the pages in which the memory of a GPU is shared with processes."""
    return api.page_of(api.memory_properties(shared=True))
