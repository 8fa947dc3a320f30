"""Removal of a section's content from a cubin, which is an ELF file."""

from __future__ import annotations

import struct

# Fields of the header of an ELF file of 64 bits, and of an entry of its table of sections.
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
    entry_size, count, names_at = _COUNTS.unpack_from(image)
    entries = [sections + entry_size * index for index in range(count)]
    _, strings, _ = _SECTION.unpack_from(image, entries[names_at])
    for entry in entries:
        start, offset, size = _SECTION.unpack_from(image, entry)
        end = image.index(b"\0", strings + start)
        found = image[strings + start : end]
        if found == name or found.startswith(name + b"."):
            return _cut(image, entry, offset, size // _BLOCK * _BLOCK, segments, sections)
    return image


def _cut(image: bytes, emptied: int, offset: int, size: int, segments: int, sections: int) -> bytes:
    """Removes `size` bytes at `offset`, and adjusts the later offsets."""
    result = bytearray(image)

    def moved(at: int) -> int:
        return at - size if at >= offset + size else at

    entry_size, count, _ = _COUNTS.unpack_from(image)
    for entry in range(sections, sections + entry_size * count, entry_size):
        at = struct.unpack_from("<Q", image, entry + 24)[0]
        struct.pack_into("<Q", result, entry + 24, moved(at))
    struct.pack_into("<Q", result, emptied + 32, 0)
    segment_size, segment_count = _SEGMENT_COUNT.unpack_from(image)
    for entry in range(segments, segments + segment_size * segment_count, segment_size):
        (at,) = _SEGMENT.unpack_from(image, entry)
        struct.pack_into("<Q", result, entry + 8, moved(at))
    struct.pack_into("<QQ", result, 32, moved(segments), moved(sections))
    del result[offset : offset + size]
    return bytes(result)
