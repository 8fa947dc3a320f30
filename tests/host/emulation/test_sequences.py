"""Attention and updates with a length and an offset of each sequence, as code for GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from small_decoders import CONFIG, LENGTH, make_arrays

import ark_mlir as ark
from ark_mlir.models.slots import SlotPrograms

Check = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """Shapes of an attention, and the number of keys of each sequence."""

    dtype: ark.DType
    heads: tuple[int, int]
    queries: int
    keys: int
    depth: int
    lengths: tuple[int, ...]
    causal: bool = False
    mask: bool = False
    tile: tuple[int, int] | None = None


CASES = {
    "few rows": Case(ark.bf16, (4, 2), 1, 48, 64, (48, 0, 17, 1)),
    "partitions": Case(ark.bf16, (4, 2), 1, 2048, 64, (1500, 3)),
    "several queries": Case(ark.bf16, (4, 2), 3, 40, 64, (40, 5, 3), causal=True),
    "bool mask": Case(ark.fp16, (4, 2), 2, 40, 64, (11, 33), causal=True, mask=True),
    "blocks of rows": Case(ark.fp16, (2, 2), 33, 80, 32, (80, 33, 57), causal=True),
    "warpgroups": Case(
        ark.bf16, (2, 1), 128, 256, 64, (131, 250), causal=True, tile=(128, 64)
    ),
    "wide type": Case(ark.fp32, (4, 2), 3, 24, 16, (24, 7), causal=True),
    "wide type in partitions": Case(ark.fp32, (2, 2), 1, 2048, 16, (700, 2047)),
}  # fmt: skip


def build(case: Case) -> tuple[ark.Program, dict[str, Any]]:
    """Returns a program of one attention, and normally distributed operands."""
    random = np.random.default_rng(1)
    batch = len(case.lengths)
    arrays: dict[str, Any] = {"lengths": np.array(case.lengths, np.int32)}

    def operand(name: str, *shape: int) -> ark.Tensor:
        arrays[name] = random.standard_normal(shape).astype(case.dtype.numpy)
        return ark.input(name, shape, case.dtype)

    with ark.Program("attention") as program, ark.planner(tile=case.tile):
        q = operand("q", batch, case.heads[0], case.queries, case.depth)
        k = operand("k", batch, case.heads[1], case.keys, case.depth)
        v = operand("v", batch, case.heads[1], case.keys, case.depth)
        mask = None
        if case.mask:
            mask = ark.input("mask", (batch, 1, case.queries, case.keys), ark.bool)
            arrays["mask"] = random.standard_normal(mask.shape) > -0.5
        lengths = ark.input("lengths", (batch,), ark.int32)
        ark.output("y", ark.attention(q, k, v, causal=case.causal, mask=mask, kv_length=lengths))
    return program, arrays


@pytest.mark.parametrize("name", CASES)
def test_lengths_of_each_sequence(name: str, check: Check) -> None:
    check(*build(CASES[name]))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("name", ["few rows", "blocks of rows"])
def test_lengths_of_each_sequence_on_amd(name: str, arch: str, check: Check) -> None:
    check(*build(CASES[name]), arch=arch)


CACHE = (3, 2, 32, 64)


def decode(dtype: ark.DType, tokens: int) -> ark.Program:
    """A step of attention: keys and values are written behind those of each sequence."""
    with ark.Program("decode") as program:
        positions = ark.input("positions", (CACHE[0],), ark.int32)
        shape = (CACHE[0], CACHE[1], tokens, CACHE[3])
        keys, values = (
            ark.update(
                ark.state(f"{name}s", CACHE, dtype),
                ark.input(name, shape, dtype),
                (0, 0, positions, 0),
            )
            for name in ("key", "value")
        )
        q = ark.input("q", (CACHE[0], 2 * CACHE[1], tokens, CACHE[3]), dtype)
        y = ark.attention(q, keys, values, causal=True, kv_length=positions + tokens)
        ark.output("y", y)
    return program


def decode_pages(dtype: ark.DType, tokens: int) -> ark.Program:
    """The step of :func:`decode` with caches of five pages of 16 positions."""
    with ark.Program("pages") as program:
        positions = ark.input("positions", (CACHE[0],), ark.int32)
        table = ark.input("table", (CACHE[0], 2), ark.int32)
        shape = (CACHE[0], CACHE[1], tokens, CACHE[3])
        keys, values = (
            ark.update(
                ark.state(f"{name}s", (5, CACHE[1], 16, CACHE[3]), dtype),
                ark.input(name, shape, dtype),
                (0, 0, positions, 0),
                page_table=table,
            )
            for name in ("key", "value")
        )
        q = ark.input("q", (CACHE[0], 2 * CACHE[1], tokens, CACHE[3]), dtype)
        y = ark.attention(
            q, keys, values, causal=True, kv_length=positions + tokens, page_table=table
        )
        ark.output("y", y)
    return program


def draw(program: ark.Program, positions: list[int]) -> dict[str, Any]:
    random = np.random.default_rng(2)
    arrays: dict[str, Any] = {
        name: random.standard_normal(tensor.shape).astype(tensor.dtype.numpy)
        for name, tensor in program.inputs.items()
        if name not in ("positions", "table")
    }
    return {**arrays, "positions": np.array(positions, np.int32)}


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("tokens", [1, 3])
def test_updates_at_an_offset_of_each_sequence(tokens: int, arch: str, check: Check) -> None:
    program = decode(ark.bf16, tokens)
    check(program, draw(program, [0, 29, 12]), arch=arch)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("wrong", [-1, 32, 2**31 - 1])
def test_a_wrong_offset_names_the_sequence_and_writes_nothing(
    wrong: int, arch: str, library: Path, tmp_path: Path
) -> None:
    program = decode(ark.bf16, 1)
    emulation = Emulation(program, library, tmp_path, arch=arch)
    with emulation.executable as executable:
        emulation.run(draw(program, [0, 1, 2]))
        before = {name: np.array(array) for name, array in executable.states.items()}
        with pytest.raises(ark.DataRangeError, match=rf"sequence 1: index {wrong}\b"):
            emulation.run({**draw(program, [7, wrong, 9])})
        for name, array in executable.states.items():
            changed = np.argwhere((np.asarray(array) != before[name]).any((1, 3)))
            assert changed.tolist() == [[0, 7], [2, 9]], name


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("wrong", [-1, 8])
def test_a_wrong_offset_of_all_writes_nothing(
    wrong: int, arch: str, library: Path, tmp_path: Path
) -> None:
    with ark.Program("write") as program:
        at = ark.scalar("at", ark.int32)
        state = ark.state("s", (8, 64), ark.fp32, init=1)
        ark.output("y", ark.update(state, ark.input("x", (1, 64)) * 2.0, (at, 0))[0:1])
    emulation = Emulation(program, library, tmp_path, arch=arch)
    with emulation.executable as executable:
        with pytest.raises(ark.DataRangeError, match=rf"index {wrong} is out of range \[0, 8\)"):
            emulation.run({"x": np.full((1, 64), 9, np.float32), "at": np.array(wrong, np.int32)})
        np.testing.assert_array_equal(executable.states["s"], np.ones((8, 64)))


# The entry that no key of the second sequence uses names no page.
TABLE = np.array([[3, 1], [4, -9], [2, 0]], np.int32)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("tokens", [1, 3])
def test_caches_in_pages(tokens: int, arch: str, check: Check) -> None:
    program = decode_pages(ark.bf16, tokens)
    check(program, {**draw(program, [19, 13, 29]), "table": TABLE}, arch=arch)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_a_wrong_page_names_the_sequence_and_writes_nothing(
    arch: str, library: Path, tmp_path: Path
) -> None:
    program = decode_pages(ark.bf16, 1)
    emulation = Emulation(program, library, tmp_path, arch=arch)
    wrong = np.array([[3, 1], [4, 5], [2, 0]], np.int32)
    with emulation.executable as executable:
        with pytest.raises(
            ark.DataRangeError, match=r"sequence 1: index 5 is out of range \[0, 5\)"
        ):
            emulation.run({**draw(program, [19, 20, 7]), "table": wrong})
        for name, array in executable.states.items():
            changed = np.argwhere(np.asarray(array).any((1, 3)))
            assert changed.tolist() == [[1, 3], [2, 7]], name


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("tokens", [1, 4])
def test_slots_of_a_decoder(tokens: int, arch: str, check: Check) -> None:
    """The programs of an engine: each slot reads tokens at its own position."""
    programs = SlotPrograms(CONFIG, ark.fp32, LENGTH)
    program = programs.build_read(slots=3, tokens=tokens)
    arrays = make_arrays(program)
    arrays["begin"] = np.array([0, 60, 17], np.int32)
    if tokens > 1:
        arrays["last"] = np.array([3, 0, 2], np.int32)
    check(program, arrays, arch=arch)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_slots_of_a_decoder_in_pages(arch: str, check: Check) -> None:
    program = SlotPrograms(CONFIG, ark.fp32, LENGTH, pages=(9, 16)).build_read(slots=2, tokens=4)
    arrays = make_arrays(program)
    arrays["begin"], arrays["last"] = np.array([20, 8], np.int32), np.array([3, 0], np.int32)
    arrays["pages"] = np.zeros((2, LENGTH // 16), np.int32)
    arrays["pages"][0, :2], arrays["pages"][1, 0] = (7, 2), 5
    check(program, arrays, arch=arch)
