"""benchmarks/training.py on the cpu with a small model: it runs, and refuses wrong losses."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import compile_rows, measure

ROW = "tiny"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("training", ROW, tmp_path_factory.mktemp("bundles"))


def test_losses_are_those_of_torch(bundles: Path, tmp_path: Path) -> None:
    found = measure("training", bundles, ROW, "eager,ark", tmp_path)
    assert [each["arm"] for each in found] == ["eager", "ark"]
    for result in found:
        assert result["problem"] == ""
        assert result["device"] > 0


def test_wrong_losses_have_no_times(bundles: Path, tmp_path: Path) -> None:
    spoil = """
arm = training.Problem.ark_arm
def wrong(problem):
    name = "blocks.0.down.weight"
    problem.weights[name] = problem.weights[name] * 1.1
    return arm(problem)
training.Problem.ark_arm = wrong
"""
    (result,) = measure("training", bundles, ROW, "ark", tmp_path, spoil)
    assert result["problem"].startswith("WRONG: relative error")
    assert result["device"] is None
