"""Programs of several ranks on emulated AMD GPUs: on one for each rank, or all in one launch.

Results have the same bits as on the target cpu, except for products, whose matrix instructions add
in another order. Tests with planted mistakes show that a weaker write-back, scope or wait between
GPUs, or between lanes of one launch, changes results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from emulation.mutants import Mutant, Mutation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    in_place,
    looking_up,
    normalizing,
    pipelined,
    scattering,
    sharing,
    stepping,
    wait_for_more,
)

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.runtime.ranks import linked_semaphore

Make = Callable[..., World]
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")


@pytest.fixture
def build(library: Path, tmp_path: Path) -> Make:
    """``build(programs, devices, iterations=1, **options)`` returns a World on AMD GPUs."""

    def made(programs: Programs, devices: int, **options: Any) -> World:
        return World(programs, library, tmp_path, devices, **{"arch": "gfx942", **options})

    return made


@pytest.fixture(params=[False, True], ids=["a GPU each", "one GPU"])
def shares(request: pytest.FixtureRequest) -> bool:
    """True if one launch on one GPU executes all ranks, False if each rank has a GPU."""
    return request.param


@pytest.fixture
def make(build: Make, shares: bool) -> Make:
    """``make(programs, iterations=1, **options)`` returns a World on one GPU, or on a GPU each."""
    return lambda programs, **options: build(programs, 1 if shares else len(programs), **options)


@pytest.fixture
def seeds(shares: bool) -> Sequence[int]:
    """The seeds of the orders of stores; those of several GPUs arrive in more orders."""
    return SEEDS[:2] if shares else SEEDS


# -- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("size", "dtype"), [(2, ark.fp32), (3, ark.bf16), (2, ark.int8)])
def test_every_collective(
    size: int, dtype: DType, arch: str, make: Make, seeds: Sequence[int]
) -> None:
    world = make(all_collectives(size, dtype), arch=arch)
    for seed in seeds:
        world.run(seed)


def test_every_collective_of_eight_gpus(build: Make) -> None:
    build(all_collectives(8, ark.bf16), 8).run(0)


@pytest.mark.parametrize("collectives", ["one-shot", "ring"])
def test_algorithms_of_collectives(collectives: str, make: Make, seeds: Sequence[int]) -> None:
    world = make(all_collectives(3), collectives=collectives)
    for seed in seeds:
        world.run(seed)


@pytest.mark.parametrize(
    "programs",
    [stepping(2), forwarding(3), in_place(3, (6, 32)), in_place(3, (12, 1031)), sharing(2)],
    ids=["stepping", "forwarding", "packets", "counters", "sharing"],
)
def test_iterations(programs: Programs, make: Make, seeds: Sequence[int]) -> None:
    """Each iteration changes the messages, so that a message of an earlier one is a wrong value."""
    world = make(programs, iterations=3)
    for seed in seeds:
        world.run(seed)


@pytest.mark.parametrize("rows", [4, 100], ids=["packets", "counters"])
def test_microbatches_of_a_pipeline(rows: int, make: Make, seeds: Sequence[int]) -> None:
    world = make(pipelined(3, rows))
    for seed in seeds:
        world.run(seed)


@pytest.mark.parametrize("stopper", [0, 2])
def test_any_rank_ends_all_launches(stopper: int, make: Make) -> None:
    make(counting(3, stopper), iterations=9).run(0)


@pytest.mark.parametrize("rows", [1, 3])
def test_norms_of_sums_over_ranks(rows: int, build: Make) -> None:
    world = build(normalizing(2, rows, 256), 2, iterations=2, exact=False)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_tensor_parallel_decoder(arch: str, make: Make) -> None:
    world = make(decoding(2), arch=arch, exact=False)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("programs", [all_collectives(2), stepping(2)], ids=["all", "stepping"])
def test_launches_of_ranks_on_one_gpu(programs: Programs, build: Make) -> None:
    world = build(programs, 1, iterations=2, concurrent=True)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_hang_names_the_rank(hangs: int, library: Path, tmp_path: Path) -> None:
    emulation = Emulation(
        looking_up(2), library, tmp_path, arch="gfx942", sms=2, warps=4, devices=2
    )
    emulation.bundle = wait_for_more(emulation.bundle, hangs)
    emulation.load(0)
    x = np.arange(4, dtype=np.int32)
    with emulation.executable, pytest.raises(ark.HangError) as caught:
        emulation.run([{"x": x, "index": index} for index in (1, 2)])
    assert f"rank{hangs}/" in caught.value.message


# -- mistakes --------------------------------------------------------------------------------

# Instructions of signals between GPUs: the write-back, the addition, and the loads of a wait.
SIGNALS = {
    ("ptx_fence.acq_rel.sys", Mutation.RELAX),
    ("ptx_fence.acq_rel.sys", Mutation.NARROW_TO_GPU),
    ("ptx_atom_add.relaxed.sys", Mutation.NARROW_TO_GPU),
    ("ptx_ld.acquire.sys", Mutation.RELAX),
    ("ptx_ld.acquire.sys", Mutation.NARROW_TO_GPU),
}


def peer_mutants(world: World, names: tuple[str, ...]) -> list[Mutant]:
    """Returns the mutants of executed instructions with these names."""
    return [m for m in world.find_mutants(SEEDS[:1]) if m.name.startswith(names)]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("programs", [stepping(2), sharing(2)], ids=["stepping", "sharing"])
def test_weaker_signals_between_gpus_show(programs: Programs, arch: str, build: Make) -> None:
    """A relaxed fence is a write-back of the L2 that is missing."""
    world = build(programs, 2, iterations=3, arch=arch)
    mutants = peer_mutants(world, tuple(sorted({name for name, _ in SIGNALS})))
    assert {(mutant.name.split(",")[0], mutant.mutation) for mutant in mutants} == SIGNALS
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name


def test_packets_with_the_scope_of_a_gpu_show(build: Make) -> None:
    """All packets of this program go to the other GPU."""
    world = build(scattering(2), 2, iterations=3)
    words = peer_mutants(world, ("ptx_st.relaxed.sys", "ptx_ld.relaxed.sys"))
    survivors = [mutant for mutant in words if not world.judge(mutant.changes())]
    # The load of the number of the last iteration: a barrier orders it after the store.
    assert [mutant.name.split(" ")[0] for mutant in survivors] == ["ptx_ld.relaxed.sys,"]
    assert len(words) >= 5


def test_packets_of_ranks_have_the_scope_of_the_system(build: Make) -> None:
    """The same kernel runs on one GPU and on a GPU for each rank."""
    sites = build(all_collectives(2), 1).emulation.sites
    accesses = {(site.name, site.order, site.scope) for site in sites}
    assert {("ptx_st", "relaxed", "sys"), ("ptx_ld", "relaxed", "sys")} <= accesses


def test_weaker_signals_on_one_gpu_show(build: Make) -> None:
    """The release of a signal, relaxed or at the scope of the CTA, and relaxed acquires of waits.

    Acquires have the scope of the system, since the same kernel runs on a GPU for each rank.
    """
    world = build(sharing(2), 1, iterations=3)
    mutants = [
        mutant
        for mutant in world.find_mutants(SEEDS[:1])
        if mutant.name.startswith("ptx_fence.acq_rel.gpu, number 1")
        or (mutant.name.startswith("ptx_ld.acquire.sys") and mutant.mutation == Mutation.RELAX)
    ]
    assert len(mutants) == 4
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name


def test_a_missing_wait_after_the_write_back_shows(build: Make) -> None:
    """Stores of the L2 that is written back have not arrived when the signal does."""
    world = build(stepping(2), 2, iterations=3)
    sites = world.emulation.sites
    waits = [
        before.number
        for before, after in pairwise(sites)
        if (before.name, after.name, after.scope) == ("amdgcn_s_waitcnt", "ptx_atom_add", "sys")
    ]
    assert waits
    assert not world.judge({})
    assert world.judge(dict.fromkeys(waits, int(Mutation.DROP)))


def test_a_signal_to_the_wrong_gpu_shows(build: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = build(all_collectives(2), 2)
    monkeypatch.setattr(linked_semaphore, "counter_on", lambda gpu, own, number: number)
    assert world.judge({})
