"""Kernels of ranks in several NVLink domains, on emulated GPUs with emulated network adapters.

Results have the same bits as on the target cpu. Copies and signals arrive late and in any order, as
far as NCCL's header allows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from emulation.mutants import Mutation, list_mutants
from emulation.network_worlds import NetworkEmulation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    stepping,
)

from ark_mlir.bundle import Opcode

Make = Callable[..., World]
# The kinds of numbers of ranks of other domains, as the kernel text CudaNetwork.mlir defines them.
PLACES = pytest.mark.parametrize("domains", [[0, 1], [0, 1, 1], [0, 0, 1, 1]], ids=str)


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    """``make(programs, domains, iterations=1, **options)`` returns a World over a network."""

    def build(programs: Programs, domains: list[int], **options: Any) -> World:
        settings = {"sms": len(domains) + 2, **options}
        return World(
            programs, library, tmp_path, len(domains),
            kind=NetworkEmulation, domains=domains, **settings,
        )  # fmt: skip

    return build


@PLACES
def test_every_collective(domains: list[int], make: Make) -> None:
    world = make(all_collectives(len(domains)), domains)
    for seed in SEEDS:
        world.run(seed)


@PLACES
@pytest.mark.parametrize("collectives", ["one-shot", "two-shot", "ring"])
def test_messages_of_several_iterations(domains: list[int], collectives: str, make: Make) -> None:
    """A message of the next iteration does not overtake the present one."""
    world = make(stepping(len(domains)), domains, iterations=3, collectives=collectives)
    for seed in SEEDS:
        world.run(seed)


def test_a_sender_that_receives_nothing(make: Make) -> None:
    world = make(forwarding(3), [0, 1, 0], iterations=3)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize("stopper", [0, 2])
def test_a_rank_stops_ranks_of_other_domains(stopper: int, make: Make) -> None:
    world = make(counting(3, stopper), [0, 0, 1], iterations=20)
    for seed in SEEDS:
        world.run(seed)


def test_a_decoder(make: Make) -> None:
    world = make(decoding(2), [0, 1], exact=False)
    for seed in SEEDS[:2]:
        world.run(seed)


def test_the_same_kernel_runs_in_one_domain(library: Path, tmp_path: Path) -> None:
    """If all GPUs access each other's memory after all, SMs copy and signal."""
    world = World(stepping(2), library, tmp_path, 2, iterations=2, domains=[0, 1], sms=4)
    for seed in SEEDS:
        world.run(seed)


def test_copies_leave_the_compute_lanes(make: Make) -> None:
    """A lane with a copy to another domain runs nothing else, and the copies exist."""
    tables = make(stepping(2), [0, 1]).emulation.bundle.tables
    tasks = make(stepping(2), [0, 1]).emulation.bundle.manifest.tasks
    copies = {number for number, task in enumerate(tasks) if ".to" in task.name}
    assert len(copies) == 2
    for _, first, last in tables.lanes.tolist():
        rows = tables.instructions[first:last]
        run = set(rows[rows[:, 0] == Opcode.RUN, 1].tolist())
        assert not run & copies or len(run) == 1


def test_fences_before_copies_are_needed(make: Make) -> None:
    """Without the fence at the scope of the system, a copy may miss the results of other SMs."""
    world = make(stepping(2), [0, 1], iterations=2)
    fences = [
        mutant
        for mutant in list_mutants(world.emulation.sites)
        if "fence" in mutant.name and "ark_release_to_network" in mutant.name
    ]
    assert fences
    missed = [
        mutant
        for mutant in fences
        if mutant.mutation in (Mutation.DROP, Mutation.NARROW_TO_GPU)
        and not world.judge(mutant.changes(), range(8))
    ]
    # The fence before a store of a word orders no data.
    assert len(missed) < len(fences)
