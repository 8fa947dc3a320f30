"""Convolutions in kernels for GPUs: windows that overlap, skip rows, or lie in the padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

# x, filters, stride, padding, dilation, groups
CASES: dict[str, tuple[Any, ...]] = {
    "batch of three": ((3, 3, 8, 7), (4, 3, 3, 3), 2, 1, 1, 1),
    "one by one, every second": ((1, 16, 7, 5), (8, 16, 1, 1), 2, 0, 1, 1),
    "larger than the image": ((1, 3, 4, 3), (2, 3, 7, 5), 1, [(2, 1), 1], 1, 1),
    "groups of matrix units": ((1, 32, 9, 8), (32, 16, 3, 3), 1, 1, (2, 1), 2),
}


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str, arch: str, check: Callable[..., Any]) -> None:
    shape, filters, *settings = CASES[name]
    with ark.Program("convolution") as program:
        x = ark.input("x", shape, ark.fp16)
        f = ark.parameter("f", filters, ark.fp16)
        ark.output("y", ark.relu(ark.conv2d(x, f, None, *settings)))
    random = np.random.default_rng(5)
    arrays = {
        n: random.standard_normal(s).astype(np.float16) for n, s in (("x", shape), ("f", filters))
    }
    check(program, arrays, arch=arch)
