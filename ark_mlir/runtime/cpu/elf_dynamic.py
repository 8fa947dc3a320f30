"""The dynamic section of a kernel's image: libraries, symbols and relocations.

The checks reject everything that can make the loader run code of the image: constructors and
destructors; indirect functions, whose resolvers run during relocations and look-ups; and
relocations that write to memory which the loader reads, and which could add constructors or
indirect functions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from ...errors import shorten
from .elf_image import ElfImage, Refused, Segment

_ENTRY = struct.Struct("<qQ")
_VERSION_FILE = struct.Struct("<HHIII")
_VERSION = struct.Struct("<IHHII")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_ADDRESS_SIZE = 8

_NULL, _NEEDED, _PLTRELSZ, _PLTGOT, _HASH, _STRTAB, _SYMTAB, _RELA = range(8)
_RELASZ, _RELAENT, _STRSZ, _SYMENT, _INIT, _FINI, _SONAME, _RPATH = range(8, 16)
_SYMBOLIC, _PLTREL, _TEXTREL, _JMPREL, _BIND_NOW = 16, 20, 22, 23, 24
_RUNPATH, _FLAGS = 29, 30
_GNU_HASH, _VERSYM, _RELACOUNT, _FLAGS_1 = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFF9, 0x6FFFFFFB
_VERNEED, _VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
# Entries of AArch64 for branch protection and calling conventions of the procedure linkage table.
_PROCESSOR = {183: frozenset({0x70000001, 0x70000003, 0x70000005})}
_KNOWN = frozenset(
    {_NEEDED, _PLTRELSZ, _PLTGOT, _HASH, _STRTAB, _SYMTAB, _RELA, _RELASZ, _RELAENT, _STRSZ,
     _SYMENT, _SONAME, _SYMBOLIC, _PLTREL, _JMPREL, _BIND_NOW, _FLAGS, _GNU_HASH, _VERSYM,
     _RELACOUNT, _FLAGS_1, _VERNEED, _VERNEEDNUM}
)  # fmt: skip
_FORBIDDEN = {
    _INIT: "a constructor (DT_INIT)",
    _FINI: "a destructor (DT_FINI)",
    _RPATH: "a library path (DT_RPATH)",
    _TEXTREL: "relocations in its code (DT_TEXTREL)",
    _RUNPATH: "a library path (DT_RUNPATH)",
    0x6FFFFEFB: "an auditing library (DT_DEPAUDIT)",
    0x6FFFFEFC: "an auditing library (DT_AUDIT)",
    0x7FFFFFFD: "an auxiliary library (DT_AUXILIARY)",
    0x7FFFFFFF: "a filter library (DT_FILTER)",
}
# Tags of arrays of functions, each with the tag of its size; linkers may write them with size 0.
_ARRAYS = {25: (27, "constructors"), 26: (28, "destructors"), 32: (33, "constructors")}
_ARRAY_SIZES = {size: functions for size, functions in _ARRAYS.values()}
# Allowed bits of DT_FLAGS and DT_FLAGS_1: symbolic and immediate binding.
_ALLOWED_FLAGS = {_FLAGS: 0x2 | 0x8, _FLAGS_1: 0x1}
_SIZES = {_SYMENT: _SYMBOL.itemsize, _RELAENT: _RELOCATION.itemsize, _PLTREL: _RELA}

_LIBRARIES = frozenset(
    {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
)
# Allowed types of relocations by machine: NONE, ABS64, GLOB_DAT, JUMP_SLOT and RELATIVE.
_RELOCATION_TYPES = {62: (0, 1, 6, 7, 8), 183: (0, 257, 1025, 1026, 1027)}
_RELOCATION_NAMES = {
    (62, 5): "R_X86_64_COPY",
    (62, 37): "R_X86_64_IRELATIVE: an indirect function",
    (183, 1024): "R_AARCH64_COPY",
    (183, 1032): "R_AARCH64_IRELATIVE: an indirect function",
}
_SYMBOL_TYPES = (0, 1, 2, 3)  # none, object, function, section
_TLS, _IFUNC = 6, 10
_BINDINGS = (0, 1, 2)  # local, global, weak
_PRINTABLE = bytes([0, *range(32, 127)])

Entries = dict[int, int]


def check_dynamic(elf: ElfImage, dynamic: Segment) -> None:
    """Raises Refused if the dynamic section contains more than a kernel needs.

    Args:
        elf: the image.
        dynamic: the dynamic segment, whose bytes in the file are the ones that are loaded.
    """
    entries, needed = _collect(elf, dynamic)
    names = _Names(elf, entries)
    libraries = _check_libraries(names, needed)
    relocations = _relocations(elf, entries)
    _check_relocations(elf, relocations, dynamic)
    _check_got(elf, entries, dynamic)
    last = int(relocations["symbol"].max(initial=0))
    count = 1 + max(last, _last_hashed(elf, entries))
    _check_symbols(elf, entries, names, count)
    _check_versions(elf, entries, names, libraries, count)


# -- entries ---------------------------------------------------------------------------------------


def _collect(elf: ElfImage, dynamic: Segment) -> tuple[Entries, list[int]]:
    """Checks each entry; returns the entries by tag, and the offsets of the libraries' names."""
    found: Entries = {}
    needed: list[int] = []
    for tag, value in _entries(elf, dynamic):
        if tag == _NEEDED:
            needed.append(value)
            continue
        if tag in found:
            raise Refused(f"has the dynamic entry {tag:#x} twice")
        _check_entry(elf, tag, value)
        found[tag] = value
    for array, (size, functions) in _ARRAYS.items():
        if array in found and size not in found:
            raise Refused(f"has {functions} without the size of their array")
    if missing := {_STRTAB, _STRSZ, _SYMTAB, _GNU_HASH} - found.keys():
        raise Refused(f"lacks the dynamic entry {min(missing):#x}")
    return found, needed


def _entries(elf: ElfImage, dynamic: Segment) -> Iterator[tuple[int, int]]:
    data = elf.file_bytes(dynamic)
    for start in range(0, len(data) - _ENTRY.size + 1, _ENTRY.size):
        tag, value = _ENTRY.unpack(data[start : start + _ENTRY.size])
        if tag == _NULL:
            return
        yield tag, value
    raise Refused("has a dynamic section that does not end in DT_NULL")


def _check_entry(elf: ElfImage, tag: int, value: int) -> None:
    if tag in _FORBIDDEN:
        raise Refused(f"has {_FORBIDDEN[tag]}")
    if tag in _ARRAYS:
        return
    if tag in _ARRAY_SIZES:
        if value:
            raise Refused(f"has {_ARRAY_SIZES[tag]}")
        return
    # Loaders may use only some bits of a tag, so that they could accept a tag that is unknown here.
    if tag not in _KNOWN and tag not in _PROCESSOR.get(elf.machine, ()):
        raise Refused(f"has the dynamic entry {tag:#x}, which a kernel must not have")
    if tag in _ALLOWED_FLAGS and value & ~_ALLOWED_FLAGS[tag]:
        raise Refused(f"has flags {value:#x}, which a kernel must not have")
    if value != _SIZES.get(tag, value):
        raise Refused(f"has tables with entries of {value} bytes (dynamic entry {tag:#x})")


# -- names and libraries ---------------------------------------------------------------------------


class _Names:
    """The string table. All strings are printable, since the loader's messages quote them."""

    def __init__(self, elf: ElfImage, entries: Entries) -> None:
        self.size = entries[_STRSZ]
        self._data = bytes(elf.constant(entries[_STRTAB], self.size, "string table"))
        if not self._data.endswith(b"\0"):
            raise Refused("has a string table that does not end in a zero byte")
        if self._data.translate(None, _PRINTABLE):
            raise Refused("has names that cannot be printed")
        if entries.get(_SONAME, 0) >= self.size:
            raise Refused("has a DT_SONAME outside of its string table")

    def __getitem__(self, offset: int) -> str:
        if offset >= self.size:
            raise Refused("has names outside of its string table")
        return self._data[offset : self._data.index(b"\0", offset)].decode("ascii")


def _check_libraries(names: _Names, needed: list[int]) -> set[str]:
    libraries = {names[offset] for offset in needed}
    if others := libraries - _LIBRARIES:
        raise Refused(
            f"needs the library {shorten(min(others))}; a kernel may need the C library only"
        )
    return libraries


# -- relocations -----------------------------------------------------------------------------------


def _relocations(elf: ElfImage, entries: Entries) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    tables: list[np.ndarray[tuple[int], np.dtype[np.void]]] = []
    for address, size in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
        if (address in entries) != (size in entries):
            raise Refused("has relocations without their address or their size")
        if address in entries:
            if entries[size] % _RELOCATION.itemsize:
                raise Refused("has a relocation table that ends within a relocation")
            data = elf.constant(entries[address], entries[size], "relocation table")
            tables.append(np.frombuffer(data, _RELOCATION))
    if _JMPREL in entries and _PLTREL not in entries:
        raise Refused("has relocations (DT_JMPREL) without their form (DT_PLTREL)")
    return np.concatenate(tables) if tables else np.empty(0, _RELOCATION)


def _check_relocations(
    elf: ElfImage, relocations: np.ndarray[tuple[int], np.dtype[np.void]], dynamic: Segment
) -> None:
    types = relocations["type"]
    if len(refused := types[~np.isin(types, _RELOCATION_TYPES[elf.machine])]):
        kind = int(refused[0])
        name = _RELOCATION_NAMES.get((elf.machine, kind), f"type {kind}")
        raise Refused(f"has a relocation of {name}")
    for address in relocations["offset"].tolist():
        if not elf.writable(address, _ADDRESS_SIZE) or dynamic.overlaps(address, _ADDRESS_SIZE):
            raise Refused(
                f"has a relocation that writes to {address:#x}, which no relocation may change"
            )


def _check_got(elf: ElfImage, entries: Entries, dynamic: Segment) -> None:
    """Checks the global offset table, whose second and third words the loader writes."""
    if _PLTGOT not in entries:
        return
    begin, size = entries[_PLTGOT], 3 * _ADDRESS_SIZE
    if not elf.writable(begin, size) or dynamic.overlaps(begin, size):
        raise Refused("has a global offset table (DT_PLTGOT) outside of writable data")


# -- symbols ---------------------------------------------------------------------------------------


def _last_hashed(elf: ElfImage, entries: Entries) -> int:
    """Returns the index of the last symbol that a look-up by name can find."""
    table = elf.rest(entries[_GNU_HASH], "hash table")
    words = np.frombuffer(table[: len(table) // 4 * 4], "<u4")
    if len(words) < 4:
        raise Refused("ends inside its hash table")
    buckets, first, filter_words, _ = words[:4].tolist()
    if not filter_words or filter_words & (filter_words - 1):
        raise Refused("has a malformed hash table")
    begin = 4 + 2 * filter_words
    chains = begin + buckets
    if chains > len(words):
        raise Refused("ends inside its hash table")
    starts = words[begin:chains]
    starts = starts[starts != 0]
    if not len(starts):
        return 0
    if int(starts.min()) < first:
        raise Refused("has a malformed hash table")
    # A chain ends at its first odd word, and the next chain follows.
    rest = words[chains + int(starts.max()) - first :]
    ends = np.flatnonzero(rest & 1)
    if not len(ends):
        raise Refused("has a hash table whose last chain does not end")
    return int(starts.max()) + int(ends[0])


def _check_symbols(elf: ElfImage, entries: Entries, names: _Names, count: int) -> None:
    data = elf.constant(entries[_SYMTAB], count * _SYMBOL.itemsize, "symbol table")
    symbols = np.frombuffer(data, _SYMBOL)
    kinds, bindings = symbols["info"] & 15, symbols["info"] >> 4
    if (symbols["name"] >= names.size).any():
        raise Refused("has names outside of its string table")
    refused = ~np.isin(kinds, _SYMBOL_TYPES) | ~np.isin(bindings, _BINDINGS)
    if refused.any():
        index = int(np.argmax(refused))
        kind, name = int(kinds[index]), names[int(symbols["name"][index])]
        described = {_IFUNC: "an indirect function", _TLS: "a thread-local variable"}
        text = described.get(kind, "of a kind that a kernel must not have")
        raise Refused(f"symbol {shorten(name)} is {text}")


def _check_versions(
    elf: ElfImage, entries: Entries, names: _Names, libraries: set[str], count: int
) -> None:
    """Checks the versions of library symbols, since the loader does not check indices and
    offsets."""
    present = {_VERSYM, _VERNEED, _VERNEEDNUM} & entries.keys()
    if not present:
        return
    if len(present) != 3:
        raise Refused("has some of DT_VERSYM, DT_VERNEED and DT_VERNEEDNUM, but not all")
    if entries[_VERNEEDNUM] > len(libraries):
        raise Refused("requires versions of more libraries than it needs")
    last = 1  # the indices 0 and 1 mean that a symbol has no version
    data, start = elf.rest(entries[_VERNEED], "version table"), 0
    for index in range(entries[_VERNEEDNUM]):
        _, versions, file, begin, following = _VERSION_FILE.unpack_from(data, start)
        if names[file] not in libraries:
            raise Refused(f"requires versions of {shorten(names[file])}, which it does not need")
        last = max(last, _check_versions_of(data, start + begin, versions, names))
        if (following == 0) != (index == entries[_VERNEEDNUM] - 1):
            raise Refused("has a malformed version table")
        start += following
    chosen = np.frombuffer(elf.constant(entries[_VERSYM], 2 * count, "version table"), "<u2")
    if ((chosen & 0x7FFF) > last).any():
        raise Refused("has a malformed version table")


def _check_versions_of(data: memoryview, start: int, count: int, names: _Names) -> int:
    """Checks the versions of one library, and returns their largest index."""
    last = 1
    for index in range(count):
        _, _, other, name, following = _VERSION.unpack_from(data, start)
        last, _ = max(last, other & 0x7FFF), names[name]
        if (following == 0) != (index == count - 1):
            raise Refused("has a malformed version table")
        start += following
    return last
