"""The interpreter accepts programs and inputs in several forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir import ir


def program() -> ark.Program:
    with ark.Program("p") as result:
        x = ark.input("x", (2,), ark.bf16)
        w = ark.parameter("w", (2,), ark.bf16)
        i = ark.input("i", (2,), ark.int8)
        row = ark.scalar("row", max=3)
        ark.output("y", x * w)
        ark.output("i", i + 1)
        ark.output("row", row + 1)
    return result


INPUTS: dict[str, Any] = {"x": [1.0, 2.0], "w": [3.0, 4.0], "i": [1, 2], "row": 3}


def test_a_program_in_any_form(tmp_path: Path) -> None:
    source = program()
    path = tmp_path / "p.mlir"
    path.write_text(source.mlir)
    for form in (source, source.module, source.mlir, path, str(path)):
        got = ark.reference.run(form, INPUTS)
        assert got["y"].tolist() == [3.0, 8.0]
        assert got["i"].dtype == np.int8
        assert got["row"] == 4


def test_text_that_does_not_parse_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("ark.program @p(\n")
    with pytest.raises(ark.InvalidUsageError):
        ark.reference.run(path, {})
    with pytest.raises(ark.InvalidUsageError, match="cannot be read"):
        ark.reference.run(tmp_path / "none.mlir", {})
    with pytest.raises(ark.InvalidUsageError, match=r"one ark\.program, found 0"):
        ark.reference.run("module {\n}", {})


def test_arrays_of_ml_dtypes_and_numbers_are_accepted() -> None:
    x = np.array([1, 2], ml_dtypes.bfloat16)
    got = ark.reference.run(program(), {**INPUTS, "x": x, "row": np.int64(0)})
    assert got["y"].tolist() == [3.0, 8.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, "missing x"),
        ({"z": [1.0]}, "unknown z"),
        ({"x": [1.0, 2.0, 3.0]}, r"input 'x' has shape \[2\], but its array has \[3\]"),
        ({"x": ["a", "b"]}, "input 'x' is bf16"),
        (
            {"i": [0.5, 1.0]},
            "input 'i' is int8, which cannot hold the values of its array of float64",
        ),
        ({"i": [300, 1]}, "input 'i' is int8, which cannot hold the values of its array of int64"),
        ({"row": 4}, "scalar 'row' must be between 0 and 3, got 4"),
        ({"row": -1}, "scalar 'row' must be between 0 and 3, got -1"),
        ({"row": [1]}, r"scalar 'row' has shape \[\], but its array has \[1\]"),
    ],
)
def test_inputs_that_do_not_match_raise(changes: dict[str, Any], message: str) -> None:
    inputs = {k: v for k, v in {**INPUTS, **changes}.items() if v is not None}
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.reference.run(program(), inputs)


def test_unknown_states_raise() -> None:
    with pytest.raises(ark.InvalidUsageError, match="unknown cache"):
        ark.reference.run(program(), INPUTS, {"cache": [1.0]})


def test_ops_below_the_graph_level_are_not_interpreted() -> None:
    text = """
    ark.program @p() -> (tensor<2xf32> {ark.name = "y"}) {
      %0 = "test.unknown"() : () -> tensor<2xf32>
      ark.return %0 : tensor<2xf32>
    }"""
    context = ir.Context()
    context.allow_unregistered_dialects = True
    module = ir.Module.parse(text, context)
    with pytest.raises(ark.UnsupportedError, match=r"test\.unknown"):
        ark.reference.run(module, {})
