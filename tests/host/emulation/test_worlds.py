"""Kernels of several ranks run concurrently, on one emulated GPU each or all on one.

Results have the same bits as on the target cpu. Tests with planted mistakes show that wrong scopes
of signals between GPUs, and mistakes in linking, change results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    forwarding,
    in_place,
    looking_up,
    multiplying,
    normalizing,
    pipelined,
    scattering,
    stepping,
    wait_for_more,
)

import ark_mlir as ark
from ark_mlir.bundle import Opcode
from ark_mlir.dtypes import DType
from ark_mlir.models.sharding import Shard
from ark_mlir.runtime.ranks import linked_semaphore
from ark_mlir.runtime.ranks.linked_semaphore import LinkedSemaphore


def heads(size: int) -> Programs:
    """Returns programs in which each rank has a part of three rows of 37 logits."""
    programs: Programs = []
    for rank in range(size):
        shard = Shard(rank, size)
        with ark.Program("head", rank=rank, world_size=size) as program:
            part = ark.input("part", (3, len(shard.interval(37))))
            ark.output("logits", shard.gather(part, 37))
            ark.output("token", shard.argmax(part, 37))
        programs.append(program)
    return programs


Make = Callable[..., World]


@pytest.fixture
def make(library: Path, tmp_path: Path) -> Make:
    """``make(programs, devices, iterations=1, **options)`` returns a World."""

    def build(programs: Programs, devices: int, **options: Any) -> World:
        return World(programs, library, tmp_path, devices, **options)

    return build


def where(size: int) -> list[Any]:
    return [
        pytest.param(size, 1, id=f"{size} ranks on one GPU"),
        pytest.param(size, size, id=f"{size} ranks on {size} GPUs"),
    ]


# -- bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "devices"), where(3))
@pytest.mark.parametrize("rows", [4, 100], ids=["packets", "counters"])
def test_microbatches_of_a_pipeline(size: int, devices: int, rows: int, make: Make) -> None:
    world = make(pipelined(size, rows), devices)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(3)])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16, ark.int8], ids=str)
def test_every_collective(size: int, devices: int, dtype: DType, make: Make) -> None:
    world = make(all_collectives(size, dtype), devices)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize(("size", "dtype"), [(5, ark.fp16), (8, ark.bf16)])
def test_every_collective_of_many_gpus(size: int, dtype: DType, make: Make) -> None:
    make(all_collectives(size, dtype), size).run(0)


def test_more_gpus_than_the_emulator_has(make: Make) -> None:
    with pytest.raises(ValueError, match="fewer than 9 GPUs"):
        make(counting(9, 0), 9)


@pytest.mark.parametrize("shape", [(6, 32), (12, 1031)], ids=["packets", "counters"])
def test_collectives_that_overwrite_their_operand(shape: tuple[int, int], make: Make) -> None:
    world = make(in_place(3, shape), 3, iterations=3)
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize("collectives", ["one-shot", "ring"])
def test_algorithms_of_collectives(collectives: str, make: Make) -> None:
    world = make(all_collectives(3), 3, collectives=collectives)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a"])
def test_other_architectures(arch: str, make: Make) -> None:
    make(all_collectives(2, ark.fp16), 2, arch=arch).run(0)


@pytest.mark.parametrize("build", [stepping, forwarding])
@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(3)])
def test_iterations_that_send_other_values(
    build: Callable[[int], Programs], size: int, devices: int, make: Make
) -> None:
    world = make(build(size), devices, iterations=4)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(4)])
def test_products_by_tma(size: int, devices: int, make: Make) -> None:
    """The kernel of each GPU has tensor maps of its own."""
    world = make(multiplying(size), devices, iterations=2, sms=3, warps=None)
    assert "cp.async.bulk.tensor" in world.emulation.text
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(4)])
@pytest.mark.parametrize("rows", [1, 3])
def test_norms_of_sums_over_ranks(rows: int, size: int, devices: int, make: Make) -> None:
    """Each reader of a norm adds the products of all ranks and the residual in registers."""
    world = make(normalizing(size, rows, 256), devices, iterations=2, exact=False)
    assert "ld.relaxed.sys.global.v4.u32" in world.emulation.text
    for seed in SEEDS[:2]:
        world.run(seed)


@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(3)])
def test_parts_of_a_vocabulary(size: int, devices: int, make: Make) -> None:
    world = make(heads(size), devices)
    for seed in SEEDS:
        world.run(seed)


@pytest.mark.parametrize("stopper", [0, 1])
@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(3)])
def test_a_stop_ends_all_ranks_after_the_same_iteration(
    size: int, devices: int, stopper: int, make: Make
) -> None:
    """The next run continues to count from there, whichever rank ended the first run."""
    emulation = make(counting(size, stopper), devices).emulation
    for seed in SEEDS:
        emulation.load(seed)
        with emulation.executable as executable:
            for _ in range(2):
                emulation.run([{}] * size, iterations=100)
                totals = [int(executable.states[f"rank{rank}/total"][0]) for rank in range(size)]
                assert totals == [12] * size
                executable.reset()


# -- mistakes --------------------------------------------------------------------------------


SIGNALS = {
    (name, mutation)
    for name in ("ptx_red_add.release.sys", "ptx_ld.acquire.sys")
    for mutation in (Mutation.RELAX, Mutation.NARROW_TO_GPU)
}
PACKETS = {(name, Mutation.NARROW_TO_GPU) for name in ("ptx_st.relaxed.sys", "ptx_ld.relaxed.sys")}


def passing(size: int, shape: tuple[int, int], dtype: DType) -> Programs:
    """Returns programs in which each rank passes a computed tensor to the next rank."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("passing", rank=rank, world_size=size) as program:
            ark.send(ark.input("x", shape, dtype) * 3, (rank + 1) % size, 0)
            ark.output("y", ark.recv(shape, dtype, (rank - 1) % size, 0) + 1)
        programs.append(program)
    return programs


@pytest.mark.parametrize(("size", "devices"), [*where(2), *where(3)])
@pytest.mark.parametrize(
    ("dtype", "width", "load"),
    [
        (ark.bf16, 131, "u32 $0"),
        (ark.fp16, 5, "u32 $0"),
        (ark.bf16, 130, "v2.u32"),
        (ark.bf16, 132, "v4.u32"),
        (ark.fp32, 33, "u64 $0"),
        (ark.fp32, 34, "v2.u64"),
    ],
)
def test_packets_of_rows_of_any_length(
    dtype: DType, width: int, load: str, size: int, devices: int, make: Make
) -> None:
    """A row that threads do not load in vectors of four packets goes to another rank as packets,
    too. Each load has as many packets as divide the row."""
    world = make(passing(size, (1, width), dtype), devices, iterations=2)
    assert f"ld.relaxed.sys.global.{load}" in world.emulation.text
    for seed in SEEDS[:2]:
        world.run(seed)


def is_packet(mutant: Mutant) -> bool:
    return ".relaxed" in mutant.name


@pytest.mark.parametrize("build", [all_collectives, stepping])
def test_weaker_signals_between_gpus_show(build: Callable[[int], Programs], make: Make) -> None:
    """Each release and acquire becomes relaxed, and gets the scope of a GPU."""
    world = make(build(2), 2, iterations=3)
    assert not world.judge({})
    mutants = [mutant for mutant in world.peer_mutants() if not is_packet(mutant)]
    assert {(mutant.name.split(" ")[0], mutant.mutation) for mutant in mutants} == SIGNALS
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name


def test_packets_with_the_scope_of_a_gpu_show(make: Make) -> None:
    """In programs of several ranks, packets within a GPU have the scope of the system as well. It
    is wider than they need, so this program has none."""
    world = make(scattering(2), 2, iterations=3)
    assert not world.judge({})
    mutants = [mutant for mutant in world.peer_mutants() if is_packet(mutant)]
    assert {(mutant.name.split(" ")[0], mutant.mutation) for mutant in mutants} == PACKETS
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name


def test_packets_of_sums_with_the_scope_of_a_gpu_show(make: Make) -> None:
    """The readers of norms poll for the products of both ranks."""
    world = make(normalizing(2, 1, 256), 2, iterations=3, exact=False)
    assert not world.judge({})
    mutants = [m for m in world.peer_mutants() if is_packet(m) and ".sum " in m.name]
    assert {(m.name.split(" ")[0], m.mutation) for m in mutants} == PACKETS
    for mutant in mutants:
        assert world.judge(mutant.changes()), mutant.name


def test_the_scope_of_a_gpu_suffices_on_one_gpu(make: Make) -> None:
    world = make(all_collectives(2), 1, iterations=3)
    narrower = [m for m in world.peer_mutants() if m.mutation == Mutation.NARROW_TO_GPU]
    assert narrower
    for mutant in narrower:
        assert not world.judge(mutant.changes()), mutant.name


Rows = Iterator[tuple[int, int, int, int]]


def drop_first_level(rows: Rows, first: int) -> Rows:
    """Makes the lanes of a GPU wait only for the first lanes of the other GPUs."""
    return (row for row in rows if (row[0], row[1]) != (Opcode.WAIT, first))


def drop_second_level(rows: Rows, first: int) -> Rows:
    """Makes the lanes of a GPU wait only for lanes of their own GPU."""
    return (row for row in rows if row[0] != Opcode.WAIT or row[1] == first)


@pytest.mark.parametrize("change", [drop_first_level, drop_second_level])
@pytest.mark.parametrize("size", [2, 3])
def test_a_barrier_that_lacks_a_level_shows(
    change: Callable[[Rows, int], Rows], size: int, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(forwarding(size), size, iterations=4)
    assert not world.judge({})
    barrier = LinkedSemaphore.barrier

    def link(semaphore: LinkedSemaphore, rank: int, is_first: bool) -> Rows:
        return change(barrier(semaphore, rank, is_first), semaphore.number)

    monkeypatch.setattr(LinkedSemaphore, "barrier", link)
    # Only a lane that is an iteration behind shows the fault.
    assert "rank" in world.judge({}, range(40))


def test_a_signal_to_the_wrong_gpu_shows(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make(all_collectives(2), 2)
    monkeypatch.setattr(linked_semaphore, "counter_on", lambda gpu, own, number: number)
    assert "waited more than" in world.judge({}) or "vCTA" in world.judge({})


# -- runs that fail --------------------------------------------------------------------------


class Failing:
    """Ranks on separate GPUs, whose inputs are the numbers from 0 to 3."""

    def __init__(self, library: Path, folder: Path, size: int) -> None:
        self.size = size
        self.emulation = Emulation(looking_up(size), library, folder, sms=2, warps=4, devices=size)

    def run(self, indices: Sequence[int]) -> list[int]:
        """Returns the output of each rank."""
        x = np.arange(4, dtype=np.int32)
        outputs = self.emulation.run([{"x": x, "index": index} for index in indices])
        return [int(output["y"]) for output in outputs]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_bad_index_of_one_rank(bad: int, library: Path, tmp_path: Path) -> None:
    failing = Failing(library, tmp_path, 3)
    good = [1, 2, 3]
    for seed in range(2):
        failing.emulation.load(seed)
        with failing.emulation.executable:
            with pytest.raises(ark.DeviceError, match="index 9 is out of range") as caught:
                failing.run([9 if rank == bad else index for rank, index in enumerate(good)])
            assert f"rank{bad}/" in str(caught.value)
            assert failing.run(good) == [14] * 3


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_hang_of_one_rank(hangs: int, library: Path, tmp_path: Path) -> None:
    failing = Failing(library, tmp_path, 2)
    failing.emulation.bundle = wait_for_more(failing.emulation.bundle, hangs)
    for seed in SEEDS:
        failing.emulation.load(seed)
        with failing.emulation.executable:
            for _ in range(2):
                with pytest.raises(ark.HangError) as caught:
                    failing.run([1, 2])
                assert f"rank{hangs}/" in caught.value.message
