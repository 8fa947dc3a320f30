"""Bodies with branches, in which threads take the same path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ark_mlir as ark


def test_a_segment_sum(check: Callable[..., Any]) -> None:
    """Branches that all threads take contain loops over a row, with barriers."""
    random = np.random.default_rng(0)
    with ark.Program("p") as program:
        rows = ark.input("rows", (70,), ark.int32)
        updates = ark.input("updates", (70, 40), ark.bf16)
        ark.output("y", ark.scatter_add(ark.zeros((9, 40), ark.bf16), rows, updates))
    arrays = {
        "rows": random.integers(0, 9, 70).astype(np.int32),
        "updates": random.standard_normal((70, 40)).astype(ark.bf16.numpy),
    }
    check(program, arrays)
