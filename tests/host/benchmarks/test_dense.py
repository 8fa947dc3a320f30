"""benchmarks/dense.py on the cpu: it runs, and refuses wrong results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark


def benchmark(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    return run_benchmark("dense", *arguments, prelude=prelude)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    done = benchmark("--compile", folder, "--shapes", "tiny", "--target", "cpu:2")
    assert done.returncode == 0, done.stderr
    return folder


QUICK = ("--products", 2, "--samples", 2)


def test_products_are_checked(bundles: Path, tmp_path: Path) -> None:
    """The cpu has no device clock, so the table has errors and no times."""
    done = benchmark("--bundles", bundles, *QUICK, "--output", tmp_path / "t.md")
    assert done.returncode == 0, done.stderr
    (row,) = (line for line in (tmp_path / "t.md").read_text().splitlines() if "tiny" in line)
    cells = [cell.strip() for cell in row.strip("| ").split("|")]
    assert cells[1] == "64 x 96 x 128"
    assert 0 < float(cells[-1]) < 0.01


def test_wrong_results_have_no_times(bundles: Path) -> None:
    spoil = """
run = dense.Product.run_ark
def spoilt(self, products):
    taken = run(self, products)
    self.mine[0, 0] += 1
    return taken
dense.Product.run_ark = spoilt
"""
    done = benchmark("--bundles", bundles, *QUICK, prelude=spoil)
    assert done.returncode == 1
    assert "dense: WRONG: tiny: relative error" in done.stderr


def test_a_folder_without_bundles_is_named(tmp_path: Path) -> None:
    done = benchmark("--bundles", tmp_path)
    assert done.returncode == 1
    assert f"dense: {tmp_path} has no bundle" in done.stderr
