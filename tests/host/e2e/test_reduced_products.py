"""Sums of a product over a dimension of a single operand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Shape = tuple[int, ...]


def _draw(shape: Shape, dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    numbers = np.random.default_rng(seed).integers(-4, 5, shape)
    return numbers.astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.int32], ids=str)
@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ((16, 3), (3,), 0),
        ((16,), (), 0),
        ((4, 16), (), 1),
        ((2, 16, 3), (3,), 1),
        ((2, 5, 7), (7,), (0, 1)),
        ((2, 5, 7), (7,), (1, 2)),
        ((2, 5, 7), (2, 1, 1), (0, 2)),
    ],
    ids=str,
)
def test_sum_of_a_product(
    left: Shape, right: Shape, axis: int | tuple[int, ...], dtype: Any
) -> None:
    """Operands are small integers, whose sums are exact in each dtype."""
    with ark.Program("sum") as program:
        x, w = ark.input("x", left, dtype), ark.input("w", right, dtype)
        ark.output("y", ark.reduce_sum(x * w, axis=axis, keepdims=False))
    arrays = {"x": _draw(left, dtype, 1), "w": _draw(right, dtype, 2)}
    result = ark.compile(program, target="cpu:2").run(arrays)["y"]
    product = arrays["x"].astype(np.int64) * arrays["w"].astype(np.int64)
    np.testing.assert_array_equal(result, product.sum(axis).astype(dtype.numpy))


def test_mean_of_a_product() -> None:
    with ark.Program("mean") as program:
        x, w = ark.input("x", (16, 3), ark.fp32), ark.input("w", (3,), ark.fp32)
        ark.output("y", ark.reduce_mean(x * w, axis=0, keepdims=False))
    arrays = {"x": _draw((16, 3), ark.fp32, 1), "w": _draw((3,), ark.fp32, 2)}
    result = ark.compile(program, target="cpu:2").run(arrays)["y"]
    np.testing.assert_array_equal(result, (arrays["x"] * arrays["w"]).mean(0))


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_other_targets_compile_it(target: str) -> None:
    with ark.Program("sum") as program:
        x, w = ark.input("x", (16, 3), ark.fp16), ark.input("w", (3,), ark.fp16)
        ark.output("y", ark.reduce_sum(x * w, axis=0))
    assert ark.compile(program, target=target).report().vctas > 0


def test_a_module_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Weighted(torch.nn.Module):
        def forward(self, x: Any, w: Any) -> Any:
            return (x * w).sum(0)

    x, w = torch.arange(48.0).reshape(16, 3), torch.tensor([1.0, -2.0, 3.0])
    program = ark.from_torch(Weighted(), (x, w))
    exe = ark.compile(program, target="cpu:2")
    (result,) = exe.run(dict(zip(program.inputs, (x, w), strict=True))).values()
    assert math.isclose(float((result - (x * w).sum(0)).abs().max()), 0.0)
