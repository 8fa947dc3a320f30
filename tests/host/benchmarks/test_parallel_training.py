"""The benchmark of parallel training, at small size: all kinds compute the same losses."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, run_benchmark

TINY = ("--ranks", "2", "--models", "tiny", "--layers", "2", "--batch", "2")


def table_rows(text: str) -> list[list[str]]:
    """Returns the cells of the rows below the head."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines[2:]]


def test_all_kinds_compute_the_same_step(tmp_path: Path) -> None:
    """The exit status is 1 if a loss of the first or second step differs."""
    made = run_benchmark("parallel_training", "--compile", tmp_path, "--target", "cpu:1", *TINY)
    assert made.returncode == 0, made.stderr
    record = tmp_path / "record.md"
    arguments = ("--bundles", tmp_path, *TINY, "--samples", "1", "--output", record)
    done = run_benchmark("parallel_training", *arguments)
    assert done.returncode == 0, done.stderr
    rows = table_rows(record.read_text(encoding="utf-8"))
    assert [row[:4] for row in rows] == [
        ["tiny", kind, "2", "2"] for kind in ("data", "tensor", "sequence", "pipeline")
    ]
    for row in rows:
        predicted, step, ratio = float(row[5]), float(row[9]), float(row[10])
        assert predicted > 0
        assert step > 0
        # The times of the table are rounded, too.
        assert ratio == pytest.approx(predicted / step, rel=0.02, abs=0.006)
    one = ("--kinds", "data,tensor")
    spoilt = """
import numpy as np
whole = parallel_training.whole_weight
calls = []
def changed(name, shape):
    calls.append(name)
    return whole(name, shape) * (1 if calls.count(name) <= 2 else 3)
parallel_training.whole_weight = changed
"""
    different = run_benchmark("parallel_training", *arguments, *one, prelude=spoilt)
    assert different.returncode == 1
    assert "losses are" in different.stderr


def test_predictions_need_no_gpu() -> None:
    """Messages take a part of the time, and only a pipeline has a bubble."""
    done = run_benchmark("parallel_training", "--predict", *TINY)
    assert done.returncode == 0, done.stderr
    rows = table_rows(done.stdout)
    assert [row[1] for row in rows] == ["data", "tensor", "sequence", "pipeline"]
    assert [row[9:] for row in rows] == [["not measured"] * 2] * 4
    assert [bool(row[7]) for row in rows] == [False, False, False, True]
    for row in rows:
        assert 0 <= float(row[6]) < float(row[5])


def test_a_kind_without_equal_parts_has_no_row() -> None:
    done = run_benchmark(
        "parallel_training", "--predict", "--models", "tiny", "--kinds", "tensor,data", "--ranks",
        "3", "--batch", "3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tiny tensor: 3 ranks do not divide 4 heads; no row" in done.stdout
    assert [row[1] for row in table_rows(done.stdout)] == ["data"]


def test_the_memory_of_a_rank_has_its_part_of_the_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from parallel_training import memory_of

    sizes = {"rank0/w": 64, "rank1/w": 100, "rank1/x": 28, "rank0/x": 8}
    buffers = [SimpleNamespace(name=name, bytes=size) for name, size in sizes.items()]
    manifest = SimpleNamespace(ranks=2, buffers=buffers, arena=1000, packets=64)
    assert memory_of(manifest) == 128 + 500 + 32  # type: ignore[arg-type]
    one = SimpleNamespace(ranks=1, buffers=[SimpleNamespace(name="w", bytes=7)], arena=9, packets=0)
    assert memory_of(one) == 16  # type: ignore[arg-type]


@pytest.mark.parametrize("action", [("--predict",), ("--compile",)])
def test_a_table_without_rows_is_an_error(action: tuple[str, ...], tmp_path: Path) -> None:
    folder = [tmp_path] if action == ("--compile",) else []
    done = run_benchmark(
        "parallel_training", *action, *folder, "--ranks", "3", "--models", "tiny", "--kinds", "data"
    )
    assert done.returncode == 1
    assert "3 ranks do not divide 4 sequences; no row" in done.stdout
