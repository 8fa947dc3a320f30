"""Pipelines of stages on several ranks: gradients of the whole model, in the order of 1F1B."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.runtime.diagnosis.trace import read_trace
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
