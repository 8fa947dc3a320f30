"""The start of ``torch.compile(backend="ark")``, as ``benchmarks/torch_start.py`` measures it."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from .conftest import run_benchmark


def test_shares_of_the_start_and_times_of_new_lengths() -> None:
    done = run_benchmark("torch_start", "--layers", 1, "--width", 64, "--target", "cpu:1")
    assert done.returncode == 0, done.stderr
    rows = dict(re.findall(r"^\| ([^|]+?) +\| +([\d.]+)", done.stdout, re.M))
    ours = sum(float(value) for name, value in rows.items() if name.startswith("- "))
    assert float(rows["the first call: ark"]) == pytest.approx(ours, abs=0.01)
    assert float(rows["the first call: PyTorch"]) > 0
    # A call with a new length takes less time than the compilation of its program.
    assert float(rows["first call of a length"]) < float(rows["compilation"])
