"""Convolutions equal those of explicit sums, for shapes at which an index is most likely wrong.

The compiled programs are proven to have no race, and their results are within the bounds of the
interpreter, whose own results equal the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]

# x, filters, stride, padding, dilation, groups
CASES: dict[str, tuple[Any, ...]] = {
    "three channels": ((1, 3, 11, 9), (5, 3, 3, 3), 1, 1, 1, 1),
    "batch of three": ((3, 3, 8, 7), (4, 3, 3, 3), 2, 1, 1, 1),
    "no batch": ((3, 8, 7), (4, 3, 2, 3), (1, 2), (0, 1), 1, 1),
    "one by one": ((2, 6, 5, 4), (7, 6, 1, 1), 1, 0, 1, 1),
    "one by one, every second": ((1, 6, 7, 5), (4, 6, 1, 1), 2, 0, 1, 1),
    "dilated": ((1, 4, 11, 12), (6, 4, 3, 2), 1, (2, 1), (2, 3), 1),
    "groups": ((2, 6, 7, 6), (4, 3, 3, 3), 1, 1, 1, 2),
    "depthwise": ((1, 5, 9, 8), (10, 1, 3, 3), 2, 1, 1, 5),
    "uneven padding": ((1, 3, 6, 5), (4, 3, 3, 2), 1, [(2, 0), (0, 3)], 1, 1),
    "larger than the image": ((1, 3, 4, 3), (2, 3, 7, 5), 1, [(2, 1), 1], 1, 1),
    "patches": ((1, 3, 16, 16), (12, 3, 8, 8), 8, 0, 1, 1),
    "rows that remain": ((1, 2, 10, 9), (3, 2, 3, 3), 4, 0, 1, 1),
    "sequence": ((2, 8, 21), (6, 8, 3), 2, 1, 1, 1),
    "causal sequence": ((1, 4, 9), (4, 1, 4), 1, (3, 0), 1, 4),
    "many tiles": ((1, 16, 30, 30), (24, 16, 3, 3), 1, 1, 1, 1),
}


def program(case: tuple[Any, ...], dtype: DType = ark.fp32) -> ark.Program:
    shape, filters, stride, padding, dilation, groups = case
    conv = ark.conv2d if len(filters) == 4 else ark.conv1d
    with ark.Program("convolution") as built:
        x = ark.input("x", shape, dtype)
        f, b = ark.parameter("f", filters, dtype), ark.parameter("b", filters[:1], dtype)
        ark.output("y", ark.relu(conv(x, f, b, stride, padding, dilation, groups)))
    return built


def draw(case: tuple[Any, ...]) -> dict[str, Array]:
    random = np.random.default_rng(3)
    shapes = {"x": case[0], "f": case[1], "b": case[1][:1]}
    return {name: random.standard_normal(s).astype(np.float32) for name, s in shapes.items()}


def expected(case: tuple[Any, ...], arrays: dict[str, Array]) -> Array:
    """Returns the convolution in float64, one element of the result after the other."""
    _, filters, stride, padding, dilation, groups = case
    rank = len(filters) - 2
    x, f, b = (arrays[name].astype(np.float64) for name in "xfb")
    images = x if x.ndim == rank + 2 else x[None]
    each = list(padding) if isinstance(padding, (list, tuple)) else [padding] * rank
    each = [tuple(each)] if rank == 1 and len(each) == 2 else each
    pads = [(p, p) if isinstance(p, int) else p for p in each]
    strides = stride if isinstance(stride, tuple) else (stride,) * rank
    apart = dilation if isinstance(dilation, tuple) else (dilation,) * rank
    images = np.pad(images, [(0, 0), (0, 0), *pads])
    counts = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(images.shape[2:], filters[2:], strides, apart, strict=True)
    ]
    result = np.zeros((len(images), filters[0], *counts))
    for position in np.ndindex(*counts):
        window = tuple(
            slice(o * s, o * s + d * (k - 1) + 1, d)
            for o, k, s, d in zip(position, filters[2:], strides, apart, strict=True)
        )
        part = images[(slice(None), slice(None), *window)]
        for number in range(filters[0]):
            first = number // (filters[0] // groups) * filters[1]
            channels = part[:, first : first + filters[1]]
            sums = (channels * f[number]).reshape(len(images), -1).sum(axis=1)
            result[(slice(None), number, *position)] = np.maximum(sums + b[number], 0)
    return result if x.ndim == rank + 2 else result[0]


@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str) -> None:
    case = CASES[name]
    built, arrays = program(case), draw(case)
    reference = ark.reference.evaluate(built, arrays, bound=True)
    np.testing.assert_allclose(reference.outputs["y"], expected(case, arrays), rtol=1e-5, atol=1e-5)
    with ark.compile(built, "cpu:2") as executable:
        executable.bind({"f": arrays["f"], "b": arrays["b"]})
        got = executable.run(x=arrays["x"])["y"]
    assert_within(got, reference.outputs["y"], reference.bounds["y"], name)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"])
@pytest.mark.parametrize("name", ["batch of three", "groups", "depthwise", "causal sequence"])
def test_compiles_for_gpus(name: str, target: str) -> None:
    """The compiler proves the absence of races before it emits a kernel."""
    assert ark.compile(program(CASES[name], ark.fp16), target).bundle.sections["kernel"]


@pytest.mark.parametrize("dtype", [ark.int8, ark.uint8, ark.int32], ids=str)
@pytest.mark.parametrize("filters", [(4, 1, 2, 2), (4, 2, 2, 2), (4, 4, 2, 2)], ids=str)
def test_integers_wrap(filters: tuple[int, ...], dtype: DType) -> None:
    """Sums of one channel a group, of two, and of all are those of integers that wrap."""
    random = np.random.default_rng(7)
    low, high = dtype.integer_range
    arrays = {
        name: random.integers(low, high, shape, dtype.numpy, endpoint=True)
        for name, shape in (("x", (1, 4, 5, 4)), ("f", filters))
    }
    with ark.Program("integers") as built:
        x, f = ark.input("x", (1, 4, 5, 4), dtype), ark.parameter("f", filters, dtype)
        ark.output("y", ark.conv2d(x, f, groups=4 // filters[1]))
    x, f = arrays["x"].astype(np.int64), arrays["f"].astype(np.int64)
    sums = np.zeros((1, 4, 4, 3), np.int64)
    for number, channel, row, column in np.ndindex(*filters):
        source = number // filters[1] * filters[1] + channel
        part = x[:, source, row : row + 4, column : column + 3]
        sums[:, number] += part * f[number, channel, row, column]  # wraps modulo 2^64
    expected = sums.astype(dtype.numpy)
    assert not np.array_equal(expected, sums)
    np.testing.assert_array_equal(ark.reference.evaluate(built, arrays).outputs["y"], expected)
    with ark.compile(built, "cpu:2") as executable:
        executable.bind({"f": arrays["f"]})
        np.testing.assert_array_equal(executable.run(x=arrays["x"])["y"], expected)


@pytest.mark.parametrize("dtype", [d for d in ark.dtypes.ALL if d is not ark.bool], ids=str)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_the_result_has_the_dtype_of_x(groups: int, dtype: DType) -> None:
    with ark.Program("dtype") as built:
        x = ark.input("x", (1, 4, 5, 5), dtype)
        ark.output(
            "y", ark.conv2d(x, ark.parameter("f", (4, 4 // groups, 3, 3), dtype), groups=groups)
        )
    assert built.outputs["y"].dtype is dtype


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("biased", [False, True])
def test_no_filters(biased: bool, groups: int) -> None:
    arrays = {"f": np.zeros((0, 4 // groups, 3, 3), np.float32)}
    if biased:
        arrays["b"] = np.zeros(0, np.float32)
    with ark.Program("empty") as built:
        operands = [ark.parameter(name, array.shape) for name, array in arrays.items()]
        x = ark.input("x", (2, 4, 5, 6))
        ark.output("y", ark.conv2d(x, *operands, groups=groups))
    with ark.compile(built, "cpu:2") as executable:
        executable.bind(arrays)
        assert executable.run(x=np.ones((2, 4, 5, 6), np.float32))["y"].shape == (2, 0, 3, 4)


# The padding of images of 9 x 9 and windows of 3 x 3, and the extents of the result.
PADDINGS: dict[str, tuple[Any, tuple[int, int]]] = {
    "number of numpy": (np.int64(1), (9, 9)),
    "array": (np.array([1, 2]), (9, 11)),
    "range": (range(1, 3), (9, 11)),
    "array of one": (np.array([2]), (11, 11)),
    "array of pairs": (np.array([[1, 2], [0, 3]]), (10, 10)),
    "array in a list": ([np.array([1, 2]), 1], (10, 9)),
    "lists": ([[1, 2], [0]], (10, 7)),
}


@pytest.mark.parametrize("name", PADDINGS)
def test_kinds_of_padding(name: str) -> None:
    padding, extents = PADDINGS[name]
    with ark.Program("padding"):
        y = ark.conv2d(
            ark.input("x", (1, 2, 9, 9)), ark.parameter("f", (2, 2, 3, 3)), padding=padding
        )
        ark.output("y", y)
    assert y.shape == (1, 2, *extents)


@pytest.mark.parametrize("padding", [(1, 2), [(1, 2)], np.array([1, 2]), [[1, 2]]], ids=repr)
def test_padding_of_sequences(padding: Any) -> None:
    with ark.Program("padding"):
        y = ark.conv1d(ark.input("x", (2, 9)), ark.parameter("f", (2, 2, 3)), padding=padding)
        ark.output("y", y)
    assert y.shape == (2, 10)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "rank": ({"x": (8, 8)}, "x must have rank 3 or 4, not 2"),
    "channels": ({"x": (1, 4, 8, 8)}, "in 1 groups do not fit 4 channels"),
    "groups": ({"groups": 2}, "in 2 groups do not fit 3 channels"),
    "no group": ({"groups": 0}, "in 0 groups do not fit 3 channels"),
    "stride": ({"stride": 0}, "stride must be 2 positive integers or one, not 0"),
    "strides": ({"stride": (1, 1, 1)}, "stride must be 2 positive integers or one"),
    "padding": ({"padding": -1}, "padding must be a number, or 2 numbers or pairs, none negative"),
    "paddings": ({"padding": [(1, 2, 3), 1]}, "padding must be a number, or 2 numbers or pairs"),
    "empty paddings": ({"padding": [[], []]}, "padding must be a number, or 2 numbers or pairs"),
    "no padding": ({"padding": []}, "padding must be a number, or 2 numbers or pairs"),
    "padding by name": ({"padding": "same"}, "padding must be integers, not 'same'"),
    "dilation": ({"dilation": 4}, "a window of extent 9 does not fit into dimension -2"),
    "dtype": ({"filters": ark.fp16}, "x has dtype fp32 and filters have fp16"),
    "bias": ({"bias": (5,)}, "bias must have shape [4] and dtype fp32, not [5] and fp32"),
}


def refused(filters: DType = ark.fp32, bias: Any = None, **settings: Any) -> None:
    with ark.Program("wrong"):
        x = ark.input("x", settings.pop("x", (1, 3, 8, 8)))
        weights = ark.parameter("f", (4, 3, 3, 3), filters)
        settings["bias"] = None if bias is None else ark.parameter("b", bias)
        ark.conv2d(x, weights, **settings)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    settings, message = WRONG[name]
    with pytest.raises(ark.InvalidUsageError) as caught:
        refused(**settings)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"padding": (1, 2, 3)},
            "padding must be a number or a pair (before, after), none negative",
        ),
        ({"padding": (-1, 2)}, "padding must be a number or a pair (before, after), none negative"),
        ({"stride": 0}, "stride must be a positive integer, not 0"),
        ({"dilation": (1, 1)}, "dilation must be a positive integer, not (1, 1)"),
    ],
    ids=repr,
)
def test_wrong_arguments_of_sequences(settings: dict[str, Any], message: str) -> None:
    with ark.Program("wrong"):
        x, f = ark.input("x", (2, 9)), ark.parameter("f", (2, 2, 3))
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.conv1d(x, f, **settings)
        ark.output("y", x)
    assert message in str(caught.value)
    assert caught.value.op == "ark.conv1d"


@pytest.mark.parametrize(
    ("dtype", "biased", "message"),
    [
        (ark.bool, False, "x has dtype bool, which has no sums"),
        (ark.bool, True, "x has dtype bool, which has no sums"),
        (ark.fp8_e4m3, True, "x has dtype fp8_e4m3, which takes no bias"),
        (ark.fp8_e5m2, True, "x has dtype fp8_e5m2, which takes no bias"),
    ],
)
@pytest.mark.parametrize("groups", [1, 2])
def test_wrong_dtypes(groups: int, dtype: DType, biased: bool, message: str) -> None:
    with ark.Program("wrong"):
        x, f = ark.input("x", (2, 9, 9), dtype), ark.parameter("f", (2, 2 // groups, 3, 3), dtype)
        bias = ark.parameter("b", (2,), dtype) if biased else None
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.conv2d(x, f, bias, groups=groups)
        ark.output("y", x)
    assert message in str(caught.value)
    assert caught.value.op == "ark.conv2d"


IMAGES = """ark.program @images(
    %f: tensor<2x6x5x3x2xDTYPE> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<3x2x5x22x13xDTYPE> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<3x2x6x4x13xDTYPE> {ark.name = "y"}) {
  %0 = ark.convolution %f, %x stride = 4 dilation = 3
      : (tensor<2x6x5x3x2xDTYPE>, tensor<3x2x5x22x13xDTYPE>) -> tensor<3x2x6x4x13xDTYPE>
  ark.return %0 : tensor<3x2x6x4x13xDTYPE>
}"""


@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
def test_windows_over_rows(dtype: DType) -> None:
    """`ark.convolution` has no function. Two groups of five channels, and windows of three times
    two rows; no window has the last two rows of an image."""
    text = IMAGES.replace("DTYPE", {"fp32": "f32", "fp16": "f16", "bf16": "bf16"}[str(dtype)])
    random = np.random.default_rng(2)
    f = random.standard_normal((2, 6, 5, 3, 2)).astype(dtype.numpy)
    x = random.standard_normal((3, 2, 5, 22, 13)).astype(dtype.numpy)
    expected = ark.reference.evaluate(text, {"f": f, "x": x}, bound=True)
    sums = np.zeros((3, 2, 6, 4, 13))
    for y in range(4):
        for i in range(3):
            for j in range(2):
                row = x[..., 4 * y + 3 * i + j, :].astype(np.float64)
                sums[..., y, :] += np.einsum("gfc,ngcx->ngfx", f[..., i, j].astype(np.float64), row)
    if dtype is ark.fp32:
        np.testing.assert_allclose(expected.outputs["y"], sums, rtol=1e-6, atol=1e-6)
    with ark.compile(text, target="cpu:2") as executable:
        got = executable.bind({"f": f}).run(x=x)["y"]
    assert_within(got, expected.outputs["y"], expected.bounds["y"], "y")
