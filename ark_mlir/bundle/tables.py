"""The schedule's tables as arrays, and the checks that every index in them is in range.

The kernel does not check the tables: a wrong index would make it access arbitrary memory. Each
field is therefore checked against the manifest before a kernel is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BundleError, shorten
from .format import MAX_LANES
from .operand_checks import check_declarations, check_operands

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .manifest import Manifest


class Opcode(IntEnum):
    """Operation codes of instructions (docs/bundle.md).

    Example:
        >>> tables = ark.bundle.read_bundle("mlp.arkbin").tables
        >>> [Opcode(code).name for code in tables.instructions[:2, 0]]
        ['RUN', 'BARRIER']
    """

    RUN = 0
    SIGNAL = 1
    WAIT = 2
    BARRIER = 3
    PREFETCH = 4
    STOP = 5


@dataclass(frozen=True)
class Tables:
    """The schedule: read-only arrays that share memory with the bundle.

    Attributes:
        instructions: int32 ``[I, 4]``: opcode and three fields.
        lanes: int32 ``[L, 3]``: SM, first instruction, one past the last instruction.
        tasks: int32 ``[T, 2]``: body, first entry in `operands`.
        operands: int64 ``[P, 2]``: slot, byte offset.
        timeline: int64 ``[I, 2]``: predicted start and duration in ns.

    Example:
        >>> tables = ark.bundle.read_bundle("mlp.arkbin").tables
        >>> tables.lanes.shape, tables.lane_of.shape == tables.timeline.shape[:1]
        ((2, 3), True)
    """

    instructions: NDArray[np.int32]
    lanes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    operands: NDArray[np.int64]
    timeline: NDArray[np.int64]

    @cached_property
    def lane_of(self) -> NDArray[np.int64]:
        """The lane of each instruction, ``[I]``."""
        sizes = self.lanes[:, 2] - self.lanes[:, 1]
        return np.repeat(np.arange(len(self.lanes)), sizes)

    @cached_property
    def signals(self) -> NDArray[np.bool_]:
        """Mask of the instructions that add to a semaphore, ``[I]``."""
        return np.isin(self.instructions[:, 0], (Opcode.SIGNAL, Opcode.BARRIER))

    @cached_property
    def waits(self) -> NDArray[np.bool_]:
        """Mask of the instructions that wait for a semaphore, ``[I]``."""
        return np.isin(self.instructions[:, 0], (Opcode.WAIT, Opcode.BARRIER))

    @cached_property
    def packets(self) -> dict[int, NDArray[np.int64]]:
        """The rank packets, by semaphore: the byte offsets in the arena of the first and
        the last packet of every arrival, int64 ``[arrivals, 2]``.

        All waits for a semaphore refer to the same entries of `operands`, so that the first wait
        has the entries of all.
        """
        entries = self.instructions[self.instructions[:, 0] == Opcode.WAIT]
        entries = entries[entries[:, 3] != 0, 1:]
        _, first_waits = np.unique(entries[:, 0], return_index=True)
        return {
            semaphore: np.reshape(self.operands[entry : entry + 2 * arrivals, 1], (arrivals, 2))
            for semaphore, arrivals, entry in entries[first_waits].tolist()
        }

    @cached_property
    def predicted_ns(self) -> int:
        """The predicted end of the last instruction, in ns."""
        return int(self.timeline.sum(axis=1).max(initial=0))


_SHAPES: dict[str, tuple[str, int]] = {
    "instructions": ("<i4", 4),
    "lanes": ("<i4", 3),
    "tasks": ("<i4", 2),
    "operands": ("<i8", 2),
    "timeline": ("<i8", 2),
}


def parse_tables(manifest: Manifest, sections: Mapping[str, memoryview], where: str) -> Tables:
    """Returns the tables of a bundle.

    Raises BundleError if an entry is out of range, or if entries contradict each other or the
    manifest.
    """
    arrays = {name: _array(name, sections[name], where) for name in _SHAPES}
    tables = Tables(**arrays)
    check_declarations(manifest, where)
    check = _Checks(manifest, tables, where)
    check.lanes()
    check.tasks()
    check.operands()
    check.instructions()
    check.coverage()
    check.arrivals()
    check.timeline()
    return tables


def _array(name: str, data: memoryview, where: str) -> NDArray[Any]:
    dtype, columns = _SHAPES[name]
    entry = np.dtype(dtype).itemsize * columns
    if data.nbytes % entry:
        raise BundleError(
            f"section {name}: {data.nbytes} bytes are not a multiple of {entry} (an entry)",
            location=where,
        )
    array = np.ndarray((data.nbytes // entry, columns), dtype, data)
    array.flags.writeable = False
    return array


class _Checks:
    """The checks of all tables; each relies on the checks that `parse_tables` calls earlier."""

    def __init__(self, manifest: Manifest, tables: Tables, where: str) -> None:
        self._manifest = manifest
        self._tables = tables
        self._where = where

    def _refuse(self, table: str, bad: NDArray[np.bool_], problem: str) -> None:
        """Raises BundleError with `problem` for the first entry of a table whose `bad` is True."""
        if bad.any():
            index = int(np.argmax(bad))
            entry = getattr(self._tables, table)[index].tolist()
            raise BundleError(f"{table}[{index}] {entry}: {problem}", location=self._where)

    def lanes(self) -> None:
        lanes = self._tables.lanes
        count = len(self._tables.instructions)
        if not 0 < len(lanes) <= MAX_LANES:
            raise BundleError(
                f"lanes: there are {len(lanes)} lanes; the limits are 1 and {MAX_LANES}",
                location=self._where,
            )
        sms = self._manifest.target.sms
        self._refuse(
            "lanes", (lanes[:, 0] < 0) | (lanes[:, 0] >= sms), f"the SM is not in [0, {sms})"
        )
        first, last = lanes[:, 1], lanes[:, 2]
        self._refuse("lanes", (first < 0) | (last < first), "not a range of instructions")
        begins = np.concatenate(([0], last[:-1]))
        self._refuse("lanes", first != begins, "does not begin where the lane before it ends")
        self._refuse("lanes", last > count, f"ends past the {count} instructions")
        if int(last[-1]) != count:
            raise BundleError(
                f"lanes: instructions from {int(last[-1])} on belong to no lane",
                location=self._where,
            )

    def tasks(self) -> None:
        tasks, described = self._tables.tasks, self._manifest.tasks
        if len(tasks) != len(described):
            raise BundleError(
                f"tasks: {len(tasks)} entries for {len(described)} tasks of the manifest",
                location=self._where,
            )
        bodies = np.array([task.body for task in described], np.int64)
        self._refuse("tasks", tasks[:, 0] != bodies, "the body differs from the manifest")
        counts = np.array([len(task.values) for task in described], np.int64)
        entries = len(self._tables.operands)
        first = tasks[:, 1].astype(np.int64)
        self._refuse(
            "tasks",
            (first < 0) | (first + counts > entries),
            f"its operands are not in [0, {entries})",
        )

    def operands(self) -> None:
        sizes = np.array(self._manifest.slot_bytes, np.int64)
        entries = self._tables.operands
        slots, offsets = entries[:, 0], entries[:, 1]
        self._refuse(
            "operands", (slots < 0) | (slots >= len(sizes)), f"there are {len(sizes)} slots"
        )
        # Offset 0 is valid in an empty buffer, too.
        limits = np.maximum(sizes[slots], 1)
        self._refuse(
            "operands", (offsets < 0) | (offsets >= limits), "the offset is outside the buffer"
        )
        first = self._tables.tasks[:, 1].astype(np.int64)
        check_operands(self._manifest, first, entries, self._refuse)

    def instructions(self) -> None:
        entries = self._tables.instructions
        code, a, b, c = entries[:, 0], entries[:, 1], entries[:, 2], entries[:, 3]
        self._refuse("instructions", (code < 0) | (code > max(Opcode)), "no such opcode")
        on_task = np.isin(code, (Opcode.RUN, Opcode.PREFETCH))
        tasks = len(self._manifest.tasks)
        self._refuse("instructions", on_task & ((a < 0) | (a >= tasks)), f"there are {tasks} tasks")
        vctas = np.array([task.vctas for task in self._manifest.tasks] or [0], np.int64)
        limit = vctas[np.where(on_task, a, 0)]
        self._refuse(
            "instructions",
            on_task & ((b < 0) | (c <= b) | (c > limit)),
            "not a range of vCTAs of the task",
        )
        stops = code == Opcode.STOP
        self._refuse(
            "instructions",
            stops & ~np.isin(a, self._stop_slots()),
            "the slot is not a state that ends the launch",
        )
        semaphores = len(self._manifest.semaphores)
        self._refuse(
            "instructions",
            ~on_task & ~stops & ((a < 0) | (a >= semaphores)),
            f"there are {semaphores} semaphores",
        )
        self._refuse(
            "instructions", self._tables.waits & (b < 1), "waits for less than one arrival"
        )
        by_packets = self._uses_packets()
        unused = np.where((code == Opcode.SIGNAL) | stops, b, 0)
        unused = unused | np.where(on_task | by_packets, 0, c)
        self._refuse("instructions", unused != 0, "an unused field is not zero")
        self._refuse(
            "instructions",
            by_packets & (code == Opcode.SIGNAL) & (c != 1),
            "field 3 of a signal by packets is not 1",
        )
        waits = by_packets & (code == Opcode.WAIT)
        end = c.astype(np.int64) + 2 * b.astype(np.int64)
        beyond = waits & ((c < 0) | (end > len(self._tables.operands)))
        self._refuse("instructions", beyond, "its packets are not in the table of operands")
        self._refuse(
            "instructions",
            self._has_invalid_packets(),
            "its entries of operands are not rank packets",
        )
        self._refuse(
            "instructions",
            self._has_other_packets(),
            "has other packets than an earlier wait for the same semaphore",
        )

    def _uses_packets(self) -> NDArray[np.bool_]:
        """Returns the mask of signals and waits whose semaphore has packets and no counter."""
        kinds = [semaphore.handoff for semaphore in self._manifest.semaphores] or [""]
        entries = self._tables.instructions
        on_semaphore = np.isin(entries[:, 0], (Opcode.SIGNAL, Opcode.WAIT)) & (entries[:, 3] != 0)
        return on_semaphore & (
            np.array(kinds)[np.where(on_semaphore, entries[:, 1], 0)] == "packet"
        )

    def _has_invalid_packets(self) -> NDArray[np.bool_]:
        """Returns the mask of waits for operands that are not rank packets in the arena.

        Takes linear time: prefix sums count the wrong entries, since a loop over the entries of
        each wait would visit entries that waits share again and again.
        """
        entries = self._tables.instructions
        waits = (entries[:, 0] == Opcode.WAIT) & (entries[:, 3] != 0)
        slots, offsets = self._tables.operands[:, 0], self._tables.operands[:, 1]
        first, last = offsets[:-1], offsets[1:]
        bad = (slots[:-1] != 0) | (slots[1:] != 0) | (first % 8 != 0) | (last % 8 != 0)
        bad |= (first > last) | (last + 8 > self._manifest.arena)
        # The number of wrong pairs among the pairs that begin at entry e, e + 2, e + 4, …
        bad_from = np.zeros(len(slots) + 2, np.int64)
        for begin in (0, 1):
            pairs = bad[begin::2]
            bad_from[begin : begin + 2 * len(pairs) : 2] = np.cumsum(pairs[::-1])[::-1]
        begins = np.where(waits, entries[:, 3], 0).astype(np.int64)
        ends = begins + np.where(waits, 2 * entries[:, 2].astype(np.int64), 0)
        return waits & (bad_from[begins] != bad_from[ends])

    def _has_other_packets(self) -> NDArray[np.bool_]:
        """Returns the mask of waits for other packets than an earlier wait for the same semaphore.

        The first entries of the packets are compared.
        """
        entries = self._tables.instructions
        waits = np.flatnonzero((entries[:, 0] == Opcode.WAIT) & (entries[:, 3] != 0))
        _, first, groups = np.unique(entries[waits, 1], return_index=True, return_inverse=True)
        begins = entries[waits, 3]
        result = np.zeros(len(entries), np.bool_)
        result[waits] = begins != begins[first][groups]
        return result

    def _stop_slots(self) -> list[int]:
        """Returns the slots of the states that can end a launch."""
        return [buffer.slot for buffer in self._manifest.states if buffer.stop]

    def coverage(self) -> None:
        """Checks that every vCTA runs exactly once, so that each result is written exactly once."""
        entries = self._tables.instructions
        runs = entries[entries[:, 0] == Opcode.RUN][:, 1:].astype(np.int64)
        runs = runs[np.lexsort((runs[:, 1], runs[:, 0]))]
        vctas = np.array([task.vctas for task in self._manifest.tasks], np.int64)
        same = runs[1:, 0] == runs[:-1, 0]
        expected = (
            np.concatenate(([0], np.where(same, runs[:-1, 2], 0))) if len(runs) else runs[:, 1]
        )
        wrong = runs[:, 1] != expected
        if wrong.any():
            task, begin, _ = runs[int(np.argmax(wrong))].tolist()
            before = int(expected[int(np.argmax(wrong))])
            kind = "never runs" if begin > before else "runs twice"
            raise self._uncovered(task, min(begin, before), kind)
        covered = np.bincount(runs[:, 0], runs[:, 2] - runs[:, 1], len(vctas)).astype(np.int64)
        short = covered != vctas
        if short.any():
            task = int(np.argmax(short))
            raise self._uncovered(task, int(covered[task]), "never runs")

    def _uncovered(self, task: int, vcta: int, kind: str) -> BundleError:
        name = self._manifest.tasks[task].name
        return BundleError(
            f"instructions: vCTA {vcta} of task {task} {shorten(name)} {kind}",
            location=self._where,
        )

    def arrivals(self) -> None:
        """Checks that each wait waits for all arrivals of its semaphore.

        A wait for fewer arrivals could end too early in a later iteration.
        """
        entries = self._tables.instructions
        semaphores = len(self._manifest.semaphores)
        signals = np.bincount(entries[self._tables.signals, 1], minlength=max(semaphores, 1))
        waits = self._tables.waits
        arriving = signals[np.where(waits, entries[:, 1], 0)]
        self._refuse(
            "instructions",
            waits & (entries[:, 2] < arriving),
            "waits for fewer arrivals than its semaphore gets in an iteration",
        )
        self._refuse(
            "instructions",
            self._uses_packets() & waits & (entries[:, 2] > arriving),
            "waits for more packets than are sent",
        )

    def timeline(self) -> None:
        timeline, count = self._tables.timeline, len(self._tables.instructions)
        if len(timeline) != count:
            raise BundleError(
                f"timeline: {len(timeline)} entries for {count} instructions", location=self._where
            )
        # The sum of two times up to this limit fits into 64 bits.
        limit = 1 << 60
        outside = (timeline < 0) | (timeline > limit)
        self._refuse("timeline", outside[:, 0] | outside[:, 1], "not a time in ns")
