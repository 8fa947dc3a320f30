"""Every op on a GPU, within the interpreter's bound per element.

Bundles and arrays come from `make gpu-bundles`, made where the compiler is; this machine needs
numpy, ml_dtypes and cuda-python.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

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


def assert_within(got: Array, expected: Array, bound: Array) -> None:
    wide = got.astype(np.float64) if expected.dtype == np.float64 else got
    with np.errstate(all="ignore"):
        same = (wide == expected) | ((wide != wide) & (expected != expected))
        good = same | (np.abs(wide.astype(np.float64) - expected) <= bound) | np.isposinf(bound)
    wrong = [
        f"{place.tolist()}: {wide[tuple(place)]!r}, expected {expected[tuple(place)]!r} "
        f"within {bound[tuple(place)]:.3g}"
        for place in np.argwhere(~good)[:5]
    ]
    assert good.all(), "\n".join([*wrong, f"{(~good).sum()} of {good.size} elements"])


@pytest.mark.parametrize("case", CASES)
def test_op(case: str) -> None:
    with (
        np.load(FOLDER / "ops" / f"{case}.npz") as arrays,
        ark.load(FOLDER / "ops" / f"{case}.arkbin") as executable,
    ):
        inputs = read_inputs(executable, arrays)
        got = executable.run(inputs)
        for name, value in got.items():
            assert_within(value, arrays[f"output.{name}"], arrays[f"bound.{name}"])
        if executable.bundle.manifest.states:
            return  # a run changes what the next one sees
        for _ in range(REPEATS):
            again = executable.run(inputs)
            for name, value in got.items():
                assert value.tobytes() == again[name].tobytes(), f"{name} differs between runs"
