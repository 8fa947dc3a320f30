"""Hashes of files, which identify a build."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from pathlib import Path

__all__ = ["hash_files", "loaded_libraries"]

_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_PT_NOTE, _NT_GNU_BUILD_ID = 4, 3
_HEAD = 1 << 16  # program headers and the notes that follow them
_PART = 1 << 20


def hash_files(files: Iterable[Path]) -> str:
    """Returns a hash of the names and contents of files; a build id stands for the content.

    Raises OSError if a file cannot be read.
    """
    digest = hashlib.sha256()
    for file in files:
        for part in (file.name.encode(), _identity(file)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def loaded_libraries(prefixes: tuple[str, ...]) -> list[Path]:
    """Returns the loaded shared libraries whose names begin with one of `prefixes`, sorted."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    files = {Path(line.split(maxsplit=5)[-1]) for line in maps.splitlines() if ".so" in line}
    return sorted(file for file in files if file.name.startswith(prefixes))


def _identity(file: Path) -> bytes:
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
        found = _build_id(head)
        if found is not None:
            return b"build id " + found
        digest = hashlib.sha256(head)
        while part := stream.read(_PART):
            digest.update(part)
        return b"content " + digest.digest()


def _build_id(head: bytes) -> bytes | None:
    """Returns the build id in the first bytes of an ELF file, or None."""
    if head[:6] != b"\x7fELF\2\1" or len(head) < _ELF_HEADER.size:
        return None
    table, count = (_ELF_HEADER.unpack_from(head)[index] for index in (5, 10))
    for index in range(count):
        start = table + index * _SEGMENT.size
        if start + _SEGMENT.size > len(head):
            return None
        kind, _, offset, _, _, size, *_ = _SEGMENT.unpack_from(head, start)
        if kind == _PT_NOTE and (found := _search_notes(head[offset : offset + size])):
            return found
    return None


def _search_notes(notes: bytes) -> bytes | None:
    position = 0
    while position + _NOTE.size <= len(notes):
        name_size, size, kind = _NOTE.unpack_from(notes, position)
        name = position + _NOTE.size
        data = name + (name_size + 3) // 4 * 4
        if kind == _NT_GNU_BUILD_ID and notes[name : name + name_size] == b"GNU\0":
            return notes[data : data + size]
        position = data + (size + 3) // 4 * 4
    return None
