"""A shared object as the loader sees it: bytes by address."""

from __future__ import annotations

import mmap
from dataclasses import dataclass

_PF_W = 2


class Refused(Exception):
    """Raised for a rejected image; its text continues the message "section kernel:"."""


@dataclass(frozen=True)
class Segment:
    """One program header; all sizes are in bytes."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int

    @property
    def end(self) -> int:
        """The first address after the segment."""
        return self.address + self.memory_size

    def holds(self, address: int, size: int) -> bool:
        """Returns True if the segment contains all of ``[address, address + size)``."""
        return self.address <= address and address + size <= self.end

    def overlaps(self, address: int, size: int) -> bool:
        """Returns True if the segment contains a part of ``[address, address + size)``."""
        return address < self.end and self.address < address + size


class ElfImage:
    """The bytes of an image whose segments do not overlap.

    Args:
        data: the bytes of the file.
        loads: the segments of type ``PT_LOAD``.
        machine: the field ``e_machine`` of the header.
    """

    def __init__(self, data: memoryview, loads: list[Segment], machine: int) -> None:
        self.machine = machine
        self._data = data
        self._loads = loads

    def offset_of(self, segment: Segment) -> int | None:
        """Returns the offset in the file of the bytes at a segment's address; None if they are not
        in the file."""
        for load in self._loads:
            start = segment.address - load.address
            if start >= 0 and start + segment.file_size <= load.file_size:
                return load.offset + start
        return None

    def file_bytes(self, segment: Segment) -> memoryview:
        """Returns the bytes of a segment in the file."""
        return self._data[segment.offset : segment.offset + segment.file_size]

    def constant(self, address: int, size: int, label: str) -> memoryview:
        """Returns the bytes at an address that are in the file and in no writable segment.

        Raises Refused, which calls the bytes `label`, if there are no such bytes.
        """
        for load in self._loads:
            start = address - load.address
            if start >= 0 and start + size <= load.file_size and not load.flags & _PF_W:
                return self._data[load.offset + start : load.offset + start + size]
        raise Refused(f"has no {label} in read-only memory")

    def rest(self, address: int, label: str) -> memoryview:
        """Returns all bytes from an address to the end of its segment; see `constant`."""
        for load in self._loads:
            if load.address <= address < load.address + load.file_size:
                return self.constant(address, load.address + load.file_size - address, label)
        raise Refused(f"has no {label}")

    def writable(self, address: int, size: int) -> bool:
        """Returns True if these addresses are in one segment that can be written."""
        return any(load.flags & _PF_W and load.holds(address, size) for load in self._loads)

    def check_inside(self, segment: Segment) -> None:
        """Raises Refused unless a segment ends on the last page of one that is loaded."""
        for load in self._loads:
            end = -(-load.end // mmap.PAGESIZE) * mmap.PAGESIZE
            if load.address <= segment.address and segment.end <= end:
                return
        raise Refused("has a segment GNU_RELRO that leaves the pages of a loaded segment")
