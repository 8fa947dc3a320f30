"""Booleans take one byte each in memory, also where a thread loads several at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]


@pytest.mark.parametrize("rows", [1, 6])
def test_sums_of_booleans(rows: int, check: Check) -> None:
    """Each thread loads 16 booleans, which LLVM would read from two bytes of packed bits."""
    with ark.Program("counts") as program:
        mask = ark.input("mask", (rows, 256), ark.bool)
        ark.output("counts", ark.reduce_sum(ark.cast(mask, ark.int32), -1, keepdims=False))
    random = np.random.default_rng(3)
    emulation = check(program, {"mask": random.random((rows, 256)) > 0.5})
    assert "load <16 x i8>" in emulation.text


def test_the_largest_elements(check: Check) -> None:
    """With an SM for each two rows, the comparisons of pairs are loaded from memory."""
    with ark.Program("largest") as program:
        x = ark.input("x", (1, 128), ark.fp32)
        values, indices = ark.top_k(x, 8)
        ark.output("values", values)
        ark.output("indices", indices)
    random = np.random.default_rng(4)
    check(program, {"x": random.standard_normal((1, 128)).astype(np.float32)}, sms=132)
