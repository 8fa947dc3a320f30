"""Mutated synchronisation is detected, for a sample; tests/soak/mutate_kernels.py tests all
mutants."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulation.mutants import Mutant, Verdict, judge_all
from emulation.programs import prepare
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
        found = judge_all(prepared.run, mutants, SEEDS, LIMIT, lambda verdict: None)
        verdicts += [(name, verdict) for verdict in found]
    score = count(verdicts)
    assert len(verdicts) >= LEAST_MUTANTS[programs]
    assert score.is_good, str(score)


@pytest.mark.parametrize("name", ["states", "resident"])
def test_no_seed_changes_results(name: str, library: Path, tmp_path: Path) -> None:
    prepared = prepare(name, library, tmp_path)
    for seed in range(8):
        prepared.run(seed)
