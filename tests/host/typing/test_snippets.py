"""What a type checker says of a user's program: nothing."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np

import ark_mlir as ark


class Linear(ark.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs), ark.bf16)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True)


with ark.Program("mlp") as program:
    x = ark.input("x", (4, 64), ark.bf16)
    h = ark.gelu(Linear(64, 256)(x)) * 2 + np.ones(256)
    y = ark.where((h > 0) & True, h[..., ::2].shape[0] * h, 0.5 - h)
    ark.output("y", ark.reduce_sum(y, axis=(0, -1)))

outputs = ark.reference.run(program, {"x": np.zeros((4, 64))})
print(outputs["y"].sum(), program.inputs["x"].dtype.name, y.dtype is ark.bool)
reveal_type(x)
reveal_type(outputs["y"].shape)
"""


def test_a_users_program_is_clean(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "user.py").write_text(SCRIPT)
    # The package's parent: an editable installation is found by a hook, which pyright lacks.
    import ark_mlir

    roots = sorted({str(Path(path).parent) for path in ark_mlir.__path__})
    config = {"typeCheckingMode": "standard", "extraPaths": roots}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "-p", str(tmp_path)], capture_output=True, text=True, check=False
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr[-200:]}")
    messages = json.loads(done.stdout)["generalDiagnostics"]
    errors = [m["message"] for m in messages if m["severity"] == "error"]
    revealed = [m["message"] for m in messages if m["severity"] == "information"]
    assert errors == []
    assert 'Type of "x" is "Tensor"' in revealed
