"""The gradients of norms of many rows are few tasks on GPUs, and move few bytes."""

from __future__ import annotations

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from norm_cases import gradients_of

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.compiler import compile_schedule

COLUMNS = 768


def bytes_of_an_element(bundle: Bundle, rows: int) -> float:
    return sum(task.bytes for task in bundle.manifest.tasks) / (rows * COLUMNS)


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_gradients_of_1024_rows_are_two_tasks(norm: str, dtype: ark.DType) -> None:
    """One task reads the rows and the cotangent, and writes the gradient and the statistics; the
    other one reads both for weight and bias. That is five accesses of an element. Statistics and
    vectors add a tenth. A composition had four tasks and moved 37 and 30 bytes.
    """
    rows = 1024
    bundle = compile_schedule(gradients_of(norm, (rows, COLUMNS), dtype), "cuda:sm_90a")
    first, second = bundle.manifest.tasks
    assert first.ops == ("norm_input_gradient", "norm_statistics")
    assert second.ops.count("reduce_sum") == (2 if norm == "layernorm" else 1)
    assert bytes_of_an_element(bundle, rows) <= 1.11 * 5 * dtype.itemsize


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_statistics_of_many_rows_join_the_gradient(dtype: ark.DType) -> None:
    """By bytes alone, the tiles of both would have different numbers of rows."""
    program = gradients_of("layernorm", (16_384, COLUMNS), dtype)
    first, *sums = compile_schedule(program, "cuda:sm_90a").manifest.tasks
    assert first.ops == ("norm_input_gradient", "norm_statistics")
    assert len(sums) == 2


def test_rows_that_no_weight_needs_have_no_statistics() -> None:
    with ark.Program("frozen") as program:
        x, g = (ark.input(name, (1024, COLUMNS), ark.bf16) for name in "xg")
        weight = ark.parameter("weight", (COLUMNS,), ark.bf16)
        (slope,) = ark.gradients(ark.rmsnorm(x, weight), [x], seed=g)
        ark.output("slope", slope)
    bundle = compile_schedule(program, "cuda:sm_90a")
    assert [task.ops for task in bundle.manifest.tasks] == [("norm_input_gradient",)]
    assert bytes_of_an_element(bundle, 1024) <= 1.1 * 3 * ark.bf16.itemsize


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_the_derivative_of_a_softmax_of_many_rows_is_one_task(dtype: ark.DType) -> None:
    """If the tile of a sum over a row had other rows than its readers, there would be more."""
    with ark.Program("softmax") as program:
        x, g = (ark.input(name, (16_384, COLUMNS), dtype) for name in "xg")
        y = ark.softmax(x)
        ark.output("slope", *ark.gradients(y, [x], seed=g))
    assert len(compile_schedule(program, "cuda:sm_90a").manifest.tasks) == 1
