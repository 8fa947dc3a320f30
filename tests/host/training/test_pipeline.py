"""Pipelines of stages on several ranks: gradients of the whole model, in the order of 1F1B."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import frontend
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import compile_schedule
from ark_mlir.runtime.diagnosis.trace import read_trace
from ark_mlir.simulation import bubble, simulate
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
BLOCKS, WIDTH, ROWS, CLASSES = 8, 12, 3, 5


class Model:
    """Blocks of a residual MLP, and a head; the states are those of some blocks."""

    def __init__(self, blocks: range | list[int], width: int = WIDTH) -> None:
        self.up = {b: ark.state(f"up{b}", (width, 2 * width)) for b in blocks}
        self.down = {b: ark.state(f"down{b}", (2 * width, width)) for b in blocks}
        self.weights = [*self.up.values(), *self.down.values()]
        if BLOCKS - 1 in blocks:
            self.head = ark.state("head", (width, CLASSES))
            self.weights.append(self.head)

    def block(self, number: int, h: ark.Tensor) -> ark.Tensor:
        return h + ark.gelu(h @ self.up[number]) @ self.down[number]


def finish(model: Model, loss: ark.Tensor, slopes: list[ark.Tensor]) -> None:
    ark.output("loss", loss)
    for weight, slope in zip(model.weights, slopes, strict=True):
        ark.output(f"slope of {weight.name}", slope)
    ark.optim.SGD(model.weights, lr=0.1).step(slopes)


def build_rank(
    rank: int, ranks: int, microbatches: int, chunks: int, rows: int = ROWS, width: int = WIDTH
) -> ark.Program:
    each = BLOCKS // (ranks * chunks)
    with ark.Program("step", rank=rank, world_size=ranks) as program:
        pipeline = ark.training.Pipeline(microbatches, hidden=(rows, width), chunks=chunks)
        blocks = {s: range(s * each, (s + 1) * each) for s in pipeline.stages}
        model = Model([number for stage in blocks.values() for number in stage], width)
        x = ark.input("x", (rows * microbatches, width))
        labels = ark.input("labels", (rows * microbatches,), ark.int32)

        def stage(number: int, h: ark.Tensor) -> ark.Tensor:
            for block in blocks[number]:
                h = model.block(block, h)
            return h

        def loss(y: ark.Tensor, microbatch: int) -> ark.Tensor:
            return ark.cross_entropy(y @ model.head, pipeline.part(labels, microbatch))

        finish(model, *pipeline.gradients(model.weights, x, stage, loss))
    return program


def build(
    ranks: int, microbatches: int, chunks: int = 1, rows: int = ROWS, width: int = WIDTH
) -> list[ark.Program]:
    return [build_rank(rank, ranks, microbatches, chunks, rows, width) for rank in range(ranks)]


def build_whole(microbatches: int) -> ark.Program:
    """Builds the same step on one rank, with the whole batch at once."""
    with ark.Program("whole") as program:
        model = Model(range(BLOCKS))
        h = ark.input("x", (ROWS * microbatches, WIDTH))
        labels = ark.input("labels", (ROWS * microbatches,), ark.int32)
        for block in range(BLOCKS):
            h = model.block(block, h)
        loss = ark.cross_entropy(h @ model.head, labels)
        finish(model, loss, ark.gradients(loss, model.weights))
    return program


def draw(microbatches: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Returns a batch, and the weights of all blocks."""
    rng = np.random.default_rng(microbatches)
    rows = ROWS * microbatches
    batch = {
        "x": rng.standard_normal((rows, WIDTH)).astype(np.float32),
        "labels": rng.integers(0, CLASSES, rows).astype(np.int32),
    }
    states = build_whole(microbatches).states
    weights = {
        name: (0.3 * rng.standard_normal(each.shape)).astype(np.float32)
        for name, each in states.items()
        if each.dtype == ark.fp32
    }
    return batch, weights


def of_ranks(programs: list[ark.Program], weights: dict[str, Array]) -> list[dict[str, Array]]:
    return [{n: w for n, w in weights.items() if n in each.states} for each in programs]


CASES = [(2, 3, 1), (2, 4, 2), (4, 6, 1), (4, 4, 2), (1, 3, 1), (1, 2, 2), (2, 1, 1)]


@pytest.mark.parametrize(("ranks", "microbatches", "chunks"), CASES)
def test_gradients_are_those_of_the_whole_model(ranks: int, microbatches: int, chunks: int) -> None:
    """In float64, gradients of all ranks are those of one rank; those on cpu are within bounds."""
    programs = build(ranks, microbatches, chunks)
    batch, weights = draw(microbatches)
    whole = ark.reference.run(build_whole(microbatches), batch, weights)
    states = of_ranks(programs, weights)
    expected = ark.reference.evaluate_ranks(programs, [batch] * ranks, states, bound=True)
    seen: set[str] = set()
    with ark.compile(programs, target="cpu:2") as world:
        world.bind(states)
        outputs = world.run([batch] * ranks)
        for got, wanted in zip(outputs, expected, strict=True):
            for name, value in wanted.outputs.items():
                # The constant 1/3 is rounded to fp32.
                np.testing.assert_allclose(value, whole[name], rtol=1e-7, atol=1e-8, err_msg=name)
                assert_within(got[name], value, wanted.bounds[name], name)
                seen.add(name)
        trained = {name.rpartition("/")[2]: np.array(each) for name, each in world.states.items()}
    assert seen == set(whole)
    for name, weight in weights.items():
        np.testing.assert_allclose(
            trained[name], weight - 0.1 * whole[f"slope of {name}"], rtol=0, atol=1e-5
        )


def test_weights_in_bf16_have_gradients_in_fp32() -> None:
    """Sums over microbatches are fp32; masters pass through a cast that all microbatches read."""

    def build(rank: int) -> ark.Program:
        with ark.Program("step", rank=rank, world_size=2) as program:
            pipeline = ark.training.Pipeline(2, hidden=(4, 8), dtype=ark.bf16)
            net = ark.Module()
            net.w = ark.parameter("w", (8, 8), ark.bf16)
            (w,) = ark.trainable(net, masters=rank == 1)
            x = ark.cast(ark.input("x", (8, 8)), ark.bf16)
            total, slopes = pipeline.gradients(
                [w], x, lambda stage, h: h @ net.w, lambda y, m: ark.reduce_mean(y * y)
            )
            assert [slope.dtype for slope in slopes] == [ark.fp32]
            ark.output("loss", total)
            ark.output("slope", slopes[0])
            ark.optim.SGD([w], lr=0.1).step(slopes)
        return program

    programs = [build(rank) for rank in range(2)]
    rng = np.random.default_rng(1)
    x = rng.standard_normal((8, 8)).astype(np.float32)
    kinds = [program.states["w"].dtype.numpy for program in programs]
    states = [{"w": rng.standard_normal((8, 8)).astype(kind)} for kind in kinds]
    expected = ark.reference.evaluate_ranks(programs, [{"x": x}] * 2, states, bound=True)
    with ark.compile(programs, target="cpu:1") as world:
        world.bind(states)
        for got, wanted in zip(world.run([{"x": x}] * 2), expected, strict=True):
            for name, value in wanted.outputs.items():
                assert_within(got[name], value, wanted.bounds[name], name)


def test_a_stage_may_be_computed_again() -> None:
    """ark.checkpoint computes the stage again in the backward unit of its microbatch."""

    def build(rank: int, again: bool) -> ark.Program:
        with ark.Program("step", rank=rank, world_size=2) as program:
            pipeline = ark.training.Pipeline(2, hidden=(4, 8))
            w = ark.state("w", (8, 8))

            def stage(_: int, h: ark.Tensor) -> ark.Tensor:
                result = ark.checkpoint(lambda x: ark.tanh(x @ w), h) if again else ark.tanh(h @ w)
                assert isinstance(result, ark.Tensor)
                return result

            x = ark.input("x", (8, 8))
            _, slopes = pipeline.gradients([w], x, stage, lambda y, m: ark.reduce_mean(y * y))
            ark.output("slope", slopes[0])
            ark.optim.SGD([w], lr=0.1).step(slopes)
        return program

    rng = np.random.default_rng(4)
    x = rng.standard_normal((8, 8)).astype(np.float32)
    states = [{"w": rng.standard_normal((8, 8)).astype(np.float32)} for _ in range(2)]
    found: list[list[dict[str, Array]]] = []
    for again in (False, True):
        with ark.compile([build(rank, again) for rank in range(2)], target="cpu:1") as world:
            world.bind(states)
            found.append(world.run([{"x": x}] * 2))
            tanhs = [t.unit for t in world.bundle.manifest.tasks if "tanh" in t.ops]
            assert sum(unit is not None and unit.backward for unit in tanhs) == (4 if again else 0)
    for plain, repeated in zip(*found, strict=True):
        np.testing.assert_array_equal(plain["slope"], repeated["slope"])


def test_steps_of_a_loop_with_clipping() -> None:
    """Four steps in one launch are those of the whole model; the norm is that of all ranks."""
    steps, microbatches, ranks = 4, 4, 2

    def step(loop: ark.training.Loop, model: Model, loss: ark.Tensor, slopes: Any) -> None:
        clipped, norm = ark.optim.clip_by_global_norm(slopes, 0.5, all_ranks=loop.name == "part")
        ark.optim.SGD(model.weights, lr=0.3).step(clipped, skip=loop.end(loss, norm))

    def whole() -> ark.Program:
        with ark.Program("whole") as program:
            loop, model = ark.training.Loop(steps, name="whole"), Model(range(BLOCKS))
            h = loop.input("x", (ROWS * microbatches, WIDTH))
            for block in range(BLOCKS):
                h = model.block(block, h)
            loss = ark.reduce_mean(h @ model.head, keepdims=False)
            step(loop, model, loss, ark.gradients(loss, model.weights))
        return program

    def part(rank: int) -> ark.Program:
        with ark.Program("part", rank=rank, world_size=ranks) as program:
            loop = ark.training.Loop(steps, name="part")
            pipeline = ark.training.Pipeline(microbatches, hidden=(ROWS, WIDTH))
            blocks = range(rank * BLOCKS // ranks, (rank + 1) * BLOCKS // ranks)
            model = Model(blocks)
            x = loop.input("x", (ROWS * microbatches, WIDTH))

            def stage(number: int, h: ark.Tensor) -> ark.Tensor:
                for block in blocks:
                    h = model.block(block, h)
                return h

            loss, slopes = pipeline.gradients(
                model.weights, x, stage, lambda y, m: ark.reduce_mean(y @ model.head)
            )
            step(loop, model, loss, slopes)
        return program

    x = np.random.default_rng(2).standard_normal((steps, ROWS * microbatches, WIDTH))
    batches = {"x": x.astype(np.float32)}
    _, weights = draw(microbatches)
    expected = ark.reference.evaluate(whole(), batches, weights, iterations=steps).states
    programs = [part(rank) for rank in range(ranks)]
    with ark.compile(programs, target="cpu:1") as world:
        world.bind(of_ranks(programs, weights))
        world.run([batches] * ranks, iterations=steps)
        states = {name: np.array(array) for name, array in world.states.items()}
    for rank, program in enumerate(programs):
        losses = states[f"rank{rank}/part.losses"]
        np.testing.assert_allclose(losses, expected["whole.losses"], rtol=0, atol=1e-5)
        for name in set(program.states) & set(weights):
            change = expected[name] - weights[name]
            got = states[f"rank{rank}/{name}"] - weights[name]
            assert np.abs(change).max() > 1e-3
            np.testing.assert_allclose(got, change, rtol=0, atol=1e-5, err_msg=name)


# -- order -----------------------------------------------------------------------------------------


def ideal_bubble(ranks: int, microbatches: int, chunks: int) -> float:
    return (ranks - 1) / (chunks * microbatches + ranks - 1)


@pytest.mark.parametrize(("ranks", "microbatches", "chunks"), [(2, 4, 1), (4, 8, 1), (4, 8, 2)])
def test_the_predicted_bubble_is_at_most_the_ideal_one(
    ranks: int, microbatches: int, chunks: int
) -> None:
    """The stages take equal times but for the head, which is small."""
    bundle = compile_schedule(build(ranks, microbatches, chunks, rows=32, width=128), "cpu:1")
    found = bubble(bundle, bundle.tables.timeline)
    assert found <= ideal_bubble(ranks, microbatches, chunks) + 0.05


def test_the_simulated_bubble_on_gpus() -> None:
    programs = build(2, 4, rows=256, width=512)
    prediction = simulate(compile_schedule(programs, "cuda:sm_90a"), "h200")
    assert prediction.bubble is not None
    assert prediction.bubble <= ideal_bubble(2, 4, 1) + 0.05


def test_without_microbatches_in_plans_ranks_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of several microbatches are then one task, which a rank executes at the end."""
    monkeypatch.setattr(frontend, "planner", lambda **plan: contextlib.nullcontext())
    bundle = compile_schedule(build(4, 8, rows=32, width=128), "cpu:1")
    assert all(task.unit is None for task in bundle.manifest.tasks)
    assert bubble(bundle, bundle.tables.timeline) > ideal_bubble(4, 8, 1) + 0.15


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> list[str]:
    """The order of units of a rank with one stage, from the literature."""
    ahead = min(stages - 1 - stage, microbatches)
    forward, backward = ([f"{kind}{m}" for m in range(microbatches)] for kind in "FB")
    order = forward[:ahead]
    for m in range(microbatches):
        order += [*forward[ahead + m : ahead + m + 1], backward[m]]
    return order


def traced_units(bundle: Bundle, trace: Path) -> dict[int, list[str]]:
    """Returns the units of each rank in the order in which its first lane executed them."""
    times, tables = read_trace(trace, bundle), bundle.tables
    begins: dict[int, list[tuple[int, str]]] = {}
    for sm, first, last in tables.lanes.tolist():
        for index in range(first, last):
            code, task, begin, end = tables.instructions[index].tolist()
            unit = bundle.manifest.tasks[task].unit if code == Opcode.RUN else None
            if unit is not None and begin < end:
                name = f"{unit}" if bundle.manifest.ranks > unit.stage else f"{unit}'"
                begins.setdefault(sm, []).append((int(times[index, 0]), name))
    orders: dict[int, list[str]] = {}
    for sm, each in begins.items():
        names = [name for _, name in sorted(each)]
        orders[sm] = [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]
    return orders


def run_with_trace(programs: list[ark.Program], microbatches: int, path: Path) -> Bundle:
    batch, weights = draw(microbatches)
    with ark.compile(programs, target="cpu:1", trace=True) as world:
        world.bind(of_ranks(programs, weights))
        world.run([batch] * len(programs), trace=path)
        return world.bundle


@pytest.mark.parametrize(("ranks", "microbatches"), [(2, 3), (4, 5), (4, 2)])
def test_ranks_execute_one_forward_and_one_backward_unit(
    ranks: int, microbatches: int, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    bundle = run_with_trace(build(ranks, microbatches), microbatches, trace)
    assert traced_units(bundle, trace) == {
        rank: one_forward_one_backward(rank, ranks, microbatches) for rank in range(ranks)
    }


def test_ranks_with_two_stages_interleave_them(tmp_path: Path) -> None:
    """The units of the second stage of a rank have a prime."""
    trace = tmp_path / "trace.json"
    bundle = run_with_trace(build(2, 4, chunks=2), 4, trace)
    first, second = traced_units(bundle, trace).values()
    assert " ".join(first) == "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3"
    assert " ".join(second) == "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3"


def test_microbatches_in_flight_do_not_grow_with_the_batch() -> None:
    """By the order of the program, the largest live set is that of the ranks' warm-up."""
    sets: list[float] = []
    for microbatches in (8, 16):
        bundle = compile_schedule(build(4, microbatches, rows=32, width=64), "cpu:1")
        sets.append(bundle.manifest.statistics["largest_live_set"])
    assert sets[1] <= 1.02 * sets[0]


def test_equal_runs_have_equal_bits() -> None:
    programs = build(4, 6)
    batch, weights = draw(6)
    results: list[bytes] = []
    for target in ("cpu:1", "cpu:2"):
        with ark.compile(programs, target=target) as world:
            for _ in range(3):
                world.bind(of_ranks(programs, weights))
                world.reset()
                outputs = world.run([batch] * 4)
                results.append(b"".join(out[n].tobytes() for out in outputs for n in sorted(out)))
    assert len(set(results[:3])) == len(set(results[3:])) == 1


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"microbatches": 0}, "microbatches must be a positive integer, not 0"),
        ({"chunks": True}, "chunks must be a positive integer, not True"),
        ({"chunks": 2, "microbatches": 3}, "must then be a multiple of the 2 ranks"),
        ({"hidden": (-1,)}, "extent"),
        ({"dtype": "text"}, "dtype"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with ark.Program("p", rank=0, world_size=2):
        ark.output("y", ark.input("x", (4,)))
        with pytest.raises(ark.InvalidUsageError, match=message):
            ark.training.Pipeline(**{"microbatches": 4, "hidden": (4, 8), **settings})


def test_a_program_without_ranks_is_refused() -> None:
    with ark.Program("p"):
        ark.output("y", ark.input("x", (4,)))
        with pytest.raises(ark.InvalidUsageError, match="program 'p' has no ranks; pass rank="):
            ark.training.Pipeline(2, hidden=(2,))


Stage = Callable[[int, ark.Tensor], ark.Tensor]


@pytest.mark.parametrize(
    ("rank", "stage", "loss", "message"),
    [
        (0, lambda s, h: h[:1], ark.reduce_mean, r"stage 0 returns fp32\[1, 8\], but stages pass"),
        (0, lambda s, h: 1.0, ark.reduce_mean, r"stage 0 returns 1.0, but stages pass"),
        (1, lambda s, h: h, lambda y: y, r"loss must return a float tensor with one element"),
        (1, lambda s, h: h * 0 + 1, ark.reduce_mean, r"depends on weights\[0\] 'w'"),
        (1, lambda s, h: "w", ark.reduce_mean, r"the result of stage 1 does not depend on its"),
    ],
    ids=["shape", "number", "loss", "weight", "input"],
)
def test_wrong_functions(
    rank: int, stage: Stage, loss: Callable[[ark.Tensor], ark.Tensor], message: str
) -> None:
    with ark.Program("p", rank=rank, world_size=2):
        pipeline = ark.training.Pipeline(2, hidden=(2, 8))
        x, w = ark.input("x", (4, 8)), ark.state("w", (2, 8))
        ark.output("y", x)

        def apply(number: int, h: ark.Tensor) -> ark.Tensor:
            result = stage(number, h)
            return w * 1.0 if isinstance(result, str) else result

        with pytest.raises(ark.InvalidUsageError, match=message):
            pipeline.gradients([w], x, apply, lambda y, m: loss(y))


@pytest.mark.parametrize("shape", [(3, 8), (0, 8), ()])
def test_batches_that_do_not_divide(shape: tuple[int, ...]) -> None:
    with ark.Program("p", rank=0, world_size=2):
        pipeline = ark.training.Pipeline(2, hidden=(2, 8))
        x = ark.output("x", ark.input("x", shape))
        with pytest.raises(ark.InvalidUsageError, match="must be a multiple of the 2 microbatches"):
            pipeline.part(x, 0)
