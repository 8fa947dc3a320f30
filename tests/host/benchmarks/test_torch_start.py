"""The start of ``torch.compile(backend="ark")``, as ``benchmarks/torch_start.py`` measures it."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from .conftest import run_benchmark


def rows_of(tables: str) -> dict[str, str]:
    return dict(re.findall(r"^\| ([^|]+?) +\| +([\d.]+)", tables, re.M))


def test_shares_of_the_start_and_times_of_new_lengths() -> None:
    done = run_benchmark("torch_start", "--layers", 1, "--width", 64, "--target", "cpu:1")
    assert done.returncode == 0, done.stderr
    titles = r"Start with an empty cache:|Start with a second process:|Start from a bundle:"
    empty, cached, rest = re.split(titles, done.stdout)[1:]
    begun = [rows_of(empty), rows_of(cached)]
    name = "- look-up in the cache, and compiling or loading"
    assert float(begun[0][name]) > float(begun[1][name])  # the first process compiles
    rows = rows_of(cached) | rows_of(rest)
    loaded = [float(rows[name]) for name in ("import numpy and ark", "load, bind", "first run")]
    assert sum(loaded) < float(rows["import torch"])  # the process that loads a bundle omits it
    ours = sum(float(value) for name, value in rows.items() if name.startswith("- "))
    assert float(rows["the first call: ark"]) == pytest.approx(ours, abs=0.01)
    assert float(rows["the first call: PyTorch"]) > 0
    # A call with a new length takes less time than the compilation of its program.
    assert float(rows["first call of a length"]) < float(rows["compilation"])
