"""Linking of a program of several ranks for a GPU of each rank.

The linked tables are executed by an interpreter that takes the lanes in a random order. A wait of
the program must end after all arrivals of its iteration, and every lane must end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from collective_programs import everything

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode, Tables
from ark_mlir.runtime.drivers.abi import RANK_COUNTERS
from ark_mlir.runtime.ranks.linking import LinkedRank, link

ITERATIONS = 3


def compile_world(size: int, **options: Any) -> Bundle:
    programs = [everything(rank, size, ark.fp32) for rank in range(size)]
    return ark.compile(programs, target="cpu:2", **options).bundle


class Machine:
    """GPUs with counters, whose lanes execute linked instructions one at a time."""

    def __init__(self, joined: Bundle, linked: list[LinkedRank], seed: int) -> None:
        self.joined = joined
        self.linked = linked
        self.rng = np.random.default_rng(seed)
        self.counters: Counter[tuple[int, int]] = Counter()
        # The number of times that each signal of the joined program was executed.
        self.signals: Counter[int] = Counter()
        self.problems: list[str] = []

    def run(self) -> None:
        """Executes all lanes; raises AssertionError if some of them never end."""
        lanes = [
            self._lane(rank, lane)
            for rank, part in enumerate(self.linked)
            for lane in range(len(part.bundle.tables.lanes))
        ]
        # A lane rests in most rounds or in none, so that lanes are late by an iteration.
        rests = self.rng.choice([0, 0.95], len(lanes)).tolist()
        while lanes:
            order = self.rng.permutation(len(lanes))
            ended, moved = set[int](), False
            for index in order.tolist():
                if moved and self.rng.random() < rests[index]:
                    continue
                for progress in lanes[index]:
                    moved = moved or progress
                    break
                else:
                    ended.add(index)
            assert moved or ended, "no lane can go on"
            rests = [rest for index, rest in enumerate(rests) if index not in ended]
            lanes = [lane for index, lane in enumerate(lanes) if index not in ended]

    def _lane(self, rank: int, lane: int) -> Iterator[bool]:
        """Executes one lane; yields whether it made progress."""
        part = self.linked[rank]
        tables = part.bundle.tables
        _, first, last = tables.lanes[lane].tolist()
        for iteration in range(ITERATIONS):
            for index in range(first, last):
                code, a, b, _ = tables.instructions[index].tolist()
                if code == Opcode.SIGNAL:
                    gpu, counter = divmod(a, RANK_COUNTERS)
                    self.counters[rank + gpu, counter] += 1
                    self._count_signal(part, index)
                elif code == Opcode.WAIT:
                    while self.counters[rank, a] < (iteration + 1) * b:
                        yield False
                    self._check_wait(part, index, iteration)
                yield True

    def _count_signal(self, part: LinkedRank, index: int) -> None:
        """Counts a signal of the joined program when the first of its linked signals is made."""
        if index == 0 or part.origins[index - 1] != part.origins[index]:
            self.signals[int(part.origins[index])] += 1

    def _check_wait(self, part: LinkedRank, index: int, iteration: int) -> None:
        """At the end of a wait of the joined program, all arrivals have happened."""
        origin = int(part.origins[index])
        if index + 1 < len(part.origins) and part.origins[index + 1] == origin:
            return  # the first of two counters
        rows, tables = self.joined.tables.instructions, self.joined.tables
        semaphore = int(rows[origin, 1])
        for signal in np.flatnonzero(tables.signals & (rows[:, 1] == semaphore)).tolist():
            if self.signals[signal] <= iteration:
                self.problems.append(f"wait {origin} ended before signal {signal}")


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("collectives", ["one-shot", "ring"])
def test_a_wait_ends_after_all_arrivals(size: int, collectives: str) -> None:
    joined = compile_world(size, collectives=collectives)
    linked = link(joined)
    for seed in range(20):
        machine = Machine(joined, linked, seed)
        machine.run()
        assert not machine.problems


def test_the_interpreter_sees_a_wait_that_ends_early() -> None:
    """A wait for one arrival fewer fails, so that the test above can fail."""
    joined = compile_world(2)
    linked = link(joined)
    part = linked[0]
    rows = np.array(part.bundle.tables.instructions)
    wait = np.flatnonzero((rows[:, 0] == Opcode.WAIT) & (rows[:, 2] > 1))[-1]
    rows[wait, 2] -= 1
    tables = replace(part.bundle.tables, instructions=rows)
    linked[0] = part._replace(bundle=replace(part.bundle, tables=tables))
    found: list[str] = []
    for seed in range(50):
        machine = Machine(joined, linked, seed)
        machine.run()
        found += machine.problems
    assert found


def test_each_rank_has_its_lanes_and_tasks() -> None:
    joined = compile_world(3)
    parts = link(joined)
    lanes = np.concatenate([part.lanes for part in parts])
    assert sorted(lanes.tolist()) == list(range(len(joined.tables.lanes)))
    for rank, part in enumerate(parts):
        rows = part.bundle.tables.instructions
        tasks = np.unique(rows[rows[:, 0] == Opcode.RUN, 1]).tolist()
        names = [joined.manifest.tasks[task].name for task in tasks]
        assert names
        assert all(name.startswith(f"rank{rank}/") for name in names)
        assert {buffer.rank for buffer in part.bundle.manifest.inputs} == {rank}


def test_signals_name_the_gpu_that_waits() -> None:
    joined = compile_world(2)
    first, second = link(joined)
    for part, distance in ((first, 1), (second, -1)):
        rows = part.bundle.tables.instructions
        signals = rows[rows[:, 0] == Opcode.SIGNAL, 1]
        assert set((signals // RANK_COUNTERS).tolist()) == {0, distance}
        waits = rows[rows[:, 0] == Opcode.WAIT, 1]
        assert waits.min() >= 0
        assert waits.max() < RANK_COUNTERS


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("collectives", ["one-shot", "ring"])
def test_a_counter_has_signals_of_one_scope(size: int, collectives: str) -> None:
    """Signals have the scope of the GPU on the own GPU, and that of the system on others."""
    scopes: dict[tuple[int, int], set[str]] = {}
    waits: set[tuple[int, int]] = set()
    for rank, part in enumerate(link(compile_world(size, collectives=collectives))):
        rows = part.bundle.tables.instructions
        for index in rows[rows[:, 0] == Opcode.SIGNAL, 1].tolist():
            distance, counter = divmod(index, RANK_COUNTERS)
            scope = "system" if distance else "GPU"
            scopes.setdefault((rank + distance, counter), set()).add(scope)
        waits |= {(rank, int(counter)) for counter in rows[rows[:, 0] == Opcode.WAIT, 1]}
    assert waits == set(scopes)
    assert {scope for found in scopes.values() for scope in found} == {"GPU", "system"}
    assert [counter for counter, found in scopes.items() if len(found) > 1] == []


def test_a_semaphore_with_signals_of_its_own_and_another_gpu() -> None:
    """The semaphore has two counters on each GPU, and a wait for each counter."""
    joined = compile_world(2)
    for rank, part in enumerate(link(joined)):
        rows = part.bundle.tables.instructions
        semaphores = part.bundle.manifest.semaphores
        split = [counters for counters in part.counters if len(counters) == 2]
        assert split
        for own, remote in split:
            assert semaphores[remote].name == f"{semaphores[own].name}.peers"
            for counter in (own, remote):
                waits = rows[(rows[:, 0] == Opcode.WAIT) & (rows[:, 1] == counter)]
                assert set(waits[:, 2].tolist()) == {semaphores[counter].arrivals}, rank


def find_space(tables: Tables, world: int) -> int:
    """Returns the number of linked instructions for which a kernel has space in each lane, as
    passes/target/tables/CachedTables.cpp computes it."""
    codes = tables.instructions[:, 0]
    lengths = np.ones(len(codes), np.int64)
    lengths[np.isin(codes, (Opcode.SIGNAL, Opcode.STOP))] = world
    lengths[codes == Opcode.WAIT] = 2 if world > 1 else 1
    lengths[codes == Opcode.BARRIER] = world + 3 if world > 1 else 1
    return int(np.bincount(tables.lane_of, lengths).max(initial=0))


def test_linked_lanes_fit_into_the_kernel() -> None:
    for size in (2, 3):
        joined = compile_world(size)
        space = find_space(joined.tables, size)
        for part in link(joined):
            lanes = part.bundle.tables.lanes
            assert (lanes[:, 2] - lanes[:, 1]).max() <= space


def test_the_space_of_a_kernel() -> None:
    """The table and the figures are those of tests/passes/target/tables/cached-tables.mlir."""
    codes = [0, 1, 3, 2, 4, 5, 3]
    tables = replace(
        compile_world(2).tables,
        instructions=np.array([(code, 0, 0, 0) for code in codes], np.int32),
        lanes=np.array([(0, 0, 3), (1, 3, 7)], np.int32),
    )
    assert [find_space(tables, size) for size in (1, 2, 3)] == [4, 10, 12]


def test_a_stop_reaches_every_rank() -> None:
    programs: list[ark.Program] = []
    for rank in range(2):
        with ark.Program("count", rank=rank, world_size=2) as program:
            total = ark.state("total", (1,), ark.int32)
            done = ark.state("done", (1,), ark.int32)
            total = ark.update(total, total + ark.all_reduce(ark.constant([1], ark.int32)), (0,))
            ark.update(done, ark.cast(ark.greater(total, 6), ark.int32), (0,))
            ark.stop_when(done)
        programs.append(program)
    joined = ark.compile(programs, target="cpu:1").bundle
    stops = [
        part.bundle.tables.instructions[part.bundle.tables.instructions[:, 0] == Opcode.STOP, 2]
        for part in link(joined)
    ]
    assert sorted(np.concatenate(stops).tolist()) in ([-1, 0], [0, 1])


def test_more_counters_than_a_gpu_has(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = compile_world(2)
    monkeypatch.setattr("ark_mlir.runtime.ranks.linking.FREE_COUNTERS", 3)
    with pytest.raises(
        ark.UnsupportedError, match=r"has \d+ counters; the limit for several ranks is 3"
    ):
        link(joined)
