"""Kernels of several ranks in launches of their own on one emulated GPU, which run concurrently.

Results have the same bits as on the target cpu.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from emulation import Emulation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    looking_up,
    multiplying,
    sharing,
    stepping,
    wait_for_more,
)

import ark_mlir as ark


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("build", [all_collectives, stepping, sharing])
def test_results(
    build: Callable[[int], Programs], size: int, library: Path, tmp_path: Path
) -> None:
    iterations = 1 if build is all_collectives else 4
    world = World(build(size), library, tmp_path, 1, iterations, concurrent=True)
    assert world.emulation.bundle.manifest.target.sms == 2 * size
    for seed in SEEDS:
        world.run(seed)


def test_products_by_tma(library: Path, tmp_path: Path) -> None:
    world = World(multiplying(2), library, tmp_path, 1, concurrent=True, sms=3, warps=None)
    assert "cp.async.bulk.tensor" in world.emulation.text
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("stopper", [0, 1])
def test_a_stop_ends_all_ranks(stopper: int, library: Path, tmp_path: Path) -> None:
    world = World(counting(2, stopper), library, tmp_path, 1, concurrent=True)
    world.emulation.load(0)
    with world.emulation.executable as executable:
        world.emulation.run([{}] * 2, iterations=100)
        assert [int(executable.states[f"rank{rank}/total"][0]) for rank in range(2)] == [12, 12]


def run_lookup(emulation: Emulation, indices: list[int]) -> list[int]:
    """Returns the output of each rank, which looks up its own of the numbers from 0 to 3."""
    x = np.arange(4, dtype=np.int32)
    outputs = emulation.run([{"x": x, "index": index} for index in indices])
    return [int(output["y"]) for output in outputs]


@pytest.mark.parametrize("bad", [0, 1])
def test_a_bad_index_of_one_rank(bad: int, library: Path, tmp_path: Path) -> None:
    emulation = Emulation(looking_up(2), library, tmp_path, sms=2, warps=4, concurrent=True)
    with emulation.executable:
        with pytest.raises(ark.DeviceError, match="index 9 is out of range") as caught:
            run_lookup(emulation, [9 if rank == bad else 1 for rank in range(2)])
        assert f"rank{bad}/" in str(caught.value)
        assert run_lookup(emulation, [1, 2]) == [5, 5]


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_hang_names_the_rank(hangs: int, library: Path, tmp_path: Path) -> None:
    emulation = Emulation(looking_up(2), library, tmp_path, sms=2, warps=4, concurrent=True)
    emulation.bundle = wait_for_more(emulation.bundle, hangs)
    emulation.load(0)
    with emulation.executable:
        with pytest.raises(ark.HangError) as caught:
            run_lookup(emulation, [1, 2])
        assert f"rank{hangs}/" in caught.value.message
