"""Graphs of which PyTorch executes a part: ark's workers and OpenMP's threads share the cores."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from .conftest import FOLDER

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def mixed_graphs() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("mixed_graphs")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("threads", [1, 2])
def test_workers_beside_openmp(mixed_graphs: Any, threads: int) -> None:
    """Workers that kept their cores while PyTorch computes made such calls 10 to 100 times slower.

    The bound is far above the ratio of an idle machine, since the fastest of some calls is
    measured while other tests run.
    """
    times = mixed_graphs.measure(parts=3, rows=256, threads=threads, workers=2, rounds=25)
    assert times.ratio < 10, (min(times.ark), min(times.eager))
