"""Launches on AMD GPUs begin a lane when the GPU has room: runs of the kernel beside other work.

A lane that begins after a wait of another lane has timed out returns a code of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation

import ark_mlir as ark

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")
LANES = 4
X = np.arange(LANES * 8, dtype=np.float32).reshape(LANES, 8)


@pytest.fixture
def chain() -> ark.Program:
    """Every lane waits for all others, since each row of the second op needs all rows."""
    with ark.Program("chain") as program, ark.planner(tile=(1, 8)):
        x = ark.input("x", (LANES, 8))
        y = ark.exp(x * 0.01)
        ark.output("y", y + ark.reduce_sum(y, 0))
    return program


def expected() -> Any:
    y = np.exp(X * np.float32(0.01))
    return y + y.sum(0, keepdims=True)


@pytest.fixture(params=ARCHITECTURES)
def emulation(
    request: pytest.FixtureRequest, chain: ark.Program, library: Path, tmp_path: Path
) -> Emulation:
    made = Emulation(chain, library, tmp_path, arch=request.param, sms=LANES)
    assert len(made.bundle.tables.lanes) == LANES
    return made


@pytest.mark.parametrize("busy", [1, 3])
def test_lanes_without_room(emulation: Emulation, busy: int) -> None:
    """The error has the number of these lanes; the next run is right."""
    late = rf"{busy} of {LANES} lanes had not begun when lane \d+ .* had waited 1 s for"
    with emulation.executable, ark.knobs.scope(ARK_TIMEOUT="1"):
        emulation.occupy(busy)
        with pytest.raises(ark.BusyError, match=late) as error:
            emulation.run({"x": X})
        assert "wait for other work on the GPU to end" in str(error.value)
        emulation.occupy(0)
        np.testing.assert_allclose(emulation.run({"x": X})["y"], expected(), rtol=1e-5)


def test_lanes_without_room_in_a_resident_kernel(emulation: Emulation) -> None:
    with emulation.executable as executable, ark.knobs.scope(ARK_TIMEOUT="1"):
        emulation.occupy(2)
        with executable.resident() as session:
            with pytest.raises(ark.BusyError, match=f"2 of {LANES} lanes had not begun"):
                session.run({"x": X})
            emulation.occupy(0)
            np.testing.assert_allclose(session.run({"x": X})["y"], expected(), rtol=1e-5)
        emulation.check()
