"""The hand-offs of CUDA kernels in PTX's memory model, in all executions.

No execution reads stale data, reads a later value or has a data race. Each weaker instruction
permits such an execution, unless EQUIVALENT has a reason why it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from litmus import Version, explore, find_races, last_values
from litmus.hand_offs import (
    HAND_OFFS,
    LARGER,
    Case,
    HandOff,
    Rows,
    barrier,
    barrier_of,
    counter_of_two_gpus,
    make,
    never,
    two_barriers,
)
from litmus.kernel_texts import Primitives, read_texts
from litmus.mutations import find_problem, list_mutants

from ark_mlir.bundle import Opcode
from ark_mlir.runtime.drivers.abi import RANK_COUNTERS
from ark_mlir.runtime.ranks.linked_semaphore import Entry, LinkedSemaphore

PASSES = Path(__file__).parents[4] / "passes"

OWN_GPU = (
    "Only lanes of the same GPU access the word, for which the scope of the GPU suffices. The text "
    "serves words of several GPUs, too, where the mutant is caught."
)
NO_DATA = "No data follows the wait. The models of test_protocols.py have this mistake."
LATER = "Lane 0 itself tells the host, with a later release that covers its earlier stores."
# The mutants that permit no other outcome, by hand-off.
EQUIVALENT: dict[str, dict[str, str]] = {
    "claim of the report": {"2.0 load.relaxed.gpu abort until 1: dropped": NO_DATA},
    "answer": {"0.0 add.release.gpu a: relaxed": LATER},
    "put of two lanes": {"1.1 load.acquire.sys c until 1: scope gpu": OWN_GPU},
    "counter of two GPUs": {"2.0 load.acquire.sys c0.0 until 1: scope gpu": OWN_GPU},
    "barrier of (2, 2) lanes": {
        f"{lane}.2 load.acquire.sys c0.{lane // 2} until 2: scope gpu": OWN_GPU for lane in range(4)
    },
    "barrier of (2, 2) lanes, reuse": {
        f"{lane}.2 load.acquire.sys c0.{lane // 2} until 2: scope gpu": OWN_GPU for lane in range(4)
    },
    "stop": {
        "0.0 store.relaxed.sys s.0: scope gpu": OWN_GPU,
        "1.0 load.relaxed.sys s.0: scope gpu": OWN_GPU,
    },
    "begin of the kernels": {
        f"{gpu}.1 load.relaxed.sys b.{gpu} until 1: dropped": NO_DATA for gpu in range(2)
    },
}

each_version = pytest.mark.parametrize("version", list(Version), ids=lambda v: v.value)
each_hand_off = pytest.mark.parametrize("hand_off", HAND_OFFS, ids=lambda h: h.name)


@each_version
@pytest.mark.parametrize("hand_off", [*HAND_OFFS, *LARGER], ids=lambda h: h.name)
def test_no_execution_goes_wrong(hand_off: HandOff, version: Version) -> None:
    assert find_problem(hand_off, version) == ""


@each_version
@each_hand_off
def test_each_weaker_instruction_shows(hand_off: HandOff, version: Version) -> None:
    mutants = list(list_mutants(hand_off))
    assert len(mutants) >= 5
    survivors = {m.name for m in mutants if not find_problem(m.hand_off, version)}
    assert survivors == set(EQUIVALENT.get(hand_off.name, {}))


@each_version
def test_a_gpu_that_is_an_iteration_ahead(version: Version) -> None:
    """A signal of the second barrier may arrive before another GPU's signal of the first one."""
    assert find_problem(two_barriers((1, 1, 1)), version) == ""


def test_reasons_are_about_hand_offs() -> None:
    assert set(EQUIVALENT) <= {hand_off.name for hand_off in HAND_OFFS}


# -- the texts of kernels --------------------------------------------------------------------------


def test_every_access_of_the_texts_is_explored() -> None:
    """A new access in a text needs a hand-off. Other packets differ in their width alone."""
    explored = {
        "ark_add_release",
        "ark_add_remote_arrival",
        "ark_load_acquire",
        "ark_load_arrivals",
        "ark_load_from_peers",
        "ark_load_host",
        "ark_load_packets",
        "ark_load_relaxed",
        "ark_send_packet",
        "ark_set_if_zero",
        "ark_store_host",
        "ark_store_release",
        "ark_store_remote",
    }
    widths = {
        "ark_load_packet": "u32",
        "ark_load_two_packets": "v2.u32",
        "ark_load_wide_packet": "u64",
        "ark_load_wide_packets": "v2.u64",
    }
    assert set(read_texts()) == explored | {"ark_send_wide_packet"} | set(widths)
    for ranks in (False, True):
        ops = Primitives(ranks)
        assert ops.send.replace("u32", "u64") == ops.find("ark_send_wide_packet", "st")
        for function, width in widths.items():
            assert ops.receive.replace("v4.u32", width) == ops.find(function, "ld")


def test_ranks_on_one_gpu_use_the_primitives_of_one_gpu() -> None:
    text = (PASSES / "kernel/LocalRanks.mlir").read_text(encoding="utf-8")
    assert "call @ark_add_release(%counter)" in text
    assert "call @ark_load_acquire(%counter)" in text


# -- mistakes in linking ---------------------------------------------------------------------------


def test_signals_of_two_scopes_are_no_hand_off() -> None:
    """Before linking had two counters, an own signal and one of another GPU met at one counter."""
    shared = counter_of_two_gpus(remote=None)
    assert find_problem(shared).startswith("reads")
    signals = Primitives(ranks=True)
    program = make((0, 0, f"{signals.signal} c, 1"), (1, 1, f"{signals.signal_peer} c, 1"))
    sums = {value for execution in explore(program) for value in last_values(execution, "c")}
    assert sums == {1, 2}
    assert find_races(program)


def one_counter_of_all_gpus(
    semaphore: LinkedSemaphore, rank: int, is_first: bool
) -> Iterator[Entry]:
    """The second level as it was: the first lane signals its own GPU, too."""
    yield (Opcode.SIGNAL, 0, 0, 0)
    if is_first:
        yield (Opcode.WAIT, 0, semaphore.arrivals[rank], 0)
        for waiter in semaphore.waiters:
            yield (Opcode.SIGNAL, (waiter - rank) * RANK_COUNTERS + 1, 0, 0)
    yield (Opcode.WAIT, 1, len(semaphore.waiters), 0)


def drop(code: int, number: int) -> Rows:
    """Returns barriers without the waits for a counter, or the signals to it."""

    def link(semaphore: LinkedSemaphore, rank: int, is_first: bool) -> Iterator[Entry]:
        for row in semaphore.barrier(rank, is_first):
            if (row[0], row[1] % RANK_COUNTERS) != (code, number):
                yield row

    return link


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(one_counter_of_all_gpus, id="one counter of all GPUs"),
        pytest.param(drop(Opcode.WAIT, 0), id="no wait of the first level"),
        pytest.param(drop(Opcode.WAIT, 1), id="no wait of the second level"),
    ],
)
def test_other_barriers_read_stale_data(rows: Rows) -> None:
    assert find_problem(barrier((2, 2), rows)).startswith("reads")


@pytest.mark.parametrize("number", [0, 1])
def test_a_barrier_without_signals_never_ends(number: int) -> None:
    assert find_problem(barrier((2, 2), drop(Opcode.SIGNAL, number))) == "never ends"


def test_a_barrier_of_one_rank_needs_one_level() -> None:
    rows = list(LinkedSemaphore(3, (1,), (0, 2), is_barrier=True).barrier(1, True))
    assert rows == [(Opcode.SIGNAL, 3, 0, 0), (Opcode.WAIT, 3, 2, 0)]


def test_both_levels_have_counters_of_their_own() -> None:
    assert barrier_of((2, 1)).counters(0) == (0, 1)


def test_a_problem_of_a_later_case_is_found() -> None:
    good = Case(make((0, 0, "st x, 1; r = ld x")), never({"r": 0}))
    bad = Case(make((0, 0, "st x, 1; r = ld x")), never({"r": 1}))
    assert find_problem(HandOff("two cases", (good, bad))) == "reads {'r': 1}"
