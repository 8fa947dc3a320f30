"""The simulation of small schedules, whose times are computed by hand.

Every work item and every signal of a toy program takes 900 ns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ark_mlir.bundle import Bundle
from ark_mlir.errors import InvalidUsageError
from ark_mlir.simulation import Topology, simulate
from ark_mlir.simulation.engine import LinkState
from ark_mlir.simulation.exchanges import Exchanges
from ark_mlir.simulation.topology import Gpu, Link, Route
from ark_mlir.testing.toy import ToyProgram, barrier, run, signal, wait
from ark_mlir.tuning import Costs
from ark_mlir.tuning.costs import TaskCost

GPU = Gpu(handoff_ns=20, barrier_ns=30, packet_ns=10)
INFINITE = float("inf")


def topology(
    hosts: int = 1,
    each: int = 2,
    out: Link = Link("source-gpu", 1.0),  # noqa: B008
    into: Link = Link("target-gpu", 0.5),  # noqa: B008
    lane_gbps: float = INFINITE,
) -> Topology:
    """Messages of 1 byte per ns leave a GPU, 0.5 arrive; the latency is 100, a signal takes 50."""
    host = Route(("out", "in"), 100.0, 50.0, lane_gbps)
    far = Route(("out", "nic", "in"), 1000.0, 2000.0, INFINITE)
    links = {"out": out, "in": into, "nic": Link("source-host", 0.25)}
    return Topology("toys", hosts, each, GPU, links, {"host": host, "rail": far})


def two_ranks(lanes_of_sender: int = 1) -> ToyProgram:
    """Rank 0 puts 128 bytes from each lane into the arena of rank 1; rank 1 waits and copies."""
    sms = 2 * lanes_of_sender
    program = ToyProgram(sms=sms, arena=2048)
    x = program.buffer("rank0/x", "input", "uint8", [512])
    y = program.buffer("rank1/y", "output", "uint8", [512])
    lanes = lanes_of_sender + 1
    vctas = 2 * lanes_of_sender
    put = program.task("copy", vctas, [(0, 1024), (x, 0)], "rank0/put")
    take = program.task("copy", vctas, [(y, 0), (0, 1024)], "rank1/take")
    sent, end = program.semaphore(lanes_of_sender, "sent"), program.semaphore(lanes, "end")
    for lane in range(lanes_of_sender):
        items = [run(put, 2 * lane, 2 * lane + 2), signal(sent), barrier(end, lanes)]
        program.lane(lane, items)
    items = [wait(sent, lanes_of_sender), run(take, 0, vctas), barrier(end, lanes)]
    program.lane(lanes_of_sender, items)
    return program


def bundle_of(program: ToyProgram, **parts: Any) -> Bundle:
    return Bundle.from_parts(*program.parts(**parts))


def ends(timeline: Any) -> list[int]:
    return timeline.sum(axis=1).tolist()


def test_a_message_takes_its_links_in_turn() -> None:
    """The first of two vCTAs sends at 450, and the last byte leaves rank 0 at 900 + 64."""
    program = two_ranks()
    prediction = simulate(bundle_of(program, ranks=2), topology())
    put, sent, end0, waited, take, end1 = ends(prediction.timeline)
    assert put == 900 + 64  # the last 64 of 128 bytes at 1 byte per ns
    assert sent == 964 + 900
    arrival = 900 + 128 + 100  # the slower link takes 128 ns for them
    assert waited == max(964 + 50, arrival)
    assert take == waited + 900
    # Each rank tells the other that its lanes have arrived.
    assert end0 == max(sent, take + 50) + 30
    assert end1 == max(sent + 50, take) + 30
    assert prediction.total_ns == end0
    assert prediction.sent_bytes == 128


def test_lanes_stream_while_they_compute() -> None:
    """A lane that sends 0.5 bytes per ns begins 256 ns before the end of its computation."""
    program = two_ranks()
    prediction = simulate(bundle_of(program, ranks=2), topology(lane_gbps=0.5))
    put, _, _, waited, _, _ = ends(prediction.timeline)
    assert put == 900
    assert waited == 900 + 100  # the last byte leaves at 900, and arrives without further delay


def test_messages_wait_for_each_other() -> None:
    """Two lanes send at once, from 450 on: the second message leaves after the first."""
    program = two_ranks(lanes_of_sender=2)
    slow = topology(out=Link("source-gpu", 0.125))
    prediction = simulate(bundle_of(program, ranks=2), slow)
    first, _, _, second, _, _, waited, _, _ = ends(prediction.timeline)
    assert sorted((first, second)) == [450 + 1024, 450 + 2048]
    # The counter has one more arrival.
    assert waited == pytest.approx(450 + 2048 + 100 + (30 - 20) / 4, abs=0.5)
    (out, into) = prediction.links
    assert (out.name, out.bytes, out.messages, out.busy_ns) == ("out of GPU 0", 256, 2, 2048)
    assert (into.name, into.busy_ns) == ("in of GPU 1", 512)
    assert into.utilisation == pytest.approx(512 / prediction.total_ns)


def test_a_gap_bounds_the_rate_of_messages() -> None:
    program = two_ranks(lanes_of_sender=2)
    slow = topology(out=Link("source-gpu", 1.0, gap_ns=1000.0))
    first, _, _, second, _, _, *_ = ends(simulate(bundle_of(program, ranks=2), slow).timeline)
    assert sorted((first, second)) == [1450, 2450]


def test_a_message_takes_an_idle_interval_of_a_link() -> None:
    """A message that waited for its first link may reserve the second one too early."""
    link = LinkState()
    assert link.carry(500.0, 10, 100.0) == 500
    assert link.carry(200.0, 10, 100.0) == 200  # known later, at the link earlier
    assert link.carry(200.0, 10, 100.0) == 300
    assert link.carry(0.0, 10, 300.0) == 600  # no interval is as long
    assert link.carry(0.0, 10, 150.0, now=50.0) == 0
    assert link.carry(450.0, 10, 60.0, now=450.0) == 900  # a part of the interval has passed
    assert (link.messages, link.bytes, link.busy) == (6, 60, 810)


def test_hosts_are_joined_by_other_links() -> None:
    """With one GPU in each host the message takes the NIC, at 0.25 bytes per ns."""
    program = two_ranks()
    prediction = simulate(bundle_of(program, ranks=2), topology(hosts=2, each=1))
    waited = ends(prediction.timeline)[3]
    assert waited == max(964 + 2000, 900 + 256 + 1000)
    assert [link.name for link in prediction.links] == [
        "out of GPU 0",
        "nic of host 0",
        "in of GPU 1",
    ]


def test_exposed_communication_is_the_time_that_faster_links_save() -> None:
    """Without delays rank 1 begins at once when rank 0 has put, which itself ends 64 ns earlier.
    The signal of 900 ns hides a part of the rest."""
    program = two_ranks()
    prediction = simulate(bundle_of(program, ranks=2), topology())
    ideal = max(900 + 900, 900 + 900) + 30
    assert prediction.exposed_ns == prediction.total_ns - ideal


def test_the_critical_path_covers_the_total() -> None:
    program = two_ranks()
    prediction = simulate(bundle_of(program, ranks=2), topology())
    path = prediction.critical_path
    assert path[0].start_ns == 0
    assert path[-1].end_ns == prediction.total_ns
    assert all(a.end_ns == b.start_ns for a, b in pairwise(path))
    assert [(step.kind, step.name, step.rank) for step in path] == [
        ("compute", "rank0/put", 0),
        ("send", "rank0/put", 0),
        ("hand-off", "sent", 1),
        ("compute", "rank1/take", 1),
        ("hand-off", "end", 0),
    ]


def packets_program(ranks: int) -> Bundle:
    """Returns a program in which a task adds into packets and another task reads them, on the same
    GPU or on the other one.
    """
    program = ToyProgram(sms=2, arena=256)
    first, second = ("rank0/", "rank1/") if ranks == 2 else ("", "")
    x = program.buffer(f"{first}x", "input", "fp32", [16])
    y = program.buffer(f"{second}y", "output", "fp32", [16])
    end = program.semaphore(2, "end")
    packets = 3
    make = program.task("add", 1, [(packets, 64), (x, 0), (x, 0)], f"{first}make")
    take = program.task("add", 1, [(y, 0), (packets, 64), (packets, 64)], f"{second}take")
    program.lane(0, [run(make, 0, 1), barrier(end, 2)])
    program.lane(1, [run(take, 0, 1), barrier(end, 2)])
    return with_packets(program, 128, ranks)


def with_packets(program: ToyProgram, packets: int, ranks: int) -> Bundle:
    manifest, sections = program.parts(packets=packets, ranks=ranks)
    manifest["target"].update(backend="cuda", arch="sm_90a")  # the cpu has no task packets
    return Bundle.from_parts(manifest, sections)


def test_readers_receive_task_packets() -> None:
    make, end0, take, end1 = ends(simulate(packets_program(1), topology()).timeline)
    assert (make, take) == (900, 900 + 10 + 900)
    assert end0 == end1 == take + 30


def test_task_packets_of_other_ranks_take_the_links() -> None:
    """64 bytes leave from 900 to 964 and are at the other end at 900 + 128 + 100."""
    prediction = simulate(packets_program(2), topology())
    make, _, take, _ = ends(prediction.timeline)
    assert (make, take) == (964, 900 + 128 + 100 + 900)
    assert [step.kind for step in prediction.critical_path][:4] == [
        "compute",
        "send",
        "hand-off",
        "compute",
    ]


def test_measured_costs_replace_predicted_times() -> None:
    program = two_ranks()
    costs = Costs("toy", {"rank0/put": TaskCost(2, 5000.0)})
    prediction = simulate(bundle_of(program, ranks=2), topology(), costs=costs)
    assert ends(prediction.timeline)[0] == 10000 + 64


def test_the_error_is_that_of_the_measurement() -> None:
    program = two_ranks()
    bundle = bundle_of(program, ranks=2)
    total = simulate(bundle, topology()).total_ns
    prediction = simulate(bundle, topology(), measured_ns=2 * total)
    assert prediction.error == -0.5
    assert "error of the prediction  -50.0 %" in str(prediction)
    assert simulate(bundle, topology()).error is None


def test_lanes_that_wait_for_each_other_are_an_error() -> None:
    program = ToyProgram(sms=2)
    nothing = program.task("nothing")
    first, second = program.semaphore(1), program.semaphore(1)
    program.lane(0, [wait(second, 1), run(nothing, 0, 1), signal(first)])
    program.lane(1, [wait(first, 1), signal(second)])
    with pytest.raises(InvalidUsageError, match="lane 0 waits forever at instruction 0"):
        simulate(bundle_of(program), topology())


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (topology(each=1), {}, "has 2 ranks, but topology 'toys' has 1 GPUs"),
        (topology(), {"world": 4}, "program 'toy' has 2 ranks, not 4"),
        (topology(), {"measured_ns": 0.0}, "measured_ns must be a positive number, not 0.0"),
    ],
)
def test_wrong_use_is_an_error(machine: Topology, options: dict[str, Any], message: str) -> None:
    program = two_ranks()
    with pytest.raises(InvalidUsageError, match=message):
        simulate(bundle_of(program, ranks=2), machine, **options)


def test_a_missing_path_is_named() -> None:
    program = two_ranks()
    machine = topology(hosts=2, each=1)
    paths = {"host": machine.paths["host"]}
    lacking = Topology("toys", 2, 1, GPU, machine.links, paths)
    with pytest.raises(InvalidUsageError, match="no path 'rail', which GPUs 0 and 1 need"):
        simulate(bundle_of(program, ranks=2), lacking)


def test_a_schedule_without_times_is_an_error() -> None:
    program = two_ranks()
    manifest, sections = program.parts(ranks=2)
    sections["timeline"] = np.zeros((6, 2), "<i8").tobytes()
    with pytest.raises(InvalidUsageError, match="compiled without predicted times"):
        simulate(Bundle.from_parts(manifest, sections), topology())


def test_readers_of_the_same_packets_share_a_group() -> None:
    """Without groups, a task that all lanes read would be looked up once for each lane."""
    program = ToyProgram(sms=4)
    x = program.buffer("x", "input", "fp32", [16])
    y = program.buffer("y", "output", "fp32", [32])
    end = program.semaphore(3, "end")
    make = program.task("add", 1, [(3, 0), (x, 0), (x, 0)])
    takes = [program.task("add", 1, [(y, 64 * i), (3, 0), (3, 0)]) for i in range(2)]
    program.lane(0, [run(make, 0, 1), barrier(end, 3)])
    for lane, take in enumerate(takes, 1):
        program.lane(lane, [run(take, 0, 1), barrier(end, 3)])
    exchanges = Exchanges(with_packets(program, 64, 1))
    assert exchanges.groups == [(0,)]
    assert exchanges.group_of == {2: 0, 4: 0}
