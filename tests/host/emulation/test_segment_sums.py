"""Segment sums: branches that all threads take, and lists of slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark


def scattered(
    rows: int, columns: int, names: np.ndarray[Any, Any], dtype: ark.DType
) -> tuple[ark.Program, dict[str, Any]]:
    """Returns a sum of random slices with the segments `names`, and its arrays."""
    index = ark.int64 if names.dtype == np.int64 else ark.int32
    with ark.Program("p") as program:
        segments = ark.input("segments", names.shape, index)
        updates = ark.input("updates", (*names.shape, columns), dtype)
        ark.output("y", ark.scatter_add(ark.zeros((rows, columns), dtype), segments, updates))
    random = np.random.default_rng(0)
    values = (4 * random.standard_normal((*names.shape, columns))).astype(dtype.numpy)
    return program, {"segments": names, "updates": values}


def test_few_slices(check: Callable[..., Any]) -> None:
    """Branches that all threads take contain loops over a row, with barriers."""
    names = np.random.default_rng(1).integers(0, 9, 30).astype(np.int32)
    check(*scattered(9, 40, names, ark.bf16))


@pytest.mark.parametrize(
    ("rows", "columns", "count", "index"),
    [
        (9, 40, 70, np.int32),  # long lists
        (1003, 256, 200, np.int64),  # mostly empty lists, wide stores, and a clipped last vCTA
        (200, 24, 33, np.int32),
    ],
)
@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp32, ark.int32])
def test_lists(
    rows: int, columns: int, count: int, index: Any, dtype: ark.DType, check: Callable[..., Any]
) -> None:
    """The first segment has most slices, and its list is longer than threads read at once."""
    drawn = np.random.default_rng(2).geometric(0.2, count) - 1
    names = np.minimum(drawn * drawn, rows - 1).astype(index)
    names[::5] = 0
    check(*scattered(rows, columns, names, dtype))


def test_sums_of_one_look_up_share_their_lists(check: Callable[..., Any]) -> None:
    """A step of training adds gradients of two tables that tokens index."""
    names = np.random.default_rng(3).integers(0, 50, 64).astype(np.int32)
    with ark.Program("p") as program:
        ids = ark.input("ids", (64,), ark.int32)
        tables = [ark.input(f"t{n}", (50, 8 * n)) for n in (1, 2)]
        read = [ark.embedding(ids, table) for table in tables]
        loss = sum(ark.reduce_sum(x * x, keepdims=False) for x in read)
        for number, slope in enumerate(ark.gradients(loss, tables)):
            ark.output(f"y{number}", slope)
    random = np.random.default_rng(4)
    arrays = {f"t{n}": random.standard_normal((50, 8 * n)).astype(np.float32) for n in (1, 2)}
    emulation = check(program, {"ids": names, **arrays})
    tasks = emulation.executable.bundle.manifest.tasks
    assert sum(task.ops.count("custom") for task in tasks) == 3 + len(tables)
