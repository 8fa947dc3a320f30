"""Ctrl-C at each point of a run: the kernel has ended, and the next run is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interrupts import interrupt_runs

import ark_mlir as ark

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("is_resident", [False, True])
def test_an_interrupt_at_each_point_of_a_run(
    load: Callable[[str], ark.Executable], is_resident: bool
) -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    exe = load("good")
    expected = exe.run(x=x)["y"]

    def check(runs: Any) -> None:
        np.testing.assert_array_equal(runs.run(x=x)["y"], expected)

    assert interrupt_runs(exe, is_resident, lambda runs: runs.run(x=x), check) > 100
