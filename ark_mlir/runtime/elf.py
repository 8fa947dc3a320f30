"""What must hold of a kernel's ELF image before the loader sees it.

The loader of the C library trusts its input: a malformed image can crash the process, and
constructors would run code on load. A kernel has neither need for constructors nor for
libraries of its own, so an image is refused for having them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import BundleError

_MACHINES = {"x86_64": 62, "aarch64": 183}
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")

_ET_DYN = 3
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_STACK = 1, 2, 3, 0x6474E551
_PF_X = 1
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10
_FORBIDDEN = {
    12: "a constructor (DT_INIT)",
    13: "a destructor (DT_FINI)",
    15: "a library path (DT_RPATH)",
    22: "relocations in its code (DT_TEXTREL)",
    29: "a library path (DT_RUNPATH)",
    0x7FFFFFFD: "an auxiliary library (DT_AUXILIARY)",
    0x7FFFFFFF: "a filter library (DT_FILTER)",
}
# Sizes of DT_PREINIT_ARRAY, DT_INIT_ARRAY and DT_FINI_ARRAY; linkers write them as zero, too.
_ARRAYS = {33: "constructors", 27: "constructors", 28: "destructors"}
_LIBRARIES = ("libc.so.", "libm.so.", "libpthread.so.", "ld-linux")
# A loader maps what the image asks for; no kernel is nearly as large.
_MAX_ADDRESS = 1 << 34


@dataclass(frozen=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


def check_image(image: memoryview, arch: str, where: str) -> None:
    """Raises BundleError unless `image` is a plain shared object for `arch`."""
    try:
        _check(image, arch)
    except (_Refused, struct.error) as error:
        raise BundleError(f"section kernel: {error}", location=where) from None


class _Refused(Exception):
    pass


def _check(image: memoryview, arch: str) -> None:
    if image.nbytes < _HEADER.size or bytes(image[:6]) != b"\x7fELF\2\1":
        raise _Refused("is no 64-bit little-endian ELF image")
    ident, kind, machine, version, _, table, _, _, size, entry, count, *_ = _HEADER.unpack(
        image[: _HEADER.size]
    )
    del ident, version
    if kind != _ET_DYN:
        raise _Refused("is no shared object")
    if machine != _MACHINES.get(arch, machine):
        raise _Refused(f"is an image for machine {machine}, not for {arch}")
    if size != _HEADER.size or entry != _SEGMENT.size or not 0 < count < 64:
        raise _Refused("has a malformed ELF header")
    segments = list(_segments(image, table, count))
    if not any(segment.kind == _PT_LOAD for segment in segments):
        raise _Refused("has nothing to load")
    dynamic = [segment for segment in segments if segment.kind == _PT_DYNAMIC]
    if len(dynamic) != 1:
        raise _Refused("has no dynamic section")
    _check_dynamic(image, segments, dynamic[0])


def _segments(image: memoryview, table: int, count: int) -> Iterator[_Segment]:
    if table + count * _SEGMENT.size > image.nbytes:
        raise _Refused("ends inside its program headers")
    last = 0
    for index in range(count):
        start = table + index * _SEGMENT.size
        kind, flags, offset, address, _, in_file, in_memory, align = _SEGMENT.unpack(
            image[start : start + _SEGMENT.size]
        )
        segment = _Segment(kind, flags, offset, address, in_file, in_memory)
        if offset + in_file > image.nbytes:
            raise _Refused(f"ends inside segment {index}")
        if address + in_memory > _MAX_ADDRESS or align > _MAX_ADDRESS or align & (align - 1):
            raise _Refused(f"segment {index} has an impossible address")
        if kind == _PT_LOAD:
            if in_file > in_memory or address < last:
                raise _Refused(f"segment {index} overlaps another")
            last = address + in_memory
        if kind == _PT_INTERP:
            raise _Refused("is a program, not a kernel")
        if kind == _PT_STACK and flags & _PF_X:
            raise _Refused("wants an executable stack")
        yield segment


def _check_dynamic(image: memoryview, segments: list[_Segment], dynamic: _Segment) -> None:
    needed: list[int] = []
    strings, strings_size = 0, 0
    for tag, value in _entries(image, dynamic):
        if tag in _FORBIDDEN:
            raise _Refused(f"has {_FORBIDDEN[tag]}")
        if tag in _ARRAYS and value:
            raise _Refused(f"has {_ARRAYS[tag]}")
        if tag == _DT_NEEDED:
            needed.append(value)
        elif tag == _DT_STRTAB:
            strings = value
        elif tag == _DT_STRSZ:
            strings_size = value
    names = _bytes_at(image, segments, strings, strings_size)
    for offset in needed:
        name = names[offset:].split(b"\0", 1)[0].decode("ascii", "replace")
        if "/" in name or not name.startswith(_LIBRARIES):
            raise _Refused(f"needs the library {name!r}; a kernel may need the C library only")


def _entries(image: memoryview, dynamic: _Segment) -> Iterator[tuple[int, int]]:
    end = dynamic.offset + dynamic.file_size
    for start in range(dynamic.offset, end - _DYNAMIC.size + 1, _DYNAMIC.size):
        tag, value = _DYNAMIC.unpack(image[start : start + _DYNAMIC.size])
        if tag == 0:
            return
        yield tag, value
    raise _Refused("has a dynamic section without end")


def _bytes_at(image: memoryview, segments: list[_Segment], address: int, size: int) -> bytes:
    for segment in segments:
        start = address - segment.address
        if segment.kind == _PT_LOAD and start >= 0 and start + size <= segment.file_size:
            return bytes(image[segment.offset + start : segment.offset + start + size])
    raise _Refused("has no table of strings")
