"""The simulation of compiled schedules."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.compiler import compile_schedule
from ark_mlir.simulation import simulate


def mlp() -> ark.Program:
    with ark.Program("mlp") as program:
        x = ark.input("x", (1, 512), ark.bf16)
        for layer in range(4):
            x = ark.relu(x @ ark.parameter(f"w{layer}", (512, 512), ark.bf16))
        ark.output("y", x)
    return program


def all_reduces(ranks: int, elements: int, count: int = 1, **options: object) -> Bundle:
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("sums", rank=rank, world_size=ranks) as program:
            x = ark.input("x", (elements,), ark.bf16)
            for _ in range(count):
                x = ark.all_reduce(x) * 0.5
            ark.output("y", x)
        programs.append(program)
    return compile_schedule(programs, "cuda:sm_90a", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("packets", [True, False])
def test_one_rank_takes_the_time_that_the_compiler_predicts(packets: bool) -> None:
    """Both simulations follow one model of hand-offs; the tables have whole ns."""
    bundle = compile_schedule(mlp(), "cuda:sm_90a", packets=packets)
    assert bool(bundle.manifest.packets) == packets
    prediction = simulate(bundle, "h200")
    predicted = bundle.tables.predicted_ns
    assert prediction.total_ns == pytest.approx(predicted, abs=20)
    assert prediction.links == ()
    assert prediction.exposed_ns == 0


def test_an_all_reduce_sends_its_bytes() -> None:
    """A packet of a 16-bit value has 32 bits; larger tensors have the bytes of their elements."""
    assert simulate(all_reduces(2, 1024), "h200").sent_bytes == 2 * 1024 * 4
    assert simulate(all_reduces(2, 1 << 20), "h200").sent_bytes == 2 * (1 << 20) * 2
    two_shot = all_reduces(4, 1 << 18, collectives="two-shot")
    assert simulate(two_shot, "h200").sent_bytes == 4 * 2 * 3 * (1 << 16) * 2


def test_copies_that_no_op_names_are_not_sent() -> None:
    """The compiler stores rows that are views of one row, in a task without a rank in its name."""
    part, programs = 1 << 16, list[ark.Program]()
    for rank in range(2):
        with ark.Program("parts", rank=rank, world_size=2) as program:
            x = ark.input("x", (2 * part,), ark.bf16)
            for _ in range(2):
                own = ark.reshape(ark.reduce_scatter(x, 0), (1, part))
                x = ark.reshape(ark.broadcast_to(own, (2, part)), (2 * part,))
            ark.output("y", x)
        programs.append(program)
    bundle = compile_schedule(programs, "cuda:sm_90a")
    assert any(task.name.startswith("copy") for task in bundle.manifest.tasks)
    assert simulate(bundle, "h200").sent_bytes == 2 * 2 * part * 2


def test_each_all_reduce_of_a_chain_takes_a_hop() -> None:
    one, three = (simulate(all_reduces(2, 1024, count), "h200").total_ns for count in (1, 3))
    assert (three - one) / 2 > 620


def test_a_large_all_reduce_is_bound_by_its_link() -> None:
    prediction = simulate(all_reduces(2, 1 << 23), "h200")
    sending = (1 << 24) / 367
    assert sending < prediction.total_ns < 2 * sending
    assert math.isclose(prediction.links[0].busy_ns, sending, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("elements", "measured_us"), [(1 << 10, 1.0), (1 << 16, 3.1), (1 << 19, 5.6), (1 << 23, 54.0)]
)
def test_all_reduces_take_the_measured_time(elements: int, measured_us: float) -> None:
    """Two H200, benchmarks/results/2026-11-25-packets-between-gpus.md."""
    one, three = (simulate(all_reduces(2, elements, count), "h200").total_ns for count in (1, 3))
    assert (three - one) / 2e3 == pytest.approx(measured_us, rel=0.2)


def test_hosts_cost_more_than_gpus_of_one_host() -> None:
    bundle = all_reduces(16, 512)
    prediction = simulate(bundle, "h200x8")
    links = {link.name: link for link in prediction.links}
    # From each GPU of a host, one message to each of the 8 GPUs of the other.
    assert links["nic-out of GPU 0"].messages == 8
    assert links["nvlink-out of GPU 0"].messages == 7
    assert prediction.total_ns > 8400
    with pytest.raises(ark.InvalidUsageError, match="has 16 ranks, but topology 'h200' has 8"):
        simulate(bundle, "h200")


def test_a_schedule_without_code_has_the_tables_of_the_bundle() -> None:
    schedule = compile_schedule(mlp(), "cpu:2")
    whole = ark.compile(mlp(), "cpu:2", cache=False).bundle
    for name in ("instructions", "lanes", "tasks", "operands", "timeline"):
        mine, other = getattr(schedule.tables, name), getattr(whole.tables, name)
        assert (mine == other).all()
