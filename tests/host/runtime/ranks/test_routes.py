"""The counters that ranks of other NVLink domains signal, and the limits of port channels."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime.ranks import routes
from ark_mlir.runtime.ranks.routes import (
    NetworkPlan,
    check_port_limits,
    count_semaphores,
    find_routes,
    plan_network,
)
from ark_mlir.testing.toy import ToyProgram, barrier, run, signal, wait

PAGE = 2 << 20


def ring(domains: tuple[int, ...], network: str = "mscclpp") -> Bundle:
    """Each rank signals the next one, and all ranks meet at a barrier."""
    size = len(domains)
    toy = ToyProgram(sms=size, arena=size * PAGE)
    again = toy.semaphore(size, "again")
    arrived = [toy.semaphore(1, f"rank{rank}/arrived") for rank in range(size)]
    inputs = [toy.buffer(f"rank{rank}/x", "input", "fp32", [128]) for rank in range(size)]
    for rank, x in enumerate(inputs):
        target = (rank + 1) % size
        operands = [(0, target * PAGE + 4096), (x, 0), (0, rank * PAGE)]
        send = toy.task("add", 8, operands, f"rank{rank}/send")
        work = [run(send, 0, 8), signal(arrived[target])]
        toy.lane(rank, [*work, wait(arrived[rank], 1), barrier(again, size)])
    manifest, sections = toy.parts(ranks=size)
    manifest["target"].update(backend="cuda", arch="sm_90a", warps=16, shared_memory=1024)
    bundle = Bundle.from_parts(manifest, sections)
    return replace(bundle, manifest=replace(bundle.manifest, domains=domains, network=network))


def test_only_signals_between_domains_are_routes() -> None:
    found = find_routes(ring((0, 0, 1)))
    assert set(found) == {(0, 2), (1, 2), (2, 0), (2, 1)}
    # Rank 1 signals two counters of rank 2: that of the ring, and that of the barrier.
    assert {pair: len(counters) for pair, counters in found.items()} == {
        (0, 2): 1, (1, 2): 2, (2, 0): 2, (2, 1): 1,
    }  # fmt: skip
    assert all(list(counters) == sorted(counters) for counters in found.values())
    # A semaphore serves both directions. One more is that of the host.
    assert count_semaphores(found, 1, 2) == count_semaphores(found, 2, 1) == 3
    assert count_semaphores({}, 0, 1) == 1


def test_one_domain_has_no_routes() -> None:
    assert find_routes(ring((5, 5))) == {}


def test_the_plan_of_each_network() -> None:
    domains = (0, 0, 1)
    assert plan_network(ring(domains, "nccl")) == NetworkPlan("nccl", domains, {})
    plan = plan_network(ring(domains))
    assert plan.routes == find_routes(ring(domains))
    assert plan.others(0) == plan.others(1) == (2,)
    assert plan.others(2) == (0, 1)
    assert NetworkPlan("nccl", (), {}).others(1) == ()


def test_memory_beyond_the_offsets_of_triggers() -> None:
    bundle = ring((0, 1))
    for arena, is_good in (((4 << 30) - PAGE - 1, True), (4 << 30, False)):
        large = replace(bundle, manifest=replace(bundle.manifest, arena=2 * arena))
        if is_good:
            check_port_limits(large)
            continue
        with pytest.raises(ark.UnsupportedError, match=r"MSCCL\+\+ reach 4294967295"):
            check_port_limits(large)
        with pytest.raises(ark.UnsupportedError, match="compile with network='nccl'"):
            plan_network(large)
        nccl = replace(large, manifest=replace(large.manifest, network="nccl"))
        assert plan_network(nccl).library == "nccl"


def test_more_semaphores_than_a_proxy_has(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = ring((0, 0, 1))
    monkeypatch.setattr(routes, "_MOST_SEMAPHORES", 6)
    check_port_limits(bundle)
    monkeypatch.setattr(routes, "_MOST_SEMAPHORES", 5)
    message = "needs 6 semaphores between rank 2 and ranks of other domains, .* has 5"
    with pytest.raises(ark.UnsupportedError, match=message):
        check_port_limits(bundle)
