"""Memory of the stand-in: allocations of devices and the host, and legacy IPC.

A device may access its own memory, memory of the host, and virtual memory to which it has access.
An invalid access by a copy or a kernel breaks the context of the device, as on a GPU. Memory that
the stand-in did not allocate belongs to the caller, and is not checked.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from .devices import AGAIN, Device
from .names import INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY
from .shared_files import (
    ProvidedFile,
    SharedFile,
    create_file,
    open_described,
    provide_file,
    reserve_addresses,
)
from .streams import StreamFunctions

_ALIGNMENT = 256
# The value of each byte of memory that is new or freed.
_UNDEFINED = 0xFF


class IpcFlags(IntEnum):
    """``CUipcMem_flags``."""

    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1


class PointerAttribute(IntEnum):
    """``CUpointer_attribute``."""

    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


@dataclass(eq=False)
class Block:
    """Consecutive bytes that one device or several may access.

    Attributes:
        address: the address of the first byte.
        nbytes: the size in bytes.
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
        """Returns the address after the last byte."""
        return self.address + self.nbytes


@dataclass(eq=False)
class Physical:
    """Physical memory of ``cuMemCreate``, which lives as long as its handle or a mapping.

    Attributes:
        device: the device that has the memory.
        nbytes: the size in bytes.
        file: the file of memory that other processes can map; None if only this process can.
        imported: True if another process created it.
        references: the number of references to the handle, which is valid while it is not zero.
        mappings: the mappings of the memory.
    """

    device: Device
    nbytes: int
    file: SharedFile | None = None
    imported: bool = False
    references: int = 1
    mappings: list[Block] = field(default_factory=list[Block])


class MemoryFunctions(StreamFunctions):
    """The functions of NVIDIA's driver for allocations.

    Attributes:
        memory: bytes of each device; may be set.
        page: the granularity of virtual memory.
        unlinked: pairs of ordinals; the first GPU cannot access the memory of the second one.
        refuses_ipc: True if legacy IPC, by handles of 64 bytes, is not supported.
        far_apart: True if memory that GPUs or processes share lies terabytes apart; may be set.
    """

    CUipcMem_flags = IpcFlags
    CUpointer_attribute = PointerAttribute
    CU_MEMHOSTALLOC_DEVICEMAP = 2

    class CUipcMemHandle(SimpleNamespace):
        """The record that another process needs to map memory."""

    def __init__(self, devices: list[Device]) -> None:
        super().__init__(devices)
        self.page = 2 << 20
        self.unlinked: set[tuple[int, int]] = set()
        self.refuses_ipc = False
        self.far_apart = False
        self._devices = devices
        self._blocks: dict[int, Block] = {}
        self._reserved: dict[int, Block] = {}
        self._physical: dict[int, Physical] = {}

    @property
    def _is_advancing(self) -> bool:
        raise NotImplementedError

    # -- addresses ---------------------------------------------------------------------------

    def find_block(self, address: int) -> Block | None:
        """Returns the block that contains an address; None if there is no such block."""
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
            return provide_file(create_file(device.ordinal, nbytes), self.far_apart)
        array = np.full(nbytes + _ALIGNMENT, _UNDEFINED, np.uint8)
        return array.ctypes.data + -array.ctypes.data % _ALIGNMENT, array

    def _reserve(self, nbytes: int) -> tuple[int, Any]:
        """Reserves addresses from the start of a page on; returns the first, and their keeper."""
        memory = reserve_addresses(nbytes + self.page, self.far_apart)
        return memory.address + -memory.address % self.page, memory

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
        # As NVIDIA's driver does, waits for all kernels that may use it.
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
        address, keeper = provide_file(file, self.far_apart)
        self._blocks[address] = Block(address, file.nbytes, owner, {device}, keeper, borrowed=True)
        return 0, address

    def _cuIpcCloseMemHandle(self, address: int) -> object:
        block = self._blocks.get(address)
        if block is None or not block.borrowed or self._is_used([block]):
            return (INVALID_VALUE,)
        del self._blocks[address]
        return None

    def _is_used(self, blocks: list[Block]) -> bool:
        """Returns True if a device that may access one of the blocks runs a kernel.

        ``cuMemUnmap``, unlike ``cuMemFree``, does not wait for the kernel.
        """
        return any(device.running for block in blocks for device in block.devices or ())
