"""Every op on a GPU, within the interpreter's bound per element.

`make gpu-bundles` makes bundles and arrays on a machine with the compiler. The machine with the GPU
needs numpy, ml_dtypes, and cuda-python or hip-python.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
CASES = sorted(path.stem for path in (FOLDER / "ops").glob("*.arkbin"))
REPEATS = 5

pytestmark = pytest.mark.gpu


def test_there_are_cases() -> None:
    assert CASES, f"no bundles in {FOLDER}: run `make gpu-bundles` where the compiler is"


def read_inputs(executable: ark.Executable, arrays: Any) -> dict[str, Array]:
    return {
        buffer.name: np.frombuffer(arrays[f"input.{buffer.name}"], buffer.dtype.numpy).reshape(
            buffer.shape
        )
        for buffer in executable.inputs
    }


@pytest.mark.parametrize("case", CASES)
def test_op(case: str) -> None:
    with (
        np.load(FOLDER / "ops" / f"{case}.npz") as arrays,
        ark.load(FOLDER / "ops" / f"{case}.arkbin") as executable,
    ):
        inputs = read_inputs(executable, arrays)
        got = executable.run(inputs)
        for name, value in got.items():
            assert_within(value, arrays[f"output.{name}"], arrays[f"bound.{name}"], name)
        if executable.bundle.manifest.states:
            return  # a run changes the states that the next run reads
        for _ in range(REPEATS):
            again = executable.run(inputs)
            for name, value in got.items():
                assert value.tobytes() == again[name].tobytes(), f"{name} differs between runs"
