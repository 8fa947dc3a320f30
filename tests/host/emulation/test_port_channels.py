"""Kernels of ranks in several NVLink domains, on emulated GPUs with emulated proxies of MSCCL++.

Results have the same bits as on the target cpu. Proxies copy and signal late, and as far as MSCCL++
promises no order, in any order. The FIFOs have four slots, so they are full at times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation.port_worlds import PortEmulation
from emulation.worlds import (
    SEEDS,
    Programs,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    looking_up,
    stepping,
    wait_for_more,
)

import ark_mlir as ark
from ark_mlir.runtime.cuda.port_layouts import LAYOUTS

Make = Callable[..., World]
PLACES = pytest.mark.parametrize("domains", [[0, 1], [0, 1, 1], [0, 0, 1, 1]], ids=str)
EACH_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    """``make(programs, domains, iterations=1, **options)`` returns a World with port channels."""

    def build(programs: Programs, domains: list[int], **options: Any) -> World:
        settings = {"sms": len(domains) + 2, **options}
        return World(
            programs, library, tmp_path, len(domains),
            kind=PortEmulation, domains=domains, **settings,
        )  # fmt: skip

    return build


@PLACES
def test_every_collective(domains: list[int], make: Make) -> None:
    world = make(all_collectives(len(domains)), domains)
    for seed in SEEDS:
        world.run(seed)
        assert world.emulation.count_messages() == 0  # type: ignore[attr-defined]


@EACH_LAYOUT
def test_each_layout(layout: Any, make: Make) -> None:
    """Each FIFO has many laps."""
    world = make(stepping(4), [0, 0, 1, 1], iterations=3, layout=layout, slots=2)
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
    options: dict[str, Any] = {"domains": [0, 1], "network": "mscclpp", "sms": 4}
    world = World(stepping(2), library, tmp_path, 2, iterations=2, **options)
    for seed in SEEDS:
        world.run(seed)


def test_weaker_orders_of_port_channels_show(make: Make) -> None:
    """Each load, store and atomic change of the kernel text for port channels becomes weaker."""
    world = make(stepping(4), [0, 0, 1, 1], iterations=2, slots=2)
    mutants = [m for m in world.find_mutants(range(2)) if "(CudaPortChannels.mlir)" in m.name]
    assert len(mutants) == 12
    assert [m.name for m in mutants if not world.judge(m.changes(), SEEDS)] == []


# -- runs that fail ----------------------------------------------------------------------------


def hang_and_recover(world: World, seed: int, after: int, meets: bool) -> None:
    """Runs with proxies that stop after some triggers, and then with proxies that go on."""
    emulation = world.emulation
    assert isinstance(emulation, PortEmulation)

    def stop() -> None:
        emulation.driver.meets = meets
        emulation.hold(after)

    world.recover(seed, stop, lambda: emulation.hold(-1))


# The first triggers tell the other ranks that a kernel has begun.
@pytest.mark.parametrize("after", [3, 6, 9])
def test_messages_of_a_failed_run_are_not_taken_for_new_ones(after: int, make: Make) -> None:
    world = make(stepping(2), [0, 1], iterations=3)
    for seed in SEEDS:
        hang_and_recover(world, seed, after, meets=True)


def test_late_messages_show(make: Make) -> None:
    """Without the wait for late messages, a run after a failed one is wrong."""
    world = make(stepping(2), [0, 1], iterations=3)
    failures = 0
    for seed in SEEDS:
        try:
            hang_and_recover(world, seed, 6, meets=False)
        except (AssertionError, RuntimeError, ark.ArkError) as error:
            failures += "the run did not hang" not in str(error)
    assert failures > 0


def test_full_fifos_do_not_hold_an_aborted_kernel(make: Make) -> None:
    """Lanes leave the wait for a slot, and the FIFO has no gap afterwards."""
    world = make(stepping(4), [0, 0, 1, 1], iterations=3, slots=2)
    for seed in SEEDS:
        hang_and_recover(world, seed, 10, meets=True)


@pytest.fixture
def lookup(library: Path, tmp_path: Path) -> PortEmulation:
    """Two ranks in two domains, each of which looks up a number; all ranks have the sum."""
    return PortEmulation(
        looking_up(2), library, tmp_path, sms=4, warps=4, devices=2, domains=[0, 1]
    )


def run_lookup(emulation: PortEmulation, indices: list[int]) -> list[int]:
    """Returns the output of each rank, which looks up its own of the numbers from 0 to 3."""
    x = np.arange(4, dtype=np.int32)
    outputs = emulation.run([{"x": x, "index": index} for index in indices])
    return [int(output["y"]) for output in outputs]


def test_a_host_continues_signals_after_an_interruption(lookup: PortEmulation) -> None:
    """A full FIFO interrupts the signals of the host; those in the FIFO count."""

    def lose() -> None:
        raise ark.RankFailedError("rank 1 is lost")

    lookup.load(0)
    with lookup.executable:
        assert run_lookup(lookup, [1, 2]) == [5, 5]
        first, second = lookup.driver.ports.values()
        lookup.hold(0)
        with pytest.raises(ark.RankFailedError):
            first.announce(9, lose)
        lookup.hold(-1)
        assert first.meetings == 4
        for ports in (first, second):
            ports.announce(5)
        for ports in (first, second):
            ports.await_others(5)
        assert run_lookup(lookup, [0, 3]) == [9, 9]


@pytest.mark.parametrize("bad", [0, 1])
def test_a_bad_index_in_one_domain(bad: int, lookup: PortEmulation) -> None:
    for seed in SEEDS:
        lookup.load(seed)
        with lookup.executable:
            with pytest.raises(ark.DeviceError, match="index 9 is out of range") as caught:
                run_lookup(lookup, [9 if rank == bad else 1 for rank in range(2)])
            assert f"rank{bad}/" in str(caught.value)
            assert run_lookup(lookup, [1, 2]) == [5, 5]


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_hang_in_one_domain(hangs: int, lookup: PortEmulation) -> None:
    """The report counts signals of tokens, too."""
    lookup.bundle = wait_for_more(lookup.bundle, hangs)
    lookup.load(0)
    with lookup.executable:
        for _ in range(2):
            with pytest.raises(ark.HangError) as caught:
                run_lookup(lookup, [1, 2])
            causes = [note for note in caught.value.notes if note.startswith("cause: ")]
            assert f"rank{hangs}/" in causes[0]
