"""Products with weights of 4 and 8 bits: streamed, and in all other forms, within their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]
RING = "cp.async.bulk.global"


def product(
    bits: int, rows: int, columns: int, group: int, dtype: Any = ark.bf16, zeros: bool = True,
    scale: Any = ark.fp32, m: int = 1,
) -> tuple[ark.Program, Any]:  # fmt: skip
    """Returns a product of ``[m, columns]`` and quantized ``[rows, columns]``, and its arrays."""
    random = np.random.default_rng(columns + rows)
    groups = columns // group
    arrays: dict[str, Any] = {
        "x": random.standard_normal((m, columns)).astype(dtype.numpy),
        "s": random.uniform(0.01, 3, (rows, groups)).astype(scale.numpy),
    }
    with ark.Program("product") as program:
        x, s = ark.input("x", (m, columns), dtype), ark.parameter("s", (rows, groups), scale)
        if bits == 8:
            w = ark.parameter("w", (rows, columns), ark.fp8_e4m3)
            arrays["w"] = random.standard_normal((rows, columns)).astype(w.dtype.numpy)
        else:
            w = ark.parameter("w", (rows, columns // 2), ark.int8)
            arrays["w"] = random.integers(-128, 128, (rows, columns // 2), np.int8)
        z = None
        if bits == 4 and zeros:
            z = ark.parameter("z", (rows, groups), ark.int8)
            arrays["z"] = random.integers(0, 16, (rows, groups), np.int8)
        ark.output("y", ark.quantized_matmul(x, w, s, z))
    return program, arrays


@pytest.mark.parametrize(
    ("bits", "rows", "columns", "group"),
    [
        (8, 40, 4096, 128),  # Llama-3.1-8B: a chunk of 1024 bytes has eight groups
        (8, 7, 14336, 128),  # Llama-3.1-8B, down
        (8, 9, 18944, 128),  # Qwen2.5-7B, down: threads of a row have two scales
        (8, 33, 2560, 2560),  # one scale for each row
        (8, 19, 1024, 32),
        (4, 40, 4096, 128),
        (4, 7, 14336, 128),
        (4, 21, 2048, 64),  # threads of a row of an instruction have two scales
        (4, 21, 2048, 2048),
        (4, 5, 36864, 128),  # a warp reads two chunks of each row
    ],
)
def test_streamed_rows(bits: int, rows: int, columns: int, group: int, check: Check) -> None:
    program, arrays = product(bits, rows, columns, group)
    assert RING in check(program, arrays).text


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16], ids=str)
@pytest.mark.parametrize("scale", [ark.bf16, ark.fp16], ids=str)
def test_types(bits: int, dtype: Any, scale: Any, check: Check) -> None:
    program, arrays = product(bits, 19, 2048, 128, dtype, zeros=False, scale=scale)
    assert RING in check(program, arrays).text


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(
    ("m", "columns", "group"),
    [
        (2, 1024, 128),
        (16, 512, 64),
        (17, 512, 64),  # the weights are widened in memory
        (1, 96, 6),  # a load has elements of several groups
        (1, 1024, 8),
    ],
)
def test_products_that_are_not_streamed(
    bits: int, m: int, columns: int, group: int, check: Check
) -> None:
    program, arrays = product(bits, 21, columns, group, m=m)
    assert RING not in check(program, arrays).text


def test_all_numbers_of_four_bits(check: Check) -> None:
    """Each number meets each zero; a wrong nibble or a wrong order is far beyond the bound."""
    program, arrays = product(4, 16, 2048, 128)
    arrays["w"][:] = np.arange(2048 // 2, dtype=np.int64).astype(np.uint8).view(np.int8)
    arrays["z"][:] = np.arange(16, dtype=np.int8)[:, None]
    arrays["x"][:] = np.arange(2048) % 61 - 30
    assert RING in check(program, arrays).text


@pytest.mark.parametrize(
    ("m", "columns", "group", "dtype"),
    [
        (1, 2048, 128, ark.bf16),  # tensor cores
        (1, 2048, 128, ark.fp32),
        (1, 1024, 16, ark.bf16),
        (17, 512, 64, ark.bf16),  # the weights are widened in memory
    ],
)
def test_the_low_bits_of_a_zero_count(
    m: int, columns: int, group: int, dtype: Any, check: Check
) -> None:
    program, arrays = product(4, 16, columns, group, dtype, m=m)
    arrays["z"][:] = np.random.default_rng(1).integers(-128, 128, arrays["z"].shape, np.int8)
    check(program, arrays)
    low = ark.reference.run(program, {**arrays, "z": arrays["z"] & 15})
    np.testing.assert_array_equal(ark.reference.run(program, arrays)["y"], low["y"])


def test_a_norm_a_residual_and_two_products_of_a_row(check: Check) -> None:
    """The products of one body have scales of their own."""
    random = np.random.default_rng(0)
    with ark.Program("mlp") as program:
        x = ark.input("x", (1, 1024), ark.bf16)
        gain = ark.parameter("gain", (1024,), ark.bf16)
        h = ark.rmsnorm(x, gain)
        parts = []
        for name in ("gate", "up"):
            w = ark.parameter(name, (512, 512), ark.int8)
            s = ark.parameter(f"{name}.s", (512, 8), ark.fp16)
            z = ark.parameter(f"{name}.z", (512, 8), ark.int8)
            parts.append(ark.quantized_matmul(h, w, s, z))
        inner = ark.silu(parts[0]) * parts[1]
        w = ark.parameter("down", (1024, 512), ark.fp8_e4m3)
        s = ark.parameter("down.s", (1024, 4))
        ark.output("y", x + ark.quantized_matmul(inner, w, s))
    arrays: dict[str, Any] = {
        "x": random.standard_normal((1, 1024)), "gain": random.uniform(0.5, 1.5, 1024),
        "down": random.standard_normal((1024, 512)),
        "down.s": random.uniform(0.01, 0.03, (1024, 4)),
    }  # fmt: skip
    for name in ("gate", "up"):
        arrays[name] = random.integers(-128, 128, (512, 512), np.int8)
        arrays[f"{name}.s"] = random.uniform(0.001, 0.003, (512, 8))
        arrays[f"{name}.z"] = random.integers(0, 16, (512, 8), np.int8)
    arrays = {
        name: arrays[name].astype(argument.dtype.numpy)
        for name, argument in {**program.inputs, **program.parameters}.items()
    }
    text = check(program, arrays).text
    assert RING in text
