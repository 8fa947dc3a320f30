"""States on a GPU: the next iteration and the next run read the values of updates."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ark_mlir as ark

FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
PROGRAMS = sorted(path.stem for path in (FOLDER / "states").glob("*.arkbin"))

pytestmark = pytest.mark.gpu


def test_there_are_programs() -> None:
    assert len(PROGRAMS) > 15


@pytest.mark.parametrize("name", PROGRAMS)
def test_states_over_runs(load: Callable[[str], ark.Executable], name: str) -> None:
    """Runs of one iteration and of several, and once more from the beginning."""
    executable = load(f"states/{name}")
    with np.load(FOLDER / "states" / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    for _ in range(2):
        run = 0
        while f"{run}.input.x" in arrays:
            iterations = int(arrays[f"{run}.iterations"])
            got = executable.run(x=arrays[f"{run}.input.x"], iterations=iterations)
            for key, expected in arrays.items():
                number, kind, *names = key.split(".")
                if int(number) == run and kind in ("output", "state"):
                    (buffer,) = names
                    value = got[buffer] if kind == "output" else executable.states[buffer]
                    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4, err_msg=key)
            run += 1
        executable.reset()
