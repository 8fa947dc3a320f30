"""The time of calls of compiled PyTorch modules, as ``benchmarks/torch_calls.py`` measures it."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")

from .conftest import run_benchmark


def test_all_arms_are_timed() -> None:
    done = run_benchmark("torch_calls", "--device", "cpu", "--layers", 3, "--samples", 3)
    assert done.returncode == 0, done.stderr
    assert "6 parameters" in done.stdout
    rows = {
        name: float(value)
        for name, value in re.findall(r"^\| (.+?) +\| ([\d.]+)", done.stdout, re.M)
    }
    arms = {"eager PyTorch", *(f"torch.compile, {name}" for name in ("eager", "aot_eager", "ark"))}
    assert set(rows) == {*arms, "- of it, the parts of ark"}
    assert min(rows.values()) > 0


def test_a_wrong_result_has_no_times() -> None:
    prelude = """
from ark_mlir.pytorch.subgraph import CompiledSubgraph
call = CompiledSubgraph.__call__
CompiledSubgraph.__call__ = lambda self, *given: call(self, *given) + 1
"""
    done = run_benchmark("torch_calls", "--device", "cpu", "--layers", 3, prelude=prelude)
    assert done.returncode != 0
    assert "torch.compile, ark: differs by 1" in done.stderr
