"""Lengths and offsets of each sequence, and updates at an offset outside of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Pick = Callable[[str], str]
HEADS, KEYS, DEPTH = 2, 24, 16


def attend(
    lengths: list[int], *, queries: int = 1, causal: bool = False, mask: bool = False,
    dtype: ark.DType = ark.fp32, index: ark.DType = ark.int32, keys: int = KEYS,
) -> tuple[ark.Program, dict[str, Any]]:  # fmt: skip
    """Returns a program of one attention, and operands whose keys beyond the lengths are NaN."""
    random, batch = np.random.default_rng(3), len(lengths)
    with ark.Program("attend") as program:
        q = ark.input("q", (batch, 2 * HEADS, queries, DEPTH), dtype)
        k, v = (ark.input(name, (batch, HEADS, keys, DEPTH), dtype) for name in ("k", "v"))
        shown = ark.input("mask", (batch, 1, queries, keys), ark.bool) if mask else None
        n = ark.input("n", (batch,), index)
        ark.output("y", ark.attention(q, k, v, causal=causal, mask=shown, kv_length=n))
    arrays: dict[str, Any] = {
        name: random.standard_normal(tensor.shape).astype(tensor.dtype.numpy)
        for name, tensor in program.inputs.items()
        if name in ("q", "k", "v")
    }
    for sequence, length in enumerate(lengths):
        arrays["k"][sequence, :, length:] = np.nan
        arrays["v"][sequence, :, length:] = np.nan
    if mask:
        arrays["mask"] = random.standard_normal((batch, 1, queries, keys)) > -0.5
    return program, {**arrays, "n": np.array(lengths, index.numpy)}


CASES: dict[str, dict[str, Any]] = {
    "one query": {"lengths": [24, 0, 1, 17]},
    "several queries": {"lengths": [24, 3, 9], "queries": 3, "causal": True},
    "more queries than keys": {"lengths": [1, 24], "queries": 5, "causal": True},
    "mask": {"lengths": [20, 6], "queries": 2, "causal": True, "mask": True},
    "bf16": {"lengths": [5, 24, 13], "dtype": ark.bf16},
    "int64": {"lengths": [5, 24], "index": ark.int64},
    "many keys": {"lengths": [700, 1, 2048], "keys": 2048},
}


@pytest.mark.parametrize("sms", [1, 5])
@pytest.mark.parametrize("name", CASES)
def test_attention_of_each_length(name: str, sms: int, pick_target: Pick) -> None:
    program, arrays = attend(**CASES[name])
    expected = ark.reference.evaluate(program, arrays, bound=True)
    got = ark.compile(program, target=pick_target(f"cpu:{sms}")).run(arrays)
    assert_within(got["y"], expected.outputs["y"], expected.bounds["y"], "y")


def test_each_sequence_has_the_result_that_it_has_alone() -> None:
    program, arrays = attend([24, 5, 13], queries=2, causal=True)
    together = ark.reference.run(program, arrays)["y"]
    for sequence, length in enumerate([24, 5, 13]):
        with ark.Program("alone") as alone:
            q = ark.input("q", (1, 2 * HEADS, 2, DEPTH))
            k, v = (ark.input(name, (1, HEADS, length, DEPTH)) for name in ("k", "v"))
            ark.output("y", ark.attention(q, k, v, causal=True))
        own = {name: arrays[name][sequence : sequence + 1] for name in ("q", "k", "v")}
        own["k"], own["v"] = own["k"][:, :, :length], own["v"][:, :, :length]
        np.testing.assert_allclose(together[sequence], ark.reference.run(alone, own)["y"][0])


def write(tokens: int = 1) -> ark.Program:
    with ark.Program("write") as program:
        at = ark.input("at", (3,), ark.int32)
        state = ark.state("s", (3, 2, 8, 4), init=1)
        ark.update(state, ark.input("x", (3, 2, tokens, 4)), (0, 0, at, 0), name="cache")
    return program


@pytest.mark.parametrize("tokens", [1, 3])
def test_updates_at_an_offset_of_each_sequence(tokens: int, pick_target: Pick) -> None:
    program = write(tokens)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        states: dict[str, Any] = {}
        for at in ([0, 5, 2], [5, 5, 5], [1, 0, 4]):
            arrays = {
                "x": np.random.default_rng(at[1]).standard_normal((3, 2, tokens, 4)),
                "at": np.array(at, np.int32),
            }
            arrays["x"] = arrays["x"].astype(np.float32)
            states = dict(ark.reference.evaluate(program, arrays, states).states)
            executable.run(arrays)
            np.testing.assert_array_equal(executable.states["s"], states["s"])


@pytest.mark.parametrize("sms", [1, 3])
@pytest.mark.parametrize("wrong", [-1, 8, -(2**31), 2**31 - 1])
def test_a_wrong_offset_names_the_sequence_and_writes_nothing(
    wrong: int, sms: int, pick_target: Pick
) -> None:
    program = write()
    x = np.full((3, 2, 1, 4), 9, np.float32)
    with ark.compile(program, target=pick_target(f"cpu:{sms}")) as executable:
        with pytest.raises(ark.DataRangeError, match=rf"sequence 1: index {wrong} ") as caught:
            executable.run(x=x, at=np.array([4, wrong, 6], np.int32))
        assert "update" in str(caught.value)
        assert "test_sequences.py" in str(caught.value)
        expected = np.ones((3, 2, 8, 4))
        expected[0, :, 4] = expected[2, :, 6] = 9
        np.testing.assert_array_equal(executable.states["s"], expected)
        # Later runs work.
        executable.run(x=x, at=np.array([0, 0, 0], np.int32))
        expected[:, :, 0] = 9
        np.testing.assert_array_equal(executable.states["s"], expected)
    with pytest.raises(ark.InvalidUsageError, match=f"of sequence 1 at offset {wrong} does not"):
        ark.reference.run(program, {"x": x, "at": np.array([4, wrong, 6], np.int32)})


@pytest.mark.parametrize("wrong", [-1, 25])
def test_a_wrong_length_names_the_sequence(wrong: int, pick_target: Pick) -> None:
    program, arrays = attend([4, 4, 4])
    arrays["n"] = np.array([4, 4, wrong], np.int32)
    with pytest.raises(ark.DataRangeError, match=rf"sequence 2: index {wrong} ") as caught:
        ark.compile(program, target=pick_target("cpu:2")).run(arrays)
    assert "attention" in str(caught.value)
    with pytest.raises(ark.InvalidUsageError, match=f"kv_length {wrong} of sequence 2"):
        ark.reference.run(program, arrays)


PARTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "a row": ((8,), (1,), 8),
    "rows": ((40, 16), (3, 16), 38),
    "a column of a matrix": ((4, 8), (4, 1), 8),
    "wide rows": ((16, 600), (1, 600), 16),
}


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16, ark.int32, ark.bool])
@pytest.mark.parametrize("name", PARTS)
def test_a_wrong_offset_of_all_writes_nothing(
    name: str, dtype: ark.DType, pick_target: Pick
) -> None:
    """Row 0, which stands in for an index out of range in reads, keeps its elements."""
    shape, part, bound = PARTS[name]
    axis = next(i for i, (size, whole) in enumerate(zip(part, shape, strict=True)) if size < whole)
    with ark.Program("write") as program:
        at = ark.scalar("at")
        state = ark.state("s", shape, dtype)
        value = ark.input("x", part, dtype)
        offsets: list[Any] = [0] * len(shape)
        offsets[axis] = at
        # The value is computed, so that the update stores it without a copy.
        ark.update(state, value if dtype is ark.bool else value + value, offsets)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        x = np.ones(part, dtype.numpy)
        for wrong in (-1, bound):
            with pytest.raises(ark.DataRangeError, match=f"index {wrong} is out of range"):
                executable.run(x=x, at=wrong)
            assert not np.asarray(executable.states["s"]).astype(np.float32).any()
        executable.run(x=x, at=bound - 1)
        assert np.asarray(executable.states["s"]).astype(np.float32).any()


def test_wrong_shapes() -> None:
    with ark.Program("wrong"):
        lengths = ark.input("lengths", (2,), ark.int32)
        q = ark.input("q", (3, 2, 1, 4))
        with pytest.raises(ark.InvalidUsageError, match="length for each of the sequences"):
            ark.attention(q, q, q, kv_length=lengths)
        state, x = ark.state("s", (3, 8)), ark.input("x", (3, 1))
        with pytest.raises(ark.InvalidUsageError, match="an offset for each sequence"):
            ark.update(state, x, (0, lengths))
        rows = ark.input("rows", (3,), ark.int32)
        with pytest.raises(ark.InvalidUsageError, match="an offset for each sequence"):
            ark.update(state, x, (lengths, 0))
        assert ark.update(state, x, (rows, 0)).shape == (3, 8)
        ark.output("y", q * 2.0)


def test_gradients_need_one_length() -> None:
    with ark.Program("gradient"):
        lengths = ark.input("lengths", (3,), ark.int32)
        q = ark.input("q", (3, 2, 1, 4))
        loss = ark.reduce_sum(ark.attention(q, q, q, kv_length=lengths))
        with pytest.raises(ark.UnsupportedError, match="one length for all sequences"):
            ark.gradients(loss, [q])
        ark.output("loss", loss)
