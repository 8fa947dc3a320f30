"""Relocation: linked tables for parts of memory that are not at consecutive addresses.

Linked tables expect the parts of all ranks at consecutive addresses. If a process cannot choose the
addresses of other ranks' parts, relocation changes the entries that refer to another rank:

- an operand in the arena or the task packets of another rank gets an additional slot. The slot
  holds the address of that part minus the offset of the part in the memory of all ranks;
- the index of a counter on another GPU becomes the distance of that counter from the counters of
  this rank. Field A of a signal has the index; if the distance needs more than 32 bits, field B has
  the upper half;
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
    DOMAIN_DISTANCE,
    DOMAIN_DISTANCE_END,
    DOMAIN_SHIFT,
    RANK_COUNTERS,
    SEMAPHORE_STRIDE,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PartAddresses", "domain_address", "index_counters", "relocate"]

_COUNTERS_BYTES = RANK_COUNTERS * SEMAPHORE_STRIDE
# Distances to peers, in the counters of a GPU (2 MiB), that fit into field B of a stop: from the
# first number on, and below the second. They are 4 PiB in either direction.
_LEAST_DISTANCE, _DISTANCE_END = DOMAIN_DISTANCE_END, 1 << 31


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

    Raises UnsupportedError if the distance between the counters of two ranks is not a multiple of
    2 MiB, or is 4 PiB or more; and if an older ark compiled the program, whose kernel reaches only
    counters of the same domain that are less than 128 GiB away.
    """
    _check_distances(linked, addresses)
    instructions = _relocate_instructions(linked.tables.instructions, addresses)
    signals = instructions[:, 0] == Opcode.SIGNAL
    if instructions[signals, 2].any() and not linked.manifest.far_signals:
        raise UnsupportedError(
            f"{linked.manifest.program!r} was compiled by an older ark, whose kernels signal only "
            "GPUs of one domain with memory less than 128 GiB apart: compile the program again",
            location=linked.where,
        )
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


def _check_distances(linked: Bundle, addresses: PartAddresses) -> None:
    """Raises UnsupportedError if a stop cannot have the distance to the counters of a rank."""
    base = addresses.counters[addresses.rank]
    for rank, address in enumerate(addresses.counters):
        distance, rest = divmod(address - base, _COUNTERS_BYTES)
        if rank not in addresses.apart and (
            rest or not _LEAST_DISTANCE <= distance < _DISTANCE_END
        ):
            raise UnsupportedError(
                f"the counters of rank {rank} are at the address {address:#x}, and those of rank "
                f"{addresses.rank} at {base:#x}: the distance has to be a multiple of 2 MiB below "
                "4 PiB",
                location=linked.where,
                notes=[
                    "run all ranks in one process: ark.load(path, devices=[0, 1]) without "
                    "ark.distributed.init()"
                ],
            )


def _relocate_instructions(table: NDArray[np.int32], addresses: PartAddresses) -> NDArray[np.int32]:
    result = table.astype(np.int64)
    codes, numbers = result[:, 0], result[:, 1]
    signals = codes == Opcode.SIGNAL
    ranks = numbers[signals] // RANK_COUNTERS + addresses.rank
    counters = _name_counters(ranks, numbers[signals] % RANK_COUNTERS, addresses)
    result[signals, 1:3] = index_counters(ranks, counters, addresses)
    stops = codes == Opcode.STOP
    stopped = result[stops, 2] + addresses.rank
    result[stops, 2] = _distances(stopped, addresses)
    return result.astype(table.dtype)


def _name_counters(
    ranks: NDArray[np.int64], counters: NDArray[np.int64], addresses: PartAddresses
) -> NDArray[np.int64]:
    """Returns the numbers by which signals name counters of these ranks."""
    if not addresses.numbers:
        return counters
    pairs = zip(ranks.tolist(), counters.tolist(), strict=True)
    return np.array([addresses.numbers.get(pair, pair[1]) for pair in pairs], np.int64)


def index_counters(
    ranks: NDArray[np.int64], counters: NDArray[np.int64], addresses: PartAddresses
) -> NDArray[np.int64]:
    """Returns the fields A and B of signals to counters of these ranks, ``[S, 2]``.

    The index of a counter is the sum of field A, which has a sign, and 2^32 times field B. For
    a rank of another domain, field B stands for the rank.
    """
    distances = _distances(ranks, addresses)
    apart = np.isin(ranks, list(addresses.apart))
    indices = np.where(apart, 0, distances * RANK_COUNTERS) + counters
    lower = (indices + (1 << 31)) % (1 << 32) - (1 << 31)
    upper = np.where(apart, distances, (indices - lower) >> 32)
    return np.stack([lower, upper], axis=1)


def _distances(ranks: NDArray[np.int64], addresses: PartAddresses) -> NDArray[np.int64]:
    """Returns the distance to the counters of each of several ranks, in the counters of a GPU."""
    base = addresses.counters[addresses.rank]
    distances = [
        DOMAIN_DISTANCE + rank if rank in addresses.apart else (address - base) // _COUNTERS_BYTES
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
