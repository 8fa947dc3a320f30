"""Virtual memory of the stand-in: addresses, physical memory, and mappings with access rights."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from .devices import Device
from .memory import Block, MemoryFunctions, Physical
from .names import INVALID_DEVICE, INVALID_VALUE, NOT_PERMITTED, NOT_SUPPORTED, OUT_OF_MEMORY
from .shared_files import create_file, open_file

_READ_WRITE = 3


class LocationType(IntEnum):
    """``CUmemLocationType``."""

    CU_MEM_LOCATION_TYPE_DEVICE = 1


class AllocationType(IntEnum):
    """``CUmemAllocationType``."""

    CU_MEM_ALLOCATION_TYPE_PINNED = 1


class HandleType(IntEnum):
    """``CUmemAllocationHandleType``."""

    CU_MEM_HANDLE_TYPE_NONE = 0
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1


class AccessFlags(IntEnum):
    """``CUmemAccess_flags``."""

    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = _READ_WRITE


class Granularity(IntEnum):
    """``CUmemAllocationGranularity_flags``."""

    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0


class VirtualMemoryFunctions(MemoryFunctions):
    """The functions of NVIDIA's driver for virtual memory.

    Attributes:
        refuses_export: True if memory cannot be exported to other processes.
        refuses_import: True if memory of other processes cannot be imported.
    """

    CUmemLocationType = LocationType
    CUmemAllocationType = AllocationType
    CUmemAccess_flags = AccessFlags
    CUmemAllocationGranularity_flags = Granularity
    CUmemAllocationHandleType = HandleType

    class CUmemLocation(SimpleNamespace):
        """A device."""

    class CUmemAllocationProp(SimpleNamespace):
        """The kind of memory, its location, and the handles by which processes share it."""

        requestedHandleTypes = HandleType.CU_MEM_HANDLE_TYPE_NONE

        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self.allocFlags = SimpleNamespace(gpuDirectRDMACapable=0)

    class CUmemAccessDesc(SimpleNamespace):
        """A device, and its access rights to memory."""

    def __init__(self, devices: list[Device]) -> None:
        super().__init__(devices)
        self.refuses_export = False
        self.refuses_import = False

    def _cuDeviceCanAccessPeer(self, device: int, peer: int) -> int:
        return int(device != peer and (device, peer) not in self.unlinked)

    def _cuMemGetAllocationGranularity(self, properties: Any, option: int) -> tuple[int, int]:
        del option
        return (0, self.page) if self._located(properties.location) else (INVALID_DEVICE, 0)

    def _located(self, location: Any) -> Device | None:
        is_device = location.type == LocationType.CU_MEM_LOCATION_TYPE_DEVICE
        if not is_device or location.id not in range(len(self._devices)):
            return None
        return self._devices[int(location.id)]

    def _cuMemAddressReserve(
        self, nbytes: int, alignment: int, address: int, flags: int
    ) -> tuple[int, int | None]:
        if not nbytes or nbytes % self.page or alignment % self.page or address or flags:
            return INVALID_VALUE, None
        begin, keeper = self._reserve(nbytes)
        self._reserved[begin] = Block(begin, nbytes, self._devices[0], set(), keeper)
        return 0, begin

    def _cuMemAddressFree(self, address: int, nbytes: int) -> tuple[int]:
        reserved = self._reserved.get(address)
        if reserved is None or reserved.nbytes != nbytes or self._mapped_in(address, nbytes):
            return (INVALID_VALUE,)
        del self._reserved[address]
        return (0,)

    def _mapped_in(self, address: int, nbytes: int) -> list[Block]:
        """Returns the mappings that overlap a range of addresses."""
        return [
            block
            for block in self._blocks.values()
            if self._is_mapped(block) and block.address < address + nbytes and address < block.end
        ]

    def _cuMemCreate(self, nbytes: int, properties: Any, flags: int) -> tuple[int, int | None]:
        device = self._located(properties.location)
        if device is None:
            return INVALID_DEVICE, None
        if properties.type != AllocationType.CU_MEM_ALLOCATION_TYPE_PINNED or flags:
            return INVALID_VALUE, None
        if not nbytes or nbytes % self.page:
            return INVALID_VALUE, None
        if nbytes > self._available(device):
            return OUT_OF_MEMORY, None
        handle = next(self._handles)
        kind = properties.requestedHandleTypes
        file = create_file(device.ordinal, nbytes) if kind else None
        self._physical[handle] = Physical(device, nbytes, file)
        return 0, handle

    def _cuMemExportToShareableHandle(
        self, handle: int, kind: HandleType, flags: int
    ) -> tuple[int, int | None]:
        memory = self._physical.get(handle)
        if memory is None or not memory.references or memory.file is None or flags or not kind:
            return INVALID_VALUE, None
        if self.refuses_export:
            return NOT_PERMITTED, None
        return 0, memory.file.duplicate()

    def _cuMemImportFromShareableHandle(
        self, file: int, kind: HandleType
    ) -> tuple[int, int | None]:
        if self.refuses_import:
            return NOT_PERMITTED, None
        opened = open_file(file) if kind else None
        if opened is None:
            return INVALID_VALUE, None
        handle = next(self._handles)
        device = self._devices[opened.ordinal]
        self._physical[handle] = Physical(device, opened.nbytes, opened, imported=True)
        return 0, handle

    def _cuMemRetainAllocationHandle(self, address: int) -> tuple[int, int | None]:
        block = self.find_block(address)
        if block is None or not self._is_mapped(block):
            return INVALID_VALUE, None
        block.keeper.references += 1
        return 0, next(
            handle for handle, memory in self._physical.items() if memory is block.keeper
        )

    def _cuMemRelease(self, handle: int) -> tuple[int]:
        memory = self._physical.get(handle)
        if memory is None or not memory.references:
            return (INVALID_VALUE,)
        memory.references -= 1
        self._drop_unused()
        return (0,)

    def _drop_unused(self) -> None:
        self._physical = {
            handle: memory
            for handle, memory in self._physical.items()
            if memory.references or memory.mappings
        }

    def _cuMemMap(
        self, address: int, nbytes: int, offset: int, handle: int, flags: int
    ) -> tuple[int]:
        memory = self._physical.get(handle)
        lies = any(
            reserved.address <= address and address + nbytes <= reserved.end
            for reserved in self._reserved.values()
        )
        if memory is None or not memory.references or not lies or offset or flags:
            return (INVALID_VALUE,)
        if nbytes % self.page or nbytes > memory.nbytes or self._mapped_in(address, nbytes):
            return (INVALID_VALUE,)
        if nbytes != memory.nbytes:
            return (NOT_SUPPORTED,)  # as a driver 580.159 on an H200
        block = Block(address, nbytes, memory.device, set(), memory)
        if memory.file is not None:
            memory.file.map(address, nbytes)
        memory.mappings.append(block)
        self._blocks[address] = block
        self._note_map(block)
        return (0,)

    def _cuMemSetAccess(
        self, address: int, nbytes: int, access: Sequence[Any], count: int
    ) -> tuple[int]:
        blocks = self._mapped_in(address, nbytes)
        whole = all(address <= block.address and block.end <= address + nbytes for block in blocks)
        if not whole or sum(block.nbytes for block in blocks) != nbytes or count != len(access):
            return (INVALID_VALUE,)
        for entry in access:
            device = self._located(entry.location)
            if device is None or entry.flags != _READ_WRITE:
                return (INVALID_VALUE,)
            for block in blocks:
                if (device.ordinal, block.charged.ordinal) in self.unlinked:
                    return (INVALID_DEVICE,)
                assert block.devices is not None
                block.devices.add(device)
        for block in blocks:
            self._note_access(block)
        return (0,)

    def _cuMemUnmap(self, address: int, nbytes: int) -> tuple[int]:
        blocks = self._mapped_in(address, nbytes)
        whole = all(address <= block.address and block.end <= address + nbytes for block in blocks)
        if not blocks or not whole or self._is_used(blocks):
            return (INVALID_VALUE,)
        for block in blocks:
            memory: Physical = block.keeper
            if memory.file is None:
                self._spoil(block)
            else:
                memory.file.unmap(block.address, block.nbytes)
            self._note_unmap(block)
            del self._blocks[block.address]
            block.keeper.mappings.remove(block)
        self._drop_unused()
        return (0,)

    def _note_map(self, block: Block) -> None:
        """Called after a block is mapped."""

    def _note_access(self, block: Block) -> None:
        """Called after a change of the devices that may access a block."""

    def _note_unmap(self, block: Block) -> None:
        """Called before a block is unmapped."""
