"""Well-known architectures on a GPU, by benchmarks/architectures.py.

These tests compile, as those of `test_torch_compile.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="ark is installed without its compiler")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(),
        reason="needs a GPU, and PyTorch that sees it",
    ),
]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "architectures.py"
# The last four need the package transformers, and fail without it.
NAMES = (
    "ResNet", "U-Net", "ConvNeXt", "Mamba block", "GPT-2", "Llama", "ViT", "Whisper encoder",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_architecture_is_one_program(name: str, tmp_path: Path) -> None:
    output = tmp_path / "table.md"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--only", name, "--device", "cuda", "--output", output],
        # Without the variable, PyTorch's convolutions round their operands to TF32.
        env={**os.environ, "NVIDIA_TF32_OVERRIDE": "0"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)  # the times, with -s
    row = output.read_text().splitlines()[2]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[:2] == [name, "1"]
    assert cells[3] == "0", done.stderr
    assert float(cells[4]) <= 1e-5
    assert float(cells[6]) > 0
