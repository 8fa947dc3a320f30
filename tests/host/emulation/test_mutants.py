"""Mutated synchronisation is detected, for a sample; tests/soak/mutate_kernels.py tests all
mutants."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulation.mutants import Mutant, Mutation, Verdict, judge_all
from emulation.programs import NAMES, prepare
from emulation.reasons import REASONS
from emulation.survivors import count

SEEDS = range(3)
# Seconds for all runs of a mutant, on a busy machine.
LIMIT = 120
# Programs, and the interval at which their mutants are sampled; `make test` runs the first case.
# Another program may detect a mutant of shared code that survives in one, so a case has them all.
SLICES = {
    "states": {"states": 1},
    "all": {"states": 1, "boxes": 4, "decode": 8, "ranks: sums of rows": 1},
}
LEAST_MUTANTS = {"states": 8, "all": 24}


def choose(mutants: list[Mutant], every: int) -> list[Mutant]:
    """Samples mutants, but keeps barriers together, since they are judged in groups."""
    others = [mutant for mutant in mutants if not mutant.may_be_redundant]
    barriers = [mutant for mutant in mutants if mutant.may_be_redundant]
    return others[::every] + barriers[: len(barriers) // every]


@pytest.mark.parametrize("programs", SLICES)
def test_mutants_are_caught(programs: str, library: Path, tmp_path: Path) -> None:
    verdicts: list[tuple[str, Verdict]] = []
    for name, every in SLICES[programs].items():
        prepared = prepare(name, library, tmp_path)
        mutants = choose(prepared.find_mutants(SEEDS), every)
        found = judge_all(prepared.run, mutants, SEEDS, LIMIT)
        verdicts += [(name, verdict) for verdict in found]
    score = count(verdicts, is_whole=False)
    assert len(verdicts) >= LEAST_MUTANTS[programs]
    assert score.is_explained, str(score)
    assert score.caught >= LEAST_MUTANTS[programs] // 2, str(score)


@pytest.mark.parametrize("name", ["states", "resident"])
def test_no_seed_changes_results(name: str, library: Path, tmp_path: Path) -> None:
    prepared = prepare(name, library, tmp_path)
    for seed in range(8):
        prepared.run(seed)


# -- the score ---------------------------------------------------------------------------------


def verdict(name: str, problem: str = "", is_shared: bool = False) -> tuple[str, Verdict]:
    return "states", Verdict(Mutant(name, (0,), Mutation.DROP, is_shared), problem)


def barriers(number: int) -> list[str]:
    return [f"barrier of add, number {n}: dropped" for n in range(number)]


def test_barriers_that_survive_without_a_reason_count() -> None:
    """A barrier counts as needed, even if the emulation finds no access that it orders."""
    caught = [verdict("fence: dropped", "a wrong number")]
    score = count([*caught, *map(verdict, barriers(119))], {})
    assert (score.caught, score.total) == (1, 120)
    assert len(score.unexplained) == 119
    assert not score.is_good


def test_survivors_with_reasons_are_not_caught() -> None:
    """Reasons do not raise the share of all mutants."""
    names = barriers(10)
    reasons = {f"states: {name}": "A reason." for name in names}
    caught = [verdict(f"fence of add, number {n}: dropped", "wrong") for n in range(90)]
    score = count([*caught, *map(verdict, names)], reasons)
    assert score.is_explained
    assert (score.share, score.share_of_others) == (0.9, 1.0)


def test_a_reason_holds_for_one_program() -> None:
    name = barriers(1)[0]
    assert count([verdict(name)], {f"boxes: {name}": "A reason."}).unexplained == [
        f"states: {name}"
    ]


def test_a_reason_without_a_survivor_is_reported() -> None:
    """Only a run of all mutants can show that a reason has no survivor."""
    name = barriers(1)[0]
    verdicts = [verdict(name, "wrong")]
    reasons = {f"states: {name}": "A reason."}
    assert count(verdicts, reasons).unused == [f"states: {name}"]
    assert not count(verdicts, reasons).is_good
    assert count(verdicts, reasons, is_whole=False).unused == []


def test_another_program_may_need_a_shared_barrier() -> None:
    name = barriers(1)[0]
    verdicts = [verdict(name, is_shared=True)]
    assert count(verdicts, {}).unexplained == [name]
    part = count(verdicts, {}, is_whole=False)
    assert (part.undecided, part.unexplained, part.total) == ([name], [], 0)


def test_reasons_are_sentences_about_programs() -> None:
    for name, reason in REASONS.items():
        is_of_program = any(name.startswith(f"{program}: ") for program in NAMES)
        assert is_of_program != (".mlir)" in name)
        assert reason.endswith(".")
