"""A reader of the metadata of AMD code objects.

The metadata is MessagePack in a note of the ELF file; LLVM's AMDGPU usage guide lists its keys.
"""

from __future__ import annotations

import struct
from typing import Any

from ..errors import CompileError

_EM_AMDGPU = 224
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_PT_NOTE, _NT_AMDGPU_METADATA = 4, 32
_REGISTER_BYTES = 4

# Formats of a number that follows its tag, and of the length of a string, an array and a map.
_NUMBERS = {
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_ARRAYS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def read_resources(image: bytes) -> dict[str, int]:
    """Returns the resources that the kernel of a code object needs, as statistics of a bundle.

    Raises CompileError if the image is not a code object with exactly one kernel.
    """
    kernels = read_metadata(image).get("amdhsa.kernels", [])
    if len(kernels) != 1:
        raise CompileError(f"the code object has {len(kernels)} kernels, not one")
    kernel = kernels[0]
    spilled = kernel[".vgpr_spill_count"] * _REGISTER_BYTES
    return {
        "registers": kernel[".vgpr_count"],
        "scalar_registers": kernel[".sgpr_count"],
        # Accumulation registers hold some of the spilled registers, without memory.
        "spill_bytes": min(spilled, kernel[".private_segment_fixed_size"]),
        "scalar_spills": kernel[".sgpr_spill_count"],
        "stack_bytes": kernel[".private_segment_fixed_size"],
        "shared_bytes": kernel[".group_segment_fixed_size"],
    }


def read_metadata(image: bytes) -> dict[str, Any]:
    """Returns the metadata of a code object; raises CompileError if it cannot be read."""
    try:
        note = _find_note(image)
        return {} if note is None else _Reader(note).read()
    except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
        raise CompileError(f"the code object's metadata cannot be read: {error!r}") from None


def _find_note(image: bytes) -> bytes | None:
    _, _, machine, _, _, table, _, _, _, _, count, *_ = _HEADER.unpack_from(image)
    if image[:4] != b"\x7fELF" or machine != _EM_AMDGPU:
        raise CompileError("the linker's output is not a code object")
    for index in range(count):
        kind, _, offset, _, _, size, *_ = _SEGMENT.unpack_from(image, table + index * _SEGMENT.size)
        if kind != _PT_NOTE:
            continue
        name_size, note_size, note_kind = _NOTE.unpack_from(image, offset)
        name = offset + _NOTE.size
        data = name + (name_size + 3) // 4 * 4
        if note_kind == _NT_AMDGPU_METADATA and data + note_size <= offset + size:
            return image[data : data + note_size]
    return None


class _Reader:
    """A reader of the subset of MessagePack that metadata uses."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def read(self) -> Any:
        """Reads and returns the next value."""
        tag = self._number(">B")
        if tag < 0x80:
            return tag
        if tag < 0x90:
            return self._map(tag & 0x0F)
        if tag < 0xA0:
            return self._array(tag & 0x0F)
        if tag < 0xC0:
            return self._text(tag & 0x1F)
        if tag >= 0xE0:
            return tag - 0x100
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in _NUMBERS:
            return self._number(_NUMBERS[tag])
        if tag in _TEXTS:
            return self._text(self._number(_TEXTS[tag]))
        if tag in _ARRAYS:
            return self._array(self._number(_ARRAYS[tag]))
        return self._map(self._number(_MAPS[tag]))

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._data, self._position)
        self._position += struct.calcsize(form)
        return value

    def _text(self, size: int) -> str:
        begin, self._position = self._position, self._position + size
        if self._position > len(self._data):
            raise IndexError(size)
        return self._data[begin : self._position].decode()

    def _array(self, count: int) -> list[Any]:
        return [self.read() for _ in range(count)]

    def _map(self, count: int) -> dict[str, Any]:
        return {self.read(): self.read() for _ in range(count)}
