"""Benchmarks of several ranks name a wrong argument and end with status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark


@pytest.mark.parametrize(
    ("benchmark", "option", "value", "message"),
    [
        ("collectives", "--ranks", "1", "1 ranks; expected 2 to 8"),
        ("collectives", "--ops", "all_reduce,gossip", "unknown 'gossip'"),
        ("collectives", "--algorithms", "tree", "unknown 'tree'"),
        ("collectives", "--elements", "1000", "no size '1000'"),
        ("collectives", "--samples", "0", "'0' is not a positive number"),
        ("tensor_parallel", "--ranks", "0", "'0' is not a positive number"),
        ("tensor_parallel", "--ranks", "2,x", "'x' is not a positive number"),
        ("tensor_parallel", "--ranks", "16", "16 ranks; at most 8"),
        ("tensor_parallel", "--settings", "tiny,huge", "unknown setting 'huge'"),
        ("tensor_parallel", "--samples", "-1", "'-1' is not a positive number"),
    ],
)
def test_wrong_arguments_are_named(
    benchmark: str, option: str, value: str, message: str, tmp_path: Path
) -> None:
    done = run_benchmark(benchmark, "--bundles", tmp_path, option, value)
    assert done.returncode == 2
    assert message in done.stderr
