"""Convolutions in kernels for GPUs: windows that overlap, skip rows, or lie in the padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.dtypes import DType

# x, filters, stride, padding, dilation, groups
CASES: dict[str, tuple[Any, ...]] = {
    "batch of three": ((3, 3, 8, 7), (4, 3, 3, 3), 2, 1, 1, 1),
    "one by one, every second": ((1, 16, 7, 5), (8, 16, 1, 1), 2, 0, 1, 1),
    "larger than the image": ((1, 3, 4, 3), (2, 3, 7, 5), 1, [(2, 1), 1], 1, 1),
    "clipped columns of positions": ((2, 32, 20, 10), (64, 32, 3, 3), 1, 1, 1, 1),
    "dilated, on warpgroups": ((8, 16, 12, 14), (64, 16, 2, 2), 1, 0, (2, 2), 1),
    "one by one, on warpgroups": ((2, 64, 28, 28), (64, 64, 1, 1), 1, 0, 1, 1),
    "padded rows of positions": ((8, 128, 14, 14), (128, 128, 1, 1), 1, 0, 1, 1),
    "windows in images of 49 positions": ((8, 64, 7, 7), (128, 64, 3, 3), 1, 1, 1, 1),
    "windows in images": ((2, 64, 16, 16), (64, 64, 3, 3), 1, 1, 1, 1),
    "windows in long rows": ((1, 64, 5, 120), (64, 64, 3, 3), 1, 1, 1, 1),
    "windows in clipped rows, clipped filters": ((3, 64, 14, 14), (96, 64, 3, 3), 1, 1, 1, 1),
    "windows in images with strides": ((2, 64, 13, 14), (64, 64, 3, 3), (1, 2), 1, 1, 1),
    "windows in images, dilated, of groups": ((1, 128, 8, 18), (128, 64, 3, 3), 1, 2, 2, 2),
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
    emulation = check(program, arrays, arch=arch)
    ops = {op for task, _ in emulation.executable.report().task_ops for op in task}
    assert ("convolution" in ops) == (arch == "sm_90a" and name.startswith("windows in"))


def test_bias_and_residual_of_windows_in_images(check: Callable[..., Any]) -> None:
    """The second convolution reads rows of the first one's result, which other vCTAs write."""
    shapes = {"x": (1, 64, 12, 16), "f": (64, 64, 3, 3), "b": (64,), "g": (64, 64, 3, 3)}
    with ark.Program("residual") as program:
        x = ark.input("x", shapes["x"], ark.fp16)
        f, b, g = (ark.parameter(name, shapes[name], ark.fp16) for name in "fbg")
        y = ark.relu(ark.conv2d(x, f, b, padding=1))
        ark.output("y", ark.relu(ark.conv2d(y, g, padding=1) + x))
    random = np.random.default_rng(5)
    arrays = {
        name: (random.standard_normal(shape) * (0.05 if name in "fg" else 1)).astype(np.float16)
        for name, shape in shapes.items()
    }
    emulation = check(program, arrays)
    tasks = [ops for ops, _ in emulation.executable.report().task_ops]
    assert ("convolution", "add", "relu") in tasks
    assert not any("matmul" in ops for ops in tasks)


@pytest.mark.parametrize("dtype", [ark.int8, ark.uint8], ids=str)
@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_depthwise_integers_wrap(arch: str, dtype: DType, check: Callable[..., Any]) -> None:
    with ark.Program("integers") as program:
        x, f = ark.input("x", (1, 3, 7, 9), dtype), ark.parameter("f", (6, 1, 3, 3), dtype)
        ark.output("y", ark.conv2d(x, f, padding=1, groups=3))
    random = np.random.default_rng(5)
    low, high = dtype.integer_range
    arrays = {
        name: random.integers(low, high, shape, dtype.numpy, endpoint=True)
        for name, shape in (("x", (1, 3, 7, 9)), ("f", (6, 1, 3, 3)))
    }
    check(program, arrays, arch=arch)
