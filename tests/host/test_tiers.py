"""`make test` runs a part of the slow tests in each commit, and all of them over some commits."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from .rotation import ROTATION
from .tiers import HOST, SHARD_VARIABLE, find_shard, is_due


@pytest.mark.parametrize("name", ROTATION)
def test_slow_tests_exist(name: str) -> None:
    path, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (HOST / path).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", ROTATION)
def test_consecutive_commits_run_each_case_once(name: str) -> None:
    interval, first = ROTATION[name]
    assert 0 <= first < max(interval, 1)
    shards = range(1000, 1000 + max(interval, 1))
    for case in range(20):
        assert len([shard for shard in shards if is_due(name, case, shard)]) == (
            1 if interval else 0
        )


def test_shards_have_equal_numbers_of_cases() -> None:
    name = "e2e/test_ops.py::test_op"
    interval = ROTATION[name][0]
    counts = [
        sum(is_due(name, case, shard) for case in range(5 * interval)) for shard in range(interval)
    ]
    assert counts == [5] * interval


def test_a_selected_case_keeps_its_shard() -> None:
    """A command that selects one case does not change the shard of the case."""
    name = "test_gpu_session.py::test_exit_status"
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not soak"]

    def collect(where: str, shard: int) -> list[str]:
        environment = {**os.environ, SHARD_VARIABLE: str(shard)}
        text = subprocess.run(
            [*command, where], cwd=HOST.parents[1], env=environment, capture_output=True, text=True
        ).stdout
        return [line for line in text.splitlines() if name in line]

    shard = ROTATION[name][1] + 1
    (case,) = collect(f"tests/host/{name}", shard)
    assert collect(case, shard) == [case]


def test_other_tests_run_in_every_commit() -> None:
    name = "test_tiers.py::test_slow_tests_exist"
    assert all(is_due(name, case, shard) for case in range(2) for shard in range(10))


def test_the_shard_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARD_VARIABLE, "12")
    assert find_shard() == 12


def test_mutants_of_kernels_run_in_make_test() -> None:
    """docs/reliability.md states that `make test` runs a part of each long test."""
    name = "emulation/test_mutants.py::test_mutants_are_caught"
    assert ROTATION[name][0] > 0
    text = (HOST / name.partition("::")[0]).read_text(encoding="utf-8")
    assert re.search(r"^SLICES = \{\n    \"states\": \{\"states\": 1\},\n", text, re.MULTILINE)
