"""Tensor maps copy the operands of large products for sm_90a, and of no others. Tests look at PTX
and ptxas.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from assembled_ptx import record_ptx

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.targets.cuda_toolkit import find_toolkit

BOXES = "cp.async.bulk.tensor.2d"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``compiled(rows, columns, depth, tile, arch)`` returns the PTX of a product, and its
    executable."""
    texts = record_ptx(monkeypatch)

    def run(
        rows: int, columns: int, depth: int, tile: tuple[int, int], arch: str = "sm_90a"
    ) -> tuple[str, ark.Executable]:
        with ark.Program("product") as program, ark.planner(tile=tile):
            x = ark.input("x", (rows, depth), ark.bf16)
            w = ark.parameter("w", (columns, depth), ark.bf16)
            ark.output("y", ark.matmul(x, w, transpose_other=True))
        executable = ark.compile(program, target=f"cuda:{arch}", cache=False)
        return texts.pop(), executable

    return run


def test_large_tiles(compiled: Any, tmp_path: Path) -> None:
    """If ptxas cannot show that warpgroup instructions may overlap, it serialises them with a
    warning.
    """
    ptx, executable = compiled(512, 256, 512, (256, 128))
    assert ptx.count(BOXES) == 3  # two stages before the loop, one in it
    assert executable.bundle.manifest.statistics["spill_bytes"] == 0
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx)
    command = [str(find_toolkit().ptxas), "-v", "-arch=sm_90a", str(source), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Used " in done.stderr
    assert "serialized" not in done.stderr


@pytest.mark.parametrize(
    ("shape", "tile", "arch"),
    [
        ((512, 256, 4096), (256, 128), "sm_90a"),
        ((512, 256, 512), (128, 128), "sm_90a"),
        ((512, 256, 512), (256, 128), "sm_80"),
    ],
    ids=["deep", "small tiles", "another architecture"],
)
def test_other_products(
    compiled: Any, shape: tuple[int, int, int], tile: tuple[int, int], arch: str
) -> None:
    ptx, _ = compiled(*shape, tile, arch)
    assert BOXES not in ptx
    assert "tensormap" not in ptx
