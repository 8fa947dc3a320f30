"""benchmarks/handoff.py on the cpu: that it compiles, runs and prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "handoff.py"


def handoff(*arguments: object) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, arguments), "--sizes", "16x32", "8x16"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def test_a_chain_and_what_streams_as_much(tmp_path: Path) -> None:
    handoff("--compile", tmp_path, "--target", "cpu:2", "--products", 4)
    arms = ("chain-all", "stream-all", "chain-some", "stream-some")
    assert {path.stem for path in tmp_path.iterdir()} == {
        f"{arm}-{size}" for arm in arms for size in ("16x32", "8x16")
    }
    out = handoff("--bundles", tmp_path, "--samples", 2, "--output", tmp_path / "table.md")
    rows = [line for line in out.splitlines() if line.startswith(("| barrier", "| counter"))]
    assert len(rows) == 4
    assert (tmp_path / "table.md").read_text().strip() == out.strip()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc, of the CUDA toolkit")
def test_the_kernel_by_hand_compiles(tmp_path: Path) -> None:
    source = SCRIPT.with_suffix(".cu")
    command = ["nvcc", "-std=c++17", "-arch=sm_90a", "-o", str(tmp_path / "handoff"), str(source)]
    subprocess.run(command, check=True, timeout=300)
