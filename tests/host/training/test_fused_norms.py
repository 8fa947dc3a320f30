"""The derivatives of norms of many rows are few tasks on GPUs."""

from __future__ import annotations

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.compiler import compile_schedule


def derivative(norm: str, rows: int, dtype: ark.DType) -> ark.Program:
    """Builds the gradients of a norm for a cotangent that is an input."""
    with ark.Program("norm") as program:
        x, g = (ark.input(name, (rows, 768), dtype) for name in "xg")
        count = 2 if norm == "layernorm" else 1
        scales = [ark.parameter(f"w{number}", (768,), dtype) for number in range(count)]
        y = getattr(ark, norm)(x, *scales)
        for number, slope in enumerate(ark.gradients(y, [x, *scales], seed=g)):
            ark.output(f"slope{number}", slope)
    return program


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_a_derivative_of_many_rows_has_four_tasks(norm: str, dtype: ark.DType) -> None:
    """Three tasks go over the rows, and one converts the cotangent or computes the sums over rows.
    If the tile of a sum over a row had other rows than its readers, there would be 6 to 10 tasks.
    """
    schedule = compile_schedule(derivative(norm, 16_384, dtype), "cuda:sm_90a")
    assert len(schedule.manifest.tasks) <= 4
