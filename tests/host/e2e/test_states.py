"""States keep what updates write, over the iterations of a run and over runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Array = np.ndarray[Any, Any]
ROWS, COLUMNS = 6, 17


def state() -> ark.Tensor:
    return ark.state("s", (ROWS, COLUMNS), ark.fp32)


def row() -> ark.Tensor:
    return ark.input("x", (1, COLUMNS), ark.fp32)


def whole() -> ark.Tensor:
    return ark.input("x", (ROWS, COLUMNS), ark.fp32)


def replaced() -> None:
    ark.update(state(), whole(), (0, 0))


def accumulated() -> None:
    s = state()
    ark.output("y", ark.update(s, s * 0.5 + whole(), (0, 0)))


def read_before_and_after() -> None:
    s = state()
    old = s * 1.0
    turned = ark.transpose(ark.reshape(old + whole(), (COLUMNS, ROWS)), (1, 0))
    ark.output("old", old)
    ark.output("y", ark.update(s, turned, (0, 0)))


def shifted() -> None:
    """What is written overlaps what is read, one row further."""
    s = state()
    s = ark.update(s, ark.slice(s, (0, 0), (ROWS - 1, COLUMNS)), (1, 0))
    ark.output("y", ark.update(s, row(), (0, 0)))


def transposed_into_itself() -> None:
    s = ark.state("s", (COLUMNS, COLUMNS), ark.fp32)
    s = ark.update(s, ark.transpose(s, (1, 0)), (0, 0))
    ark.output("y", ark.update(s, row(), (3, 0)))


def gram() -> None:
    s = state()
    s = ark.update(s, s + whole(), (0, 0))
    ark.output("y", ark.matmul(ark.transpose(s, (1, 0)), s))


def one_number() -> None:
    s = ark.state("s", (), ark.fp32)
    ark.output("y", ark.update(s, s * 0.5 + ark.reduce_sum(row(), (0, 1), keepdims=False), ()))


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("sms", [1, 2, 5])
@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (replaced, ROWS),
        (accumulated, ROWS),
        (read_before_and_after, ROWS),
        (shifted, 1),
        (transposed_into_itself, 1),
        (gram, ROWS),
        (one_number, 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_states_over_runs(body: Callable[[], None], rows: int, sms: int) -> None:
    with ark.Program("states") as program:
        body()
    states: dict[str, Any] = {}
    with ark.compile(program, target=f"cpu:{sms}") as executable:
        for run in range(3):
            x = random(rows, COLUMNS) + run
            expected = ark.reference.evaluate(program, {"x": x}, states)
            states = dict(expected.states)
            got = executable.run(x=x)
            for name, value in expected.outputs.items():
                np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5)
            for name, value in states.items():
                np.testing.assert_allclose(executable.states[name], value, rtol=1e-4, atol=1e-5)
