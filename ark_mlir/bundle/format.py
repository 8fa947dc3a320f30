"""The fixed parts of the file: header, alignment, limits, and where sections lie."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import BundleError

Bytes = bytes | bytearray | memoryview

MAGIC = b"ARKBIN\0\1"
VERSION = 1
ALIGNMENT = 64

# Caps that hold before anything is allocated, so that a few hostile bytes cannot ask for
# terabytes. Real programs stay far below them.
MAX_MANIFEST = 64 << 20
MAX_FILE = 1 << 40
MAX_BYTES = 1 << 47
MAX_RANK = 32
MAX_TEXT = 1 << 16
MAX_SLOTS = 1 << 20
MAX_LANES = 1 << 16

REQUIRED_SECTIONS = ("kernel", "instructions", "lanes", "tasks", "operands", "timeline")
SECTIONS = (*REQUIRED_SECTIONS, "constants", "mlir")

_HEADER = struct.Struct("<8sIIQQ32s")
HEADER_SIZE = _HEADER.size


@dataclass(frozen=True)
class Header:
    """The first 64 bytes of a file; sizes in bytes."""

    manifest_size: int
    file_size: int
    manifest_sha256: bytes

    def pack(self) -> bytes:
        """The 64 bytes."""
        return _HEADER.pack(
            MAGIC, VERSION, 0, self.manifest_size, self.file_size, self.manifest_sha256
        )

    @classmethod
    def unpack(cls, data: bytes, actual_size: int, where: str) -> Header:
        """The header of a file of `actual_size` bytes; raises BundleError on any mismatch."""
        if len(data) < HEADER_SIZE:
            raise BundleError(
                f"header: the file has {len(data)} bytes, a bundle at least {HEADER_SIZE}",
                location=where,
            )
        magic, version, flags, manifest_size, file_size, digest = _HEADER.unpack(data[:HEADER_SIZE])
        problem = None
        if magic != MAGIC:
            problem = f"magic is {magic!r}: this is no bundle"
        elif version != VERSION:
            problem = f"format version is {version}; this ark reads version {VERSION}"
        elif flags != 0:
            problem = f"flags are {flags:#x}; this ark knows none"
        elif manifest_size > MAX_MANIFEST:
            problem = f"manifest of {manifest_size} bytes; the limit is {MAX_MANIFEST}"
        elif file_size != actual_size:
            problem = f"the file should have {file_size} bytes and has {actual_size}: " + (
                "truncated" if actual_size < file_size else "bytes were appended"
            )
        elif HEADER_SIZE + manifest_size > file_size:
            problem = f"manifest of {manifest_size} bytes does not fit into {file_size}"
        if problem is not None:
            raise BundleError(f"header: {problem}", location=where)
        return cls(manifest_size, file_size, digest)


def align(offset: int) -> int:
    """The next multiple of 64."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def section_offsets(manifest_size: int, sizes: Iterable[int]) -> tuple[list[int], int]:
    """Offset of each section, in file order, and the length of the file.

    The layout has no freedom: a reader compares with it, which excludes overlaps, gaps and
    trailing bytes at once.
    """
    offsets: list[int] = []
    end = HEADER_SIZE + manifest_size
    for size in sizes:
        offset = align(end)
        offsets.append(offset)
        end = offset + size
    return offsets, end
