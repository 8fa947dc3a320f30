"""A forked child of a process that has compiled can compile, as multiprocessing needs."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

# The test runs in a separate process: pytest has threads, and a child that hangs must be killed.
_SCRIPT = """
import multiprocessing, sys
import numpy as np
import ark_mlir as ark

with ark.Program("p") as program:
    x = ark.input("x", (64, 64), ark.fp32)
    ark.output("y", ark.softmax(ark.matmul(x, x)) + 1.0)

def compile_and_run(number):
    exe = ark.compile(program, target=f"cpu:{1 + number % 2}", cache=False)
    return float(exe.run(x=np.eye(64, dtype=np.float32))["y"].sum())

if __name__ == "__main__":
    before = compile_and_run(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map_async(compile_and_run, range(4)).get(timeout=60) == [before] * 4)
"""


def test_a_fork_compiles(tmp_path: Any) -> None:
    assert "fork" in multiprocessing.get_all_start_methods()
    script = tmp_path / "forks.py"
    script.write_text(_SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "True\n", done.stderr
