"""A failed wait of one GPU is reported in terms of the program of all ranks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from collective_programs import everything

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.runtime.drivers.abi import Abort
from ark_mlir.runtime.drivers.interface import Outcome, Stop
from ark_mlir.runtime.ranks.linking import LinkedRank, link
from ark_mlir.runtime.ranks.outcomes import join_outcomes

EPOCH = 3


@pytest.fixture(scope="module")
def joined() -> Bundle:
    return ark.compile([everything(rank, 2, ark.fp32) for rank in range(2)], target="cpu:2").bundle


def find_wait(joined: Bundle, linked: list[LinkedRank], opcode: Opcode) -> tuple[int, int]:
    """Returns a rank, and the second of the two waits that replace one of its instructions."""
    for rank, part in enumerate(linked):
        rows = part.bundle.tables.instructions
        for index in np.flatnonzero(rows[:, 0] == Opcode.WAIT).tolist():
            code, semaphore = joined.tables.instructions[part.origins[index], :2].tolist()
            counters = part.counters[semaphore]
            if code == opcode and len(counters) == 2 and rows[index, 1] == counters[1]:
                return rank, index
    raise AssertionError(f"no linked {opcode.name} has two waits")


def fail(joined: Bundle, linked: list[LinkedRank], rank: int, index: int, seen: int) -> Outcome:
    """Returns the outcome of a run in which this wait lacks arrivals of other GPUs."""
    part = linked[rank]
    _, number, arrivals, _ = part.bundle.tables.instructions[index].tolist()
    counters = np.full(len(part.bundle.manifest.semaphores), 100, np.uint64)
    counters[number] = seen
    stop = Stop(Abort.HANG, 0, index, number, seen, EPOCH * arrivals)
    lanes = [(0,) * len(part.lanes) for part in linked]
    outcomes = [Outcome(codes) for codes in lanes]
    outcomes[rank] = Outcome(lanes[rank], stop, counters=counters)
    return join_outcomes(joined, linked, outcomes)


def test_a_wait_for_two_counters(joined: Bundle) -> None:
    """The report has the arrivals of both counters."""
    linked = link(joined)
    rank, index = find_wait(joined, linked, Opcode.WAIT)
    stop = fail(joined, linked, rank, index, seen=2).stop
    origin = int(linked[rank].origins[index])
    _, semaphore, arrivals, _ = joined.tables.instructions[origin].tolist()
    assert (stop.instruction, stop.semaphore) == (origin, semaphore)
    assert (stop.seen, stop.expected) == (102, EPOCH * arrivals)


def test_the_second_level_of_a_barrier(joined: Bundle) -> None:
    """The report has the lanes of all GPUs that have arrived."""
    linked = link(joined)
    rank, index = find_wait(joined, linked, Opcode.BARRIER)
    outcome = fail(joined, linked, rank, index, seen=2)
    barrier = joined.tables.instructions[linked[rank].origins[index]]
    assert (outcome.stop.seen, outcome.stop.expected) == (100, EPOCH * int(barrier[2]))
    assert int(outcome.counters[barrier[1]]) == 100


def test_a_counter_is_the_least_of_all_gpus_that_wait(joined: Bundle) -> None:
    linked = link(joined)
    outcomes: list[Outcome] = []
    for rank, part in enumerate(linked):
        counters = np.full(len(part.bundle.manifest.semaphores), 10 + rank, np.uint64)
        outcomes.append(Outcome((0,) * len(part.lanes), counters=counters))
    result = join_outcomes(joined, linked, outcomes).counters
    for number, name in enumerate(s.name for s in joined.manifest.semaphores):
        counts = [len(part.counters[number]) * (10 + r) for r, part in enumerate(linked)]
        waiting = [count for count in counts if count]
        assert result[number] == (21 if name == "end" else min(waiting))
