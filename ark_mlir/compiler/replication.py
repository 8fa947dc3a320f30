"""The schedule of all ranks, made from the schedule of two copies of one rank.

Copy 0 stands for each rank. A task of copy 0 that writes to copy 1 becomes, on each rank, a task
that writes to the rank at a distance. The name of the task states the distance: ``rank0/sum.to3``.
A wait of copy 0 for copy 1 becomes, on each rank, waits for the ranks that send to it.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle, Opcode
from ..bundle.manifest import Buffer, Manifest, Semaphore, Task, Value
from ..bundle.tables import Tables
from .copies import COPIES, PUT, Copies, SemaphoreUse, renamed
from .symmetry import NotSymmetricError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["replicate"]


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


_Position = tuple[int, int]


class _Replication(Copies):
    def __init__(self, pair: Bundle, ranks: int, rank: int, waits_for_all: bool) -> None:
        super().__init__(pair, ranks, rank)
        self._waits_for_all = waits_for_all
        self._times: list[list[int]] = pair.tables.timeline.tolist()
        self._plans = [self._plan(number, use) for number, use in enumerate(self._uses)]

    # -- semaphores of the ranks -------------------------------------------------------------------

    def _plan(self, number: int, use: SemaphoreUse) -> str:
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
                    position = self._task_index[number][1]
                    puts = self._distances[position]
                    for semaphore, distance in self._missing(position, acquired):
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
        """Returns True if the next work item reads a value that copy 1 puts before a signal."""
        for code, subject, _, _ in self._entries[index:last]:
            if code == Opcode.RUN:
                reads = self._reads[self._task_index[subject][1]]
                return not reads.keys().isdisjoint(self._uses[number].reached)
        return False

    def _missing(self, position: int, acquired: dict[int, set[int]]) -> list[tuple[int, int]]:
        """Returns the semaphores and distances for which a task still has to wait.

        The distances are added to those that the lane has acquired.
        """
        reads = self._reads[position]
        result: list[tuple[int, int]] = []
        for number, distances in acquired.items():
            for value in reads.keys() & self._uses[number].reached:
                for distance in reads[value] - distances:
                    distances.add(distance)
                    result.append((number, distance))
        return sorted(result)

    def _arrivals(self, number: int) -> int:
        """Returns the arrivals at a semaphore of one rank, or of the world."""
        use, arrivals = self._uses[number], self._manifest.semaphores[number].arrivals
        if self._plans[number] == "world":
            return arrivals * self._ranks // COPIES
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
        values = [self._values_of(position) for position in range(len(self._tasks))]
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
            base = renamed(record.name, 1, 0)
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
            position = self._task_index[number][1]
            return code, position * self._ranks, 0, 1, b, c, start, duration
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
        for slot, buffer in enumerate(arguments, 1):
            if buffer.stop:
                return slot
        raise NotSymmetricError("copy 0 has no stop flag")

    def _number_values(self) -> None:
        """Numbers buffers and intermediates of the world.

        A value of copy 0 becomes `first + stride * rank`.
        """
        numbers: dict[int, tuple[int, int]] = {}
        self._world_buffers: list[Buffer] = []
        for outputs in (False, True):
            own = self._own_buffers(outputs)
            for position, buffer in enumerate(own):
                numbers[buffer.slot - 1] = len(self._world_buffers) + position, len(own)
            for rank in range(self._ranks):
                for buffer in own:
                    name = renamed(buffer.name, 0, rank)
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
            part = self._manifest.slot_bytes[value.slot] // COPIES
            self._intermediates += [
                Value(slot, rank * part + value.offset, value.bytes) for rank in range(self._ranks)
            ]
        self._numbers = numbers

    def _values_of(self, position: int) -> NDArray[np.int64]:
        """Returns the values of a task of copy 0 at all ranks, ``[ranks, operands]``."""
        distances = iter(self._distances[position])
        rows: list[tuple[int, int, int]] = []
        of_task = self._manifest.tasks[self._tasks[position]].values
        for number, local in zip(of_task, self._values[position], strict=True):
            shift = next(distances) if self._is_remote(number) else 0
            if local not in self._numbers:
                name = self._manifest.tasks[self._tasks[position]].name
                raise NotSymmetricError(f"task {name!r} uses memory of the other copy")
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
                        name=name or renamed(record.name, 0, rank),
                        values=tuple(numbers),
                    )
                )
        return tuple(result)

    def _named(self, name: str, rank: int) -> str:
        """Returns the name of a task or semaphore at a rank, with the ranks to which it puts."""

        def peer(found: re.Match[str]) -> str:
            return f"to{(int(found[1]) + rank - self._rank) % self._ranks}{found[2] or ''}"

        return PUT.sub(peer, renamed(name, 0, rank))

    def _make_manifest(self, tasks: tuple[Task, ...], instructions: NDArray[np.int32]) -> Manifest:
        scale = self._ranks // COPIES if self._ranks % COPIES == 0 else self._ranks / COPIES
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
            arena=old.arena // COPIES * self._ranks,
            packets=old.packets // COPIES * self._ranks,
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
