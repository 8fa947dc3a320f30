"""Relocation: linked tables for parts of memory that are not at consecutive addresses.

Linked tables expect the parts of all ranks at consecutive addresses. If a process cannot choose the
addresses of other ranks' parts, relocation changes the entries that refer to another rank:

- an operand in the arena or the task packets of another rank gets an additional slot. The slot
  holds the address of that part minus the offset of the part in the memory of all ranks;
- the index of a counter on another GPU becomes the distance of that counter from the counters of
  this rank;
- a stop addresses another GPU by the distance of its counters from the counters of this rank.

The parts of ranks in other NVLink domains have no address here. The kernel text CudaDomains.mlir
describes the numbers that stand for their addresses and counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...bundle import Bundle, Opcode
from ...errors import UnsupportedError
from ..drivers.abi import (
    DOMAIN_INDEX,
    DOMAIN_INDEX_END,
    DOMAIN_SHIFT,
    RANK_COUNTERS,
    SEMAPHORE_STRIDE,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PartAddresses", "domain_address", "relocate"]

_COUNTERS_BYTES = RANK_COUNTERS * SEMAPHORE_STRIDE


def domain_address(rank: int, offset: int) -> int:
    """Returns the number that stands for an address in the window of a rank of another domain."""
    return ((rank + 1) << DOMAIN_SHIFT) + offset


@dataclass(frozen=True)
class PartAddresses:
    """The addresses of the parts of all ranks, as one process maps them.

    Attributes:
        rank: the rank of the process.
        arenas, counters, packets: the address of each rank's part; any number if the part is empty.
        arena_part, packets_part: bytes of each part.
        apart: the ranks of other domains, whose addresses are those of `domain_address`.
        numbers: the numbers that stand for counters of these ranks, by the rank and the counter;
            empty if the counters' own numbers do.
    """

    rank: int
    arenas: tuple[int, ...]
    counters: tuple[int, ...]
    packets: tuple[int, ...]
    arena_part: int
    packets_part: int
    apart: frozenset[int] = frozenset()
    numbers: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

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
    ranks = numbers[signals] // RANK_COUNTERS + addresses.rank
    stops = codes == Opcode.STOP
    stopped = result[stops, 2] + addresses.rank
    counters = _name_counters(ranks, numbers[signals] % RANK_COUNTERS, addresses)
    result[signals, 1] = counters + _counter_indices(ranks, addresses)
    result[stops, 2] = _distances(stopped, addresses)
    near_signals = result[signals, 1][~_are_apart(ranks, addresses)]
    near_stops = result[stops, 2][~_are_apart(stopped, addresses)]
    near = np.concatenate([near_signals, near_stops])
    if (near < DOMAIN_INDEX_END).any() or (near >= 1 << 31).any():
        raise UnsupportedError(
            "NVIDIA's driver maps the memory of another rank more than 127 GiB away from that of "
            f"rank {addresses.rank}",
            location=linked.where,
        )
    return result.astype(table.dtype)


def _name_counters(
    ranks: NDArray[np.int64], counters: NDArray[np.int64], addresses: PartAddresses
) -> NDArray[np.int64]:
    """Returns the numbers by which signals name counters of these ranks."""
    if not addresses.numbers:
        return counters
    pairs = zip(ranks.tolist(), counters.tolist(), strict=True)
    return np.array([addresses.numbers.get(pair, pair[1]) for pair in pairs], np.int64)


def _are_apart(ranks: NDArray[np.int64], addresses: PartAddresses) -> NDArray[np.bool_]:
    """Returns, for each of several ranks, whether it is in another domain."""
    return np.isin(ranks, list(addresses.apart))


def _counter_indices(ranks: NDArray[np.int64], addresses: PartAddresses) -> NDArray[np.int64]:
    """Returns the index of the first counter of each of several ranks."""
    base = addresses.counters[addresses.rank]
    indices = [
        DOMAIN_INDEX + rank * RANK_COUNTERS
        if rank in addresses.apart
        else (address - base) // SEMAPHORE_STRIDE
        for rank, address in enumerate(addresses.counters)
    ]
    return np.array(indices, np.int64)[ranks]


def _distances(ranks: NDArray[np.int64], addresses: PartAddresses) -> NDArray[np.int64]:
    """Returns the distance to the counters of each of several ranks, in the counters of a GPU."""
    base = addresses.counters[addresses.rank]
    distances = [
        DOMAIN_INDEX + rank if rank in addresses.apart else (address - base) // _COUNTERS_BYTES
        for rank, address in enumerate(addresses.counters)
    ]
    return np.array(distances, np.int64)[ranks]


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
