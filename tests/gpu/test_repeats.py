"""The results of a schedule do not depend on the timing of its lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ark_mlir as ark

RUNS = 10_000

pytestmark = pytest.mark.gpu


def test_many_runs_give_the_same_bits(load: Callable[[str], ark.Executable]) -> None:
    """Tasks on many SMs pass rows to each other, and a sum reads all rows."""
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    executable = load("good")
    expected = executable.run(x=x)["y"].tobytes()
    different = [n for n in range(RUNS) if executable.run(x=x)["y"].tobytes() != expected]
    assert different == []


def test_many_iterations_of_one_launch_give_the_same_bits(
    load: Callable[[str], ark.Executable],
) -> None:
    x = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32)
    executable = load("good")
    expected = executable.run(x=x)["y"].tobytes()
    for _ in range(10):
        assert executable.run(x=x, iterations=RUNS)["y"].tobytes() == expected
