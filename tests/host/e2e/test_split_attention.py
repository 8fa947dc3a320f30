"""Attention over keys that are split over several workers gives the same results as unsplit
attention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
Pick = Callable[[str], Any]

HEAD = 16
# Divisible by 16, 8 and 5, the numbers of partitions for 16 workers and one, two and three key
# heads.
KEYS = 240
SPLIT = {"partial_attention", "combine_attention"}


def normal(dtype: DType, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape).astype(np.float32).astype(dtype.numpy)


def ops_of_tasks(executable: ark.Executable) -> list[tuple[str, ...]]:
    return [ops for ops, _ in executable.report().task_ops]


def compare(program: ark.Program, inputs: dict[str, Array], executable: ark.Executable) -> None:
    expected = ark.reference.evaluate(program, inputs, bound=True)
    got = executable.run(inputs)
    for name, value in expected.outputs.items():
        assert_within(got[name], value, expected.bounds[name], name)


def is_split(executable: ark.Executable) -> bool:
    return {name for ops in ops_of_tasks(executable) for name in ops} >= SPLIT


# -- lengths, masks, heads ------------------------------------------------------------------------


def over_a_cache(
    heads: int,
    kv_heads: int,
    queries: int,
    batch: int,
    dtype: DType,
    mask: str = "",
    keys: int = KEYS,
) -> ark.Program:
    with ark.Program("cached") as program:
        q = ark.input("q", (batch, heads, queries, HEAD), dtype)
        k = ark.input("k", (batch, kv_heads, keys, HEAD), dtype)
        v = ark.input("v", (batch, kv_heads, keys, HEAD), dtype)
        m = None
        if mask:
            shape = {"rows": (queries, keys), "heads": (heads, 1, keys), "keys": (1, 1)}[mask]
            m = ark.input("m", shape, dtype)
        length = ark.scalar("length", max=keys)
        ark.output("y", ark.attention(q, k, v, causal=True, kv_length=length, mask=m))
        if m is not None:
            ark.output("kept", ark.attention(q, k, v, kv_length=length, mask=m > 0))
    return program


def draw(program: ark.Program) -> dict[str, Array]:
    return {name: normal(x.dtype, *x.shape) for name, x in program.inputs.items()}


@pytest.mark.parametrize(
    ("heads", "kv_heads", "queries", "batch"),
    [
        (4, 1, 1, 1),
        (1, 1, 1, 1),
        (6, 2, 1, 1),
        (8, 2, 1, 2),
        (3, 3, 1, 1),
        (4, 2, 3, 1),
        (3, 1, 5, 2),
    ],
)
def test_every_length(
    heads: int, kv_heads: int, queries: int, batch: int, pick_splitting: Pick
) -> None:
    """Lengths are zero, fewer than partitions, as many, one more, an odd number, all but one, and
    all.
    """
    program = over_a_cache(heads, kv_heads, queries, batch, ark.fp32)
    inputs = draw(program)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        assert is_split(executable)
        for length in (0, 1, 2, 7, 8, 15, 16, 17, 137, KEYS - 1, KEYS):
            inputs["length"] = np.array(length, np.int32)
            compare(program, inputs, executable)


@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
@pytest.mark.parametrize("mask", ["rows", "heads", "keys"])
def test_masks(mask: str, dtype: DType, pick_splitting: Pick) -> None:
    program = over_a_cache(4, 2, 2, 1, dtype, mask)
    inputs = draw(program)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        assert is_split(executable)
        for length in (2, 33, KEYS):
            inputs["length"] = np.array(length, np.int32)
            compare(program, inputs, executable)


def test_a_mask_that_removes_all_keys_of_a_partition(pick_splitting: Pick) -> None:
    """The largest score of such a partition is minus infinity: its weight is zero, and it is never
    subtracted.
    """
    program = over_a_cache(2, 1, 1, 1, ark.fp32, "rows")
    inputs = draw(program)
    inputs["m"] = np.full((1, KEYS), -np.inf, np.float32)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        for valid in ([], [3], [3, 100, 239]):
            inputs["m"][:] = -np.inf
            inputs["m"][:, valid] = 1.0
            inputs["length"] = np.array(KEYS, np.int32)
            compare(program, inputs, executable)


def test_keys_beyond_the_length_are_not_read(pick_splitting: Pick) -> None:
    program = over_a_cache(4, 1, 1, 1, ark.fp32)
    inputs = draw(program)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        for length in (1, 31, 100):
            inputs["length"] = np.array(length, np.int32)
            clean = executable.run(inputs)["y"].copy()
            dirty = {name: array.copy() for name, array in inputs.items()}
            for name in ("k", "v"):
                dirty[name][:, :, length:] = np.nan
            np.testing.assert_array_equal(executable.run(dirty)["y"], clean)


@pytest.mark.parametrize("length", [-1, KEYS + 1])
def test_an_invalid_length_raises(length: int, pick_splitting: Pick) -> None:
    with ark.Program("cached") as program:
        q = ark.input("q", (1, 2, 1, HEAD), ark.fp32)
        k = ark.input("k", (1, 1, KEYS, HEAD), ark.fp32)
        n = ark.input("n", (), ark.int32)
        ark.output("y", ark.attention(q, k, k, kv_length=n))
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        assert is_split(executable)
        inputs = {name: normal(ark.fp32, *x.shape) for name, x in program.inputs.items()}
        with pytest.raises(ark.ArkError, match=f"{length}"):
            executable.run({**inputs, "n": np.array(length, np.int32)})


# -- a cache --------------------------------------------------------------------------------------


def decode(heads: int, kv_heads: int, batch: int, dtype: DType, kept: bool = False) -> ark.Program:
    """One token: its key and value are written to the cache, at a position that increases."""
    with ark.Program("decode") as program:
        position = ark.state("position", (), ark.int32)
        q = ark.input("q", (batch, heads, 1, HEAD), dtype)
        k = ark.input("k", (batch, kv_heads, 1, HEAD), dtype)
        v = ark.input("v", (batch, kv_heads, 1, HEAD), dtype)
        cos = ark.input("cos", (1, HEAD // 2), dtype)
        sin = ark.input("sin", (1, HEAD // 2), dtype)
        keys = ark.state("keys", (batch, kv_heads, KEYS, HEAD), dtype)
        values = ark.state("values", (batch, kv_heads, KEYS, HEAD), dtype)
        keys = ark.update(keys, ark.rope(k, cos, sin), (0, 0, position, 0))
        values = ark.update(values, v, (0, 0, position, 0))
        length = position + 1
        y = ark.attention(ark.rope(q, cos, sin), keys, values, causal=True, kv_length=length)
        ark.output("y", y)
        if kept:
            ark.output("sum", ark.reduce_sum(keys, (2,)))
        ark.update(position, length, ())
    return program


def follow(program: ark.Program, executable: ark.Executable, start: int, steps: int) -> None:
    """Runs steps from a position on, with new inputs each, and compares with the interpreter's
    states."""
    states: dict[str, Any] = {
        name: normal(x.dtype, *x.shape) for name, x in program.states.items() if x.shape
    }
    states["position"] = np.array(start, np.int32)
    executable.bind({name: array.copy() for name, array in states.items()})
    for step in range(steps):
        inputs = {name: normal(x.dtype, *x.shape) + step for name, x in program.inputs.items()}
        inputs = {name: x.astype(program.inputs[name].dtype.numpy) for name, x in inputs.items()}
        expected = ark.reference.evaluate(program, inputs, states, bound=True)
        got = executable.run(inputs)
        for name, value in expected.outputs.items():
            assert_within(got[name], value, expected.bounds[name], name)
        # Only one row was written.
        row = start + step
        written = {"keys": expected.states["keys"][:, :, row], "values": inputs["v"][:, :, 0]}
        for name, array in written.items():
            now = np.array(executable.states[name])
            assert_within(now[:, :, row], array.astype(np.float64), rounding(program, inputs), name)
            others = np.arange(KEYS) != row
            np.testing.assert_array_equal(now[:, :, others], states[name][:, :, others])
            states[name] = now
        states["position"] = np.array(executable.states["position"])
        assert int(states["position"]) == row + 1


def rounding(program: ark.Program, inputs: dict[str, Array]) -> Array:
    """Returns the rounding error of the written row: two products and a sum."""
    k, cos, sin = (np.abs(inputs[name].astype(np.float64)) for name in ("k", "cos", "sin"))
    unit = float(ml_dtypes.finfo(program.states["keys"].dtype.numpy).eps)
    return np.broadcast_to(unit * k.max() * (cos.max() + sin.max()), k[:, :, 0].shape)


@pytest.mark.parametrize("start", [0, 14, KEYS - 3])
@pytest.mark.parametrize(
    ("heads", "kv_heads", "batch", "dtype"),
    [(4, 1, 1, ark.fp32), (6, 2, 1, ark.bf16), (2, 2, 2, ark.fp32), (3, 3, 1, ark.fp16)],
)
def test_a_cache(
    heads: int,
    kv_heads: int,
    batch: int,
    dtype: DType,
    start: int,
    pick_splitting: Pick,
) -> None:
    program = decode(heads, kv_heads, batch, dtype)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        assert is_split(executable)
        follow(program, executable, start, 3)


def test_rotation_and_update_are_in_the_task_of_the_partitions() -> None:
    program = decode(4, 1, 1, ark.fp32)
    with ark.compile(program, target="cpu:16", cache=False) as executable:
        (ops,) = [ops for ops in ops_of_tasks(executable) if "partial_attention" in ops]
        assert sorted(ops) == ["partial_attention", "rope", "rope", "update", "update"]


def test_a_cache_with_another_reader(pick_splitting: Pick) -> None:
    """The other reader sees the rows in order, whichever partitions wrote them."""
    program = decode(4, 1, 1, ark.fp32, kept=True)
    with ark.compile(program, target=pick_splitting("cpu:16"), cache=False) as executable:
        assert is_split(executable)
        follow(program, executable, 15, 4)


# -- attentions that are not split ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "target"),
    [
        pytest.param(over_a_cache(4, 1, 1, 1, ark.fp32), "cpu:1", id="one worker"),
        pytest.param(over_a_cache(4, 2, 1, 1, ark.fp32, keys=8), "cpu:16", id="short keys"),
        pytest.param(over_a_cache(4, 2, 1, 1, ark.fp32, keys=239), "cpu:16", id="a prime number"),
        pytest.param(over_a_cache(4, 2, 64, 1, ark.fp32), "cpu:16", id="many queries"),
        pytest.param(over_a_cache(8, 8, 1, 2, ark.fp32), "cpu:16", id="a head for every worker"),
    ],
)
def test_attentions_that_are_not_split(program: ark.Program, target: str) -> None:
    with ark.compile(program, target=target, cache=False) as executable:
        assert not is_split(executable)
