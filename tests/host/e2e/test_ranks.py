"""Several ranks in one process: every collective, within the interpreter's bound."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collective_programs import draw, everything
from numpy.typing import NDArray

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.testing.bounds import assert_within

Array = NDArray[Any]


def agree(
    programs: list[ark.Program], inputs: list[dict[str, Array]], outputs: list[dict[str, Array]]
) -> None:
    expected = ark.reference.evaluate_ranks(programs, inputs, bound=True)
    for rank, (got, wanted) in enumerate(zip(outputs, expected, strict=True)):
        assert sorted(got) == sorted(wanted.outputs)
        for name, value in wanted.outputs.items():
            bound = wanted.bounds.get(name, np.zeros(value.shape))
            assert_within(got[name], value, bound, f"rank {rank}: {name}")


def check(size: int, dtype: DType = ark.fp32, **options: Any) -> None:
    programs = [everything(rank, size, dtype) for rank in range(size)]
    rng = np.random.default_rng(size)
    with ark.compile(programs, target="cpu:2", **options) as world:
        for _ in range(2):
            inputs = [draw(rng, program) for program in programs]
            agree(programs, inputs, world.run(inputs))


@pytest.mark.parametrize("size", range(1, 9))
def test_every_world_size(size: int) -> None:
    check(size)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("collectives", ["one-shot", "two-shot", "ring"])
def test_every_algorithm(collectives: str, size: int) -> None:
    check(size, collectives=collectives)


@pytest.mark.parametrize(
    "dtype", [ark.bf16, ark.fp16, ark.int8, ark.uint32, ark.bool, ark.fp8_e4m3], ids=str
)
def test_every_kind_of_element(dtype: DType) -> None:
    check(3, dtype, collectives="ring")


@pytest.mark.parametrize("collectives", ["auto", "one-shot", "two-shot", "ring"])
def test_tensors_without_elements(collectives: str) -> None:
    """Collectives of empty tensors do not wait, and give tensors of the right shapes."""

    def build(rank: int) -> ark.Program:
        with ark.Program("empty", rank=rank, world_size=3) as program:
            x = ark.input("x", (3, 0, 2), ark.fp16)
            ark.send(x, (rank + 1) % 3, tag=1)
            ark.output("received", ark.recv((3, 0, 2), ark.fp16, (rank - 1) % 3, tag=1))
            ark.output("total", ark.all_reduce(x))
            ark.output("scattered", ark.reduce_scatter(x, 0))
            ark.output("gathered", ark.all_gather(x, 0))
            ark.output("swapped", ark.all_to_all(x, 0))
            ark.output("broadcast", ark.broadcast(x, 2))
            ark.output("elements", ark.all_reduce(ark.ones((5,))))
        return program

    with ark.compile(
        [build(rank) for rank in range(3)], target="cpu:1", collectives=collectives
    ) as world:
        for output in world.run([{"x": np.zeros((3, 0, 2), np.float16)}] * 3):
            shapes = {name: array.shape for name, array in output.items()}
            whole = dict.fromkeys(("received", "total", "swapped", "broadcast"), (3, 0, 2))
            assert shapes == whole | {
                "scattered": (1, 0, 2),
                "gathered": (9, 0, 2),
                "elements": (5,),
            }
            np.testing.assert_array_equal(output["elements"], 3)


def test_large_tensors_are_put_and_signalled(tmp_path: Path) -> None:
    """The size selects the algorithm: packets, then one-shot, then two-shot, then ring."""
    sizes = ((1 << 8, "read_packet"), (1 << 12, "get"), (1 << 16, "get"), (1 << 20, "get"))
    for elements, takes in sizes:

        def build(rank: int, elements: int = elements) -> ark.Program:
            with ark.Program("large", rank=rank, world_size=3) as program:
                ark.output("y", ark.all_reduce(ark.input("x", (elements,))))
            return program

        programs = [build(rank) for rank in range(3)]
        with ark.compile(programs, target="cpu:1", dump_dir=tmp_path) as world:
            rng = np.random.default_rng(0)
            inputs = [draw(rng, program) for program in programs]
            agree(programs, inputs, world.run(inputs))
            ops = {op for task in world.bundle.manifest.tasks for op in task.ops}
            assert ("put_packet" in ops) == (takes == "read_packet")


def test_all_ranks_get_the_same_bits() -> None:
    """Parts are added in the order of ranks; in the ring, in one fixed order."""

    def build(rank: int) -> ark.Program:
        with ark.Program("bits", rank=rank, world_size=4) as program:
            ark.output("y", ark.all_reduce(ark.input("x", (1000,))))
        return program

    programs = [build(rank) for rank in range(4)]
    rng = np.random.default_rng(1)
    inputs = [draw(rng, program) for program in programs]
    results: dict[str, Array] = {}
    for way in ("one-shot", "two-shot", "ring"):
        outputs = ark.compile(programs, target="cpu:1", collectives=way).run(inputs)
        results[way] = outputs[0]["y"]
        for output in outputs:
            np.testing.assert_array_equal(output["y"], results[way])
    np.testing.assert_array_equal(results["one-shot"], results["two-shot"])
    ordered = inputs[0]["x"] + inputs[1]["x"] + inputs[2]["x"] + inputs[3]["x"]
    np.testing.assert_array_equal(results["one-shot"], ordered)


@pytest.mark.parametrize(("size", "rows"), [(2, 2048), (4, 3072), (3, 2048)])
def test_large_reductions_in_chunks(size: int, rows: int) -> None:
    """Two shots exchange slices of at least 1 MiB in up to four chunks, if the ranks divide the
    chunks. No task copies the gathered slices, and the bits are those of one shot.
    """

    def build(rank: int) -> ark.Program:
        with ark.Program("chunks", rank=rank, world_size=size) as program:
            x = ark.input("x", (rows, 1024))
            ark.output("y", ark.all_reduce(x) * 0.5)
        return program

    programs = [build(rank) for rank in range(size)]
    rng = np.random.default_rng(2)
    inputs = [draw(rng, program) for program in programs]
    with ark.compile(programs, target="cpu:1", collectives="one-shot") as world:
        expected = world.run(inputs)
    with ark.compile(programs, target="cpu:1", collectives="two-shot") as world:
        outputs = world.run(inputs)
        tasks = world.bundle.manifest.tasks
    agree(programs, inputs, outputs)
    for output, other in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(output["y"], other["y"])
    chunks = {2: 4, 4: 3, 3: 1}[size]
    assert sum("add" in task.ops for task in tasks) == size * chunks
    if size != 3:
        assert not any("concat" in task.ops for task in tasks)


def test_states_over_many_iterations_need_no_reset() -> None:
    """A stale or lost message would permanently change a chain through both ranks."""

    def build(rank: int) -> ark.Program:
        with ark.Program("chain", rank=rank, world_size=2) as program:
            state = ark.state("s", (4,), ark.int32, init=rank + 1)
            ark.output("y", ark.update(state, ark.all_reduce(state) + rank, (0,)))
        return program

    programs = [build(rank) for rank in range(2)]
    with ark.compile(programs, target="cpu:2") as world:
        values = np.array([1, 2], np.int32)
        with np.errstate(over="ignore"):
            for iterations in (1, 3, 40, 1, 7):
                got = world.run(iterations=iterations)
                for _ in range(iterations):
                    total = values.sum(dtype=np.int32)
                    values = np.array([total, total + np.int32(1)])
                assert [out["y"][0] for out in got] == values.tolist()
        assert world.states["rank1/s"].tolist() == [values[1]] * 4
        world.reset()
        assert [out["y"][0] for out in world.run()] == [3, 4]


def test_in_place_updates_follow_sends_of_the_old_value() -> None:
    """A state is sent, then overwritten: the peer gets the value before the update."""

    def build(rank: int) -> ark.Program:
        with ark.Program("inplace", rank=rank, world_size=2) as program:
            x = ark.input("x", (64,))
            state = ark.state("s", (64,), init=7)
            ark.send(state, 1 - rank, tag=0)
            new = ark.update(state, x, (0,))
            before = ark.recv((64,), ark.fp32, 1 - rank, tag=0)
            ark.output("y", before + new)
        return program

    programs = [build(rank) for rank in range(2)]
    x = [{"x": np.full(64, 10.0 * rank, np.float32)} for rank in range(2)]
    with ark.compile(programs, target="cpu:2") as world:
        assert [out["y"][5] for out in world.run(x)] == [7, 17]
        assert [out["y"][5] for out in world.run(x)] == [10, 10]


def test_plans_and_tiles_are_those_of_a_rank() -> None:
    """SMs of a plan count from the first SM of the rank; each rank has as many SMs as the
    target."""

    def build(rank: int, sms: tuple[int, int]) -> ark.Program:
        with ark.Program("plan", rank=rank, world_size=2) as program:
            with ark.planner(sms=sms):
                h = ark.exp(ark.input("x", (64, 64)), name="pinned")
            ark.output("y", ark.all_reduce(h))
        return program

    programs = [build(rank, (1, 2)) for rank in range(2)]
    world = ark.compile(programs, target="cpu:3")
    assert world.bundle.manifest.target.sms == 6
    tables = world.bundle.tables
    tasks = world.bundle.manifest.tasks
    where = {(tasks[row[1]].name, int(sm)) for sm, first, last in tables.lanes.tolist()
             for row in tables.instructions[first:last].tolist() if row[0] == 0}  # fmt: skip
    assert {sm for name, sm in where if name == "rank0/pinned"} == {1}
    assert {sm for name, sm in where if name == "rank1/pinned"} == {4}
    for name, sm in where:
        assert name.startswith(f"rank{sm // 3}/"), (name, sm)
    with pytest.raises(ark.CompileError, match="the target has 3 SMs"):
        ark.compile([build(rank, (2, 5)) for rank in range(2)], target="cpu:3")


def test_file_and_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ark_mlir.cli.main import main

    programs = [everything(rank, 2, ark.fp32) for rank in range(2)]
    path = tmp_path / "world.arkbin"
    ark.compile(programs, target="cpu:1").save(path)
    rng = np.random.default_rng(2)
    inputs = [draw(rng, program) for program in programs]
    with ark.load(path) as world:
        assert isinstance(world, ark.World)
        agree(programs, inputs, world.run(inputs))
    words = ["run", str(path), "--output", f"rank1/total={tmp_path / 'y.npy'}"]
    for rank, arrays in enumerate(inputs):
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}{rank}.npy", array)
            words += ["--input", f"rank{rank}/{name}={tmp_path / f'{name}{rank}.npy'}"]
    assert main(words) == 0
    assert "rank0/gathered: float32 [5, 22]" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), inputs[0]["x"] + inputs[1]["x"])


def test_one_module_of_all_ranks() -> None:
    """The text of the joined module, with a program for every rank, compiles in the same way."""
    text = "\n".join(
        f"""
        ark.program @p{rank}(%x: tensor<4xf32> {{ark.kind = #ark.kind<input>, ark.name = "x"}})
            -> (tensor<4xf32> {{ark.name = "y"}})
            attributes {{rank = {rank} : i64, world_size = 2 : i64}} {{
          %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
          ark.return %0 : tensor<4xf32>
        }}"""
        for rank in range(2)
    )
    world = ark.compile(text, target="cpu:1")
    assert isinstance(world, ark.World)
    assert world.run(x=np.ones(4, np.float32))[1]["y"].tolist() == [2, 2, 2, 2]


# ------------------------------------------------------------------ programs that are refused


def two(
    first: Callable[[ark.Tensor], ark.Tensor], second: Callable[[ark.Tensor], ark.Tensor]
) -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank, body in enumerate((first, second)):
        with ark.Program(f"rank{rank}", rank=rank, world_size=2) as program:
            ark.output("y", body(ark.input("x", (4, 4))))
        programs.append(program)
    return programs


def lines(error: ark.ArkError) -> list[str]:
    return re.findall(r"test_ranks\.py:\d+", str(error))


def test_ranks_that_disagree_raise() -> None:
    programs = two(ark.all_reduce, lambda x: ark.all_gather(x, 0))
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.compile(programs, target="cpu:1")
    text = str(caught.value)
    assert "collective 1 of rank 0 is 'ark.all_reduce sum of tensor<4x4xf32>'" in text
    assert "collective 1 of rank 1 is 'ark.all_gather of tensor<4x4xf32> axis = 0'" in text
    assert len(set(lines(caught.value))) == 2  # the Python lines of both ranks
    with pytest.raises(ark.InvalidUsageError, match="rank 1 has no collective 1"):
        ark.compile(two(ark.all_reduce, ark.relu), target="cpu:1")


def test_sends_without_receives_raise() -> None:
    def sends(tag: int) -> Callable[[ark.Tensor], ark.Tensor]:
        return lambda x: ark.send(x, dst=1, tag=tag)

    def receives(tag: int) -> Callable[[ark.Tensor], ark.Tensor]:
        return lambda x: ark.recv((4, 4), ark.fp32, src=0, tag=tag)

    with pytest.raises(ark.InvalidUsageError, match="that rank 1 never receives") as caught:
        ark.compile(two(sends(1), ark.relu), target="cpu:1")
    assert lines(caught.value)
    with pytest.raises(
        ark.InvalidUsageError, match="rank 1 receives a tensor from rank 0 under tag 2"
    ) as caught:
        ark.compile(two(sends(1), receives(2)), target="cpu:1")
    assert len(set(lines(caught.value))) == 2
    with pytest.raises(ark.InvalidUsageError, match="that rank 0 never sends"):
        ark.compile(two(ark.relu, receives(2)), target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match="tag -1 is negative"):
        two(sends(-1), receives(-1))


def test_a_cycle_of_receives_raises() -> None:
    def body(peer: int) -> Callable[[ark.Tensor], ark.Tensor]:
        def first_receives(x: ark.Tensor) -> ark.Tensor:
            got = ark.recv((4, 4), ark.fp32, peer)
            return ark.send(x, peer) + got

        return first_receives

    with pytest.raises(ark.ArkError, match="rank 0 waits for rank 1, which waits itself") as caught:
        ark.compile(two(body(1), body(0)), target="cpu:1")
    assert lines(caught.value)


def test_incomplete_worlds_raise() -> None:
    programs = two(ark.all_reduce, ark.all_reduce)
    with pytest.raises(ark.InvalidUsageError, match="rank 1 has no program here"):
        ark.compile(programs[0], target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match="is the second program of rank 0"):
        ark.compile([programs[0], programs[0]], target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match="is the second program of rank 1"):
        ark.compile([*programs, programs[1]], target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match=r"3 ranks, but program .* 2 ranks"):
        ark.compile([programs[0], everything(1, 3, ark.fp32)], target="cpu:1")
    with ark.Program("plain") as plain:
        ark.output("y", ark.relu(ark.input("x", (4, 4))))
    with pytest.raises(ark.InvalidUsageError, match="'plain' has no rank"):
        ark.compile([programs[0], plain], target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match="an empty list"):
        ark.compile([], target="cpu:1")
    with pytest.raises(ark.InvalidUsageError, match="collectives"):
        ark.compile(programs, target="cpu:1", collectives="tree")


def test_domains_of_amd_gpus_raise() -> None:
    """There is no network library for kernels of AMD GPUs."""
    programs = two(ark.all_reduce, ark.all_reduce)
    with pytest.raises(ark.UnsupportedError, match="for hip are in one domain") as caught:
        ark.compile(programs, target="hip:gfx942", domains=[0, 1])
    assert caught.value.notes == ("compile without domains=",)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("options", "shares"),
    [({}, False), ({"devices": [0, 1]}, False), ({"devices": [0]}, True),
     ({"devices": [0, 0], "concurrent": True}, True)],
    ids=["a GPU each", "two GPUs", "one GPU", "a launch each"],
)  # fmt: skip
def test_ranks_compile_for_amd_gpus(arch: str, options: dict[str, Any], shares: bool) -> None:
    programs = two(ark.all_reduce, ark.all_reduce)
    manifest = (world := ark.compile(programs, target=f"hip:{arch}", **options)).bundle.manifest
    assert (manifest.ranks, manifest.shares_device) == (2, shares)
    assert bytes(world.bundle.sections["kernel"])[:4] == b"\x7fELF"


@pytest.mark.parametrize("size", [2, 3, 8])
def test_packets_are_those_of_their_iteration(size: int) -> None:
    """A packet of one iteration is not taken for a packet of the next, whatever the ranks'
    speeds."""
    iterations = 50

    def build(rank: int) -> ark.Program:
        with ark.Program("count", rank=rank, world_size=size) as program:
            total = ark.state("total", (7,), ark.int32)
            own = total + (rank + 1) * ark.input("x", (7,), ark.int32)
            # Every iteration adds the same value: the sum of all ranks, less the initial value.
            new = ark.update(total, ark.all_reduce(own) - (size - 1) * total, (0,))
            ark.output("y", ark.all_reduce(ark.cast(new, ark.uint8), "max"))
        return program

    programs = [build(rank) for rank in range(size)]
    x = np.arange(7, dtype=np.int32)
    expected = np.zeros(7, np.int32)
    with ark.compile(programs, target="cpu:1", collectives="one-shot") as world:
        kinds = {semaphore.handoff for semaphore in world.bundle.manifest.semaphores}
        assert kinds == {"packet", "barrier"}
        for launch in (1, iterations, 3):
            outputs = world.run([{"x": x} for _ in programs], iterations=launch)
            for _ in range(launch):
                expected = expected + size * (size + 1) // 2 * x
            for output in outputs:
                np.testing.assert_array_equal(output["y"], expected.astype(np.uint8))
