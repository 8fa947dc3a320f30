"""Checks of a kernel's ELF image before the loader sees it.

The loader of the C library trusts its input: a malformed image can crash the process or make the
loader write to arbitrary memory, and an image can contain code that runs while it is loaded. A
kernel needs only a small part of the format. The checks of this module therefore reject everything
that is not known to be harmless. The checks read the bytes that the loader reads: those at an
address in memory, and not those at an offset in the file.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import BundleError
from .elf_dynamic import check_dynamic
from .elf_image import ElfImage, Refused, Segment

_MACHINES = {"x86_64": 62, "aarch64": 183}
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")

_ET_DYN = 3
_PT_NULL, _PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE, _PT_PHDR, _PT_TLS = 0, 1, 2, 3, 4, 6, 7
_PT_EH_FRAME, _PT_STACK, _PT_RELRO, _PT_PROPERTY, _PT_SFRAME = range(0x6474E550, 0x6474E555)
_PF_X, _PF_W = 1, 2
# Segments that describe memory of other, loaded segments.
_DESCRIBING = (_PT_DYNAMIC, _PT_NOTE, _PT_PHDR, _PT_EH_FRAME, _PT_RELRO, _PT_PROPERTY, _PT_SFRAME)
# Limit of the memory that an image may map; kernels are far smaller.
_MAX_ADDRESS = 1 << 34
_MAX_ALIGNMENT = 1 << 21
_MAX_SEGMENTS = 64


def check_image(image: memoryview, arch: str, where: str) -> None:
    """Raises BundleError unless `image` is a shared object for `arch` that runs no code on load.

    Args:
        image: the file.
        arch: ``x86_64`` or ``aarch64``.
        where: the name of the bundle in messages.
    """
    try:
        _check(image, arch)
    except (Refused, struct.error) as error:
        raise BundleError(f"section kernel: {error}", location=where) from None


@dataclass(frozen=True)
class _Header:
    """The fields of the ELF header that the checks use."""

    machine: int
    table: int
    count: int


def _check(image: memoryview, arch: str) -> None:
    header = _check_header(image, arch)
    segments = list(_segments(image, header))
    loads = [segment for segment in segments if segment.kind == _PT_LOAD]
    if not loads:
        raise Refused("has no segment of type PT_LOAD")
    _check_loads(loads)
    elf = ElfImage(image, loads, header.machine)
    for segment in segments:
        _check_segment(elf, segment, header)
    if not any(segment.kind == _PT_STACK for segment in segments):
        # The C library makes the stack executable if the segment is missing.
        raise Refused("requests an executable stack: it has no segment GNU_STACK")
    dynamic = [segment for segment in segments if segment.kind == _PT_DYNAMIC]
    if len(dynamic) != 1:
        raise Refused("has no dynamic section")
    check_dynamic(elf, dynamic[0])


def _check_header(image: memoryview, arch: str) -> _Header:
    if image.nbytes < _HEADER.size or bytes(image[:6]) != b"\x7fELF\2\1":
        raise Refused("is not a 64-bit little-endian ELF image")
    _, kind, machine, _, _, table, _, _, size, entry, count, *_ = _HEADER.unpack(
        image[: _HEADER.size]
    )
    if kind != _ET_DYN:
        raise Refused("is not a shared object")
    if machine != _MACHINES.get(arch):
        raise Refused(f"is an image for machine {machine}, not for {arch}")
    if size != _HEADER.size or entry != _SEGMENT.size or not 0 < count < _MAX_SEGMENTS:
        raise Refused("has a malformed ELF header")
    return _Header(machine, table, count)


def _segments(image: memoryview, header: _Header) -> Iterator[Segment]:
    if header.table + header.count * _SEGMENT.size > image.nbytes:
        raise Refused("ends inside its program headers")
    for index in range(header.count):
        start = header.table + index * _SEGMENT.size
        kind, flags, offset, address, _, in_file, in_memory, align = _SEGMENT.unpack(
            image[start : start + _SEGMENT.size]
        )
        if offset + in_file > image.nbytes:
            raise Refused(f"ends inside segment {index}")
        if address + in_memory > _MAX_ADDRESS or align > _MAX_ALIGNMENT or align & (align - 1):
            raise Refused(f"segment {index} has an address or alignment that is out of range")
        yield Segment(kind, flags, offset, address, in_file, in_memory)


def _check_loads(loads: list[Segment]) -> None:
    """Checks that no page belongs to two segments: the loader maps whole pages, so that the later
    segment would replace the earlier one."""
    free = 0
    for segment in loads:
        begin = segment.address // mmap.PAGESIZE * mmap.PAGESIZE
        if begin < free or segment.file_size > segment.memory_size:
            raise Refused("has segments that overlap")
        if (segment.address - segment.offset) % mmap.PAGESIZE:
            raise Refused("has a segment whose address and offset differ modulo the page size")
        if segment.flags & _PF_X and segment.flags & _PF_W:
            raise Refused("has a segment that is executable and writable")
        free = -(-segment.end // mmap.PAGESIZE) * mmap.PAGESIZE


def _check_segment(elf: ElfImage, segment: Segment, header: _Header) -> None:
    kind = segment.kind
    if kind == _PT_INTERP:
        raise Refused("has a program interpreter: it is a program, not a kernel")
    if kind == _PT_TLS:
        raise Refused("has thread-local variables")
    if kind == _PT_STACK and segment.flags & _PF_X:
        raise Refused("requests an executable stack")
    if kind in _DESCRIBING:
        # The loader uses the address and not the offset in the file.
        if segment.file_size > segment.memory_size or elf.offset_of(segment) != segment.offset:
            raise Refused(
                f"has a segment of type {kind:#x} whose bytes in the file differ from those that "
                "are loaded"
            )
    elif kind not in (_PT_NULL, _PT_LOAD, _PT_STACK):
        raise Refused(f"has a segment of type {kind:#x}, which a kernel must not have")
    if kind == _PT_PHDR and segment.offset != header.table:
        raise Refused("has a segment PT_PHDR that is not its program header table")
    if kind == _PT_RELRO:
        elf.check_inside(segment)
