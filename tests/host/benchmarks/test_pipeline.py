"""The benchmark of pipelines, at small size: losses are equal, and bubbles are in the table."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark


def test_the_table_of_bubbles(tmp_path: Path) -> None:
    sizes = ("--ranks", "2", "--rows", "16", "--width", "64")
    made = run_benchmark("pipeline", "--compile", tmp_path, *sizes)
    assert made.returncode == 0, made.stderr
    record = tmp_path / "record.md"
    done = run_benchmark(
        "pipeline", "--bundles", tmp_path, *sizes, "--samples", "1", "--output", record
    )
    assert done.returncode == 0, done.stderr
    lines = record.read_text().splitlines()
    head, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in lines)
    assert head[:6] == ["ranks", "microbatches", "stages of a rank", "in plans", "ideal",
                        "predicted"]  # fmt: skip
    figures = {tuple(row[1:4]): (float(row[4]), float(row[5])) for row in rows[1:]}
    assert list(figures) == [
        ("2", "1", "yes"), ("4", "1", "yes"), ("8", "1", "yes"), ("4", "2", "yes"),
        ("4", "1", "no"),
    ]  # fmt: skip
    for (_, _, planned), (ideal, predicted) in figures.items():
        assert (predicted <= ideal + 0.05) == (planned == "yes")
