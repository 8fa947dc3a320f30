"""Weights through rings: rows are split into chunks of any multiple of 16 bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]
RING = "cp.async.bulk.global"


def product(columns: int, rows: int, dtype: Any, weights: Any) -> tuple[ark.Program, Any]:
    """Returns a product of ``[1, columns]`` and ``[rows, columns]``, and its arrays."""
    random = np.random.default_rng(columns)
    with ark.Program("product") as program:
        x = ark.input("x", (1, columns), dtype)
        w = ark.parameter("w", (rows, columns), weights)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    arrays = {
        "x": random.standard_normal((1, columns)).astype(dtype.numpy),
        "w": random.standard_normal((rows, columns)).astype(weights.numpy),
    }
    return program, arrays


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (264, 70),  # one chunk of 528 bytes: a load and the load of one thread
        (576, 133),  # SmolLM2-135M
        (1600, 40),  # GPT-2 XL
        (2560, 70),  # Qwen3-4B
        (3584, 50),  # Qwen2.5-7B
        (5120, 33),  # Qwen3-14B
        (9728, 21),  # Qwen3-4B, down
        (14336, 9),  # Llama-3.1-8B, down
        (17408, 9),  # Qwen3-14B, down
        (25600, 7),  # Qwen3-32B, down: a warp reads two chunks of each row
        (28672, 5),  # Llama-3.1-70B, down
    ],
)
def test_rows_of_decoders(columns: int, rows: int, check: Check) -> None:
    program, arrays = product(columns, rows, ark.bf16, ark.bf16)
    assert RING in check(program, arrays).text


@pytest.mark.parametrize("columns", [768, 2304, 2560, 3584])
@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp32], ids=str)
def test_norms_of_decoders(columns: int, dtype: Any, check: Check) -> None:
    """Warps share a normalised row; their number need not be a power of two."""
    random = np.random.default_rng(0)
    with ark.Program("norm") as program:
        x = ark.input("x", (1, columns), dtype)
        gain = ark.parameter("gain", (columns,), dtype)
        w = ark.parameter("w", (40, columns), dtype)
        ark.output("y", ark.matmul(ark.layernorm(x, gain), w, transpose_other=True))
    arrays = {
        "x": random.standard_normal((1, columns)).astype(dtype.numpy) + 3,
        "gain": random.standard_normal(columns).astype(dtype.numpy),
        "w": random.standard_normal((40, columns)).astype(dtype.numpy),
    }
    check(program, arrays)


@pytest.mark.parametrize(
    ("columns", "dtype", "weights"),
    [
        (2560, ark.fp16, ark.fp16),
        (1280, ark.fp32, ark.fp32),
        (9216, ark.fp32, ark.fp32),
        (2560, ark.bf16, ark.fp8_e4m3),
        (18944, ark.bf16, ark.fp8_e4m3),
        (9728, ark.fp16, ark.fp8_e5m2),
    ],
)
def test_types(columns: int, dtype: Any, weights: Any, check: Check) -> None:
    program, arrays = product(columns, 19, dtype, weights)
    assert RING in check(program, arrays).text


@pytest.mark.parametrize(
    "columns",
    [
        248,  # a row of fewer than 512 bytes
        2564,  # a row whose bytes are not a multiple of 16
        2568,  # a row whose quarters are not
        32776,  # more than two chunks of 2 KiB for each warp
    ],
)
def test_rows_that_are_not_streamed(columns: int, check: Check) -> None:
    program, arrays = product(columns, 9, ark.bf16, ark.bf16)
    assert RING not in check(program, arrays).text


@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_numbers_that_are_not_finite(weight: float, check: Check) -> None:
    """Threads beyond the end of a chunk multiply by zeros, and not by stale data of the ring."""
    program, arrays = product(2560, 40, ark.bf16, ark.bf16)
    arrays["x"] = np.abs(arrays["x"]) + arrays["x"].dtype.type(1)
    arrays["w"][7, 639] = weight
    arrays["w"][9, 0] = weight
    check(program, arrays)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (1024, (64, 16, 16)),  # q, k and v
        (512, (70, 70)),  # the last vCTA has fewer rows than the others
        (2048, (9, 9)),  # fewer rows than SMs have warps
        (20480, (5, 5, 5)),  # 16 chunks of a row: one for each warp
        (25600, (3, 3)),  # two chunks of a row for each warp
    ],
)
@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp32], ids=str)
def test_products_with_one_loop(
    columns: int, rows: tuple[int, ...], dtype: Any, check: Check
) -> None:
    """One loop reads the weights of all products of a row."""
    columns = columns if dtype == ark.bf16 else columns // 2
    random = np.random.default_rng(columns)
    with ark.Program("several") as program:
        x = ark.input("x", (1, columns), dtype)
        arrays = {"x": random.standard_normal((1, columns)).astype(dtype.numpy)}
        for number, count in enumerate(rows):
            w = ark.parameter(f"w{number}", (count, columns), dtype)
            arrays[f"w{number}"] = random.standard_normal(w.shape).astype(dtype.numpy)
            ark.output(f"y{number}", ark.matmul(x, w, transpose_other=True))
    emulation = check(program, arrays)
    tasks = emulation.bundle.manifest.tasks
    assert RING in emulation.text
    assert [len(task.ops) for task in tasks] == [len(rows)]


def test_products_with_one_loop_between_others(check: Check) -> None:
    """A lane reads the segments of several work items, again in each iteration."""
    random = np.random.default_rng(0)
    hidden, inner = 512, 1024
    shapes = {"up": (inner, hidden), "gate": (inner, hidden), "down": (hidden, inner)}
    with ark.Program("mlp") as program:
        h = ark.state("h", (1, hidden), ark.bf16, init=0.5)
        up, gate, down = (ark.parameter(n, shape, ark.bf16) for n, shape in shapes.items())
        raised = ark.matmul(h, up, transpose_other=True)
        inside = ark.silu(ark.matmul(h, gate, transpose_other=True)) * raised
        ark.update(h, ark.matmul(inside, down, transpose_other=True), (0, 0))
        ark.output("y", h + 1)
    arrays = {
        name: (random.standard_normal(shape) / 20).astype(ark.bf16.numpy)
        for name, shape in shapes.items()
    }
    assert RING in check(program, arrays).text


def test_products_of_two_widths(check: Check) -> None:
    """Slots have the size of the larger chunks."""
    random = np.random.default_rng(0)
    with ark.Program("chain") as program:
        x = ark.input("x", (1, 1216), ark.bf16)
        up = ark.parameter("up", (2048, 1216), ark.bf16)
        down = ark.parameter("down", (1216, 2048), ark.bf16)
        h = ark.matmul(x, up, transpose_other=True)
        ark.output("y", ark.matmul(h, down, transpose_other=True))
    arrays = {
        "x": random.standard_normal((1, 1216)),
        "up": random.standard_normal((2048, 1216)) / 35,
        "down": random.standard_normal((1216, 2048)) / 45,
    }
    arrays = {name: array.astype(ark.bf16.numpy) for name, array in arrays.items()}
    assert RING in check(program, arrays).text
