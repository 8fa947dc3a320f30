"""benchmarks/predicted.py: predicted times are marked as such, beside floors of the vendor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

from .conftest import FOLDER, run_benchmark


def test_rows_of_two_suites(tmp_path: Path) -> None:
    output = tmp_path / "p.md"
    options = ("--suites", "decode,encoder_gpu", "--rows", "tiny,tiny-2x16", "--output", output)
    done = run_benchmark("predicted", *options)
    assert done.returncode == 0, done.stderr
    text = output.read_text(encoding="utf-8")
    assert text in done.stdout
    assert text.startswith("**Predictions** for `hip:gfx942`, not measurements")
    assert "5.3 TB/s and 1307 TFLOP/s (MI300X, nominal)" in text
    assert "304 compute units and a cache of 256 MB" in text
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| tiny")]
    assert [row[0].strip() for row in rows] == ["tiny", "tiny-2x16"]
    for _, predicted, floor, *_ in rows:
        assert float(predicted) > float(floor) >= 0


@pytest.fixture
def predicted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports the script."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import predicted

    return predicted


def test_a_prediction_is_that_of_the_bundle(predicted: Any, tmp_path: Path) -> None:
    suite = predicted.SUITES["encoder_gpu"]
    suite.compile("tiny-2x16", tmp_path, "hip:gfx942")
    wanted = read_bundle(tmp_path / "tiny-2x16.arkbin").manifest.statistics["predicted_ns"]
    found, failures = predicted.predict_suite(suite, ["tiny-2x16"], "hip:gfx942")
    assert (found, failures) == ([("tiny-2x16", wanted)], [])


def test_floors_are_reads_or_products(predicted: Any) -> None:
    limits = predicted.limits_of("gfx942")
    for work, cells in {
        predicted.Workload("", bytes=5.3e9): ("1.000", "2.00", "reads"),
        predicted.Workload("", bytes=1e6, flops=1307e9): ("1.000", "2.00", "products"),
    }.items():
        assert predicted.row_cells("r", 2_000_000, work, limits)[2:5] == cells


def test_a_row_that_does_not_compile_is_named(
    predicted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise ark.UnsupportedError("no such op")

    broken = replace(predicted.SUITES["decode"], compile=refuse)
    monkeypatch.setitem(predicted.SUITES, "decode", broken)
    monkeypatch.setattr("sys.argv", ["predicted", "--suites", "decode", "--rows", "tiny"])
    assert predicted.main() == 1
    assert "- tiny: not compiled: no such op" in capsys.readouterr().out
