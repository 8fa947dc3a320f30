"""An argmax that is split over several workers finds the index that numpy finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.dtypes import DType

Array = np.ndarray[Any, Any]
Pick = Callable[[str], Any]

# Large enough for 16 workers: 16 partitions of one row.
LONG = 1 << 17
FLOATS = (ark.fp32, ark.fp16, ark.bf16)
INTEGERS = (ark.int8, ark.int32, ark.uint8, ark.uint32)


def build(shape: tuple[int, ...], axis: int, dtype: DType) -> ark.Program:
    with ark.Program("argmax") as program:
        ark.output("y", ark.argmax(ark.input("x", shape, dtype), axis))
    return program


def is_split(executable: ark.Executable) -> bool:
    ops = {name for ops, _ in executable.report().task_ops for name in ops}
    return ops >= {"partial_argmax", "combine_argmax"}


def check(executable: ark.Executable, x: Array, axis: int) -> None:
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    np.testing.assert_array_equal(executable.run(x=x)["y"], np.argmax(wide, axis))


def draw(shape: tuple[int, ...], dtype: DType) -> Array:
    rng = np.random.default_rng(sum(shape))
    if dtype.is_integer:
        low, high = dtype.integer_range
        return rng.integers(low, high, shape, dtype.numpy, endpoint=True)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize(
    ("shape", "axis"), [((1, 4 * LONG), 1), ((4, LONG), 1), ((LONG, 3), 0), ((2, LONG, 2), 1)]
)
def test_drawn(shape: tuple[int, ...], axis: int, dtype: DType, pick_splitting: Pick) -> None:
    """Narrow dtypes, with the largest value at many indices."""
    with ark.compile(
        build(shape, axis, dtype), target=pick_splitting("cpu:16"), cache=False
    ) as executable:
        assert is_split(executable)
        check(executable, draw(shape, dtype), axis)
        check(executable, np.full(shape, 1, dtype.numpy), axis)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values(dtype: DType, pick_splitting: Pick) -> None:
    """The result is the first of equal elements or NaNs, also if other partitions contain more."""
    with ark.compile(
        build((1, 4 * LONG), 1, dtype), target=pick_splitting("cpu:16"), cache=False
    ) as executable:
        assert is_split(executable)
        last = 4 * LONG - 1
        for background in (-np.inf, -1.0, -0.0):
            for value in (np.nan, -np.nan, np.inf, 0.0, -0.0):
                for indices in ([], [0], [last], [last, 100], [5 * LONG // 2, LONG, LONG + 1]):
                    x = np.full((1, 4 * LONG), background, np.float32)
                    x[0, indices] = value
                    x[0, last // 3] = 0.0
                    check(executable, x.astype(dtype.numpy), 1)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_ends_of_the_range(dtype: DType, pick_splitting: Pick) -> None:
    with ark.compile(
        build((1, 4 * LONG), 1, dtype), target=pick_splitting("cpu:16"), cache=False
    ) as executable:
        assert is_split(executable)
        low, high = dtype.integer_range
        for index in (0, LONG - 1, LONG, 4 * LONG - 1):
            for value, background in ((low + 1, low), (high, high - 1), (high // 2 + 1, high // 2)):
                x = np.full((1, 4 * LONG), background, dtype.numpy)
                x[0, index] = value
                check(executable, x, 1)


@pytest.mark.parametrize(
    ("program", "target"),
    [
        pytest.param(build((1, 4 * LONG), 1, ark.fp32), "cpu:1", id="one worker"),
        pytest.param(build((1, 1024), 1, ark.fp32), "cpu:16", id="a short dimension"),
        pytest.param(build((1, 131071), 1, ark.fp32), "cpu:16", id="a prime number"),
        pytest.param(build((16, LONG), 1, ark.fp32), "cpu:16", id="a row for every worker"),
        pytest.param(build((1, LONG), 1, ark.int64), "cpu:16", id="two words"),
    ],
)
def test_argmaxes_that_are_not_split(program: ark.Program, target: str) -> None:
    (x,) = program.inputs.values()
    with ark.compile(program, target=target, cache=False) as executable:
        assert not is_split(executable)
        check(executable, draw(x.shape, x.dtype), 1)
