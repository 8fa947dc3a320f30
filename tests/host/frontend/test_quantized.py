"""``ark.quantized_matmul``: errors name the op, and many rows need no quantized product."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark


def operands(
    columns: int = 64, groups: int = 4, dtype: Any = ark.fp8_e4m3, rows: int = 2
) -> tuple[ark.Tensor, ark.Tensor, ark.Tensor]:
    """Returns `x` of 64 inputs, the weights of 8 outputs, and their scales."""
    return (
        ark.input("x", (rows, 64)),
        ark.parameter("w", (8, columns), dtype),
        ark.parameter("s", (8, groups)),
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: operands(columns=32), "rows of weights have 32 elements"),
        (lambda: operands(dtype=ark.int8), "rows of weights have 128 elements"),
        (lambda: operands(groups=5), "do not divide the rows of 8 x 64 weights"),
        (lambda: operands(dtype=ark.fp32), "operand 1 is fp32"),
        (
            lambda: (*operands(), ark.parameter("z", (8, 4), ark.int8)),
            "weights of 8-bit floats have no zeros",
        ),
        (
            lambda: (*operands(32, 4, ark.int8), ark.parameter("z", (8, 2), ark.int8)),
            "differ from scales of shape",
        ),
    ],
)
@pytest.mark.parametrize("rows", [2, 40])
def test_operands_that_do_not_fit(
    make: Callable[[], tuple[ark.Tensor, ...]], message: str, rows: int
) -> None:
    """Products of many rows, which are composed of other ops, have the same errors."""
    with ark.Program("errors"):
        x, *rest = make()
        x = ark.broadcast_to(x[:1], (rows, 64))
        with pytest.raises(ark.InvalidUsageError, match=message) as caught:
            ark.quantized_matmul(x, *rest)
        ark.output("x", x)
    assert "quantized_matmul" in str(caught.value)


def test_many_rows_are_multiplied_by_widened_weights(tmp_path: Path) -> None:
    for rows, quantized in ((16, True), (17, False)):
        with ark.Program("rows") as program:
            ark.output("y", ark.quantized_matmul(*operands(rows=rows)))
        folder = tmp_path / str(rows)
        ark.compile(program, "cpu:2", cache=False, dump_dir=str(folder))
        text = next(folder.rglob("01-graph.mlir")).read_text()
        assert ("ark.quantized_matmul" in text) == quantized
        assert ("ark.matmul" in text) != quantized
