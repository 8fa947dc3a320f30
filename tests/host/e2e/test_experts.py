"""top_k, indexed_matmul and grouped_matmul: order, bounds, bytes, errors at build and at run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Pick = Callable[[str], str]
Array = np.ndarray[Any, Any]


# -- top_k ----------------------------------------------------------------------------------------


def build_top_k(shape: tuple[int, ...], k: int, axis: int = -1) -> ark.Program:
    with ark.Program("top") as program:
        values, indices = ark.top_k(ark.input("x", shape, ark.fp32), k, axis)
        ark.output("values", values)
        ark.output("indices", indices)
    return program


@pytest.mark.parametrize("extent", [9, 1100], ids=["pairs", "passes"])
def test_order(extent: int, pick_target: Pick) -> None:
    """NaN comes first, then infinity; equal elements are ordered by index; zeros are equal."""
    row = np.full(extent, -np.inf, np.float32)
    row[:9] = [-0.0, 1, np.nan, 0.0, 1, np.inf, -np.nan, -1, 1]
    program = build_top_k((extent,), 9)
    expected = [2, 6, 5, 1, 4, 8, 0, 3, 7]
    result = ark.reference.evaluate(program, {"x": row}, bound=True)
    assert result.outputs["indices"].tolist() == expected
    assert not result.bounds["indices"].any()
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(x=row)
    assert got["indices"].tolist() == expected
    np.testing.assert_array_equal(got["values"], row[expected])


def test_first_dimension() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3) % 5
    got = ark.reference.run(build_top_k((4, 3), 2, 0), {"x": x})
    order = np.argsort(-x, axis=0, kind="stable")[:2]
    np.testing.assert_array_equal(got["indices"], order)
    np.testing.assert_array_equal(got["values"], np.take_along_axis(x, order, 0))


@pytest.mark.parametrize(
    ("x", "k", "axis", "message"),
    [
        (((4, 3), ark.fp32), 0, -1, "k 0 is not between 1 and the extent 3"),
        (((4, 3), ark.fp32), 4, 1, "k 4 is not between 1 and the extent 3"),
        (((0,), ark.fp32), 1, 0, "k 1 is not between 1 and the extent 0"),
        (((4, 3), ark.fp32), 1, 2, "axis 2 is not a dimension"),
        (((), ark.fp32), 1, 0, "axis 0 is not a dimension"),
        (((4, 3), ark.dtypes.bool_), 1, 1, "bool"),
        (((4, 3), ark.fp32), 1.5, 1, "k must be"),
    ],
)
def test_invalid_top_k(x: Any, k: Any, axis: int, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message), ark.Program("top"):
        ark.top_k(ark.input("x", *x), k, axis)


def scaled_top_k(values: list[float]) -> ark.reference.Evaluation:
    """Evaluates the order of products, which have an error."""
    with ark.Program("top") as program:
        x = ark.input("x", (len(values),), ark.fp32)
        found, indices = ark.top_k(ark.mul(x, 0.7), 2)
        ark.output("values", found)
        ark.output("indices", indices)
    return ark.reference.evaluate(program, {"x": np.array(values, np.float32)}, bound=True)


def test_bounds() -> None:
    """Elements that rounding may exchange do not affect other elements."""
    result = scaled_top_k([1, 4, 2, 3, 1])
    assert result.outputs["indices"].tolist() == [1, 3]
    assert not result.bounds["indices"].any()
    assert 0 < result.bounds["values"].max() < 1e-6
    with pytest.raises(ark.InvalidUsageError, match="depends on rounding"):
        scaled_top_k([1, 4, 3, 3, 1])


# -- products -------------------------------------------------------------------------------------


def build_indexed(
    rows: int, number: int, columns: int, depth: int, dtype: Any = ark.fp32
) -> ark.Program:
    with ark.Program("indexed") as program:
        x = ark.input("x", (1, 1, depth), dtype)
        i = ark.input("i", (rows,), ark.int32)
        w = ark.parameter("w", (number, columns, depth), dtype)
        ark.output("y", ark.silu(ark.indexed_matmul(x, w, i, name="up")))
    return program


def build_grouped(rows: int, number: int) -> ark.Program:
    with ark.Program("grouped") as program:
        x = ark.input("x", (rows, 8), ark.fp32)
        counts = ark.input("counts", (number,), ark.int32)
        w = ark.parameter("w", (number, 6, 8), ark.fp32)
        ark.output("y", ark.grouped_matmul(x, w, counts, name="up"))
    return program


def make(program: ark.Program, **given: Array) -> dict[str, Array]:
    random = np.random.default_rng(2)
    declared = {**program.inputs, **program.parameters}
    return {
        name: random.standard_normal(argument.shape).astype(argument.dtype.numpy)
        for name, argument in declared.items()
    } | given


@pytest.mark.parametrize("target", ["cpu:4", "cuda:sm_90a", "hip:gfx942"])
def test_bytes_of_chosen_matrices(target: str) -> None:
    """A step moves the bytes of the selected matrices and of the indices, and no other weights."""
    program = build_indexed(4, 64, 256, 512, ark.bf16)
    with ark.Program("alone") as alone:
        x = ark.input("x", (1, 1, 512), ark.bf16)
        w = ark.parameter("w", (4, 256, 512), ark.bf16)
        ark.output("y", ark.silu(ark.matmul(x, w, transpose_other=True)))
    moved, least = (ark.compile(each, target=target).report() for each in (program, alone))
    assert least.traffic_bytes >= 4 * 256 * 512 * 2
    assert moved.traffic_bytes == least.traffic_bytes + 4 * moved.vctas
    assert len(moved.task_ops) == 1


@pytest.mark.parametrize("rows", [7, 70], ids=["rows", "blocks"])
def test_counts(rows: int, pick_target: Pick) -> None:
    """Counts are known at run time; a run with invalid ones reports it, and the next one is
    right."""
    program = build_grouped(rows, 3)
    arrays = make(program)
    valid = [[rows, 0, 0], [0, 0, rows], [0, rows, 0], [2, 1, rows - 3], [rows - 1, 0, 1]]
    invalid = [
        [rows - 1, 0, 0], [rows + 1, 0, 0], [rows + 1, -1, 0], [0, 0, 0],
        [2**31 - 1, 2**31 - 1, rows + 2],
    ]  # fmt: skip
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        executable.bind({"w": arrays["w"]})
        for good, bad in zip(valid, invalid, strict=True):
            with pytest.raises(ark.DeviceError, match="is out of range"):
                executable.run(x=arrays["x"], counts=np.array(bad, np.int32))
            given = {**arrays, "counts": np.array(good, np.int32)}
            expected = ark.reference.evaluate(program, given, bound=True)
            got = executable.run(x=arrays["x"], counts=given["counts"])["y"]
            assert_within(got, expected.outputs["y"], expected.bounds["y"], str(good))
    with pytest.raises(ark.InvalidUsageError, match="out of range"):
        ark.reference.run(program, {**arrays, "counts": np.array(invalid[0], np.int32)})


def test_indices_out_of_range(pick_target: Pick) -> None:
    program = build_indexed(3, 5, 20, 16)
    arrays = make(program, i=np.array([4, 0, 4], np.int32))
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        executable.bind({"w": arrays["w"]})
        for index in (5, -1):
            with pytest.raises(ark.DeviceError, match="is out of range"):
                executable.run(x=arrays["x"], i=np.array([0, index, 1], np.int32))
        expected = ark.reference.evaluate(program, arrays, bound=True)
        got = executable.run(x=arrays["x"], i=arrays["i"])["y"]
        assert_within(got, expected.outputs["y"], expected.bounds["y"], "y")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w, v, i: ark.grouped_matmul(x, w, i[:2]), r"not \[T, K\], \[E, N, K\] and"),
        (lambda x, w, v, i: ark.grouped_matmul(x[:0, 0], w, i), r"are not \[T, K\]"),
        (lambda x, w, v, i: ark.grouped_matmul(x, v, i), "different element types"),
        (
            lambda x, w, v, i: ark.grouped_matmul(x, w, x[0, :3]),
            "counts must have an integer dtype, not fp32",
        ),
        (lambda x, w, v, i: ark.indexed_matmul(x, w[0], i), r"not \[..., M, K\] and \[E, N, K\]"),
        (lambda x, w, v, i: ark.indexed_matmul(ark.unsqueeze(x, 1), w, i), "do not broadcast"),
        (lambda x, w, v, i: ark.indexed_matmul(x[:, :7], w, i), "contracted extents differ"),
    ],
)
def test_invalid_products(call: Callable[..., Any], message: str) -> None:
    def build() -> None:
        with ark.Program("products"):
            x, w = ark.input("x", (7, 8), ark.fp32), ark.parameter("w", (3, 6, 8), ark.fp32)
            call(x, w, ark.parameter("v", (3, 6, 8), ark.bf16), ark.input("i", (3,), ark.int32))

    with pytest.raises(ark.InvalidUsageError, match=message):
        build()
