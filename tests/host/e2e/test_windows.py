"""Columns and maxima of windows equal those of explicit loops over the windows.

The tests cover odd extents, windows that begin in the padding or end beyond the image, and steps
between neighbours, for which a formula of indices is most likely wrong.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark
from ark_mlir.dtypes import DType, as_dtype

Array = np.ndarray[Any, Any]
EVERY = (
    "fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "uint8", "int32", "uint32", "int64",
    "bool",
)  # fmt: skip


def columns(images: Array, kernel: Any, stride: Any, pad: Any, dilation: Any) -> Array:
    """Returns the columns of [N, C, H, W], one window after the other."""
    margins = ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))
    padded = np.pad(images, margins)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    starts = [range(0, padded.shape[2 + i] - spans[i] + 1, stride[i]) for i in range(2)]
    windows = [
        padded[:, :, i : i + spans[0] : dilation[0], j : j + spans[1] : dilation[1]].reshape(
            len(images), -1
        )
        for i, j in itertools.product(*starts)
    ]
    return np.stack(windows, axis=2)


def maxima(images: Array, size: int, stride: int) -> Array:
    """Returns the maxima of windows of [N, H, W, C]."""
    rows, columns = (range(0, extent, stride) for extent in images.shape[1:3])
    return np.stack(
        [
            np.stack(
                [images[:, i : i + size, j : j + size].max(axis=(1, 2)) for j in columns], axis=1
            )
            for i in rows
        ],
        axis=1,
    )


def draw(shape: tuple[int, ...], dtype: DType) -> Array:
    values = np.random.default_rng(len(shape)).standard_normal(shape) * 9
    return values.astype(np.float32).astype(dtype.numpy)


def run(program: ark.Program, x: Array) -> dict[str, Array]:
    with ark.compile(program, target="cpu:3", cache=False) as executable:
        return executable.run(x=x)


def agree(result: Array, expected: Array) -> None:
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("name", EVERY)
def test_every_dtype(name: str) -> None:
    dtype = as_dtype(name)
    with ark.Program("windows") as program:
        x = ark.input("x", (2, 3, 9, 7), dtype)
        ark.output("columns", ark.im2col(x, 3, 2, 2, 1, 1, 2, 2, 1))
        ark.output("plain", ark.im2col(x[1], 2, 3))
        if dtype.kind != "bool" and not name.startswith("fp8"):
            ark.output("maxima", ark.max_pool(x, 3, 2))
    images = draw((2, 3, 9, 7), dtype)
    results = run(program, images)
    agree(results["columns"], columns(images, (3, 2), (2, 1), (1, 2), (2, 1)))
    agree(results["plain"], columns(images[1:], (2, 3), (1, 1), (0, 0), (1, 1))[0])
    if "maxima" in results:
        agree(results["maxima"], maxima(images, 3, 2))
    for output, expected in ark.reference.run(program, {"x": images}).items():
        agree(results[output].astype(expected.dtype), expected)


_PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=15, deadline=None)
@given(_PAIRS, _PAIRS, st.tuples(st.integers(0, 2), st.integers(0, 2)), _PAIRS, st.data())
def test_drawn_windows(kernel: Any, stride: Any, pad: Any, dilation: Any, data: Any) -> None:
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, pad, strict=True)]
    shape = (data.draw(st.integers(1, 2)), 2, *(n + data.draw(st.integers(0, 4)) for n in least))
    size, step = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    with ark.Program("windows") as program:
        x = ark.input("x", shape)
        numbers = [n for pair in (kernel, stride, pad, dilation) for n in pair]
        ark.output("columns", ark.im2col(x, *numbers))
        ark.output("maxima", ark.max_pool(x, size, step))
    images = draw(shape, ark.fp32)
    results = run(program, images)
    agree(results["columns"], columns(images, kernel, stride, pad, dilation))
    agree(results["maxima"], maxima(images, size, step))


def test_nan_is_the_largest() -> None:
    with ark.Program("windows") as program:
        ark.output("y", ark.max_pool(ark.input("x", (4, 4, 1)), 2))
    images = np.zeros((4, 4, 1), np.float32)
    images[1, 1] = np.nan
    images[3, 3] = -np.inf
    np.testing.assert_array_equal(run(program, images)["y"][..., 0], [[np.nan, 0], [0, 0]])


def test_a_convolution_is_a_product() -> None:
    with ark.Program("convolution") as program:
        x, filters = ark.input("x", (1, 2, 5, 6)), ark.parameter("filters", (4, 2 * 3 * 3))
        ark.output("y", filters @ ark.im2col(x, 3, 3, pad_height=1, pad_width=1, name="patches"))
    rng = np.random.default_rng(0)
    images, weights = (rng.standard_normal(s).astype(np.float32) for s in ((1, 2, 5, 6), (4, 18)))
    with ark.compile(program, target="cpu:2", cache=False) as executable:
        result = executable.bind({"filters": weights}).run(x=images)["y"]
    wide = columns(images.astype(np.float64), (3, 3), (1, 1), (1, 1), (1, 1))
    np.testing.assert_allclose(result, weights @ wide, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda x: ark.im2col(x, 6, 1),
            "window of height 6 does not fit into an image of height 5",
        ),
        (
            lambda x: ark.im2col(x, 1, 3, dilation_width=3),
            "window of width 7 does not fit into an image of width 6",
        ),
        (lambda x: ark.im2col(x, 0, 1), "kernel_height must be positive, not 0"),
        (lambda x: ark.im2col(x, 1, 1, stride_width=0), "stride_width must be positive, not 0"),
        (lambda x: ark.im2col(x, 1, 1, pad_width=-1), "pad_width must not be negative"),
        (lambda x: ark.im2col(x[0, 0, 0], 1, 1), "x must have a rank from 2 to 4"),
        (lambda x: ark.max_pool(x, 0), "kernel_size must be positive, not 0"),
        (lambda x: ark.max_pool(x, 2, stride=-1), "stride must be positive, not -1"),
        (lambda x: ark.max_pool(x[0, 0], 2), "x must have a rank from 3 to 5"),
    ],
)
def test_invalid_windows_raise(make: Any, message: str) -> None:
    with ark.Program("wrong"):
        x = ark.input("x", (1, 2, 5, 6))
        ark.output("y", x + 1)
        with pytest.raises(ark.InvalidUsageError, match=message) as caught:
            make(x)
    assert "test_windows.py" in str(caught.value)
