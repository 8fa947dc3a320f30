"""Kernels of several GPUs whose shared memory lies at distant addresses.

The vendor's driver chooses such addresses for legacy IPC and for the memory of other libraries.
Results have the same bits as on the target cpu.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation.far_worlds import FarEmulation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    pipelined,
    stepping,
)

import ark_mlir as ark
from ark_mlir.bundle import Opcode
from ark_mlir.runtime.drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from ark_mlir.runtime.ranks import relocation

GIB = 1 << 30
# Fields A and B reach counters that are this far away with B = 0.
NEAR = 128 * GIB
FAR = [0, 600 * GIB, 600 * GIB]
Make = Callable[..., World]


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    """``make(programs, gaps, iterations=1, **options)`` returns a World."""

    def build(programs: Programs, gaps: list[int], **options: Any) -> World:
        size = len(programs)
        return World(
            programs, library, tmp_path, size, kind=FarEmulation, gaps=gaps[:size], **options
        )

    return build


def upper_fields(world: World) -> list[set[int]]:
    """Returns the values of field B of the signals of each rank."""
    found: list[set[int]] = []
    for bundle in world.emulation.driver.relocated:
        rows = bundle.tables.instructions
        found.append(set(rows[rows[:, 0] == Opcode.SIGNAL, 2].tolist()))
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_every_collective(size: int, make: Make) -> None:
    world = make(all_collectives(size), FAR)
    for seed in SEEDS:
        world.run(seed)
    begins = world.emulation.driver.begins
    distances = [(other - own) for own in begins for other in begins if other != own]
    assert min(map(abs, distances)) > NEAR
    assert min(distances) < 0 < max(distances)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_amd_gpus(arch: str, make: Make) -> None:
    """Legacy IPC of HIP chooses such addresses as well."""
    world = make(stepping(3), FAR, iterations=3, arch=arch)
    for seed in SEEDS[:2]:
        world.run(seed)
    assert all(upper_fields(world))


@pytest.mark.parametrize("collectives", ["one-shot", "two-shot", "ring"])
def test_messages_of_several_iterations(collectives: str, make: Make) -> None:
    """A message of the next iteration does not overtake the present one: the barrier at the end of
    an iteration reaches all GPUs."""
    world = make(stepping(3), FAR, iterations=3, collectives=collectives)
    for seed in SEEDS:
        world.run(seed)
    lowest, middle, highest = upper_fields(world)
    assert max(lowest) > 0 > min(highest)
    assert min(middle) < 0 < max(middle)


def test_counters_of_a_pipeline(make: Make) -> None:
    world = make(pipelined(3, 100), FAR)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize("stopper", [0, 2])
def test_a_rank_stops_the_others(stopper: int, make: Make) -> None:
    world = make(counting(3, stopper), FAR, iterations=20)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize("gap", [NEAR - (64 << 20), NEAR, NEAR + (64 << 20)])
def test_distances_around_the_limit_of_one_field(gap: int, make: Make) -> None:
    world = make(stepping(2), [0, gap], iterations=2)
    for seed in SEEDS[:2]:
        world.run(seed)
    begins = world.emulation.driver.begins
    near = begins[1] - begins[0] < NEAR
    assert near == (gap < NEAR)
    assert upper_fields(world)[0] == ({0} if near else {0, 1})


def test_near_tables_use_one_field(make: Make) -> None:
    """Tables for near counters are those of kernels that have read field A alone."""
    world = make(stepping(2), [0, 0])
    world.run(0)
    begins = world.emulation.driver.begins
    distance = (begins[1] - begins[0]) // SEMAPHORE_STRIDE
    assert upper_fields(world) == [{0}, {0}]
    rows = world.emulation.driver.relocated[0].tables.instructions
    numbers = rows[rows[:, 0] == Opcode.SIGNAL, 1]
    assert set((numbers // RANK_COUNTERS).tolist()) == {0, distance // RANK_COUNTERS}


@pytest.mark.parametrize("mistake", ["no upper half", "one too few"])
def test_a_wrong_upper_half_shows(
    mistake: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = relocation.index_counters

    def spoil(*arguments: Any) -> Any:
        fields = np.array(index(*arguments))
        far = fields[:, 1] != 0
        fields[far, 1] = 0 if mistake == "no upper half" else fields[far, 1] - 1
        return fields

    world = make(stepping(2), FAR)
    monkeypatch.setattr(relocation, "index_counters", spoil)
    with pytest.raises((RuntimeError, ark.ArkError)):
        world.run(0)
