"""Attention, argmax and products in parts give the same results as without parts."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Array = np.ndarray[Any, Any]
HEAD, COLUMNS, KEYS = 8, 6, 24


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def attention(
    heads: int, kv_heads: int, queries: int, mask: tuple[int, ...] | None
) -> tuple[ark.Program, dict[str, Array]]:
    with ark.Program("attention") as program:
        q = ark.input("q", (2, heads, queries, HEAD), ark.fp32)
        k = ark.input("k", (2, kv_heads, KEYS, HEAD), ark.fp32)
        v = ark.input("v", (2, kv_heads, KEYS, COLUMNS), ark.fp32)
        n = ark.scalar("n", max=KEYS)
        m = None if mask is None else ark.input("m", mask, ark.fp32)
        ark.output("whole", ark.attention(q, k, v, mask=m))
        ark.output("causal", ark.attention(q, k, v, 0.3, causal=True, kv_length=n))
        if m is not None:
            ark.output("kept", ark.attention(q, k, v, mask=m > 0, kv_length=n))
    return program, {name: normal(*x.shape) for name, x in program.inputs.items()}


@pytest.mark.parametrize("partitions", [2, 3, 8, KEYS])
@pytest.mark.parametrize(
    ("heads", "kv_heads", "queries", "mask"),
    [(4, 1, 1, None), (3, 3, 1, (1, KEYS)), (6, 2, 3, (6, 1, KEYS)), (2, 2, 5, (5, 1))],
)
def test_partitions_of_an_attention(
    ark_opt: str,
    heads: int,
    kv_heads: int,
    queries: int,
    mask: tuple[int, ...] | None,
    partitions: int,
) -> None:
    program, inputs = attention(heads, kv_heads, queries, mask)
    done = subprocess.run(
        [ark_opt, f"--ark-split-attention=partitions={partitions}"],
        input=program.mlir, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ark.attention" not in done.stdout
    for n in (0, 1, 2, 7, 8, 9, KEYS - 1, KEYS):
        inputs["n"] = np.array(n, np.int32)
        before = ark.reference.evaluate(program, inputs).outputs
        after = ark.reference.evaluate(done.stdout, inputs, bound=True)
        for name, expected in before.items():
            np.testing.assert_allclose(after.outputs[name], expected, rtol=1e-9, atol=1e-12)
            assert 0 < after.bounds[name].max() < 1e-3


@pytest.mark.parametrize("partitions", [2, 3, 24])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "dtype", [ark.fp32, ark.bf16, ark.int8, ark.int32, ark.uint8, ark.uint32], ids=str
)
def test_partitions_of_an_argmax(ark_opt: str, dtype: Any, axis: int, partitions: int) -> None:
    with ark.Program("argmax") as program:
        x = ark.input("x", (24, 48), dtype)
        ark.output("y", ark.argmax(x, axis))
    done = subprocess.run(
        [ark_opt, f"--ark-split-argmax=partitions={partitions}"],
        input=program.mlir, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ark.argmax" not in done.stdout
    rng = np.random.default_rng(partitions)
    if dtype.is_integer:
        low, high = dtype.integer_range
        values = rng.integers(low, high, (24, 48), dtype.numpy, endpoint=True)
    else:
        values = rng.integers(-2, 1, (24, 48)).astype(np.float32)
        values[values == 0] *= rng.choice([-1, 1], (values == 0).sum())
        values[3, ::5] = np.nan
    values[7::9, 1::7] = values[7, 1]
    inputs = {"x": values.astype(dtype.numpy)}
    before = ark.reference.evaluate(program, inputs, bound=True)
    after = ark.reference.evaluate(done.stdout, inputs, bound=True)
    np.testing.assert_array_equal(after.outputs["y"], before.outputs["y"])
    np.testing.assert_array_equal(after.bounds["y"], before.bounds["y"])


@pytest.mark.parametrize("parts", [2, 3, 24])
@pytest.mark.parametrize(
    ("x_shape", "w_shape", "transpose_input", "transpose_other"),
    [
        ((5, 24), (24, 7), False, False),
        ((2, 3, 5, 24), (7, 24), False, True),
        ((24, 5), (2, 24, 7), True, False),
        ((3, 24, 5), (3, 7, 24), True, True),
    ],
)
def test_parts_of_a_product(
    ark_opt: str,
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    transpose_input: bool,
    transpose_other: bool,
    parts: int,
) -> None:
    with ark.Program("product") as program:
        x, w = ark.input("x", x_shape, ark.bf16), ark.parameter("w", w_shape, ark.bf16)
        y = ark.matmul(x, w, transpose_input=transpose_input, transpose_other=transpose_other)
        ark.output("y", y)
    done = subprocess.run(
        [ark_opt, f"--ark-split-products=parts={parts}"],
        input=program.mlir, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ark.reduce_sum" in done.stdout
    arrays = {name: normal(*shape) for name, shape in (("x", x_shape), ("w", w_shape))}
    arrays = {name: array.astype(ark.bf16.numpy) for name, array in arrays.items()}
    before = ark.reference.evaluate(program, arrays, bound=True)
    after = ark.reference.evaluate(done.stdout, arrays, bound=True)
    np.testing.assert_allclose(after.outputs["y"], before.outputs["y"], rtol=1e-12, atol=1e-12)
    assert (after.bounds["y"] <= 2 * before.bounds["y"]).all()
