"""Derivatives of collectives, of the sum of the losses of all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

SIZE, SHAPE, STEP = 2, (4, 3), 1e-5
Make = Callable[[ark.Tensor], ark.Tensor]

CASES: dict[str, Make] = {
    "all_reduce": ark.all_reduce,
    "all_gather": lambda x: ark.all_gather(x, 1),
    "reduce_scatter": lambda x: ark.reduce_scatter(x, 0),
    "all_to_all": lambda x: ark.all_to_all(x, 0),
    "broadcast": lambda x: ark.broadcast(x, 1),
}


def build(make: Make) -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank in range(SIZE):
        with ark.Program("rank", rank=rank, world_size=SIZE) as program:
            x = ark.input("x", SHAPE)
            y = make(x * x)
            rng = np.random.default_rng(rank)
            weights = ark.constant(rng.standard_normal(y.shape), ark.fp32)
            loss = ark.reduce_sum(y * weights, keepdims=False)
            ark.output("loss", loss)
            ark.output("slope", ark.gradients(loss, [x])[0])
        programs.append(program)
    return programs


def given() -> list[dict[str, Any]]:
    rng = np.random.default_rng(9)
    return [{"x": rng.standard_normal(SHAPE).astype(np.float32).astype(float)} for _ in range(SIZE)]


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_finite_differences(make: Make) -> None:
    programs, inputs = build(make), given()
    slopes = [out["slope"] for out in ark.reference.run(programs, inputs)]
    rng = np.random.default_rng(3)
    for rank in range(SIZE):
        direction = rng.standard_normal(SHAPE)
        totals = []
        for side in (1, -1):
            moved = [dict(arrays) for arrays in inputs]
            moved[rank]["x"] = moved[rank]["x"] + side * STEP * direction
            totals.append(sum(float(o["loss"]) for o in ark.reference.run(programs, moved)))
        measured = (totals[0] - totals[1]) / (2 * STEP)
        assert abs(measured - float((slopes[rank] * direction).sum())) <= 1e-6, rank


def test_compiled() -> None:
    """All collectives in one world have the results of the interpreter."""
    programs = build(
        lambda x: ark.all_gather(ark.reduce_scatter(ark.all_reduce(ark.broadcast(x, 0)), 0), 1)
    )
    inputs = given()
    expected = ark.reference.run(programs, inputs)
    with ark.compile(programs, target="cpu:2") as world:
        got = world.run([{"x": arrays["x"].astype(np.float32)} for arrays in inputs])
    for mine, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine["slope"], wanted["slope"], rtol=1e-5, atol=1e-5)


def test_a_maximum_and_messages_are_refused() -> None:
    with ark.Program("rank", rank=0, world_size=2):
        x = ark.output("y", ark.input("x", SHAPE))
        for make, reason in (
            (lambda: ark.all_reduce(x, "max"), "a maximum or minimum over ranks"),
            (lambda: ark.send(x, 1), "pass it to ark.gradients as seed="),
        ):
            with pytest.raises(ark.UnsupportedError, match=reason):
                ark.gradients(ark.reduce_sum(make()), [x])
