"""Memory of the stand-in: allocations of devices and the host, virtual memory, copies.

A device may access its own memory, memory of the host, and virtual memory to which it has access.
An invalid access by a copy or a kernel breaks the context of the device, as on a GPU. Memory that
the stand-in did not allocate belongs to the caller, and is not checked.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import AGAIN, Device
from .names import (
    INVALID_DEVICE,
    INVALID_VALUE,
    NOT_PERMITTED,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
)
from .shared_files import (
    ProvidedFile,
    SharedFile,
    create_file,
    open_described,
    open_file,
    provide_file,
)
from .streams import StreamFunctions

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_WRITE = 3
_ALIGNMENT = 256
# The value of each byte of memory that is new or freed.
_UNDEFINED = 0xFF


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


class IpcFlags(IntEnum):
    """``CUipcMem_flags``."""

    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1


class PointerAttribute(IntEnum):
    """``CUpointer_attribute``."""

    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


class Granularity(IntEnum):
    """``CUmemAllocationGranularity_flags``."""

    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0


@dataclass(eq=False)
class Block:
    """Consecutive bytes that one device or several may access.

    Attributes:
        address: of the first byte.
        nbytes: the size.
        charged: the device in whose memory the bytes lie.
        devices: the devices that may access it; None if all of them may.
        keeper: keeps the bytes alive.
        borrowed: True if it is memory of another process, by legacy IPC.
    """

    address: int
    nbytes: int
    charged: Device
    devices: set[Device] | None
    keeper: Any = None
    borrowed: bool = False

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.address + self.nbytes


@dataclass(eq=False)
class Physical:
    """Physical memory of ``cuMemCreate``, which lives as long as its handle or a mapping.

    Attributes:
        device: whose memory it is.
        nbytes: the size.
        file: the file of memory that other processes can map; None if only this process can.
        imported: True if another process created it.
        references: the number of references to the handle, which is valid until none is left.
        mappings: its mappings.
    """

    device: Device
    nbytes: int
    file: SharedFile | None = None
    imported: bool = False
    references: int = 1
    mappings: list[Block] = field(default_factory=list[Block])


class MemoryFunctions(StreamFunctions):
    """The driver's functions for memory.

    Attributes:
        memory: bytes of each device; may be set.
        page: the granularity of virtual memory.
        unlinked: pairs of ordinals; the first GPU cannot access the memory of the second one.
        refuses_export: True if memory cannot be exported to other processes.
        refuses_import: True if memory of other processes cannot be imported.
        refuses_ipc: True if legacy IPC, by handles of 64 bytes, is not supported.
    """

    CUmemLocationType = LocationType
    CUmemAllocationType = AllocationType
    CUmemAccess_flags = AccessFlags
    CUmemAllocationGranularity_flags = Granularity
    CUmemAllocationHandleType = HandleType
    CUipcMem_flags = IpcFlags
    CUpointer_attribute = PointerAttribute
    CU_MEMHOSTALLOC_DEVICEMAP = 2

    class CUipcMemHandle(SimpleNamespace):
        """The record that another process needs to map memory."""

    class CUmemLocation(SimpleNamespace):
        """A device."""

    class CUmemAllocationProp(SimpleNamespace):
        """The kind of memory, its location, and the handles by which processes share it."""

        requestedHandleTypes = HandleType.CU_MEM_HANDLE_TYPE_NONE

    class CUmemAccessDesc(SimpleNamespace):
        """A device, and its access rights to memory."""

    def __init__(self, devices: list[Device]) -> None:
        super().__init__(devices)
        self.page = 2 << 20
        self.unlinked: set[tuple[int, int]] = set()
        self.refuses_export = False
        self.refuses_import = False
        self.refuses_ipc = False
        self._devices = devices
        self._blocks: dict[int, Block] = {}
        self._reserved: dict[int, Block] = {}
        self._physical: dict[int, Physical] = {}

    @property
    def _is_advancing(self) -> bool:
        raise NotImplementedError

    # -- addresses ---------------------------------------------------------------------------

    def find_block(self, address: int) -> Block | None:
        """Returns the block with an address; None if the stand-in has none."""
        for block in self._blocks.values():
            if block.address <= address < block.end:
                return block
        return None

    def may_access(self, device: Device, address: int, nbytes: int) -> bool:
        """Returns True if a device may access all of these bytes."""
        end = address + nbytes
        while address < end:
            block = self.find_block(address)
            if block is None:
                return not any(
                    reserved.address < end and address < reserved.end
                    for reserved in self._reserved.values()
                )
            if block.devices is not None and device not in block.devices:
                return False
            address = block.end
            if address < end and not self._is_mapped(block):
                return False
        return True

    def _is_mapped(self, block: Block) -> bool:
        """Returns True if a block is virtual memory, which may lie next to other virtual memory."""
        return isinstance(block.keeper, Physical)

    def _provide(self, nbytes: int, device: Device | None) -> tuple[int, Any]:
        """Returns the address of new bytes of a device or of the host, and their keeper."""
        if device is not None and nbytes >= self.page:
            return provide_file(create_file(device.ordinal, nbytes))
        array = np.full(nbytes + _ALIGNMENT, _UNDEFINED, np.uint8)
        return array.ctypes.data + -array.ctypes.data % _ALIGNMENT, array

    def _reserve(self, nbytes: int) -> tuple[int, Any]:
        """Reserves addresses from the begin of a page on; returns the first, and their keeper."""
        array = np.frombuffer(mmap.mmap(-1, nbytes + self.page), np.uint8)
        return array.ctypes.data + -array.ctypes.data % self.page, array

    def _spoil(self, block: Block) -> None:
        """Overwrites freed memory, so that later uses fail."""
        ctypes.memset(block.address, _UNDEFINED, block.nbytes)

    def _available(self, device: Device) -> int:
        blocks = (block for block in self._blocks.values() if not self._is_mapped(block))
        taken = sum(
            block.nbytes for block in blocks if block.charged is device and not block.borrowed
        )
        shared = (
            memory
            for memory in self._physical.values()
            if memory.device is device and not memory.imported
        )
        return device.memory - taken - sum(memory.nbytes for memory in shared)

    # -- allocations -------------------------------------------------------------------------

    def _cuMemAlloc(self, nbytes: int) -> tuple[int, int | None]:
        device = self._current()
        if nbytes > self._available(device):
            return OUT_OF_MEMORY, None
        return self._allocate(nbytes, device, {device})

    def _cuMemHostAlloc(self, nbytes: int, flags: int) -> tuple[int, int | None]:
        del flags
        return self._allocate(nbytes, self._current(), None)

    def _allocate(
        self, nbytes: int, charged: Device, devices: set[Device] | None
    ) -> tuple[int, int | None]:
        address, keeper = self._provide(nbytes, None if devices is None else charged)
        if not address:
            return OUT_OF_MEMORY, None
        self._blocks[address] = Block(address, nbytes, charged, devices, keeper)
        return 0, address

    def _cuMemFree(self, address: int) -> object:
        block = self._blocks.get(address)
        # As the driver does, waits for all kernels that may use it.
        device = self._current() if block is None else block.charged
        if (device.running or device.occupied) and not self._is_advancing:
            return AGAIN
        if block is None or self._is_mapped(block) or block.borrowed:
            return (INVALID_VALUE,)
        self._spoil(self._blocks.pop(address))
        return None

    _cuMemFreeHost = _cuMemFree

    def _drop_memory(self, device: Device) -> None:
        """Drops the allocations of a destroyed context. Virtual memory belongs to the process."""
        self._blocks = {
            address: block
            for address, block in self._blocks.items()
            if self._is_mapped(block) or block.charged is not device
        }

    def _cuPointerGetAttribute(self, key: PointerAttribute, address: int) -> tuple[int, int | None]:
        block = self.find_block(address)
        if block is None or key != PointerAttribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return INVALID_VALUE, None
        return 0, block.charged.ordinal

    # -- legacy IPC --------------------------------------------------------------------------

    def _cuIpcGetMemHandle(self, address: int) -> tuple[int, Any]:
        block = self._blocks.get(address)
        if self.refuses_ipc:
            return NOT_SUPPORTED, None
        if block is None or not isinstance(block.keeper, ProvidedFile):
            return INVALID_VALUE, None
        return 0, SimpleNamespace(reserved=block.keeper.file.describe())

    def _cuIpcOpenMemHandle(self, handle: Any, flags: int) -> tuple[int, int | None]:
        file = open_described(handle.reserved)
        if file is None or flags != IpcFlags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS:
            return INVALID_VALUE, None
        device, owner = self._current(), self._devices[file.ordinal]
        if (device.ordinal, owner.ordinal) in self.unlinked:
            return INVALID_DEVICE, None
        address, keeper = provide_file(file)
        self._blocks[address] = Block(address, file.nbytes, owner, {device}, keeper, borrowed=True)
        return 0, address

    def _cuIpcCloseMemHandle(self, address: int) -> object:
        block = self._blocks.get(address)
        if block is None or not block.borrowed or self._is_used([block]):
            return (INVALID_VALUE,)
        del self._blocks[address]
        return None

    # -- virtual memory ----------------------------------------------------------------------

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

    def _is_used(self, blocks: list[Block]) -> bool:
        """Returns True if a device that may access one of the blocks runs a kernel.

        ``cuMemUnmap``, unlike ``cuMemFree``, does not wait for the kernel.
        """
        return any(device.running for block in blocks for device in block.devices or ())

    def _note_map(self, block: Block) -> None:
        """Called after a block is mapped."""

    def _note_access(self, block: Block) -> None:
        """Called after a change of the devices that may access a block."""

    def _note_unmap(self, block: Block) -> None:
        """Called before a block is unmapped."""

    # -- copies ------------------------------------------------------------------------------

    def _do(self, stream: int, address: int, nbytes: int, work: Callable[[], object]) -> tuple[int]:
        """Queues work of a stream on memory of its device."""
        device = self._stream(stream).device

        def operation() -> bool:
            if self._reaches(device, address, nbytes):
                work()
            return True

        return self._give(stream, lambda: operation)

    def _reaches(self, device: Device, address: int, nbytes: int) -> bool:
        """Returns True if a device may access memory; otherwise its context is lost.

        A context that is already lost also returns False.
        """
        if not device.broken and not self.may_access(device, address, nbytes):
            device.broken = True
        return not device.broken

    def _cuMemsetD8Async(self, address: int, byte: int, nbytes: int, stream: int) -> tuple[int]:
        device = self._stream(stream).device

        def operation() -> bool:
            if self._all_sms_taken(device):
                return False
            if self._reaches(device, address, nbytes):
                self._set(address, byte, nbytes)
            return True

        return self._give(stream, lambda: operation)

    def _all_sms_taken(self, device: Device) -> bool:
        raise NotImplementedError

    def _cuMemcpyHtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        # Memory that is not pinned is read before the call returns.
        kept = None if self.find_block(source) else ctypes.string_at(source, nbytes)
        return self._do(
            stream,
            target,
            nbytes,
            lambda: self._write(target, source if kept is None else kept, nbytes),
        )

    def _cuMemcpyDtoHAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        return self._do(stream, source, nbytes, lambda: self._read(target, source, nbytes))

    def _set(self, address: int, byte: int, nbytes: int) -> None:
        ctypes.memset(address, byte, nbytes)

    def _write(self, target: int, source: int | bytes, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def _read(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)
