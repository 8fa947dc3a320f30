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


def paged(tokens: int = 1, index: ark.DType = ark.int32) -> ark.Program:
    """Writes to a cache of nine pages of eight positions, and attends to it."""
    with ark.Program("paged") as program:
        at = ark.input("at", (3,), index)
        table = ark.input("table", (3, 3), ark.int32)
        pool = ark.state("pool", (9, HEADS, 8, DEPTH))
        x = ark.input("x", (3, HEADS, tokens, DEPTH))
        keys = ark.update(pool, x, (0, 0, at, 0), name="cache", page_table=table)
        q = ark.input("q", (3, 2 * HEADS, tokens, DEPTH))
        y = ark.attention(q, keys, keys, causal=True, kv_length=at + tokens, page_table=table)
        ark.output("y", y)
    return program


# The first two sequences share page 4. Entries that no position needs name no page.
TABLE = np.array([[4, 2, -1], [4, 0, 7], [8, 99, -5]], np.int32)


def paged_inputs(at: list[int], tokens: int = 1, index: ark.DType = ark.int32) -> dict[str, Any]:
    random = np.random.default_rng(at[0])
    x = random.standard_normal((3, HEADS, tokens, DEPTH)).astype(np.float32)
    q = random.standard_normal((3, 2 * HEADS, tokens, DEPTH)).astype(np.float32)
    return {"x": x, "q": q, "at": np.array(at, index.numpy), "table": TABLE}


@pytest.mark.parametrize("index", [ark.int32, ark.int64])
@pytest.mark.parametrize("sms", [1, 5])
@pytest.mark.parametrize("tokens", [1, 3])
def test_caches_in_pages(tokens: int, sms: int, index: ark.DType, pick_target: Pick) -> None:
    program = paged(tokens, index)
    with ark.compile(program, target=pick_target(f"cpu:{sms}")) as executable:
        states: dict[str, Any] = {}
        for at in ([8, 21, 0], [9, 16, 5], [13, 8, 2]):
            arrays = paged_inputs(at, tokens, index)
            expected = ark.reference.evaluate(program, arrays, states, bound=True)
            states = dict(expected.states)
            got = executable.run(arrays)
            assert_within(got["y"], expected.outputs["y"], expected.bounds["y"], "y")
            np.testing.assert_array_equal(executable.states["pool"], states["pool"])


def test_pages_hold_the_keys_of_their_positions() -> None:
    """Attention over pages is attention over the rows that the table names."""
    program, random = paged(), np.random.default_rng(8)
    pool = random.standard_normal((9, HEADS, 8, DEPTH)).astype(np.float32)
    arrays = paged_inputs([10, 20, 3])
    got = ark.reference.evaluate(program, arrays, {"pool": pool})
    assert np.array_equal(got.states["pool"][2, :, 2], arrays["x"][0, :, 0])
    assert np.array_equal(got.states["pool"][7, :, 4], arrays["x"][1, :, 0])
    assert np.array_equal(got.states["pool"][8, :, 3], arrays["x"][2, :, 0])
    for sequence, length in enumerate([11, 21, 4]):
        pages = TABLE[sequence, : -(-length // 8)]
        keys = np.concatenate(list(got.states["pool"][pages]), 1)[None, :, :length]
        with ark.Program("alone") as alone:
            k = ark.input("k", keys.shape)
            ark.output("y", ark.attention(ark.input("q", (1, 2 * HEADS, 1, DEPTH)), k, k))
        own = {"k": keys, "q": arrays["q"][sequence : sequence + 1]}
        expected = ark.reference.run(alone, own)["y"][0]
        np.testing.assert_allclose(got.outputs["y"][sequence], expected, rtol=1e-6)


def test_the_later_sequence_writes_a_shared_row(pick_target: Pick) -> None:
    program = paged()
    with ark.compile(program, target=pick_target("cpu:3")) as executable:
        arrays = paged_inputs([5, 5, 5])
        executable.run(arrays)
        np.testing.assert_array_equal(executable.states["pool"][4, :, 5], arrays["x"][1, :, 0])


@pytest.mark.parametrize(
    ("at", "page", "index"),
    [
        (9, 9, r"9 is out of range \[0, 9\)"),
        (9, -1, r"-1 is out of range \[0, 9\)"),
        (24, 0, r"-1 is out of range \[0, 9\)"),
        (-1, 0, r"-1 is out of range \[0, 9\)"),
        (2**31 - 1, 0, r"-1 is out of range \[0, 9\)"),
    ],
)
@pytest.mark.parametrize("sms", [1, 3])
def test_a_wrong_page_names_the_sequence_and_writes_nothing(
    at: int, page: int, index: str, sms: int, pick_target: Pick
) -> None:
    arrays = paged_inputs([8, at, 0])
    arrays["table"] = TABLE.copy()
    arrays["table"][1, 1] = page
    with ark.compile(paged(), target=pick_target(f"cpu:{sms}")) as executable:
        with pytest.raises(ark.DataRangeError, match=f"update.*sequence 1: index {index}"):
            executable.run(arrays)
        changed = np.argwhere(np.asarray(executable.states["pool"]).any((1, 3)))
        assert changed.tolist() == [[2, 0], [8, 0]]
        # Later runs work.
        executable.run(paged_inputs([8, 9, 0]))
        assert np.asarray(executable.states["pool"])[0, :, 1].any()


def test_a_slice_that_crosses_the_end_of_a_page(pick_target: Pick) -> None:
    with (
        ark.compile(paged(3), target=pick_target("cpu:2")) as executable,
        pytest.raises(ark.DataRangeError, match=r"sequence 2: index 6 is out of range \[0, 6\)"),
    ):
        executable.run(paged_inputs([8, 9, 6], 3))


def test_wrong_page_tables() -> None:
    with ark.Program("wrong"):
        at, cache = ark.input("at", (3,), ark.int32), ark.state("s", (9, 2, 8, 4))
        x, table = ark.input("x", (3, 2, 1, 4)), ark.input("table", (3, 3), ark.int32)
        wide, few = ark.input("wide", (3, 3), ark.int64), ark.input("few", (2, 3), ark.int32)
        flat, row = ark.state("flat", (9, 8)), ark.input("row", (3, 1))
        for wrong in (wide, few):
            with pytest.raises(ark.InvalidUsageError, match=r"page_table must be int32 \[3, P\]"):
                ark.update(cache, x, (0, 0, at, 0), page_table=wrong)
        with pytest.raises(ark.InvalidUsageError, match="a cache in pages is"):
            ark.update(flat, row, (0, at), page_table=table)
        for offsets in ((0, 0, 3, 0), (0, 0, at)):
            with pytest.raises(ark.InvalidUsageError, match="offset"):
                ark.update(cache, x, offsets, page_table=table)
        with pytest.raises(ark.InvalidUsageError, match="first offset must be 0"):
            ark.update(cache, x, (1, 0, at, 0), page_table=table)
        for length in (None, 3, ark.scalar("n")):
            with pytest.raises(ark.InvalidUsageError, match="page_table needs kv_length"):
                ark.attention(x, cache, cache, kv_length=length, page_table=table)
        ark.output("y", x * 2.0)


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
