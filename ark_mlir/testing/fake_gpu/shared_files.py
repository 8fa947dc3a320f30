"""Memory of the stand-in that several processes map: anonymous files."""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import weakref
from typing import NamedTuple

_NAME = "fake_cuda_"
_FIXED, _FIXED_NEW = 0x10, 0x100000
# Addresses for memory that lies far apart, from 8 TiB on: every fifth of 16 regions of 4 TiB in
# turn, so that memory lies on both sides of earlier memory.
_REGIONS, _STEP, _REGION, _FIRST, _SLOT = 16, 5, 4 << 40, 8 << 40, 1 << 34
_numbers = itertools.count()
_PAGE = 2 << 20
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]  # fmt: skip

_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Addresses:
    """Zeroed memory of the process, freed with the last reference to it.

    Attributes:
        address: the address of its first byte.
    """

    def __init__(self, address: int, nbytes: int) -> None:
        self.address = address
        weakref.finalize(self, _libc.munmap, address, nbytes).atexit = False


def reserve_addresses(nbytes: int, far_apart: bool = False) -> Addresses:
    """Returns new memory of the process; with `far_apart`, terabytes away from earlier memory.

    Raises OSError if memory or addresses are short.
    """
    for _ in range(_REGION // _SLOT if far_apart else 1):
        number, flags = next(_numbers), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        region, slot = number * _STEP % _REGIONS, number // _REGIONS % (_REGION // _SLOT)
        wanted = _FIRST + region * _REGION + slot * _SLOT if far_apart else None
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = _libc.mmap(wanted, nbytes, access, flags | (_FIXED_NEW if wanted else 0), -1, 0)
        if address != ctypes.c_void_p(-1).value:
            return Addresses(address, nbytes)
        if ctypes.get_errno() != errno.EEXIST:
            break
    raise OSError(ctypes.get_errno(), "mmap failed")


class SharedFile:
    """An open file with the bytes of one allocation; closed with the last reference to it.

    Attributes:
        ordinal: the number of the GPU whose memory the file represents.
        nbytes: the size in bytes.
    """

    def __init__(self, file: int, ordinal: int, nbytes: int) -> None:
        self._file = file
        self.ordinal = ordinal
        self.nbytes = nbytes
        weakref.finalize(self, os.close, file).atexit = False

    def duplicate(self) -> int:
        """Returns another descriptor of the file, which the caller closes."""
        return os.dup(self._file)

    def describe(self) -> bytes:
        """Returns 64 bytes by which another process of the same user opens the file."""
        return f"/proc/{os.getpid()}/fd/{self._file}".encode().ljust(64, b"\0")

    def map(self, address: int, nbytes: int | None = None) -> None:
        """Maps the file, or its first bytes, at reserved addresses."""
        _map(address, nbytes or self.nbytes, mmap.MAP_SHARED, self._file)

    def unmap(self, address: int, nbytes: int) -> None:
        """Replaces a mapping of the file by memory of the process, as before."""
        _map(address, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)


def create_file(ordinal: int, nbytes: int) -> SharedFile:
    """Returns memory of a GPU that other processes can map."""
    file = os.memfd_create(f"{_NAME}{ordinal}", os.MFD_CLOEXEC)
    os.ftruncate(file, nbytes)
    return SharedFile(file, ordinal, nbytes)


def open_file(file: int) -> SharedFile | None:
    """Returns the memory that a process has exported as a file descriptor; None for other files."""
    target = os.readlink(f"/proc/self/fd/{file}")
    name = target.removeprefix("/memfd:").removesuffix(" (deleted)")
    if not name.startswith(_NAME):
        return None
    ordinal = int(name.removeprefix(_NAME))
    return SharedFile(os.dup(file), ordinal, os.fstat(file).st_size)


class ProvidedFile(NamedTuple):
    """A mapped file, and the memory of the process that holds its addresses."""

    file: SharedFile
    memory: Addresses


def provide_file(file: SharedFile, far_apart: bool = False) -> tuple[int, ProvidedFile]:
    """Maps a file at a multiple of 2 MiB; returns the address and the keeper of the mapping."""
    memory = reserve_addresses(file.nbytes + _PAGE, far_apart)
    address = memory.address + -memory.address % _PAGE
    file.map(address)
    return address, ProvidedFile(file, memory)


def open_described(description: bytes) -> SharedFile | None:
    """Returns the memory that another process has described; None if it is gone."""
    try:
        file = os.open(description.rstrip(b"\0"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return open_file(file)
    finally:
        os.close(file)


def _map(address: int, nbytes: int, flags: int, file: int) -> None:
    access = mmap.PROT_READ | mmap.PROT_WRITE
    result = _libc.mmap(address, nbytes, access, flags | _FIXED, file, 0)
    if result != address:
        raise OSError(ctypes.get_errno(), "mmap failed")
