"""benchmarks/schedule_proof.py at small size."""

from __future__ import annotations

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark


def test_each_stage_has_a_row() -> None:
    done = run_benchmark("schedule_proof", "--rows", "tiny")
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split("|") for line in done.stdout.splitlines() if "| tiny" in line]
    stages = [row[1].strip() for row in rows]
    assert stages == ["graph", "tiling", "memory", "scheduling", "synchronization", "proof"]
    memory = [float(row[3]) for row in rows]
    assert memory == sorted(memory)
    assert memory[0] > 0


def test_an_unknown_row_is_refused() -> None:
    done = run_benchmark("schedule_proof", "--rows", "gpt5")
    assert done.returncode == 2
    assert "unknown row gpt5" in done.stderr
