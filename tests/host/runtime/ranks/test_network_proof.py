"""The proof of schedules with copies between domains, against a model of the network.

A schedule of two ranks is mutated at random. If the proof accepts a mutant, no interleaving of the
lanes and the network over two iterations reads a wrong value.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest
from explorer import ViolationError, explore
from network_protocol import Instruction, Lane, Network, Program, expect, put, signal, store, wait

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.compiler.stages import run_passes

ITERATIONS = 2
COUNT = 400
# SMs of each rank. The last SM of a rank starts copies.
SMS = 3

_TYPE = "memref<4xf32>"
_TILE = "memref<4xf32, strided<[1], offset: ?>>"
_REGION = "[#ark.region<(d0) -> (0), [4]>]"


@dataclass(frozen=True)
class Task:
    """A task of one vCTA, in the order of the program.

    Attributes:
        rank: the rank that executes it.
        source, target: the operands. A copy between domains reads and writes a word of this name on
            both ranks.
        kind: store, put or expect.
        word: the word that the model stores, puts or expects.
    """

    rank: int
    source: str
    target: str
    kind: str
    word: str


TASKS = {
    "stage0": Task(0, "%x0", "%s0", "store", "0"),
    "put0": Task(0, "%s0", "%d0", "put", "0"),
    "read0": Task(1, "%d0", "%y1", "expect", "0"),
    "stage1": Task(1, "%x1", "%s1", "store", "1"),
    "put1": Task(1, "%s1", "%d1", "put", "1"),
    "read1": Task(0, "%d1", "%y0", "expect", "1"),
    # Overwrites the source of the first copy.
    "reuse": Task(0, "%x0", "%s0", "spoil", "0"),
}
Item = tuple[str, str]
Lanes = tuple[tuple[Item, ...], ...]
# Lanes 0 to 2 are those of rank 0, and lanes 3 to 5 those of rank 1.
CORRECT: Lanes = (
    (
        ("run", "stage0"), ("signal", "staged0"), ("wait", "arrived1"), ("run", "read1"),
        ("run", "reuse"),
    ),
    (),
    (("wait", "staged0"), ("run", "put0"), ("signal", "arrived0")),
    (("wait", "arrived0"), ("run", "read0"), ("run", "stage1"), ("signal", "staged1")),
    (),
    (("wait", "staged1"), ("run", "put1"), ("signal", "arrived1")),
)  # fmt: skip


def rank_of(lane: int) -> int:
    return lane // SMS


# -- the schedule as MLIR --------------------------------------------------------------------------


def to_mlir(lanes: Lanes) -> str:
    lines = [
        "module attributes {ark.domains = array<i64: 0, 1>} {",
        "ark.program @p(",
        *(
            f"    %{name}: {_TYPE} {{ark.kind = #ark.kind<{kind}>, "
            f'ark.name = "rank{name[1]}/{name}"}},'
            for name, kind in (("x0", "input"), ("x1", "input"), ("y0", "output"))
        ),
        f'    %y1: {_TYPE} {{ark.kind = #ark.kind<output>, ark.name = "rank1/y1"}})',
        "    attributes {world_size = 2 : i64} {",
        "  %arena = ark.arena : memref<256xi8>",
    ]
    for name, offset in (("s0", 0), ("d1", 64), ("s1", 128), ("d0", 192)):
        lines.append(f"  %c{offset} = arith.constant {offset} : index")
        lines.append(f"  %{name} = memref.view %arena[%c{offset}][] : memref<256xi8> to {_TYPE}")
    for name, task in TASKS.items():
        lines += [
            f'  ark.task "{name}" grid [1] ins({task.source}{_REGION} : {_TYPE}) '
            f"outs({task.target}{_REGION} : {_TYPE}) {{",
            f"  ^bb0(%i: index, %a: {_TILE}, %b: {_TILE}):",
            f"    linalg.copy ins(%a : {_TILE}) outs(%b : {_TILE})",
            "    ark.yield",
            "  }",
        ]
    used = [number for number, lane in enumerate(lanes) if lane]
    lines.append(f'  ark.schedule "mutant" sms = {2 * SMS} {{')
    for name in semaphores(lanes):
        ranks = {rank_of(n) for n, lane in enumerate(lanes) for item in lane if item[1] == name}
        kind = " handoff = peer" if len(ranks) > 1 else ""
        lines.append(f"    ark.semaphore @{name} arrivals = {arrivals(lanes, name)}{kind}")
    lines.append(f"    ark.semaphore @end arrivals = {len(used)} handoff = barrier")
    for number in used:
        lines.append(f"    ark.lane sms = [{number}, {number + 1}] warps = [0, 1] {{")
        for way, name in lanes[number]:
            operand = f'"{name}" [0, 1]' if way == "run" else f"@{name}"
            lines.append(f"      ark.{way} {operand}")
        lines += ["      ark.barrier @end", "    }"]
    return "\n".join([*lines, "  }", "  ark.return", "}", "}"])


def semaphores(lanes: Lanes) -> list[str]:
    return sorted({name for lane in lanes for way, name in lane if way != "run"})


def arrivals(lanes: Lanes, semaphore: str) -> int:
    return sum(lane.count(("signal", semaphore)) for lane in lanes)


def is_accepted(lanes: Lanes) -> bool:
    with ir.Context():
        module = ir.Module.parse(to_mlir(lanes)).operation
    try:
        run_passes(module, "ark.program(ark-verify-synchronization)", "synchronization")
    except ark.VerificationError:
        return False
    return True


# -- the schedule in the model ---------------------------------------------------------------------


def to_model(lanes: Lanes) -> Program:
    used = [number for number, lane in enumerate(lanes) if lane]
    leaders = {rank_of(number): number for number in reversed(used)}
    made: list[Lane] = []
    for number in used:
        rows: list[Instruction] = []
        for iteration in range(1, ITERATIONS + 1):
            for item in lanes[number]:
                rows += execute(lanes, rank_of(number), item, iteration)
            rows += end(lanes, number, leaders, iteration)
        made.append(Lane(rank_of(number), tuple(rows)))
    return tuple(made)


def execute(lanes: Lanes, rank: int, item: Item, iteration: int) -> list[Instruction]:
    way, name = item
    if way == "wait":
        return [wait(f"{name}@{rank}", iteration * arrivals(lanes, name))]
    if way == "signal":
        waiters = {rank_of(n) for n, lane in enumerate(lanes) if ("wait", name) in lane}
        return [
            signal(f"{name}@{waiter}", None if waiter == rank else waiter, waiter != rank)
            for waiter in sorted(waiters)
        ]
    task = TASKS[name]
    if task.kind == "put":
        return [put(1 - rank, task.word)]
    if task.kind == "expect":
        return [expect(task.word, iteration)]
    return [store(task.word, iteration if task.kind == "store" else 9)]


def end(lanes: Lanes, number: int, leaders: dict[int, int], iteration: int) -> list[Instruction]:
    """The two levels of the barrier: the lanes of a GPU, then a signal to the other GPU."""
    rank = rank_of(number)
    count = sum(bool(lane) for lane in lanes[rank * SMS : (rank + 1) * SMS])
    rows = [signal("end"), wait("end", iteration * count)]
    other = leaders.get(1 - rank)
    if number == leaders[rank] and other is not None:
        rows.append(signal("far end", 1 - rank, strong=True))
    return [*rows, *([wait("far end", iteration)] if other is not None else [])]


def find_problem(lanes: Lanes) -> str:
    model = Network(to_model(lanes))
    try:
        explore(model.initial, model.steps, model.is_end, model.find_problem)
    except ViolationError as error:
        return str(error) or "a violation"
    return ""


# -- mutants ---------------------------------------------------------------------------------------


def mutate(lanes: Lanes, rng: random.Random) -> Lanes:
    """Returns lanes in which one item is removed, moved or added."""
    changed = [list(lane) for lane in lanes]
    number = rng.choice([n for n, lane in enumerate(changed) if lane])
    index = rng.randrange(len(changed[number]))
    way, name = changed[number][index]
    choice = rng.choice(["remove", "move", "move", "add"])
    if choice == "remove" and way != "run":
        del changed[number][index]
    elif choice == "add":
        other = rng.choice(semaphores(lanes) or ["staged0"])
        target = rng.randrange(len(changed))
        position = rng.randrange(len(changed[target]) + 1)
        changed[target].insert(position, (rng.choice(["signal", "wait"]), other))
    else:
        item = changed[number].pop(index)
        ranks = [TASKS[name].rank] if way == "run" else [0, 1]
        target = rng.choice([n for n in range(len(changed)) if rank_of(n) in ranks])
        changed[target].insert(rng.randrange(len(changed[target]) + 1), item)
    return complete(tuple(map(tuple, changed)))


def complete(lanes: Lanes) -> Lanes:
    """Removes semaphores without a signal or a wait, and lanes without a run."""
    lanes = tuple(lane if any(way == "run" for way, _ in lane) else () for lane in lanes)
    used = Counter((way, name) for lane in lanes for way, name in set(lane))
    return tuple(
        tuple(
            item
            for item in lane
            if item[0] == "run" or (used["signal", item[1]] and used["wait", item[1]])
        )
        for lane in lanes
    )


def test_the_proof_accepts_no_wrong_schedule() -> None:
    rng = random.Random(7)
    verdicts: Counter[tuple[bool, bool]] = Counter()
    seen = {CORRECT}
    assert is_accepted(CORRECT)
    assert not find_problem(CORRECT)
    while len(seen) <= COUNT:
        lanes = CORRECT
        for _ in range(rng.choice([1, 1, 2, 3])):
            lanes = mutate(lanes, rng)
        if lanes in seen:
            continue
        seen.add(lanes)
        accepted = is_accepted(lanes)
        problem = find_problem(lanes) if accepted or len(seen) % 4 == 0 else "not explored"
        assert not (accepted and problem), f"{problem}\n{to_mlir(lanes)}"
        verdicts[accepted, bool(problem)] += 1
    assert verdicts[True, False] > COUNT / 20
    assert verdicts[False, True] > COUNT / 20


@pytest.mark.parametrize(
    ("lane", "before", "after"),
    [
        (2, ("signal", "arrived0"), ("signal", "staged0")),
        (0, ("wait", "arrived1"), ("wait", "staged0")),
    ],
    ids=["no signal after a copy", "a source that is overwritten"],
)
def test_the_model_finds_a_wrong_schedule(lane: int, before: Item, after: Item) -> None:
    lanes = [list(items) for items in CORRECT]
    lanes[lane] = [after if item == before else item for item in lanes[lane]]
    wrong = complete(tuple(map(tuple, lanes)))
    assert not is_accepted(wrong)
    assert find_problem(wrong)
