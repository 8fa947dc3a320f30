"""The schedule of all ranks, made from the schedule of two copies of one rank.

Copy 0 stands for each rank. What copy 0 writes to the memory of copy 1, a rank writes to the rank
at a distance, which the name of the task has: ``rank0/sum.to3``. What copy 0 waits for in copy 1, a
rank waits for in the ranks that send to it.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle, Opcode
from ..bundle.manifest import Buffer, Manifest, Semaphore, Task, Value
from ..bundle.tables import Tables
from .symmetry import NotSymmetricError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["replicate"]

_PUT = re.compile(r"\bto(\d+)(_\d+)?(?=\+|$)")
_COPIES = 2


def replicate(pair: Bundle, ranks: int, rank: int, *, waits_for_all: bool = False) -> Bundle:
    """Returns the schedule of a world from that of two copies of one rank.

    Args:
        pair: the schedule of two copies.
        ranks: the number of ranks of the world.
        rank: the rank whose program was copied; names of puts count from this rank.
        waits_for_all: True if a rank that waits for another rank has to wait for all.

    Raises NotSymmetricError if the two copies differ.
    """
    return _Replication(pair, ranks, rank, waits_for_all).bundle()


_Place = tuple[int, int]


class _SemaphoreUse:
    """The uses of a semaphore by both copies.

    Attributes:
        sent: for each signal of copy 0 to the semaphore, the distances to which its task puts.
        foreign: the same for the signals of copy 1.
        waits: the copies that wait for the semaphore.
        reached: the values that work items before a signal on its lane put.
    """

    def __init__(self) -> None:
        self.reached: set[int] = set()
        self.sent: list[tuple[int, ...]] = []
        self.foreign: list[tuple[int, ...]] = []
        self.waits: set[int] = set()
        self._places: dict[tuple[int, int], list[_Place]] = defaultdict(list)

    def add(self, copy: int, code: int, place: _Place, puts: tuple[int, ...]) -> None:
        """Adds an instruction: `place` is its SM, and the number of work items before it."""
        self._places[copy, code].append(place)
        if code == Opcode.SIGNAL:
            (self.foreign if copy else self.sent).append(puts)
        elif code == Opcode.WAIT:
            self.waits.add(copy)

    def places(self, swapped: int) -> tuple[tuple[int, int, tuple[_Place, ...]], ...]:
        """Returns all instructions; with `swapped`, those of copy 0 as if copy 1 had them."""
        return tuple(
            sorted((copy ^ swapped, code, tuple(sorted(places)))
            for (copy, code), places in self._places.items())
        )


class _Replication:
    def __init__(self, pair: Bundle, ranks: int, rank: int, waits_for_all: bool) -> None:
        self._waits_for_all = waits_for_all
        self._pair, self._ranks, self._rank = pair, ranks, rank
        self._manifest = pair.manifest
        self._sms = pair.manifest.target.sms // _COPIES
        self._entries: list[list[int]] = pair.tables.instructions.tolist()
        self._times: list[list[int]] = pair.tables.timeline.tolist()
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
        self._plans = [self._plan(number, use) for number, use in enumerate(self._uses)]

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
            twin = replace(b, name=_renamed(b.name, 1, 0), values=a.values)
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
            twin = kinds.get((_renamed(buffer.name, 0, 1), buffer.kind == "output"))
            if twin is None or (twin.kind, twin.bytes) != (buffer.kind, buffer.bytes):
                raise NotSymmetricError(f"the copies of buffer {buffer.name!r} differ")
            result.append((buffer, twin))
        return result

    def _home(self, value: Value) -> int:
        """Returns the copy whose part of the arena or of the packets has a value."""
        return value.offset * _COPIES // self._manifest.slot_bytes[value.slot]

    def _pair_values(self) -> list[list[int]]:
        """Returns the values of the tasks of copy 0 as values in the memory of copy 0.

        What a task writes to copy 1 becomes what its twin writes to copy 0. The two copies may lay
        out their memory differently.
        """
        values = self._manifest.values
        constants = {b.slot for b in self._manifest.buffers if b.kind == "constant"}
        twins = {a.slot: b.slot for a, b in self._buffers}
        result: list[list[int]] = []
        for task, other in zip(self._tasks, self._others, strict=True):
            chosen: list[int] = []
            pairs = (self._manifest.tasks[each].values for each in (task, other))
            for x, y in zip(*pairs, strict=True):
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

    # -- semaphores --------------------------------------------------------------------------------

    def _distances_of(self, task: int) -> tuple[int, ...]:
        """Returns the distances to which a task of copy 0 puts, in the order of its operands.

        A task may put a tensor twice to a rank: to the arena, and, in a further operand, as packets.
        """
        record = self._manifest.tasks[task]
        named = [(int(peer) - self._rank) % self._ranks for peer, _ in _PUT.findall(record.name)]
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

    def _find_uses(self) -> list[_SemaphoreUse]:
        """Returns the uses of all semaphores."""
        uses = [_SemaphoreUse() for _ in self._manifest.semaphores]
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
        """Returns, for each semaphore, that which the other copy uses in its place.

        The order of waits before a work item, and of signals after it, may differ.
        """
        found = {use.places(0): number for number, use in enumerate(self._uses)}
        twins: list[int] = []
        for number, use in enumerate(self._uses):
            twin = found.get(use.places(1))
            if twin is None or self._uses[twin].places(1) != use.places(0):
                name = self._manifest.semaphores[number].name
                raise NotSymmetricError(f"the copies of semaphore {name!r} differ")
            twins.append(twin)
        return twins

    def _plan(self, number: int, use: _SemaphoreUse) -> str:
        """Returns how the ranks share a semaphore: ``own``, ``sender``, ``receiver`` or ``world``.

        Each rank has such a semaphore. With ``own``, only this rank uses it. With ``sender``, other
        ranks wait for it, and with ``receiver``, other ranks signal it. All ranks share ``world``.
        """
        name = self._manifest.semaphores[number].name
        if self._manifest.semaphores[number].handoff == "barrier":
            if self._twins[number] != number:
                raise NotSymmetricError(f"the copies have different barriers {name!r}")
            return "world"
        if (not use.foreign and use.waits <= {0}) or (not use.sent and use.waits <= {1}):
            return "own"
        each_to_one = all(len(self._shifts(puts)) == 1 for puts in use.sent + use.foreign)
        return "receiver" if each_to_one or (use.sent and use.foreign) else "sender"

    def _shifts(self, puts: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the distances to which a signal goes: those of the puts, or else all."""
        everyone = tuple(range(1, self._ranks))
        return everyone if self._waits_for_all else tuple(sorted(set(puts))) or everyone

    def _lane_items(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yields the instructions of a lane of a rank.

        An item is the index of an instruction of copy 0, a semaphore of copy 0 or -1, and a shift.
        At rank r, the semaphore is that of rank r + shift. A lane of copy 0 that has waited once
        for copy 1 needs no further wait. A lane of a rank has to wait for each rank from which it
        reads, so that further waits come before the work items that read.
        """
        puts: tuple[int, ...] = ()
        acquired: dict[int, set[int]] = {}
        for index in range(first, last):
            code, number, _, _ = self._entries[index]
            if code == Opcode.SIGNAL:
                for base, shift in self._signals(number, puts):
                    yield index, base, shift
            elif code == Opcode.WAIT:
                if self._plans[number] != "sender" or self._uses[number].sent:
                    yield index, number, 0
                else:
                    acquired.setdefault(number, set())
                    if self._waits_for_all or not self._is_read_after(number, index, last):
                        for distance in self._sent_to(number) - acquired[number]:
                            acquired[number].add(distance)
                            yield index, self._twins[number], -distance
            else:
                if code == Opcode.RUN:
                    place = self._task_index[number][1]
                    puts = self._distances[place]
                    for semaphore, distance in self._missing(place, acquired):
                        yield index, self._twins[semaphore], -distance
                yield index, -1, 0

    def _signals(self, number: int, puts: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """Yields the semaphores that replace one that copy 0 signals after some puts."""
        if self._plans[number] != "receiver":
            yield number, 0
            return
        waits = self._uses[number].waits
        if 0 in waits:
            yield number, 0
        if 1 in waits:
            for distance in self._shifts(puts):
                yield self._twins[number], distance

    def _sent_to(self, number: int) -> set[int]:
        """Returns the distances to which copy 1 puts before it signals a semaphore."""
        return {d for puts in self._uses[number].foreign for d in self._shifts(puts)}

    def _is_read_after(self, number: int, index: int, last: int) -> bool:
        """Returns True if the next work item reads what copy 1 puts before a signal."""
        for code, subject, _, _ in self._entries[index:last]:
            if code == Opcode.RUN:
                reads = self._reads[self._task_index[subject][1]]
                return not reads.keys().isdisjoint(self._uses[number].reached)
        return False

    def _missing(self, place: int, acquired: dict[int, set[int]]) -> list[tuple[int, int]]:
        """Returns the semaphores and distances for which a task has to wait, and adds them."""
        reads = self._reads[place]
        result: list[tuple[int, int]] = []
        for number, distances in acquired.items():
            for value in reads.keys() & self._uses[number].reached:
                for distance in reads[value] - distances:
                    distances.add(distance)
                    result.append((number, distance))
        return sorted(result)

    def _find_puts(self) -> tuple[list[frozenset[int]], dict[int, set[int]]]:
        """Returns the values in the arena that each task of copy 0 puts to other ranks.

        Further returns the distances from which each value comes.
        """
        put: list[frozenset[int]] = []
        sources: dict[int, set[int]] = defaultdict(set)
        for task, values, distances in zip(
            self._tasks, self._values, self._distances, strict=True
        ):
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

    def _arrivals(self, number: int) -> int:
        """Returns the arrivals at a semaphore of one rank, or of the world."""
        use, arrivals = self._uses[number], self._manifest.semaphores[number].arrivals
        if self._plans[number] == "world":
            return arrivals * self._ranks // _COPIES
        if self._plans[number] == "receiver":
            return len(use.sent) + sum(len(self._shifts(puts)) for puts in use.foreign)
        return arrivals

    # -- the world ---------------------------------------------------------------------------------

    def bundle(self) -> Bundle:
        """Returns the schedule of all ranks."""
        self._items = [list(self._lane_items(first, last)) for _, first, last in self._lanes[0]]
        self._number_semaphores()
        instructions, lanes, timeline = self._make_lanes()
        self._number_values()
        values = [self._values_of(place) for place in range(len(self._tasks))]
        tasks = self._make_tasks(values)
        manifest = self._make_manifest(tasks, instructions)
        table, operands = self._make_operands(manifest, values)
        tables = Tables(instructions, lanes, table, operands, timeline)
        sections = {name: memoryview(part) for name, part in self._pair.sections.items()}
        for name in ("instructions", "lanes", "tasks", "operands", "timeline"):
            array: NDArray[np.generic] = getattr(tables, name)
            array.flags.writeable = False
            sections[name] = memoryview(array.tobytes())
        return Bundle(manifest, sections, tables, self._pair.where)

    def _number_semaphores(self) -> None:
        """Gives each semaphore of the world a number; those of the ranks follow each other."""
        self._first: dict[int, int] = {}
        self._semaphores: list[Semaphore] = []
        taken: dict[str, int] = {}
        used: dict[int, None] = {}
        for items in self._items:
            for index, base, _ in items:
                if self._entries[index][0] == Opcode.BARRIER:
                    used[self._entries[index][1]] = None
                elif base >= 0:
                    used[base] = None
        for number in used:
            record = replace(self._manifest.semaphores[number], arrivals=self._arrivals(number))
            self._first[number] = len(self._semaphores)
            if self._plans[number] == "world":
                self._semaphores.append(record)
                continue
            base = _renamed(record.name, 1, 0)
            for rank in range(self._ranks):
                name = _unique(self._named(base, rank), taken)
                self._semaphores.append(replace(record, name=name))

    def _make_lanes(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Returns instructions, lanes and timeline of the world."""
        rows: list[tuple[int, ...]] = []
        lanes: list[tuple[int, int, int]] = []
        for (sm, _, _), items in zip(self._lanes[0], self._items, strict=True):
            begin = len(rows)
            rows += [self._row(*item) for item in items]
            lanes.append((sm, begin, len(rows)))
        template = np.array(rows, np.int64).reshape(-1, 8)
        code, base, shift, stride, b, c = template[:, :6].T
        parts: list[NDArray[np.int64]] = []
        times: list[NDArray[np.int64]] = []
        table: list[NDArray[np.int64]] = []
        total = 0
        # The launch has one stop flag, of rank 0.
        kept = code != Opcode.STOP
        after = np.concatenate([[0], np.cumsum(kept)])
        of_lane = np.array(lanes, np.int64).reshape(-1, 3)
        for rank in range(self._ranks):
            subject = base + (rank + shift) % self._ranks * stride
            part = np.stack([code, subject, b, c], axis=1)
            bounds = of_lane[:, 1:]
            chosen = slice(None)
            if rank:
                bounds, chosen = after[bounds], kept
            parts.append(part[chosen])
            times.append(template[chosen, 6:])
            table.append(np.column_stack([of_lane[:, 0] + rank * self._sms, bounds + total]))
            total += len(parts[-1])
        return (
            np.concatenate(parts).astype(np.int32),
            np.concatenate(table).astype(np.int32),
            np.concatenate(times),
        )

    def _row(self, index: int, semaphore: int, shift: int) -> tuple[int, ...]:
        """Returns an item of a lane as a row of numbers.

        A row is the code, the first of all ranks' subjects, the shift of the rank, the stride of
        subjects between ranks, two further fields, and the start and duration.
        """
        code, number, b, c = self._entries[index]
        start, duration = self._times[index]
        if semaphore >= 0:
            waits = code != Opcode.SIGNAL
            code = Opcode.WAIT if waits else Opcode.SIGNAL
            field = self._arrivals(semaphore) if waits else b
            duration = 0 if self._entries[index][0] == Opcode.RUN else duration
            return code, self._first[semaphore], shift, 1, field, 0, start, duration
        if code == Opcode.RUN:
            place = self._task_index[number][1]
            return code, place * self._ranks, 0, 1, b, c, start, duration
        if code == Opcode.STOP:
            return code, self._slot_of_stop(), 0, 0, b, c, start, duration
        return code, self._first[number], 0, 0, self._arrivals(number), c, start, duration

    # -- buffers, tasks and operands ---------------------------------------------------------------

    def _own_buffers(self, outputs: bool) -> list[Buffer]:
        return [
            buffer
            for buffer in self._manifest.buffers
            if buffer.kind != "constant"
            and buffer.rank == 0
            and (buffer.kind == "output") == outputs
        ]

    def _slot_of_stop(self) -> int:
        arguments = self._own_buffers(outputs=False)
        return next(number for number, each in enumerate(arguments, 1) if each.stop)

    def _number_values(self) -> None:
        """Numbers buffers and intermediates of the world.

        A value of copy 0 becomes `first + stride * rank`.
        """
        numbers: dict[int, tuple[int, int]] = {}
        self._world_buffers: list[Buffer] = []
        for outputs in (False, True):
            own = self._own_buffers(outputs)
            for place, buffer in enumerate(own):
                numbers[buffer.slot - 1] = len(self._world_buffers) + place, len(own)
            for rank in range(self._ranks):
                for buffer in own:
                    name = _renamed(buffer.name, 0, rank)
                    stop = buffer.stop and rank == 0
                    slot = len(self._world_buffers) + 1
                    self._world_buffers.append(replace(buffer, name=name, slot=slot, stop=stop))
        for buffer in self._manifest.buffers:
            if buffer.kind == "constant":
                numbers[buffer.slot - 1] = len(self._world_buffers), 0
                slot = len(self._world_buffers) + 1
                self._world_buffers.append(replace(buffer, slot=slot))
        self._intermediates: list[Value] = []
        buffers = len(self._manifest.buffers)
        for number, value in enumerate(self._manifest.intermediates, buffers):
            if self._home(value):
                continue
            numbers[number] = len(self._world_buffers) + len(self._intermediates), 1
            slot = 0 if value.slot == 0 else len(self._world_buffers) + 1
            part = self._manifest.slot_bytes[value.slot] // _COPIES
            self._intermediates += [
                Value(slot, rank * part + value.offset, value.bytes) for rank in range(self._ranks)
            ]
        self._numbers = numbers

    def _values_of(self, place: int) -> NDArray[np.int64]:
        """Returns the values of a task of copy 0 at all ranks, ``[ranks, operands]``."""
        distances = iter(self._distances[place])
        rows: list[tuple[int, int, int]] = []
        of_task = self._manifest.tasks[self._tasks[place]].values
        for number, local in zip(of_task, self._values[place], strict=True):
            shift = next(distances) if self._is_remote(number) else 0
            rows.append((*self._numbers[local], shift))
        first, stride, shifts = np.array(rows, np.int64).reshape(-1, 3).T
        ranks = np.arange(self._ranks)[:, None]
        return first + (ranks + shifts) % self._ranks * stride

    def _make_tasks(self, values: list[NDArray[np.int64]]) -> tuple[Task, ...]:
        result: list[Task] = []
        for task, distances, of_ranks in zip(self._tasks, self._distances, values, strict=True):
            record = self._manifest.tasks[task]
            for rank, numbers in enumerate(of_ranks.tolist()):
                name = self._named(record.name, rank) if distances else None
                result.append(
                    replace(
                        record,
                        name=name or _renamed(record.name, 0, rank),
                        values=tuple(numbers),
                    )
                )
        return tuple(result)

    def _named(self, name: str, rank: int) -> str:
        """Returns the name of a task or semaphore at a rank, with the ranks to which it puts."""

        def peer(found: re.Match[str]) -> str:
            return f"to{(int(found[1]) + rank - self._rank) % self._ranks}{found[2] or ''}"

        return _PUT.sub(peer, _renamed(name, 0, rank))

    def _make_manifest(
        self, tasks: tuple[Task, ...], instructions: NDArray[np.int32]
    ) -> Manifest:
        scale = self._ranks // _COPIES if self._ranks % _COPIES == 0 else self._ranks / _COPIES
        old = self._manifest
        counts = np.bincount(instructions[:, 0], minlength=len(Opcode)).tolist()
        statistics = dict(old.statistics)
        statistics |= {
            "barriers": counts[Opcode.BARRIER],
            "signals": counts[Opcode.SIGNAL],
            "waits": counts[Opcode.WAIT],
        }
        for name in ("vctas", "largest_live_set"):
            if name in statistics:
                statistics[name] = int(statistics[name] * scale)
        return replace(
            old,
            target=replace(old.target, sms=self._sms * self._ranks),
            arena=old.arena // _COPIES * self._ranks,
            packets=old.packets // _COPIES * self._ranks,
            buffers=tuple(self._world_buffers),
            tasks=tasks,
            semaphores=tuple(self._semaphores),
            ranks=self._ranks,
            intermediates=tuple(self._intermediates),
            statistics=statistics,
        )

    def _make_operands(
        self, manifest: Manifest, values: list[NDArray[np.int64]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Returns the tables `tasks` and `operands`."""
        slots = np.array([(v.slot, v.offset) for v in manifest.values], np.int64).reshape(-1, 2)
        heads: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.int64]] = []
        total = 0
        for task, numbers in zip(self._tasks, values, strict=True):
            record = self._manifest.tasks[task]
            begins = [operand.begin for operand in self._manifest.footprint(record)]
            entries = slots[numbers]
            entries[:, :, 1] += np.array(begins, np.int64)
            parts.append(entries.reshape(-1, 2))
            firsts = total + np.arange(self._ranks) * len(begins)
            heads.append(np.column_stack([np.full(self._ranks, record.body), firsts]))
            total += self._ranks * len(begins)
        none = np.zeros((0, 2), np.int64)
        return (
            np.concatenate([none, *heads]).astype(np.int32),
            np.concatenate([none, *parts]),
        )


def _unique(name: str, taken: dict[str, int]) -> str:
    """Returns a name that no semaphore has yet: `name`, or `name` with a number."""
    count = taken[name] = taken.get(name, -1) + 1
    return f"{name}:{count}" if count else name


def _renamed(name: str, old: int, new: int) -> str:
    """Returns a name with another rank: all ops of a fused task have the rank."""
    return re.sub(rf"(^|\+)rank{old}/", rf"\g<1>rank{new}/", name)
