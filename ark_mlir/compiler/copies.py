"""Comparison of two copies of one rank's program, and the puts from each copy to the other.

The compiler schedules the copies as a world of two ranks. For each copy, the other copy stands for
all other ranks.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from ..bundle import Bundle, Opcode
from ..bundle.manifest import Buffer, Value
from .symmetry import NotSymmetricError

__all__ = ["COPIES", "PUT", "Copies", "SemaphoreUse", "renamed"]

COPIES = 2
# A name of a put in the name of a task, such as `to3` in `rank0/sum.to2+to3`.
PUT = re.compile(r"\bto(\d+)(_\d+)?(?=\+|$)")


_Position = tuple[int, int]


class SemaphoreUse:
    """The uses of a semaphore by both copies.

    Attributes:
        sent: for each signal of copy 0 to the semaphore, the distances to which its task puts.
        foreign: the same for the signals of copy 1.
        waits: the copies that wait for the semaphore.
        reached: the values put by work items that precede a signal of the semaphore on its lane.
    """

    def __init__(self) -> None:
        self.reached: set[int] = set()
        self.sent: list[tuple[int, ...]] = []
        self.foreign: list[tuple[int, ...]] = []
        self.waits: set[int] = set()
        self._positions: dict[tuple[int, int], list[_Position]] = defaultdict(list)

    def add(self, copy: int, code: int, position: _Position, puts: tuple[int, ...]) -> None:
        """Adds an instruction: `position` is its SM, and the number of work items before it."""
        self._positions[copy, code].append(position)
        if code == Opcode.SIGNAL:
            (self.foreign if copy else self.sent).append(puts)
        elif code == Opcode.WAIT:
            self.waits.add(copy)

    def positions(self, swapped: int) -> tuple[tuple[int, int, tuple[_Position, ...]], ...]:
        """Returns all instructions; with `swapped`, those of copy 0 as if copy 1 had them."""
        return tuple(
            sorted(
                (copy ^ swapped, code, tuple(sorted(positions)))
                for (copy, code), positions in self._positions.items()
            )
        )


class Copies:
    """The equality of two copies, and what each sends to the other.

    Args:
        pair: the schedule of both copies.
        ranks: the number of ranks of the world.
        rank: the rank whose program was copied; names of puts count from this rank.

    Raises NotSymmetricError if the copies differ.
    """

    def __init__(self, pair: Bundle, ranks: int, rank: int) -> None:
        self._pair, self._ranks, self._rank = pair, ranks, rank
        self._manifest = pair.manifest
        self._sms = pair.manifest.target.sms // COPIES
        self._entries: list[list[int]] = pair.tables.instructions.tolist()
        self._packet_slot = len(pair.manifest.slot_bytes) - 1 if pair.manifest.packets else -1
        self._lanes = self._lanes_of_copies()
        self._tasks, self._others, self._task_index = self._pair_tasks()
        self._buffers = self._pair_buffers()
        self._values = self._pair_values()
        self._distances = [self._distances_of(task) for task in self._tasks]
        self._put_values, sources = self._find_puts()
        self._reads = self._find_reads(sources)
        self._check_lanes()
        self._uses = self._find_uses()
        self._twins = self._pair_semaphores()

    # -- equality of the copies --------------------------------------------------------------------

    def _lanes_of_copies(self) -> list[list[tuple[int, int, int]]]:
        """Returns the lanes of both copies: SM of the copy, first instruction, end."""
        result: list[list[tuple[int, int, int]]] = [[], []]
        for sm, first, last in self._pair.tables.lanes.tolist():
            result[sm // self._sms].append((sm % self._sms, first, last))
        if [lane[0] for lane in result[0]] != [lane[0] for lane in result[1]]:
            raise NotSymmetricError("the copies of a rank use other SMs")
        return result

    def _pair_tasks(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Returns the tasks of both copies in order, and for each task its copy and index there."""
        copies = [0] * len(self._manifest.tasks)
        for copy, lanes in enumerate(self._lanes):
            for _, first, last in lanes:
                for code, task, _, _ in self._entries[first:last]:
                    if code == Opcode.RUN:
                        copies[task] = copy
        of_copy: tuple[list[int], list[int]] = [], []
        index: list[tuple[int, int]] = []
        for task, copy in enumerate(copies):
            index.append((copy, len(of_copy[copy])))
            of_copy[copy].append(task)
        if len(of_copy[0]) != len(of_copy[1]):
            raise NotSymmetricError("the copies of a rank have different tasks")
        for mine, other in zip(*of_copy, strict=True):
            a, b = self._manifest.tasks[mine], self._manifest.tasks[other]
            twin = replace(b, name=renamed(b.name, 1, 0), values=a.values)
            if twin != a:
                raise NotSymmetricError(f"the copies of task {a.name!r} differ")
        return *of_copy, index

    def _pair_buffers(self) -> list[tuple[Buffer, Buffer]]:
        """Returns the buffers of copy 0 but constants, each with its twin."""
        buffers = self._manifest.buffers
        kinds = {(buffer.name, buffer.kind == "output"): buffer for buffer in buffers}
        result: list[tuple[Buffer, Buffer]] = []
        for buffer in buffers:
            if buffer.kind == "constant" or buffer.rank != 0:
                continue
            twin = kinds.get((renamed(buffer.name, 0, 1), buffer.kind == "output"))
            if twin is None or (twin.kind, twin.bytes) != (buffer.kind, buffer.bytes):
                raise NotSymmetricError(f"the copies of buffer {buffer.name!r} differ")
            result.append((buffer, twin))
        return result

    def _home(self, value: Value) -> int:
        """Returns the copy whose part of the arena or of the packets has a value."""
        return value.offset * COPIES // self._manifest.slot_bytes[value.slot]

    def _pair_values(self) -> list[list[int]]:
        """Returns the values of the tasks of copy 0 as values in the memory of copy 0.

        A value in copy 1 that a task writes becomes the value in copy 0 that its twin writes. The
        two copies may lay out their memory differently.
        """
        values = self._manifest.values
        constants = {b.slot for b in self._manifest.buffers if b.kind == "constant"}
        twins = {a.slot: b.slot for a, b in self._buffers}
        result: list[list[int]] = []
        for task, other in zip(self._tasks, self._others, strict=True):
            chosen: list[int] = []
            pairs = (self._manifest.tasks[each].values for each in (task, other))
            for x, y in zip(*pairs, strict=True):  # equal tasks have equally many operands
                u, v = values[x], values[y]
                if u.slot in constants:
                    same = x == y
                elif u.slot in twins:
                    same = v.slot == twins[u.slot]
                else:
                    same = u.slot == v.slot and u.bytes == v.bytes
                    same = same and self._home(u) != self._home(v)
                if not same:
                    name = self._manifest.tasks[task].name
                    raise NotSymmetricError(f"the copies of task {name!r} use other memory")
                chosen.append(y if self._is_remote(x) else x)
            result.append(chosen)
        return result

    def _check_lanes(self) -> None:
        """Checks that the lanes of both copies run the same work items in the same order."""
        for (sm, *mine), (_, *other) in zip(*self._lanes, strict=True):
            items = [
                [
                    (self._task_index[task][1], begin, end)
                    for code, task, begin, end in self._entries[slice(*lane)]
                    if code == Opcode.RUN
                ]
                for lane in (mine, other)
            ]
            if items[0] != items[1]:
                raise NotSymmetricError(f"the lanes of the copies on SM {sm} differ")

    # -- puts and reads ----------------------------------------------------------------------------

    def _distances_of(self, task: int) -> tuple[int, ...]:
        """Returns the distances to which a task of copy 0 puts, in the order of its operands.

        A task may put a tensor twice to a rank: to the arena, and in a further operand as packets.
        """
        record = self._manifest.tasks[task]
        named = [(int(peer) - self._rank) % self._ranks for peer, _ in PUT.findall(record.name)]
        slots = [
            self._manifest.values[number].slot if operand.writes else None
            for operand, number in zip(self._manifest.footprint(record), record.values, strict=True)
            if self._is_remote(number)
        ]
        first = list(zip(slots, named, strict=False))
        named += [distance for slot, distance in first if slot == 0][: len(slots) - len(first)]
        if None in slots or 0 in named or (slots and len(slots) != len(named)):
            raise NotSymmetricError(f"the name of task {record.name!r} does not list its puts")
        return tuple(named) if slots else ()

    def _is_remote(self, number: int) -> bool:
        value = self._manifest.values[number]
        return value.slot in (0, self._packet_slot) and self._home(value) != 0

    def _find_puts(self) -> tuple[list[frozenset[int]], dict[int, set[int]]]:
        """Returns the values in the arena that each task of copy 0 puts to other ranks.

        Further returns the distances from which each value comes.
        """
        put: list[frozenset[int]] = []
        sources: dict[int, set[int]] = defaultdict(set)
        for task, values, distances in zip(self._tasks, self._values, self._distances, strict=True):
            numbers = self._manifest.tasks[task].values
            remote = [v for x, v in zip(numbers, values, strict=True) if self._is_remote(x)]
            mine: set[int] = set()
            for value, distance in zip(remote, distances, strict=True):
                if self._manifest.values[value].slot == 0:
                    sources[value].add(distance)
                    mine.add(value)
            put.append(frozenset(mine))
        return put, sources

    def _find_reads(self, sources: dict[int, set[int]]) -> list[dict[int, set[int]]]:
        """Returns, for each task of copy 0, the values of other ranks and their distances."""
        return [
            {v: sources[v] for v in self._manifest.tasks[task].values if v in sources}
            for task in self._tasks
        ]

    # -- semaphores --------------------------------------------------------------------------------

    def _find_uses(self) -> list[SemaphoreUse]:
        """Returns the uses of all semaphores."""
        uses = [SemaphoreUse() for _ in self._manifest.semaphores]
        for copy, lanes in enumerate(self._lanes):
            for sm, first, last in lanes:
                puts, items, before = (), 0, set[int]()
                for code, number, _, _ in self._entries[first:last]:
                    if code == Opcode.RUN:
                        puts, items = self._distances[self._task_index[number][1]], items + 1
                        before |= self._put_values[self._task_index[number][1]]
                    elif code != Opcode.STOP:
                        uses[number].add(copy, code, (sm, items), puts)
                        if code == Opcode.SIGNAL:
                            uses[number].reached |= before
        return uses

    def _pair_semaphores(self) -> list[int]:
        """Returns, for each semaphore, that which the other copy uses instead.

        The order of waits before a work item, and of signals after it, may differ.
        """
        found = {use.positions(0): number for number, use in enumerate(self._uses)}
        twins: list[int] = []
        for number, use in enumerate(self._uses):
            twin = found.get(use.positions(1))
            if twin is None or self._uses[twin].positions(1) != use.positions(0):
                name = self._manifest.semaphores[number].name
                raise NotSymmetricError(f"the copies of semaphore {name!r} differ")
            twins.append(twin)
        return twins


def renamed(name: str, old: int, new: int) -> str:
    """Returns a name with another rank: all ops of a fused task have the rank."""
    return re.sub(rf"(^|\+)rank{old}/", rf"\g<1>rank{new}/", name)
