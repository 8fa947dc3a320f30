"""The fixed parts of a bundle's file: header, alignment, limits, and offsets of sections."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ..errors import BundleError

Bytes = bytes | bytearray | memoryview
"""The bytes of a section of a bundle, or of a block of its file."""

MAGIC = b"ARKBIN\0\1"
VERSION = 3
ALIGNMENT = 64

# Limits that are checked before memory is allocated, so that a hostile file cannot request
# terabytes. Real programs stay far below them.
MAX_MANIFEST = 64 << 20
MAX_FILE = 1 << 40
MAX_BYTES = 1 << 47
MAX_RANK = 32
MAX_SLOTS = 1 << 20
# The check that intermediates share no bytes takes quadratic time: some seconds at this limit. A
# decode step of 16 layers has 119 intermediates.
MAX_INTERMEDIATES = 1 << 15
MAX_LANES = 1 << 16

REQUIRED_SECTIONS = ("kernel", "instructions", "lanes", "tasks", "operands", "timeline")
SECTIONS = (*REQUIRED_SECTIONS, "constants", "mlir")

_HEADER = struct.Struct("<8sIIQQ32s")
HEADER_SIZE = _HEADER.size
# Bytes of the signature that follows the last section.
TRAILER_SIZE = 128
_SIGNED = 1  # the only flag


@dataclass(frozen=True)
class Header:
    """The first 64 bytes of a file; all sizes are in bytes.

    `signed` is True if a signature follows the last section.
    """

    SIZE: ClassVar[int] = HEADER_SIZE

    manifest_size: int
    file_size: int
    manifest_sha256: bytes
    signed: bool = False

    @property
    def body_size(self) -> int:
        """Bytes of the file without a signature."""
        return self.file_size - (TRAILER_SIZE if self.signed else 0)

    def with_signature(self, signed: bool) -> Header:
        """Returns the header of the same content with or without a signature."""
        size = self.body_size + (TRAILER_SIZE if signed else 0)
        return replace(self, file_size=size, signed=signed)

    def pack(self) -> bytes:
        """Returns the 64 bytes of the header."""
        flags = _SIGNED if self.signed else 0
        return _HEADER.pack(
            MAGIC, VERSION, flags, self.manifest_size, self.file_size, self.manifest_sha256
        )

    @classmethod
    def unpack(cls, data: bytes, actual_size: int, where: str) -> Header:
        """Returns the header in `data` of a file of `actual_size` bytes.

        Raises BundleError if a field is wrong or the size does not match.
        """
        if len(data) < HEADER_SIZE:
            raise BundleError(
                f"header: the file has {len(data)} bytes; a bundle has at least {HEADER_SIZE}",
                location=where,
            )
        magic, version, flags, manifest_size, file_size, digest = _HEADER.unpack(data[:HEADER_SIZE])
        problem = None
        if magic != MAGIC:
            problem = f"the file begins with {magic!r}: it is not a bundle"
        elif version != VERSION:
            problem = (
                f"format version is {version}; this ark reads version {VERSION}: "
                "compile the program again"
            )
        elif flags & ~_SIGNED:
            problem = f"flags are {flags:#x}; this ark knows only {_SIGNED:#x}"
        elif manifest_size > MAX_MANIFEST:
            problem = f"the manifest has {manifest_size} bytes; the limit is {MAX_MANIFEST}"
        elif file_size != actual_size:
            problem = f"the file has {actual_size} bytes instead of {file_size}: " + (
                "it is truncated" if actual_size < file_size else "bytes were appended"
            )
        elif HEADER_SIZE + manifest_size + (TRAILER_SIZE if flags else 0) > file_size:
            problem = f"the manifest of {manifest_size} bytes does not fit into {file_size} bytes"
        if problem is not None:
            raise BundleError(f"header: {problem}", location=where)
        return cls(manifest_size, file_size, digest, bool(flags))


def align(offset: int) -> int:
    """Returns the least multiple of 64 that is not less than `offset`."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def section_offsets(manifest_size: int, sizes: Iterable[int]) -> tuple[list[int], int]:
    """Returns the offset of each section, in file order, and the length of the file, in bytes.

    The sizes determine the layout. A reader compares the layout of a file with these offsets, and
    rejects overlaps, gaps and trailing bytes.
    """
    offsets: list[int] = []
    end = HEADER_SIZE + manifest_size
    for size in sizes:
        offset = align(end)
        offsets.append(offset)
        end = offset + size
    return offsets, end
