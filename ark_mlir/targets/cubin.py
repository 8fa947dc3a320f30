"""Removal of a section's content from a cubin, which is an ELF file."""

from __future__ import annotations

import struct

# Fields of the header of an ELF file of 64 bits, and of a row of its table of sections.
_TABLES = struct.Struct("<32xQQ")
_COUNTS = struct.Struct("<58xHHH")
_SEGMENT = struct.Struct("<8xQ")
_SECTION = struct.Struct("<I20xQQ16x8x")
_SEGMENT_COUNT = struct.Struct("<54xHH")
# A multiple of this size is removed, so that later sections keep their alignment.
_BLOCK = 128


def empty_section(image: bytes, name: bytes) -> bytes:
    """Returns an ELF file without the content of a section; unchanged if it has no such section.

    The section may have a suffix after `name`: nvJitLink appends a dot and a number.
    """
    segments, sections = _TABLES.unpack_from(image)
    entry, count, names_at = _COUNTS.unpack_from(image)
    rows = [sections + entry * index for index in range(count)]
    _, strings, _ = _SECTION.unpack_from(image, rows[names_at])
    for row in rows:
        start, offset, size = _SECTION.unpack_from(image, row)
        end = image.index(b"\0", strings + start)
        found = image[strings + start : end]
        if found == name or found.startswith(name + b"."):
            return _cut(image, row, offset, size // _BLOCK * _BLOCK, segments, sections)
    return image


def _cut(image: bytes, emptied: int, offset: int, size: int, segments: int, sections: int) -> bytes:
    """Removes `size` bytes at `offset` and adjusts the offsets of all that follows."""
    result = bytearray(image)

    def moved(at: int) -> int:
        return at - size if at >= offset + size else at

    entry, count, _ = _COUNTS.unpack_from(image)
    for row in range(sections, sections + entry * count, entry):
        at = struct.unpack_from("<Q", image, row + 24)[0]
        struct.pack_into("<Q", result, row + 24, moved(at))
    struct.pack_into("<Q", result, emptied + 32, 0)
    segment_entry, segment_count = _SEGMENT_COUNT.unpack_from(image)
    for row in range(segments, segments + segment_entry * segment_count, segment_entry):
        (at,) = _SEGMENT.unpack_from(image, row)
        struct.pack_into("<Q", result, row + 8, moved(at))
    struct.pack_into("<QQ", result, 32, moved(segments), moved(sections))
    del result[offset : offset + size]
    return bytes(result)
