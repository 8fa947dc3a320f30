"""Kernels of ranks in several NVLink domains, on emulated GPUs.

Emulated network adapters, or emulated proxies of MSCCL++, copy between domains. Results have the
same bits as on the target cpu. Copies and signals arrive late, and as far as the library promises
no order, in any order.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from emulation import Emulation
from emulation.domain_worlds import KINDS, Kind, Make, make_lookup, make_worlds, run_lookup
from emulation.network_worlds import NetworkEmulation
from emulation.worlds import (
    SEEDS,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    stepping,
    wait_for_more,
)

import ark_mlir as ark
from ark_mlir.bundle import Opcode

# The kinds of numbers of ranks of other domains, as the kernel text CudaDomains.mlir defines them.
PLACES = pytest.mark.parametrize("domains", [[0, 1], [0, 1, 1], [0, 0, 1, 1]], ids=str)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """The emulation with each library."""
    return KINDS[request.param]


@pytest.fixture
def make(kind: Kind, library: Path, tmp_path: Path) -> Make:
    return make_worlds(kind, library, tmp_path)


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


@pytest.mark.parametrize("network", KINDS)
def test_the_same_kernel_runs_in_one_domain(network: str, library: Path, tmp_path: Path) -> None:
    """If all GPUs access each other's memory after all, SMs copy and signal."""
    options = {"domains": [0, 1], "network": network, "sms": 4}
    world = World(stepping(2), library, tmp_path, 2, iterations=2, **options)
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


# Mutants that a program cannot detect, by domains.
HARMLESS = {
    # The copy before the signal has a fence of its own. The emulator executes reads in order, which
    # the fence before the signal also keeps before the signal.
    "ptx_fence.acq_rel.sys of ark_release_to_network (CudaNetwork.mlir), number 1: relaxed": "all",
    # The load of the number of the last iteration, which the last barrier orders after the store.
    "ptx_ld.relaxed.sys of ark_load_from_peers (CudaDomains.mlir), number 2: "
    "at the scope of the GPU": "all",
    # The word of the start lies on the own GPU if each domain has one rank.
    "ptx_st.relaxed.sys of ark_store_remote (CudaDomains.mlir), number 1: at the scope of the GPU":
        "[0, 1]",
}  # fmt: skip


@pytest.mark.parametrize("domains", [[0, 1], [0, 0, 1]], ids=str)
def test_weaker_orders_between_domains_show(
    domains: list[int], library: Path, tmp_path: Path
) -> None:
    """Each fence, signal and store of the kernel texts for NCCL's networks becomes weaker."""
    make = make_worlds(NetworkEmulation, library, tmp_path)
    world = make(stepping(len(domains)), domains, iterations=2)
    texts = ("(CudaDomains.mlir)", "(CudaNetwork.mlir)")
    found = world.find_mutants(range(2))
    mutants = [mutant for mutant in found if any(text in mutant.name for text in texts)]
    assert len(mutants) >= 5
    missed = [mutant for mutant in mutants if not world.judge(mutant.changes(), range(4))]
    harmless = {name for name, where in HARMLESS.items() if where in ("all", str(domains))}
    assert {mutant.name for mutant in missed} == harmless


# -- runs that fail ----------------------------------------------------------------------------


@pytest.fixture
def lookup(kind: Kind, library: Path, tmp_path: Path) -> Emulation:
    return make_lookup(kind, library, tmp_path)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_bad_index_in_one_domain(bad: int, lookup: Emulation) -> None:
    for seed in SEEDS:
        lookup.load(seed)
        with lookup.executable:
            with pytest.raises(ark.DeviceError, match="index 9 is out of range") as caught:
                run_lookup(lookup, [9 if rank == bad else 1 for rank in range(2)])
            assert f"rank{bad}/" in str(caught.value)
            assert run_lookup(lookup, [1, 2]) == [5, 5]


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_hang_in_one_domain(hangs: int, lookup: Emulation) -> None:
    """The report counts the signals of both domains."""
    lookup.bundle = wait_for_more(lookup.bundle, hangs)
    lookup.load(0)
    with lookup.executable:
        for _ in range(2):
            with pytest.raises(ark.HangError) as caught:
                run_lookup(lookup, [1, 2])
            causes = [note for note in caught.value.notes if note.startswith("cause: ")]
            assert f"rank{hangs}/" in causes[0]
