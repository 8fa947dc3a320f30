"""Sums and maxima of long columns, which the warps of a CTA divide among themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ark_mlir as ark


def test_columns(check: Callable[..., Any]) -> None:
    """One and two reduced dimensions, a last tile of fewer columns, and a product as prologue."""
    random = np.random.default_rng(0)
    with ark.Program("p") as program:
        x = ark.input("x", (3, 50, 40), ark.bf16)
        y = ark.input("y", (131, 70))
        ark.output("sum", ark.reduce_sum(x, (0, 1), keepdims=False))
        ark.output("squares", ark.reduce_sum(y * y, 0))
        ark.output("largest", ark.reduce_max(y, 0))
    arrays = {
        "x": random.standard_normal((3, 50, 40)).astype(ark.bf16.numpy),
        "y": random.standard_normal((131, 70)).astype(np.float32),
    }
    check(program, arrays)
