"""Handles of port channels as each version of MSCCL++ lays them out."""

from __future__ import annotations

import struct

from ..runtime.cuda.port_layouts import PortHandle, PortLayout


def pack_handle(handle: PortHandle, layout: PortLayout) -> bytes:
    """Returns the bytes of a handle, with random bytes where the structure has padding."""
    semaphore, token, triggers, head, tail, cache, size, destination, source = handle
    raw = bytearray(b"\xa5" * layout.handle_bytes)
    struct.pack_into("<I", raw, 0, semaphore)
    struct.pack_into("<QQ", raw, 8, token, 0xDEAD0000)
    struct.pack_into("<QQQQi", raw, 24, triggers, head, tail, cache, size)
    if layout.has_mask:
        struct.pack_into("<qq", raw, 64, size - 1, size.bit_length() - 1)
    struct.pack_into("<II", raw, layout.memories, destination, source)
    return bytes(raw)
