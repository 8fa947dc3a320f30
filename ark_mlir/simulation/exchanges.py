"""Transfers of a schedule: bytes that work items put to other ranks, and task packets."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle, Opcode
from ..bundle.footprints import Footprint, Operand, region_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Task

# Bytes by target rank.
Sends = dict[int, int]


def rank_of_lanes(bundle: Bundle) -> list[int]:
    """Returns the rank of each lane; ranks share the SMs equally, in order."""
    sms = bundle.manifest.target.sms // bundle.manifest.ranks
    return (bundle.tables.lanes[:, 0] // sms).tolist()


class Exchanges:
    """The exchanges of a schedule.

    Attributes:
        sends: for each instruction that sends to other ranks, the bytes by rank.
        groups: distinct sets of work items whose task packets a work item receives; empty without
            `receipts`.
        group_of: for each work item that receives task packets, the index of its set in `groups`.
    """

    def __init__(self, bundle: Bundle, receipts: bool = True) -> None:
        self._bundle = bundle
        self._manifest = manifest = bundle.manifest
        self._slot_bytes = manifest.slot_bytes
        self._packet_slot = len(self._slot_bytes) - 1 if manifest.packets else -1
        self._regions: dict[tuple[Operand, tuple[int, ...]], NDArray[np.int64]] = {}
        self._sizes: dict[tuple[Operand, tuple[int, ...]], NDArray[np.int64]] = {}
        self._words: dict[tuple[Operand, tuple[int, ...]], NDArray[np.int64]] = {}
        self._items = _items_of_tasks(bundle)
        self.sends = self._find_sends()
        self.groups: list[tuple[int, ...]] = []
        self.group_of: dict[int, int] = {}
        if manifest.packets and receipts:
            self._find_senders()

    # -- bytes to other ranks ----------------------------------------------------------------------

    def _find_sends(self) -> dict[int, Sends]:
        result: dict[int, Sends] = {}
        if self._manifest.ranks == 1:
            return result
        ranks = rank_of_tasks(self._bundle)
        for task, items, rank in zip(self._manifest.tasks, self._items, ranks, strict=True):
            for operand, value in self._operands(task):
                home = self._home(*value)
                if not operand.writes or home in (None, rank):
                    continue
                sizes = self._bytes_of_vctas(operand, task.grid)
                for index, begin, end in items:
                    sends = result.setdefault(index, {})
                    sends[home] = sends.get(home, 0) + int(sizes[begin:end].sum())
        return result

    def _home(self, slot: int, offset: int) -> int | None:
        """Returns the rank whose memory holds a byte; None if the slot is a buffer of one rank.

        Each rank has an equal part of the arena and of the task packets.
        """
        if slot not in (0, self._packet_slot) or not self._slot_bytes[slot]:
            return None
        return offset * self._manifest.ranks // self._slot_bytes[slot]

    def _bytes_of_vctas(self, operand: Operand, grid: tuple[int, ...]) -> NDArray[np.int64]:
        """Returns the bytes that each vCTA accesses through an operand."""
        key = operand, grid
        if key not in self._sizes:
            left = np.array(operand.shape, np.int64) - self._starts(operand, grid)
            extents = np.minimum(left, np.array(operand.sizes, np.int64))
            self._sizes[key] = extents.prod(axis=1) * operand.dtype.itemsize
        return self._sizes[key]

    def _starts(self, operand: Operand, grid: tuple[int, ...]) -> NDArray[np.int64]:
        key = operand, grid
        if key not in self._regions:
            self._regions[key] = region_starts(operand, grid)
        return self._regions[key]

    # -- task packets ------------------------------------------------------------------------------

    def _find_senders(self) -> None:
        """Finds the groups of senders, in which many work items share one."""
        writers = self._packet_writers()
        parts: dict[tuple[int, ...], int] = {}
        numbers: dict[frozenset[int], int] = {}
        received: dict[int, set[int]] = defaultdict(set)
        for task, items in zip(self._manifest.tasks, self._items, strict=True):
            for operand, (slot, offset) in self._operands(task):
                if slot != self._packet_slot or operand.access == "write" or not items:
                    continue
                starts = self._starts(operand, task.grid)
                found: dict[tuple[int, ...], int] = {}
                for index, begin, end in items:
                    for start in set(map(tuple, starts[begin:end].tolist())):
                        if start not in found:
                            words = writers[offset // 4 + self._words_of(operand, start)]
                            senders = tuple(np.unique(words[words >= 0]).tolist())
                            found[start] = parts.setdefault(senders, len(parts))
                        received[index].add(found[start])
        senders_of = list(parts)
        for index, members in received.items():
            number = numbers.setdefault(frozenset(members), len(numbers))
            if number == len(self.groups):
                self.groups.append(tuple(sorted({s for part in members for s in senders_of[part]})))
            self.group_of[index] = number

    def _packet_writers(self) -> NDArray[np.int64]:
        """Returns the work item that writes each 32-bit word of the task packets, -1 for none."""
        writers = np.full(self._manifest.packets // 4, -1, np.int64)
        for task, items in zip(self._manifest.tasks, self._items, strict=True):
            for operand, (slot, offset) in self._operands(task):
                if slot != self._packet_slot or not operand.writes or not items:
                    continue
                starts = self._starts(operand, task.grid).tolist()
                for index, begin, end in items:
                    for start in starts[begin:end]:
                        writers[offset // 4 + self._words_of(operand, tuple(start))] = index
        return writers

    def _words_of(self, operand: Operand, start: tuple[int, ...]) -> NDArray[np.int64]:
        """Returns the 32-bit words of a region, from the first byte of the operand's layout."""
        key = operand, start
        if key not in self._words:
            elements = np.zeros(1, np.int64)
            for first, size, extent, stride in zip(
                start, operand.sizes, operand.shape, operand.strides, strict=True
            ):
                steps = np.arange(first, min(first + size, extent), dtype=np.int64) * stride
                elements = np.add.outer(elements, steps).reshape(-1)
            words = operand.dtype.itemsize // 4
            self._words[key] = np.add.outer(elements * words, np.arange(words)).reshape(-1)
        return self._words[key]

    def _operands(self, task: Task) -> list[tuple[Operand, tuple[int, int]]]:
        """Returns the operands of a task, each with its slot and its first byte in the slot."""
        footprint: Footprint = self._manifest.footprint(task)
        values = [self._manifest.values[number] for number in task.values]
        return [
            (operand, (value.slot, value.offset + operand.begin))
            for operand, value in zip(footprint, values, strict=True)
        ]


def find_sends(bundle: Bundle) -> dict[int, Sends]:
    """Returns the bytes by rank of each instruction that sends to other ranks."""
    return Exchanges(bundle, receipts=False).sends


def rank_of_tasks(bundle: Bundle) -> list[int]:
    """Returns the rank whose lanes run each task; 0 for a task that no lane runs.

    The name of a task may lack the rank: the compiler adds copies that no op of a program names.
    """
    lanes = rank_of_lanes(bundle)
    ranks = [0] * len(bundle.manifest.tasks)
    entries: list[list[int]] = bundle.tables.instructions.tolist()
    for rank, (_, first, last) in zip(lanes, bundle.tables.lanes.tolist(), strict=True):
        for code, task, _, _ in entries[first:last]:
            if code == Opcode.RUN:
                ranks[task] = rank
    return ranks


def _items_of_tasks(bundle: Bundle) -> list[list[tuple[int, int, int]]]:
    """Returns the work items of each task: instruction, first vCTA, end."""
    result: list[list[tuple[int, int, int]]] = [[] for _ in bundle.manifest.tasks]
    entries: list[list[int]] = bundle.tables.instructions.tolist()
    for index, (code, task, begin, end) in enumerate(entries):
        if code == Opcode.RUN:
            result[task].append((index, begin, end))
    return result
