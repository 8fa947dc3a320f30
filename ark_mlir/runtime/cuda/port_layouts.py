"""The layouts of port channels in the versions of MSCCL++.

MSCCL++ has the layout of a port channel in C++ headers alone, and changes it between versions. The
table was made from the headers of each version. The length of a handle and the version of the
package identify the layout; :meth:`.port_channels.PortChannels.test` then tests it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...errors import UnsupportedError

__all__ = ["LAYOUTS", "PortHandle", "PortLayout", "find_layout", "read_handle"]

# Fields of all layouts: the semaphore, its token on this GPU, and the FIFO.
_COMMON = struct.Struct("<I4xQ8xQQQQi")
# Fields after the FIFO in layouts with `has_mask`: the number of slots minus one, its logarithm.
_MASK = struct.Struct("<4xQQ")
_MEMORIES = struct.Struct("<II")


class PortLayout(NamedTuple):
    """The layout of a version.

    Attributes:
        name: the version, for messages.
        versions: the beginnings of ``mscclpp.__version__``.
        handle_bytes: the length of the handle of a port channel.
        memories: the offset in the handle of the numbers of destination and source.
        has_mask: True if the FIFO also has the mask of its slots, and the logarithm of their
            number.
        stride: bytes of a slot.
        polled: the offset in a slot of the word that the proxy polls: 0 or 8.
        laps: 1 if the mark in bit 63 of a slot's second word changes with each lap, or 0 if it is
            always 1.
        signal: the first word of a signal.
    """

    name: str
    versions: tuple[str, ...]
    handle_bytes: int
    memories: int
    has_mask: bool
    stride: int
    polled: int
    laps: int
    signal: int


# The second and third layouts have the same package version at some commits.
LAYOUTS = (
    PortLayout("0.9", ("0.9.",), 72, 64, False, stride=32, polled=0, laps=0, signal=1),
    PortLayout("0.10", ("0.9.", "0.10."), 80, 72, False, stride=32, polled=0, laps=0, signal=1),
    PortLayout(
        "main of August 2026",
        ("0.9.", "0.10."),
        96,
        88,
        True,
        stride=16,
        polled=8,
        laps=1,
        signal=0,
    ),
)


class PortHandle(NamedTuple):
    """The handle of a port channel.

    Attributes:
        semaphore: the number of its semaphore.
        token: the address of the token on this GPU to which signals of the other rank add.
        triggers, head, tail, tail_cache: the addresses of the slots and of three words.
        size: the number of slots.
        destination, source: the numbers of the registered memories.
    """

    semaphore: int
    token: int
    triggers: int
    head: int
    tail: int
    tail_cache: int
    size: int
    destination: int
    source: int


def find_layout(version: str, handle_bytes: int) -> PortLayout:
    """Returns the layout of a version of MSCCL++.

    Args:
        version: ``mscclpp.__version__``.
        handle_bytes: the length of the handle of a port channel.

    Raises UnsupportedError for any other version.
    """
    for layout in LAYOUTS:
        if layout.handle_bytes == handle_bytes and version.startswith(layout.versions):
            return layout
    supported = ", ".join(f"{layout.name} ({layout.handle_bytes} bytes)" for layout in LAYOUTS)
    raise UnsupportedError(
        f"mscclpp {version} has port channels whose handles have {handle_bytes} bytes, which ark "
        f"does not know: install one of the versions {supported}"
    )


def read_handle(raw: bytes, layout: PortLayout) -> PortHandle:
    """Returns the fields of a handle; raises UnsupportedError if they contradict the layout."""
    semaphore, token, triggers, head, tail, cache, size = _COMMON.unpack_from(raw)
    destination, source = _MEMORIES.unpack_from(raw, layout.memories)
    handle = PortHandle(semaphore, token, triggers, head, tail, cache, size, destination, source)
    addresses = (token, triggers, head, tail, cache)
    is_good = size > 0 and not size & (size - 1)
    is_good &= all(address and not address % 8 for address in addresses)
    if layout.has_mask:
        is_good &= _MASK.unpack_from(raw, _COMMON.size) == (size - 1, size.bit_length() - 1)
    if not is_good:
        raise UnsupportedError(
            f"the handle of a port channel does not have the layout of MSCCL++ {layout.name}: "
            f"{raw.hex()}"
        )
    return handle
