"""Attention in the form of one pass over the keys, and expanded to structured ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]
MFMA = "llvm.amdgcn.mfma.f32"


@dataclass(frozen=True)
class Case:
    """Shapes and operands of an attention: heads are those of the query and of the keys."""

    dtype: ark.DType
    heads: tuple[int, int]
    queries: int
    keys: int
    depth: int
    batch: int = 1
    length: int | None = None
    causal: bool = False
    mask: ark.DType | None = None
    tile: tuple[int, int] | None = None


ONE_PASS = {
    "few rows": Case(ark.bf16, (4, 2), queries=1, keys=48, depth=64),
    "blocks of rows": Case(ark.fp16, (2, 2), queries=33, keys=40, depth=32, causal=True),
    "bool mask": Case(ark.bf16, (4, 2), queries=2, keys=40, depth=64, batch=2, mask=ark.bool),
    "float mask": Case(ark.bf16, (4, 2), queries=2, keys=40, depth=64, batch=2, mask=ark.bf16),
    "length": Case(ark.bf16, (4, 2), queries=1, keys=40, depth=64, length=17),
    "partitions": Case(ark.bf16, (4, 2), queries=1, keys=2048, depth=64, length=1500),
    "all operands": Case(
        ark.fp16, (4, 2), queries=3, keys=40, depth=32, length=17, causal=True, mask=ark.bool
    ),
}
# One tile of 256 rows, of which each of four warpgroups computes a block.
WARPGROUPS = {
    "whole": Case(ark.bf16, (1, 1), queries=256, keys=192, depth=64),
    "deep": Case(ark.fp16, (2, 1), queries=256, keys=128, depth=128, causal=True),
    "odd": Case(ark.fp16, (1, 1), queries=232, keys=89, depth=64),
    "causal": Case(ark.bf16, (1, 1), queries=256, keys=300, depth=64, causal=True),
    "all operands": Case(
        ark.bf16, (2, 1), queries=200, keys=130, depth=64, length=77, causal=True, mask=ark.bool
    ),
}
# Tiles of one or two blocks, whose keys two or four warpgroups share. In "half of the groups", the
# stages of four warpgroups would not fit, and two warpgroups compute the same again.
SHARED_KEYS = {
    "two blocks": Case(ark.bf16, (2, 1), queries=128, keys=256, depth=64, causal=True),
    "two deep blocks": Case(ark.fp16, (1, 1), queries=128, keys=300, depth=128, causal=True),
    "one block": Case(ark.bf16, (1, 1), queries=64, keys=512, depth=64),
    "half of the groups": Case(ark.bf16, (1, 1), queries=64, keys=128, depth=128, causal=True),
    "two stages of keys": Case(ark.fp16, (1, 1), queries=40, keys=70, depth=64),
    "all operands": Case(
        ark.bf16, (2, 1), queries=100, keys=330, depth=64, length=77, causal=True, mask=ark.bool
    ),
    "groups without keys": Case(ark.bf16, (1, 1), queries=64, keys=512, depth=64, length=3),
}
# Attention of AMD GPUs, whose instructions have queries as columns. The tile has this many rows.
QUERY_COLUMNS = {
    "one row": (Case(ark.bf16, (1, 1), queries=1, keys=40, depth=64), 8),
    "a warp for each block": (Case(ark.bf16, (2, 1), queries=128, keys=96, depth=64), 128),
    "two warps for each block": (
        Case(ark.fp16, (1, 1), queries=64, keys=200, depth=128, causal=True),
        64,
    ),
    "four warps for one block": (Case(ark.bf16, (1, 1), queries=24, keys=300, depth=64), 24),
    "two instructions of queries": (
        Case(ark.bf16, (2, 1), queries=120, keys=130, depth=80, causal=True),
        120,
    ),
    "odd depth": (Case(ark.fp16, (1, 1), queries=40, keys=33, depth=96), 40),
    "shallow": (Case(ark.bf16, (1, 1), queries=100, keys=50, depth=16), 104),
    "several blocks for each warp": (
        Case(ark.bf16, (1, 1), queries=300, keys=64, depth=64, causal=True),
        304,
    ),
    "all operands": (
        Case(
            ark.bf16, (2, 1), queries=100, keys=130, depth=64, length=77, causal=True, mask=ark.bool
        ),
        128,
    ),
}
EXPANDED = {
    "wide type": Case(ark.fp32, (4, 2), queries=3, keys=24, depth=16),
    "wide type in partitions": Case(ark.fp32, (2, 2), queries=1, keys=2048, depth=16, length=700),
    "deep heads": Case(ark.bf16, (2, 1), queries=2, keys=24, depth=144),
    "too many partial results": Case(ark.bf16, (8, 1), queries=1, keys=40, depth=128),
}


def build(case: Case) -> tuple[ark.Program, dict[str, Any]]:
    """Returns a program of one attention, and normally distributed operands."""
    random = np.random.default_rng(1)
    arrays: dict[str, Any] = {}

    def operand(name: str, *shape: int) -> ark.Tensor:
        arrays[name] = random.standard_normal(shape).astype(case.dtype.numpy)
        return ark.input(name, shape, case.dtype)

    with ark.Program("attention") as program, ark.planner(tile=case.tile):
        q = operand("q", case.batch, case.heads[0], case.queries, case.depth)
        k = operand("k", case.batch, case.heads[1], case.keys, case.depth)
        v = operand("v", case.batch, case.heads[1], case.keys, case.depth)
        mask = length = None
        if case.mask is not None:
            shape = (case.batch, 1, case.queries, case.keys)
            mask = ark.input("mask", shape, case.mask)
            numbers = random.standard_normal(shape)
            keeps = case.mask == ark.bool
            arrays["mask"] = numbers > -0.5 if keeps else numbers.astype(case.mask.numpy)
        if case.length is not None:
            length = ark.scalar("length", ark.int32, max=case.keys)
            arrays["length"] = np.array(case.length, np.int32)
        y = ark.attention(q, k, v, mask=mask, kv_length=length, causal=case.causal)
        ark.output("y", y)
    return program, arrays


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass(name: str, check: Check) -> None:
    check(*build(ONE_PASS[name]))


@pytest.mark.parametrize("name", WARPGROUPS)
def test_warpgroups(name: str, check: Check) -> None:
    case = WARPGROUPS[name]
    program, arrays = build(replace(case, tile=(256, case.depth)))
    assert "wgmma.mma_async" in check(program, arrays).text


@pytest.mark.parametrize("name", SHARED_KEYS)
def test_warpgroups_that_share_keys(name: str, check: Check) -> None:
    case = SHARED_KEYS[name]
    program, arrays = build(replace(case, tile=(128, case.depth)))
    assert "wgmma.mma_async" in check(program, arrays).text


@pytest.mark.parametrize("queries", [65, 130, 131, 250, 254, 262])
def test_tiles_of_any_number_of_rows(queries: int, check: Check) -> None:
    """Matrix units compute no clipped tiles, so that tiles divide the queries of a head."""
    case = Case(ark.bf16, (3, 1), queries=queries, keys=130, depth=64, causal=True)
    text = check(*build(case)).text
    assert "mma.m16n8k16" in text or "wgmma.mma_async" in text


MEMORY = {"cuda:sm_90a": 232_448, "hip:gfx90a": 65_536, "hip:gfx942": 65_536}


@pytest.mark.parametrize("target", MEMORY)
@pytest.mark.parametrize(
    ("heads", "queries", "keys"),
    [(16, 577, 577), (8, 1009, 1024), (12, 127, 1024), (8, 262, 512), (8, 262, 1024)],
)
def test_queries_with_few_divisors(heads: int, queries: int, keys: int, target: str) -> None:
    """The scores of clipped tiles fit into the memory of an SM; other tiles store none."""
    case = Case(ark.bf16, (heads, heads), queries=queries, keys=keys, depth=64)
    executable = ark.compile(build(case)[0], target=target)
    assert executable.bundle.manifest.target.shared_memory <= MEMORY[target]


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_clipped_tiles(arch: str, check: Check) -> None:
    """No number of rows below 257, which is prime, divides the queries."""
    case = Case(ark.bf16, (1, 1), queries=257, keys=300, depth=64, causal=True)
    check(*build(case), arch=arch)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("name", ONE_PASS)
def test_few_query_columns(name: str, arch: str, check: Check) -> None:
    assert MFMA in check(*build(ONE_PASS[name]), arch=arch).text


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", QUERY_COLUMNS)
def test_query_columns(name: str, arch: str, check: Check) -> None:
    case, rows = QUERY_COLUMNS[name]
    program, arrays = build(replace(case, tile=(rows, case.depth)))
    assert MFMA in check(program, arrays, arch=arch).text


@pytest.mark.parametrize("name", EXPANDED)
def test_expanded(name: str, check: Check) -> None:
    check(*build(EXPANDED[name]))
