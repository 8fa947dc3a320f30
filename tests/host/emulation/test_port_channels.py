"""Port channels of MSCCL++ on emulated GPUs with emulated proxies: layouts, orders, failed runs.

test_network.py has the programs that all libraries run. Proxies copy and signal late, and as far as
MSCCL++ promises no order, in any order. The FIFOs have few slots, so they are full at times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulation.domain_worlds import Make, make_lookup, make_worlds, run_lookup
from emulation.port_worlds import PortEmulation
from emulation.worlds import SEEDS, World, stepping

import ark_mlir as ark
from ark_mlir.runtime.cuda.port_layouts import LAYOUTS

EACH_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    return make_worlds(PortEmulation, library, tmp_path)


@EACH_LAYOUT
def test_each_layout(layout: Any, make: Make) -> None:
    """Each FIFO has many laps."""
    world = make(stepping(4), [0, 0, 1, 1], iterations=3, layout=layout, slots=2)
    for seed in SEEDS:
        world.run(seed)
        assert world.emulation.count_messages() == 0  # type: ignore[attr-defined]


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


def test_a_host_continues_signals_after_an_interruption(library: Path, tmp_path: Path) -> None:
    """A full FIFO interrupts the signals of the host; those in the FIFO count."""

    def lose() -> None:
        raise ark.RankFailedError("rank 1 is lost")

    lookup: PortEmulation = make_lookup(PortEmulation, library, tmp_path)
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
