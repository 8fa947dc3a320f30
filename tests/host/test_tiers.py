"""`make test` runs a part of the slow tests in each commit, and all of them over some commits."""

from __future__ import annotations

import re

import pytest

from .tiers import HOST, INTERVALS, TURN_VARIABLE, find_turn, is_due


@pytest.mark.parametrize("name", INTERVALS)
def test_slow_tests_exist(name: str) -> None:
    path, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (HOST / path).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", INTERVALS)
def test_consecutive_commits_run_each_case_once(name: str) -> None:
    turns = range(1000, 1000 + max(INTERVALS[name], 1))
    due = [turn for turn in turns if is_due(name, f"{name} case", turn)]
    assert len(due) == (1 if INTERVALS[name] else 0)


def test_other_tests_run_in_every_commit() -> None:
    name = "test_tiers.py::test_slow_tests_exist"
    assert all(is_due(name, f"{name}[{case}]", turn) for case in "ab" for turn in range(10))


def test_the_turn_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TURN_VARIABLE, "12")
    assert find_turn() == 12


def test_mutants_of_kernels_run_in_make_test() -> None:
    """docs/reliability.md states that `make test` runs a part of each long test."""
    name = "emulation/test_mutants.py::test_mutants_are_caught"
    assert INTERVALS[name] > 0
    text = (HOST / name.partition("::")[0]).read_text(encoding="utf-8")
    assert re.search(r"^SLICES = \{\n    \"states\": \{\"states\": 1\},\n", text, re.MULTILINE)
