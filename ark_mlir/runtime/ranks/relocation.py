"""Relocation: linked tables for parts of memory that are not at consecutive addresses.

Linked tables expect the parts of all ranks at consecutive addresses. If a process cannot choose the
addresses of other ranks' parts, relocation changes the entries that refer to another rank:

- an operand in the arena or the task packets of another rank gets an additional slot. The slot
  holds the address of that part minus the offset of the part in the memory of all ranks;
- the index of a counter on another GPU becomes the distance of that counter from the counters of
  this rank;
- a stop addresses another GPU by the distance of its counters from the counters of this rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...bundle import Bundle, Opcode
from ...errors import UnsupportedError
from ..drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PartAddresses", "relocate"]

_COUNTERS_BYTES = RANK_COUNTERS * SEMAPHORE_STRIDE


@dataclass(frozen=True)
class PartAddresses:
    """The addresses of the parts of all ranks, as one process maps them.

    Attributes:
        rank: the rank of the process.
        arenas, counters, packets: the address of each rank's part; any number if the part is empty.
        arena_part, packets_part: bytes of each part.
    """

    rank: int
    arenas: tuple[int, ...]
    counters: tuple[int, ...]
    packets: tuple[int, ...]
    arena_part: int
    packets_part: int

    @property
    def slots(self) -> tuple[int, ...]:
        """The values of the additional slots: the arenas of all ranks, then their packets."""
        arenas = (_base(address, r, self.arena_part) for r, address in enumerate(self.arenas))
        packets = (_base(address, r, self.packets_part) for r, address in enumerate(self.packets))
        return (*arenas, *packets)

    @property
    def arena(self) -> int:
        """The base address of operands in this rank's part of the arena."""
        return _base(self.arenas[self.rank], self.rank, self.arena_part)

    @property
    def own_packets(self) -> int:
        """The base address of operands in this rank's part of the task packets."""
        return _base(self.packets[self.rank], self.rank, self.packets_part)


def _base(address: int, rank: int, part: int) -> int:
    return (address - rank * part) % (1 << 64)


def relocate(linked: Bundle, addresses: PartAddresses) -> Bundle:
    """Returns the linked program of a rank with tables for these addresses.

    Raises UnsupportedError if the counters of another rank are so far away that the distance does
    not fit into the index of a counter.
    """
    instructions = _relocate_instructions(linked.tables.instructions, linked, addresses)
    operands = _relocate_operands(linked, addresses)
    return replace(
        linked,
        sections={
            **linked.sections,
            "instructions": memoryview(instructions.tobytes()),
            "operands": memoryview(operands.tobytes()),
        },
        tables=replace(linked.tables, instructions=instructions, operands=operands),
    )


def _relocate_instructions(
    table: NDArray[np.int32], linked: Bundle, addresses: PartAddresses
) -> NDArray[np.int32]:
    result = table.astype(np.int64)
    codes, numbers = result[:, 0], result[:, 1]
    signals = codes == Opcode.SIGNAL
    distances = numbers[signals] // RANK_COUNTERS
    result[signals, 1] = numbers[signals] % RANK_COUNTERS + _counter_distances(
        distances, SEMAPHORE_STRIDE, addresses
    )
    stops = codes == Opcode.STOP
    result[stops, 2] = _counter_distances(result[stops, 2], _COUNTERS_BYTES, addresses)
    if (np.abs(result) >= 1 << 31).any():
        raise UnsupportedError(
            "NVIDIA's driver maps the memory of another rank more than 128 GiB away from that of "
            f"rank {addresses.rank}",
            location=linked.where,
        )
    return result.astype(table.dtype)


def _counter_distances(
    distances: NDArray[np.int64], unit: int, addresses: PartAddresses
) -> NDArray[np.int64]:
    """Converts distances between ranks to distances between their counters.

    Args:
        distances: distances in ranks.
        unit: the unit of the result, in bytes.
        addresses: the addresses of the parts.
    """
    base = addresses.counters[addresses.rank]
    result = np.array([(address - base) // unit for address in addresses.counters], np.int64)
    return result[distances + addresses.rank]


def _relocate_operands(linked: Bundle, addresses: PartAddresses) -> NDArray[np.int64]:
    manifest = linked.manifest
    operands = np.array(linked.tables.operands, np.int64)
    ranks = len(addresses.counters)
    packets_slot = 1 + len(manifest.buffers)
    first = packets_slot + bool(manifest.packets)
    moves = (
        (0, addresses.arena_part, first),
        (packets_slot, addresses.packets_part, first + ranks),
    )
    slots, offsets = linked.tables.operands[:, 0], linked.tables.operands[:, 1]
    for slot, part, further in moves:
        if not part:
            continue
        owners = offsets // part
        moved = (slots == slot) & (owners != addresses.rank) & (owners < ranks)
        operands[moved, 0] = further + owners[moved]
    return operands
