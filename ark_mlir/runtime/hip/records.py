"""Records of HIP that the runtime fills in: hip-python has no setter for some of their fields."""

from __future__ import annotations

import ctypes
from typing import ClassVar

__all__ = ["UNCACHED", "AccessDesc", "AllocationProp", "Location"]

# Members of HIP's enumerations: ``hipMemAllocationTypeUncached``, which versions of hip-python do
# not list, ``hipMemLocationTypeDevice`` and ``hipMemAccessFlagsProtReadWrite``.
UNCACHED = 0x40000000
_DEVICE = 1
_READ_WRITE = 3


class Location(ctypes.Structure):
    """``hipMemLocation``: a device."""

    _fields_: ClassVar = [("type", ctypes.c_int), ("id", ctypes.c_int)]

    @classmethod
    def of_device(cls, ordinal: int) -> Location:
        """Returns the location of the memory of a device."""
        return cls(_DEVICE, ordinal)


class AllocationFlags(ctypes.Structure):
    """The field ``allocFlags`` of ``hipMemAllocationProp``; `rdma` lets network adapters in."""

    _fields_: ClassVar = [
        ("compression", ctypes.c_ubyte),
        ("rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
    ]


class AllocationProp(ctypes.Structure):
    """``hipMemAllocationProp``: the kind of memory, its device, and handles of other processes."""

    _fields_: ClassVar = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", AllocationFlags),
    ]


class AccessDesc(ctypes.Structure):
    """``hipMemAccessDesc``: a device, and its access to memory."""

    _fields_: ClassVar = [("location", Location), ("flags", ctypes.c_int)]

    @classmethod
    def of_device(cls, ordinal: int) -> AccessDesc:
        """Returns the right of a device to read and write."""
        return cls(Location.of_device(ordinal), _READ_WRITE)
