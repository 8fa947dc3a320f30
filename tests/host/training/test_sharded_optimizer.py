"""Optimizers whose moments the ranks divide, beside plain data parallelism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Array = np.ndarray[Any, Any]
SHAPES = {"a": (6, 5), "b": (5,), "c": (), "d": (5, 3), "e": (7,)}
STEPS = 6
# Two buckets of 31 and 22 elements, which 2 and 3 ranks do not divide without a rest.
BUCKET_BYTES = 128

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "sgd of nesterov": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
}


def build(
    rank: int, size: int, kind: str, settings: dict[str, Any], dtype: ark.DType = ark.fp32
) -> ark.Program:
    """Builds a step whose loss has a gradient for every weight; the batches of ranks differ."""
    with ark.Program("step", rank=rank, world_size=size) as program:
        w = {name: ark.state(name, shape, dtype) for name, shape in SHAPES.items()}
        x = ark.cast(ark.input("x", (4, 6)), dtype)
        hidden = ark.gelu(x @ w["a"] + w["b"]) * w["c"]
        parts = [hidden @ w["d"], ark.cast(ark.input("z", (4, 7)), dtype) * w["e"]]
        terms = [ark.reduce_mean(ark.cast(part, ark.fp32) ** 2.0, keepdims=False) for part in parts]
        loss = (terms[0] + terms[1]) / float(size)
        weights = list(w.values())
        slopes = ark.gradients(loss, weights)
        if not settings.get("shard"):
            slopes = [ark.all_reduce(slope) for slope in slopes]
        skip = ark.greater(ark.input("skip", ()), 0.5)
        getattr(ark.optim, kind)(weights, **settings).step(slopes, skip=skip)
    return program


def given(rank: int, step: int) -> dict[str, Array]:
    rng = np.random.default_rng([rank, step])
    arrays = {"x": rng.standard_normal((4, 6)), "z": rng.standard_normal((4, 7))}
    # All ranks skip the third step.
    return {**{n: a.astype(np.float32) for n, a in arrays.items()}, "skip": np.float32(step == 2)}


def train(programs: list[ark.Program], target: str) -> list[dict[str, Array]]:
    """Returns the states of all ranks after `STEPS` steps."""
    rng = np.random.default_rng(5)
    first = {name: np.asarray(rng.standard_normal(shape)) for name, shape in SHAPES.items()}
    kinds = {name: argument.dtype.numpy for name, argument in programs[0].states.items()}
    arrays = {name: array.astype(kinds[name]) for name, array in first.items()}
    with ark.compile(programs, target=target) as world:
        world.bind([arrays] * len(programs))
        for step in range(STEPS):
            world.run([given(rank, step) for rank in range(len(programs))])
        return [
            {name: np.array(world.states[f"rank{rank}/{name}"]) for name in SHAPES}
            for rank in range(len(programs))
        ]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("kind", "settings"), SETTINGS.values(), ids=SETTINGS)
def test_replicas_are_those_of_data_parallelism(
    size: int, kind: str, settings: dict[str, Any]
) -> None:
    shard = {"shard": True, "bucket_bytes": BUCKET_BYTES}
    plain = train([build(r, size, kind, settings) for r in range(size)], "cpu:1")
    sharded = train([build(r, size, kind, {**settings, **shard}) for r in range(size)], "cpu:1")
    for states in sharded:
        for name in SHAPES:
            np.testing.assert_array_equal(states[name], plain[0][name], err_msg=name)
    start = np.random.default_rng(5).standard_normal(SHAPES["a"]).astype(np.float32)
    assert not np.array_equal(sharded[0]["a"], start)


def test_a_rank_has_a_part_of_the_moments() -> None:
    size, shard = 2, {"shard": True, "bucket_bytes": BUCKET_BYTES}

    def moments(settings: dict[str, Any]) -> int:
        states = build(0, size, "AdamW", settings).states
        return sum(
            int(np.prod(each.shape))
            for name, each in states.items()
            if name.startswith(("adamw.mean", "adamw.square"))
        )

    whole = sum(int(np.prod(shape)) for shape in SHAPES.values())
    assert moments({}) == 2 * whole
    # Each of the buckets is rounded up to a multiple of the ranks.
    assert whole <= moments(shard) <= whole + 2 * 3
    names = list(build(0, size, "AdamW", shard).states)
    assert "adamw.mean.bucket1" in names


def test_weights_of_two_dtypes_are_in_two_buckets() -> None:
    with ark.Program("step", rank=1, world_size=2) as program:
        weights = [ark.state("w", (3,), ark.bf16), ark.state("v", (5,))]
        ark.optim.SGD(weights, 0.1, momentum=0.5, shard=True).step(
            [ark.input("dw", (3,), ark.bf16), ark.input("dv", (5,))]
        )
    shapes = {n: each.shape for n, each in program.states.items() if "momentum" in n}
    assert shapes == {"sgd.momentum.bucket0": (3,), "sgd.momentum.bucket1": (2,)}


def test_weights_in_bf16() -> None:
    """Ranks add gradients in fp32 and gather rounded weights; replicas are equal."""
    settings, shard = {"lr": 0.05}, {"shard": True, "bucket_bytes": BUCKET_BYTES}
    plain = [build(r, 2, "AdamW", settings, ark.bf16) for r in range(2)]
    divided = [build(r, 2, "AdamW", {**settings, **shard}, ark.bf16) for r in range(2)]
    expected, got = train(plain, "cpu:1"), train(divided, "cpu:1")
    for name in SHAPES:
        np.testing.assert_array_equal(got[0][name], got[1][name], err_msg=name)
        wide = [states[0][name].astype(np.float32) for states in (got, expected)]
        np.testing.assert_allclose(*wide, rtol=2**-6, atol=2**-7, err_msg=name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: ark.optim.SGD([w], 0.1, shard=True), r"shard=True: program 'p' has no ranks"),
        (lambda w: ark.optim.AdamW([w], shard=True), r"shard=True: program 'p' has no ranks"),
    ],
    ids=["sgd", "adamw"],
)
def test_a_program_without_ranks_is_refused(
    make: Callable[[ark.Tensor], Any], message: str
) -> None:
    with ark.Program("p"):
        w = ark.state("w", (3,))
        ark.output("y", w * 1.0)
        with pytest.raises(ark.InvalidUsageError, match=message):
            make(w)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1MiB"])
def test_wrong_buckets(value: Any) -> None:
    with ark.Program("p", rank=0, world_size=2):
        w = ark.state("w", (3,))
        ark.output("y", w * 1.0)
        with pytest.raises(ark.InvalidUsageError, match="bucket_bytes must be a positive integer"):
            ark.optim.SGD([w], 0.1, shard=True, bucket_bytes=value)
