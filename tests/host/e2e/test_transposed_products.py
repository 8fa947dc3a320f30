"""Products whose result or operands lie transposed in memory, and the work that is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Shape = tuple[int, ...]
PRODUCTS: list[tuple[Shape, Shape]] = [
    ((64, 48), (48, 64)),
    ((64, 48), (1, 48, 64)),
    ((64, 48), (1, 48, 100)),
    ((43, 24), (1, 24, 37)),
    ((70, 20), (3, 20, 50)),
    ((3, 70, 20), (3, 20, 50)),
    ((2, 1, 40, 17), (3, 17, 21)),
    ((40, 16), (1, 16, 5)),
    ((1, 40), (1, 40, 48)),
]


def _transposed(tensor: ark.Tensor) -> ark.Tensor:
    axes = range(tensor.ndim)
    return ark.transpose(tensor, (*axes[:-2], axes[-1], axes[-2]))


def _draw(shape: Shape, dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype.numpy)


@pytest.mark.parametrize(
    ("dtype", "cpu"),
    [(ark.fp32, "host"), (ark.fp32, "baseline"), (ark.bf16, "host")],
    ids=["fp32", "fp32-short-vectors", "bf16"],
)
@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_transposed_result(left: Shape, right: Shape, dtype: Any, cpu: str) -> None:
    """Operands are small integers, whose sums are exact."""
    with ark.Program("transposed") as program:
        a, b = ark.input("a", left, dtype), ark.input("b", right, dtype)
        ark.output("y", _transposed(a @ b))
    arrays = {"a": _draw(left, dtype, 1), "b": _draw(right, dtype, 2)}
    result = ark.compile(program, target="cpu:2", cpu=cpu).run(arrays)["y"]
    product = arrays["a"].astype(np.float32) @ arrays["b"].astype(np.float32)
    np.testing.assert_array_equal(result, product.swapaxes(-1, -2).astype(dtype.numpy))


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_epilogue_of_a_transposed_result(left: Shape, right: Shape) -> None:
    """The innermost loop of the epilogue runs along rows."""
    with ark.Program("transposed") as program:
        a, b = ark.input("a", left, ark.fp32), ark.input("b", right, ark.fp32)
        c, d = ark.input("c", (left[-2], 1), ark.fp32), ark.input("d", right[-1:], ark.fp32)
        ark.output("y", _transposed(ark.relu(a @ b + c) * d))
    shapes = {"a": left, "b": right, "c": c.shape, "d": d.shape}
    arrays = {name: _draw(shape, ark.fp32, len(shape)) for name, shape in shapes.items()}
    result = ark.compile(program, target="cpu:2").run(arrays)["y"]
    sums = arrays["a"] @ arrays["b"] + arrays["c"]
    np.testing.assert_array_equal(result, (np.maximum(sums, 0) * arrays["d"]).swapaxes(-1, -2))


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_operands_of_both_orders(left: Shape, right: Shape) -> None:
    """A product of transposed operands, then one whose operand lies transposed in memory."""
    with ark.Program("transposed") as program:
        a = ark.input("a", (*left[:-2], left[-1], left[-2]), ark.fp32)
        b = ark.input("b", (*right[:-2], right[-1], right[-2]), ark.fp32)
        c = ark.input("c", (left[-2], 32), ark.fp32)
        product = ark.matmul(a, b, transpose_input=True, transpose_other=True)
        ark.output("y", _transposed(product) @ c)
    shapes = {"a": a.shape, "b": b.shape, "c": c.shape}
    arrays = {name: _draw(shape, ark.fp32, len(shape)) for name, shape in shapes.items()}
    result = ark.compile(program, target="cpu:2").run(arrays)["y"]
    product = arrays["a"].swapaxes(-1, -2) @ arrays["b"].swapaxes(-1, -2)
    np.testing.assert_array_equal(result, product.swapaxes(-1, -2) @ arrays["c"])


@pytest.mark.parametrize("target", ["cpu:1", "cuda:sm_90a"])
@pytest.mark.parametrize("columns", [128, 100], ids=["whole", "ragged"])
@pytest.mark.parametrize("batch", [(), (1,), (3,)], ids=["unbatched", "unit", "batched"])
def test_reported_work(batch: Shape, columns: int, target: str) -> None:
    with ark.Program("product") as program:
        a = ark.input("a", (*batch, 64, 48), ark.fp32)
        b = ark.input("b", (*batch, 48, columns), ark.fp32)
        ark.output("y", a @ b)
    report = ark.compile(program, target=target).report()
    assert report.flops == 2 * 64 * 48 * columns * (batch or (1,))[0]
