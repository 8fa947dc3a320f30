"""benchmarks/training.py on the cpu with small models: it runs, and refuses wrong losses."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, compile_rows, measure, run_benchmark

ROW = "tiny"
ROWS = (ROW, "tiny-bert", "tiny-llama")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("training", ",".join(ROWS), tmp_path_factory.mktemp("bundles"))


@pytest.mark.parametrize("row", ROWS)
def test_losses_are_those_of_torch(bundles: Path, tmp_path: Path, row: str) -> None:
    found = measure("training", bundles, row, "eager,ark", tmp_path)
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


def test_arms_of_large_rows_run_apart(bundles: Path, tmp_path: Path) -> None:
    """Each arm has been freed before the next one is made."""
    spoil = """
training.LARGE_FLOPS, training.LARGE_STEPS = 0, training.STEPS
events = []
release, arm = training.release, training.Problem.ark_arm
import protocol.comparison
protocol.comparison.release = lambda: events.append("freed") or release()
def noted(problem):
    events.append("made")
    return arm(problem)
training.Problem.ark_arm = noted
training.Problem.torch_arm, eager = (
    lambda problem, *rest, **options: events.append("made") or eager(problem, *rest, **options),
    training.Problem.torch_arm,
)
import atexit
atexit.register(lambda: print(events))
"""
    journal = tmp_path / "journal.jsonl"
    done = run_benchmark(
        "training", "--bundles", bundles, "--rows", ROW, "--arms", "eager,ark", "--samples", 1,
        "--journal", journal, prelude=spoil,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("'made', 'freed', 'made', 'freed']")
    assert '"problem": ""' in journal.read_text(encoding="utf-8")


def test_curves_lie_beside_those_of_torch(bundles: Path, tmp_path: Path) -> None:
    """A curve has as many steps as asked for, also if they are no multiple of those of a launch."""
    output = tmp_path / "curve.md"
    done = run_benchmark(
        "training", "--bundles", bundles, "--rows", ROW, "--curve", 70, "--output", output
    )
    assert done.returncode == 0, done.stderr
    with (bundles / f"{ROW}.curve.csv").open(encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head == ["step", "eager", "ark"]
    steps, eager, ark = np.array(lines, float).T
    assert list(steps) == list(range(70))
    assert np.abs(eager - ark).max() < 1e-4
    assert len(set(eager)) > 60
    assert "| tiny | ark" in " ".join(output.read_text(encoding="utf-8").split())


def test_a_curve_needs_bundles() -> None:
    done = run_benchmark("training", "--predict", "--curve", 5)
    assert done.returncode == 2
    assert "--curve needs --bundles" in done.stderr


def test_tokens_of_curves_follow_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight tokens can follow a token, and all of them do."""
    monkeypatch.syspath_prepend(str(FOLDER))
    from training_curve import batches, means

    rows = batches(100, (3, 4, 200), seed=0).astype(int)
    assert set(((rows[..., 1:] - 7 * rows[..., :-1]) % 100).ravel()) == set(range(8))
    assert (rows != batches(100, (3, 4, 200), seed=1)).any()
    assert list(means(np.arange(70.0))) == [24.5, 59.5]


def test_predictions_have_floors_and_memory(tmp_path: Path) -> None:
    output = tmp_path / "predicted.md"
    done = run_benchmark("training", "--predict", "--rows", ROW, "--output", output)
    assert done.returncode == 0, done.stderr
    text = output.read_text(encoding="utf-8")
    assert text.startswith("**Predictions** for `cuda:sm_90a`, not measurements.")
    (cells,) = [line.strip("| ").split("|") for line in text.splitlines() if "| tiny" in line]
    predicted, floor, ratio = map(float, cells[1:4])
    assert predicted > 0
    assert floor >= 0
    assert ratio > 1


def test_a_row_too_large_for_the_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from protocol.prediction import memory_note

    def bundle(arena: float) -> object:
        buffers = [SimpleNamespace(bytes=int(100e9))]
        return SimpleNamespace(manifest=SimpleNamespace(buffers=buffers, arena=int(arena)))

    assert memory_note(bundle(41e9)) == ""  # type: ignore[arg-type]
    assert memory_note(bundle(50e9)) == "too large for one H200: 150 of 141 GB"  # type: ignore[arg-type]
