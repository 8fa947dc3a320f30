"""Sums of many slices with equal indices: chunks of indices, and blocks of batches and segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Pick = Callable[[str], str]


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16, ark.int32])
@pytest.mark.parametrize(
    ("shape", "axis", "count"),
    [((9, 5), 0, 71), ((200, 3), 0, 64), ((17, 6, 2), 1, 33), ((40, 7), 1, 96)],
)
def test_scatter_add(
    shape: tuple[int, ...], axis: int, count: int, dtype: ark.DType, pick_target: Pick
) -> None:
    random = np.random.default_rng(0)
    slices = (*shape[:axis], count, *shape[axis + 1 :])
    with ark.Program("p") as program:
        x = ark.input("x", shape, dtype)
        indices = ark.input("indices", (count,), ark.int32)
        updates = ark.input("updates", slices, dtype)
        ark.output("y", ark.scatter_add(x, indices, updates, axis))
    inputs: dict[str, Any] = {
        "x": (4 * random.standard_normal(shape)).astype(dtype.numpy),
        # The first segment has most slices, and the last segments have none.
        "indices": np.minimum(random.geometric(0.4, count) - 1, shape[axis] - 1).astype(np.int32),
        "updates": (4 * random.standard_normal(slices)).astype(dtype.numpy),
    }
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, pick_target("cpu:3")) as executable:
        got = executable.run(inputs)["y"]
        again = executable.run(inputs)["y"]
    assert_within(got, expected.outputs["y"], expected.bounds["y"], "scatter_add")
    assert got.tobytes() == again.tobytes()
