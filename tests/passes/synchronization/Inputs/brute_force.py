"""Checks schedules by brute force.

The check uses neither boxes nor cells nor vector clocks: it lists the bytes that every vCTA
touches, runs the lanes one item at a time, and compares all pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

BYTES = {"f32": 4, "i32": 4, "f16": 2, "i8": 1, "i64": 8}
# Roots other than arguments, which are numbered from 0.
PACKETS = -1
ARENA = -2


@dataclass
class Operand:
    root: int
    offset: int  # bytes
    dtype: str
    shape: list[int]
    strides: list[int]
    offsets: list[tuple[str, object]]  # text, function of the grid index
    sizes: list[int]
    writes: bool

    def touched(self, index: tuple[int, ...]) -> frozenset[int]:
        size = BYTES[self.dtype]
        ranges = []
        for (_, function), extent, count in zip(self.offsets, self.shape, self.sizes, strict=True):
            begin = function(index)
            ranges.append(range(begin, min(begin + count, extent)))
        result = set()
        for point in itertools.product(*ranges):
            first = self.offset + size * sum(
                p * s for p, s in zip(point, self.strides, strict=True)
            )
            result.update(range(first, first + size))
        return frozenset(result)

    def span(self) -> range:
        """Returns the bytes from the first to the last element."""
        steps = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return range(self.offset, self.offset + BYTES[self.dtype] * (1 + steps))


@dataclass
class Task:
    """A task of the lanes of `rank`. The body of a task that stamps has an `ark.epoch`."""

    name: str
    grid: list[int]
    operands: list[Operand]
    in_place: bool
    rank: int = 0
    stamps: bool = False

    def indices(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(extent) for extent in self.grid)))


@dataclass
class Program:
    """A program; `lanes` holds items: ("run", task, begin, end), ("wait", semaphore), ...

    There is a lane for each SM, and each rank has an equal share of them. `kinds` has the kinds of
    semaphores that are no counters.
    """

    tasks: list[Task]
    lanes: list[list[tuple]] = field(default_factory=list)
    semaphores: list[str] = field(default_factory=list)
    ranks: int = 1
    kinds: dict[str, str] = field(default_factory=dict)


Vcta = tuple[int, int]


@dataclass
class Access:
    """The bytes that one vCTA accesses through one operand. An update reads and writes them."""

    vcta: Vcta
    root: int
    reads: bool
    writes: bool
    touched: frozenset[int]
    word: int  # bytes of an element


def accesses(program: Program) -> Iterator[Access]:
    """Returns all accesses in program order; a vCTA reads before it writes."""
    for number, task in enumerate(program.tasks):
        operands = sorted(task.operands, key=lambda operand: operand.writes)
        for vcta, index in enumerate(task.indices()):
            for operand in operands:
                touched = operand.touched(index)
                reads = task.in_place or not operand.writes
                word = BYTES[operand.dtype]
                yield Access((number, vcta), operand.root, reads, operand.writes, touched, word)


def find_conflicts(task: Task) -> set[Vcta]:
    """Returns the pairs (a, b), a < b, of vCTAs of one task that touch a byte which one of them
    writes.

    Bytes of packets do not count: see `find_senders`.
    """
    touched: list[dict[bool, set[tuple[int, int]]]] = []
    for index in task.indices():
        sets: dict[bool, set[tuple[int, int]]] = {False: set(), True: set()}
        for operand in task.operands:
            if operand.root != PACKETS:
                sets[operand.writes] |= {(operand.root, byte) for byte in operand.touched(index)}
        touched.append(sets)
    return {
        (a, b)
        for (a, of_a), (b, of_b) in itertools.combinations(enumerate(touched), 2)
        if of_a[True] & (of_b[True] | of_b[False]) or of_a[False] & of_b[True]
    }


def has_overlapping_writes(task: Task) -> bool:
    """Returns True if two vCTAs of a task write one byte."""
    written: set[tuple[int, int]] = set()
    for index in task.indices():
        own = {
            (operand.root, byte)
            for operand in task.operands
            if operand.writes
            for byte in operand.touched(index)
        }
        if written & own:
            return True
        written |= own
    return False


def is_correct(program: Program) -> bool:
    if any(not task.in_place and has_overlapping_writes(task) for task in program.tasks):
        return False
    before = execute(program)
    if before is None:
        return False
    # Iterations are separated by one barrier.
    last = {lane[-1] for lane in program.lanes if lane}
    if len(last) != 1 or next(iter(last))[0] != "barrier":
        return False
    return (
        are_packets_whole(program)
        and is_arena_written(program)
        and is_free_of_races(program, before)
    )


def execute(program: Program) -> dict[Vcta, set[Vcta]] | None:
    """Returns the vCTAs that certainly ended before each vCTA begins, or None if a lane is stuck.

    A work item begins when all packets that its vCTAs read have been sent, which orders nothing
    else. Its vCTAs are concurrent.
    """
    lanes = [lane for lane in program.lanes if lane]
    arrivals: dict[str, int] = {}
    for lane in lanes:
        for item in lane:
            if item[0] in ("signal", "barrier"):
                arrivals[item[1]] = arrivals.get(item[1], 0) + 1
    senders = find_senders(program)
    position = [0] * len(lanes)
    given: dict[str, int] = dict.fromkeys(arrivals, 0)
    before: dict[Vcta, set[Vcta]] = {}
    released: dict[str, set] = {name: set() for name in arrivals}
    past: list[set] = [set() for _ in lanes]
    arrived = [False] * len(lanes)
    progress = True
    while progress:
        progress = False
        for number, lane in enumerate(lanes):
            while position[number] < len(lane):
                item = lane[position[number]]
                if item[0] in ("signal", "barrier") and not arrived[number]:
                    given[item[1]] += 1
                    released[item[1]] |= past[number]
                    progress = True
                if item[0] in ("wait", "barrier"):
                    arrived[number] = item[0] == "barrier"
                    if given.get(item[1], 0) < arrivals.get(item[1], 1 << 30):
                        break
                    arrived[number] = False
                    past[number] |= released[item[1]]
                if item[0] == "run":
                    run = [(item[1], vcta) for vcta in range(item[2], item[3])]
                    needed = set().union(*(senders[vcta] for vcta in run))
                    if not needed <= before.keys():
                        break
                    for vcta in run:
                        before[vcta] = set(past[number])
                    past[number].update(run)
                position[number] += 1
                progress = True
    if any(position[number] < len(lane) for number, lane in enumerate(lanes)):
        return None
    return before


def find_senders(program: Program) -> dict[Vcta, set[Vcta]]:
    """Returns, for every vCTA, the vCTAs before it in the program that write packets which it
    reads.
    """
    senders: dict[Vcta, set[Vcta]] = {}
    written: dict[int, set[Vcta]] = {}
    for access in accesses(program):
        of_this = senders.setdefault(access.vcta, set())
        if access.root != PACKETS:
            continue
        for byte in access.touched:
            if access.writes:
                written.setdefault(byte, set()).add(access.vcta)
            else:
                of_this |= written.get(byte, set()) - {access.vcta}
    for number, task in enumerate(program.tasks):
        for vcta in range(len(task.indices())):
            senders.setdefault((number, vcta), set())
    return senders


def are_packets_whole(program: Program) -> bool:
    """Returns True if each packet is written at most once, before all reads, and if each read has
    the word size of the write."""
    written: dict[int, int] = {}
    for access in accesses(program):
        if access.root != PACKETS:
            continue
        if access.writes:
            if written.keys() & access.touched:
                return False
            written |= dict.fromkeys(access.touched, access.word)
        elif any(written.get(byte) != access.word for byte in access.touched):
            return False
    return True


def is_arena_written(program: Program) -> bool:
    """Returns True if a task writes each byte of the arena before a task reads or updates it."""
    written: set[int] = set()
    for access in accesses(program):
        if access.root != ARENA:
            continue
        if access.reads and access.touched - written:
            return False
        if access.writes:
            written |= access.touched
    return True


def is_free_of_races(program: Program, before: dict[Vcta, set[Vcta]]) -> bool:
    """Returns True if conflicting accesses are ordered as in the program."""
    touched: dict[Vcta, dict[tuple[int, bool], set[int]]] = {}
    for access in accesses(program):
        if access.root != PACKETS:
            sets = touched.setdefault(access.vcta, {})
            sets.setdefault((access.root, access.writes), set()).update(access.touched)
    for (a, of_a), (b, of_b) in itertools.combinations(touched.items(), 2):
        conflict = any(
            root_a == root_b and (writes_a or writes_b) and not bytes_a.isdisjoint(bytes_b)
            for (root_a, writes_a), bytes_a in of_a.items()
            for (root_b, writes_b), bytes_b in of_b.items()
        )
        if conflict and a not in before[b]:
            return False
    return True
