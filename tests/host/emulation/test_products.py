"""Matrix products on tensor cores, with whole and clipped tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]
Shape = tuple[int, int, int]
ARCHITECTURES = ("sm_80", "sm_90a")
MMA, WARPGROUPS = "mma.m16n8k16", "wgmma.mma_async"
RING, STAGES, BOXES = "cp.async.bulk.global", "cp.async.cg", "cp.async.bulk.tensor"
BEYOND = "cp.async.bulk.prefetch.L2"


def product(
    shape: Shape, tile: tuple[int, int] | None, dtype: Any
) -> tuple[ark.Program, dict[str, Any]]:
    """Returns a product of ``[m, k]`` and ``[n, k]``, and its arrays."""
    m, n, k = shape
    random = np.random.default_rng(0)
    with ark.Program("product") as program, ark.planner(tile=tile):
        x, w = ark.input("x", (m, k), dtype), ark.parameter("w", (n, k), dtype)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    arrays = {"x": random.standard_normal((m, k)), "w": random.standard_normal((n, k))}
    return program, {name: array.astype(dtype.numpy) for name, array in arrays.items()}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((8, 100, 256), (8, 6)),
        ((16, 100, 192), (16, 25)),
        ((2, 50, 128), (2, 16)),
        ((8, 203, 512), (8, 17)),
        ((3, 50, 2048), None),
        ((8, 2051, 64), (8, 64)),
        ((33, 130, 256), None),
        ((102, 96, 768), None),
        ((130, 100, 256), None),
    ],
)
def test_clipped_tiles(shape: Shape, tile: tuple[int, int] | None, arch: str, check: Check) -> None:
    """The extents of the tiles are minima, whose values are known at run time only."""
    dtype = ark.fp16 if arch == "sm_80" else ark.bf16
    program, arrays = product(shape, tile, dtype)
    emulation = check(program, arrays, arch=arch)
    assert MMA in emulation.text or WARPGROUPS in emulation.text


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("rows", [1, 16, 100, 256])
def test_products_of_int8(rows: int, arch: str, check: Check) -> None:
    """All sums are exact. One row is multiplied without tensor cores."""
    random = np.random.default_rng(0)
    with ark.Program("product") as program:
        x, w = ark.input("x", (rows, 320), ark.int8), ark.parameter("w", (136, 320), ark.int8)
        ark.output("y", ark.matmul(x, w, transpose_other=True, out_dtype=ark.int32))
    shapes = {"x": (rows, 320), "w": (136, 320)}
    arrays = {n: random.integers(-128, 128, s).astype(np.int8) for n, s in shapes.items()}
    text = check(program, arrays, arch=arch).text
    assert ("mma.m16n8k32.row.col.s8" in text) == (rows > 1)


def test_a_row_with_streamed_weights(check: Check) -> None:
    program, arrays = product((1, 300, 512), None, ark.bf16)
    assert RING in check(program, arrays).text


def test_rows_that_are_longer_than_rings(check: Check) -> None:
    """Chunks beyond the ring are prefetched while lanes poll for the row."""
    width = 1024
    random = np.random.default_rng(0)
    with ark.Program("chain") as program:
        x = ark.input("x", (1, width), ark.bf16)
        arrays = {"x": random.standard_normal((1, width))}
        for name in ("v", "w"):
            weight = ark.parameter(name, (width, width), ark.bf16)
            arrays[name] = random.standard_normal((width, width)) * width**-0.5
            x = ark.matmul(x, weight, transpose_other=True)
        ark.output("y", x)
    arrays = {name: array.astype(ark.bf16.numpy) for name, array in arrays.items()}
    text = check(program, arrays).text
    assert RING in text
    assert BEYOND in text


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_100a"])
def test_operands_staged_in_shared_memory(arch: str, check: Check) -> None:
    """Stages fit into 99, 163 and 227 KiB, beside the accumulators in the same memory."""
    program, arrays = product((256, 256, 512), (128, 128), ark.bf16)
    text = check(program, arrays, arch=arch).text
    assert MMA in text
    assert STAGES in text


@pytest.mark.parametrize(("tile", "copies"), [((128, 128), STAGES), ((256, 128), BOXES)])
def test_warpgroups(tile: tuple[int, int], copies: str, check: Check) -> None:
    program, arrays = product((256, 256, 320), tile, ark.bf16)
    text = check(program, arrays).text
    assert WARPGROUPS in text
    assert copies in text


@pytest.mark.parametrize("columns", [112, 128])
def test_warpgroups_that_only_copy(columns: int, check: Check) -> None:
    """Two warpgroups hold the accumulators of all columns."""
    program, arrays = product((128, 2 * columns, 1024), (128, columns), ark.bf16)
    text = check(program, arrays).text
    assert f"wgmma.mma_async.sync.aligned.m64n{columns}k16" in text
    assert STAGES in text


@pytest.mark.parametrize("rows", [20, 30, 32, 60, 61, 100, 252])
def test_warpgroups_with_rows_that_do_not_exist(rows: int, check: Check) -> None:
    """The stages have 64 rows for each warpgroup, and the operand has fewer."""
    program, arrays = product((rows, 256, 512), (256, 64), ark.bf16)
    assert WARPGROUPS in check(program, arrays).text


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((130, 256, 512), (128, 128)),
        ((130, 256, 512), (64, 64)),
        ((301, 128, 256), (256, 128)),
        ((200, 300, 320), (128, 128)),
        ((128, 203, 256), (128, 64)),
    ],
)
def test_warpgroups_with_clipped_tiles(shape: Shape, tile: tuple[int, int], check: Check) -> None:
    """The last tile has fewer rows, fewer columns, or both. Its extents are known at run time."""
    program, arrays = product(shape, tile, ark.bf16)
    text = check(program, arrays).text
    assert WARPGROUPS in text
    assert "cp.async.cg.shared.global.16.s" in text


def test_batches_with_clipped_tiles(check: Check) -> None:
    """Rows behind a clipped tile belong to the next batch, and are not copied."""
    random = np.random.default_rng(0)
    with ark.Program("batches") as program, ark.planner(tile=(1, 128, 64)):
        x, w = ark.input("x", (3, 130, 256), ark.bf16), ark.parameter("w", (3, 64, 256), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, w)
    }
    assert WARPGROUPS in check(program, arrays).text


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((1, 128, 200, 128), (1, 128, 128)),
        ((3, 100, 136, 192), (1, 64, 64)),
        ((2, 64, 328, 64), (1, 64, 128)),
        ((2, 96, 56, 128), (1, 96, 56)),
        ((2, 192, 784, 128), None),
    ],
)
def test_clipped_rows_across_the_depth(
    shape: tuple[int, ...], tile: tuple[int, ...] | None, check: Check
) -> None:
    """Operands ``[batch, k, n]`` whose last panel has fewer columns, beside those of a batch."""
    batch, m, n, k = shape
    random = np.random.default_rng(0)
    with ark.Program("across") as program, ark.planner(tile=tile):
        w, x = ark.parameter("w", (m, k), ark.bf16), ark.input("x", (batch, k, n), ark.bf16)
        b = ark.parameter("b", (m, 1), ark.bf16)
        ark.output("y", ark.relu(ark.matmul(w, x) + b))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (w, x, b)
    }
    assert WARPGROUPS in check(program, arrays).text


def test_both_operands_with_clipped_rows_across_the_depth(check: Check) -> None:
    random = np.random.default_rng(0)
    with ark.Program("across") as program, ark.planner(tile=(128, 128)):
        x, w = ark.input("x", (256, 136), ark.fp16), ark.parameter("w", (256, 152), ark.fp16)
        ark.output("y", ark.matmul(x, w, transpose_input=True))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.fp16.numpy)
        for tensor in (x, w)
    }
    assert WARPGROUPS in check(program, arrays).text


def test_a_residual_of_a_clipped_tile(check: Check) -> None:
    """The residual and the result have as many rows as the clipped tile."""
    random = np.random.default_rng(0)
    with ark.Program("residual") as program, ark.planner(tile=(64, 128)):
        x, w = ark.input("x", (70, 256), ark.bf16), ark.parameter("w", (128, 256), ark.bf16)
        residual = ark.input("r", (70, 128), ark.bf16)
        ark.output("y", ark.gelu(ark.matmul(x, w, transpose_other=True)) + residual)
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, w, residual)
    }
    assert WARPGROUPS in check(program, arrays).text


def gated_product(rows: int, depth: int) -> tuple[ark.Program, dict[str, Any]]:
    """Returns two products of one left operand in tiles of 64 x 64, and an op that reads both."""
    random = np.random.default_rng(0)
    with ark.Program("mlp") as program, ark.planner(tile=(64, 64)):
        x = ark.input("x", (rows, depth), ark.bf16)
        gate, up = (ark.parameter(name, (128, depth), ark.bf16) for name in ("gate", "up"))
        y = ark.silu(ark.matmul(x, gate, transpose_other=True))
        ark.output("y", y * ark.matmul(x, up, transpose_other=True))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, gate, up)
    }
    return program, arrays


@pytest.mark.parametrize("depth", [512, 1024])
def test_two_products_with_few_rows(depth: int, check: Check) -> None:
    """Both accumulators have rows that do not exist, and one op reads both. For the larger depth,
    half of the warpgroups multiply.
    """
    assert WARPGROUPS in check(*gated_product(36, depth)).text


@pytest.mark.parametrize("rows", [50, 130])
def test_two_products_with_clipped_tiles(rows: int, check: Check) -> None:
    """One op reads the rows that exist of both accumulators."""
    assert WARPGROUPS in check(*gated_product(rows, 512)).text


def test_warpgroups_with_less_depth_than_stages(check: Check) -> None:
    """TMA copies, which are faster for tiles of this size, need three stages."""
    program, arrays = product((512, 256, 64), (256, 128), ark.bf16)
    text = check(program, arrays).text
    assert WARPGROUPS in text
    assert BOXES not in text


@pytest.mark.parametrize(
    ("shape", "tile", "dtype"),
    [
        ((256, 512, 384), (256, 128), ark.bf16),
        ((128, 768, 448), (128, 128), ark.fp16),
        ((128, 512, 128), (128, 64), ark.bf16),
        ((100, 512, 512), (128, 64), ark.bf16),
        ((128, 512, 1088), (128, 128), ark.bf16),
    ],
    ids=["large tiles", "no whole ring", "two stages", "padded rows", "warpgroups that only copy"],
)
def test_stages_of_the_next_tile(
    shape: Shape, tile: tuple[int, int], dtype: ark.DType, check: Check
) -> None:
    """A lane has two or more tiles. Threads copy the next tile while they store accumulators."""
    program, arrays = product(shape, tile, dtype)
    text = check(program, arrays, sms=2).text
    assert WARPGROUPS in text
    assert STAGES in text
    assert BOXES not in text


@pytest.mark.parametrize("transposed", [False, True])
def test_stages_of_the_next_tile_and_an_epilogue(transposed: bool, check: Check) -> None:
    """The residual is added to accumulators of f32, which occupy most stages."""
    m, n, k = 256, 512, 320
    random = np.random.default_rng(0)
    with ark.Program("residual") as program, ark.planner(tile=(256, 128)):
        x = ark.input("x", (m, k), ark.bf16)
        w = ark.parameter("w", (k, n) if transposed else (n, k), ark.bf16)
        residual = ark.input("residual", (m, n), ark.bf16)
        ark.output("y", residual + ark.matmul(x, w, transpose_other=not transposed))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, w, residual)
    }
    assert WARPGROUPS in check(program, arrays, sms=2).text


@pytest.mark.parametrize(("transpose_input", "transpose_other"), [(0, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize(("tile", "copies"), [((128, 128), STAGES), ((256, 128), BOXES)])
def test_warpgroups_read_transposed_operands(
    transpose_input: bool, transpose_other: bool, tile: tuple[int, int], copies: str, check: Check
) -> None:
    """Operands ``[k, m]`` and ``[k, n]`` lie in shared memory as panels of 64 rows or columns."""
    m, n, k = 256, 256, 320
    random = np.random.default_rng(0)
    with ark.Program("product") as program, ark.planner(tile=tile):
        x = ark.input("x", (k, m) if transpose_input else (m, k), ark.bf16)
        w = ark.parameter("w", (n, k) if transpose_other else (k, n), ark.bf16)
        y = ark.matmul(
            x, w, transpose_input=bool(transpose_input), transpose_other=bool(transpose_other)
        )
        ark.output("y", y)
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, w)
    }
    text = check(program, arrays).text
    assert WARPGROUPS in text
    assert copies in text


@pytest.mark.parametrize(("transpose_input", "transpose_other"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_warpgroups_multiply_parts_of_fp32(
    transpose_input: bool, transpose_other: bool, check: Check
) -> None:
    """Exponents cover 40 powers of two. Some elements are infinite or NaN, beside zeros."""
    m, n, k = 256, 128, 192
    random = np.random.default_rng(0)

    def draw(rows: int, transposed: bool) -> Any:
        array = random.standard_normal((rows, k)) * 2.0 ** random.integers(-20, 20, (rows, k))
        array[3, 5], array[7, 100], array[70, 2] = np.inf, np.nan, -np.inf
        array[9, 5], array[:, 64] = 0, 0
        return np.ascontiguousarray(array.T if transposed else array, np.float32)

    arrays = {"x": draw(m, transpose_input), "w": draw(n, not transpose_other)}
    with ark.Program("product") as program:
        x = ark.input("x", arrays["x"].shape)
        w = ark.parameter("w", arrays["w"].shape)
        y = ark.matmul(
            x, w, transpose_input=bool(transpose_input), transpose_other=bool(transpose_other)
        )
        ark.output("y", ark.relu(y))
    assert WARPGROUPS in check(program, arrays).text


@pytest.mark.parametrize("shape", [(64, 192, 64), (128, 64, 128), (64, 192, 320)])
@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp32])
def test_small_products_across_the_depth(shape: Shape, dtype: ark.DType, check: Check) -> None:
    """Some warpgroups have no part of such a tile, and a stage may be the only one."""
    m, n, k = shape
    random = np.random.default_rng(0)
    with ark.Program("product") as program:
        x, w = ark.input("x", (k, m), dtype), ark.parameter("w", (k, n), dtype)
        ark.output("y", ark.relu(ark.matmul(x, w, transpose_input=True)))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(dtype.numpy) for tensor in (x, w)
    }
    assert WARPGROUPS in check(program, arrays).text


def test_two_products_of_one_transposed_operand(check: Check) -> None:
    """Both products of a vCTA read panels of their own weight beside rows of one input."""
    random = np.random.default_rng(0)
    with ark.Program("gate") as program, ark.planner(tile=(128, 128)):
        x = ark.input("x", (128, 256), ark.bf16)
        gate, up = (ark.parameter(name, (256, 256), ark.bf16) for name in ("gate", "up"))
        ark.output("y", ark.silu(ark.matmul(x, gate)) * ark.matmul(x, up))
    arrays = {
        tensor.name: (random.standard_normal(tensor.shape) / 4).astype(ark.bf16.numpy)
        for tensor in (x, gate, up)
    }
    assert WARPGROUPS in check(program, arrays).text


@pytest.mark.parametrize(("transpose_input", "transpose_other"), [(0, 1), (1, 0)])
def test_parts_of_a_deep_product(
    transpose_input: bool, transpose_other: bool, check: Check
) -> None:
    """Four SMs have no whole tile each, so that the depth is divided among them (split-K)."""
    m, n, k = 128, 128, 4096
    random = np.random.default_rng(0)
    with ark.Program("product") as program:
        x = ark.input("x", (k, m) if transpose_input else (m, k), ark.bf16)
        w = ark.parameter("w", (n, k) if transpose_other else (k, n), ark.bf16)
        r = ark.input("r", (m, n), ark.bf16)
        y = ark.matmul(
            x, w, transpose_input=bool(transpose_input), transpose_other=bool(transpose_other)
        )
        ark.output("y", ark.relu(y + r))
    arrays = {
        tensor.name: random.standard_normal(tensor.shape).astype(ark.bf16.numpy)
        for tensor in (x, w, r)
    }
    emulation = check(program, arrays, sms=4)
    assert WARPGROUPS in emulation.text
    products, sums = emulation.bundle.manifest.tasks
    assert (products.ops, products.vctas) == (("matmul",), 4)
    assert "reduce_sum" in sums.ops


@pytest.mark.parametrize("warps", [4, 8, 32])
def test_rings_are_for_sixteen_warps(warps: int, check: Check) -> None:
    """A CTA of another size loads parameters without a ring, and adds all of them."""
    program, arrays = product((1, 300, 512), None, ark.bf16)
    emulation = check(program, arrays, warps=warps)
    assert RING not in emulation.text


@pytest.mark.parametrize(
    ("shape", "tile", "arch", "instruction"),
    [
        ((130, 100, 256), None, "sm_80", MMA),
        ((256, 256, 320), (128, 128), "sm_90a", WARPGROUPS),
    ],
)
def test_tiles_of_a_smaller_cta(
    shape: Shape, tile: tuple[int, int] | None, arch: str, instruction: str, check: Check
) -> None:
    program, arrays = product(shape, tile, ark.bf16)
    assert instruction in check(program, arrays, arch=arch, warps=8).text
