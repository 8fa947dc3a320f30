"""Programs of several ranks on one emulated AMD GPU: one launch executes all ranks.

Results have the same bits as on the target cpu, except for products, whose matrix instructions add
in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from emulation.mutants import Mutation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    in_place,
    pipelined,
    sharing,
    stepping,
)

import ark_mlir as ark
from ark_mlir.dtypes import DType

Make = Callable[..., World]
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    """``make(programs, iterations=1, **options)`` returns a World on one AMD GPU."""

    def build(programs: Programs, **options: Any) -> World:
        return World(programs, library, tmp_path, 1, **{"arch": "gfx942", **options})

    return build


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16, ark.int8], ids=str)
def test_every_collective(arch: str, dtype: DType, make: Make) -> None:
    world = make(all_collectives(3, dtype), arch=arch)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("collectives", ["one-shot", "ring"])
def test_algorithms_of_collectives(collectives: str, make: Make) -> None:
    make(all_collectives(3), collectives=collectives).run(0)


@pytest.mark.parametrize(
    "programs",
    [stepping(2), forwarding(3), in_place(3, (6, 32)), in_place(3, (12, 1031)), sharing(2)],
    ids=["stepping", "forwarding", "packets", "counters", "sharing"],
)
def test_iterations(programs: Programs, make: Make) -> None:
    """Each iteration changes the messages, so that a message of an earlier one is a wrong value."""
    world = make(programs, iterations=3)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("rows", [4, 100], ids=["packets", "counters"])
def test_microbatches_of_a_pipeline(rows: int, make: Make) -> None:
    make(pipelined(3, rows)).run(0)


@pytest.mark.parametrize("stopper", [0, 2])
def test_any_rank_ends_the_launch(stopper: int, make: Make) -> None:
    make(counting(3, stopper), iterations=9).run(0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_decoder_of_two_ranks(arch: str, make: Make) -> None:
    world = make(decoding(2), arch=arch, exact=False)
    for seed in SEEDS[:2]:
        world.run(seed)


def test_packets_of_ranks_have_the_scope_of_the_system(make: Make) -> None:
    sites = make(all_collectives(2)).emulation.sites
    accesses = {(site.name, site.order, site.scope) for site in sites}
    assert {("ptx_st", "relaxed", "sys"), ("ptx_ld", "relaxed", "sys")} <= accesses


def test_weaker_signals_are_caught(make: Make) -> None:
    """The release of a signal, relaxed or at the scope of the CTA, and relaxed acquires of waits.

    Acquires have the scope of the system, since the same kernel runs on a GPU for each rank.
    """
    world = make(sharing(2), iterations=3)
    mutants = [
        mutant
        for mutant in world.find_mutants(SEEDS[:1])
        if mutant.name.startswith("ptx_fence.acq_rel.gpu, number 1")
        or (mutant.name.startswith("ptx_ld.acquire.sys") and mutant.mutation == Mutation.RELAX)
    ]
    assert len(mutants) == 4
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name
