"""Elementwise ops against numpy, for any values and broadcasting shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ark_mlir as ark

Interpret = Callable[..., Any]
vectorize = np.vectorize

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "neg": np.negative,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": vectorize(math.erf, otypes=[float]),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "copy": lambda x: x,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "pow": np.power,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip

floats = hnp.arrays(
    np.float32,
    hnp.array_shapes(max_dims=3, max_side=4),
    elements=st.floats(-30, 30, width=32) | st.sampled_from([0.0, -0.0, 1.0]),
)
pairs = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4).flatmap(
    lambda shapes: st.tuples(
        *[
            hnp.arrays(np.float32, shape, elements=st.floats(-30, 30, width=32))
            for shape in shapes.input_shapes
        ]
    )
)


@pytest.mark.parametrize("op", FUNCTIONS)
@given(x=floats)
@settings(max_examples=25)
def test_unary_ops(interpret: Interpret, op: str, x: Any) -> None:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[op](wide)
    np.testing.assert_allclose(
        interpret(getattr(ark, op), x), expected, rtol=1e-9, atol=1e-12 * (1 + np.abs(wide).max())
    )


@pytest.mark.parametrize("op", BINARY)
@given(pair=pairs)
@settings(max_examples=25)
def test_binary_ops(interpret: Interpret, op: str, pair: tuple[Any, Any]) -> None:
    wide = [a.astype(np.float64) for a in pair]
    with np.errstate(all="ignore"):
        expected = BINARY[op](*wide)
    np.testing.assert_allclose(interpret(getattr(ark, op), *pair), expected, rtol=1e-12)


def test_exact_gelu(interpret: Interpret) -> None:
    x = np.linspace(-12, 6, 101).astype(np.float32)
    expected = [v * math.erfc(-v / math.sqrt(2)) / 2 for v in x.astype(np.float64).tolist()]
    got = interpret(lambda t: ark.gelu(t, approximate="none"), x)
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=2e-15)


def test_erf_to_the_last_digits(interpret: Interpret) -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), [1e-30, -1e-8]]).astype(np.float32)
    expected = [math.erf(v) for v in x.astype(np.float64).tolist()]
    np.testing.assert_allclose(interpret(ark.erf, x), expected, rtol=4e-16, atol=0)
    got = interpret(ark.erf, np.array([np.nan, -0.0, np.inf], np.float32))
    np.testing.assert_array_equal(got, [np.nan, -0.0, 1.0])
    assert np.signbit(got[1])


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("sigmoid", -1000.0, 0.0), ("sigmoid", 1000.0, 1.0), ("silu", -np.inf, 0.0),
        ("silu", -1000.0, 0.0), ("gelu", -np.inf, 0.0), ("gelu", np.inf, np.inf),
        ("gelu", -1000.0, 0.0), ("exp", -np.inf, 0.0), ("exp", np.inf, np.inf),
        ("log", 0.0, -np.inf), ("log", -1.0, np.nan), ("sqrt", -1.0, np.nan),
        ("rsqrt", 0.0, np.inf), ("reciprocal", -0.0, -np.inf), ("tanh", np.inf, 1.0),
        ("erf", -np.inf, -1.0), ("relu", np.nan, np.nan), ("abs", -np.inf, np.inf),
    ],
)  # fmt: skip
def test_limits(interpret: Interpret, op: str, value: float, expected: float) -> None:
    got = interpret(getattr(ark, op), np.array([value], np.float32))
    np.testing.assert_allclose(got, [expected], atol=1e-300)


def test_maximum_and_minimum_propagate_nan(interpret: Interpret) -> None:
    a, b = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
    np.testing.assert_array_equal(interpret(ark.maximum, a, b), [np.nan, np.nan, 3])
    np.testing.assert_array_equal(interpret(ark.minimum, a, b), [np.nan, np.nan, 2])


def test_where_and_logical_ops(interpret: Interpret) -> None:
    c, d = np.array([True, False, True]), np.array([[True], [False]])
    a = np.array([1.0, np.nan, 3.0], np.float32)
    np.testing.assert_array_equal(interpret(ark.where, c, a, a[::-1].copy()), [1, np.nan, 3])
    np.testing.assert_array_equal(interpret(ark.logical_and, c, d), c & d)
    np.testing.assert_array_equal(interpret(ark.logical_or, c, d), c | d)
    np.testing.assert_array_equal(interpret(ark.logical_not, c), ~c)


# ---------------------------------------------------------------- integers

INTEGERS = ("int8", "uint8", "int32", "uint32", "int64")


@pytest.mark.parametrize("name", INTEGERS)
@given(data=st.data())
@settings(max_examples=15)
def test_integers_wrap_and_divide_toward_zero(interpret: Interpret, name: str, data: Any) -> None:
    dtype = np.dtype(name)
    info = np.iinfo(dtype)
    edges = st.sampled_from([info.min, info.max, 0, 1, int(info.max) // 2])
    elements = st.integers(int(info.min), int(info.max)) | edges
    a, b = (np.array(data.draw(st.lists(elements, min_size=4, max_size=4)), dtype) for _ in "ab")

    def wrapped(values: list[int]) -> Any:
        bits = 8 * dtype.itemsize
        low = [v % 2**bits for v in values]
        return [v - 2**bits if dtype.kind == "i" and v >= 2 ** (bits - 1) else v for v in low]

    x, y = a.tolist(), b.tolist()
    for op, exact in {
        "add": [p + q for p, q in zip(x, y, strict=True)],
        "sub": [p - q for p, q in zip(x, y, strict=True)],
        "mul": [p * q for p, q in zip(x, y, strict=True)],
        "div": [_truncated(p, q) for p, q in zip(x, y, strict=True)],
        "maximum": [max(p, q) for p, q in zip(x, y, strict=True)],
        "minimum": [min(p, q) for p, q in zip(x, y, strict=True)],
    }.items():
        got = interpret(getattr(ark, op), a, b)
        assert got.dtype == dtype
        assert got.tolist() == wrapped(exact), op
    for op, exact in {
        "abs": [abs(p) for p in x],
        "neg": [-p for p in x],
        "relu": [max(p, 0) for p in x],
    }.items():
        assert interpret(getattr(ark, op), a).tolist() == wrapped(exact), op


def _truncated(p: int, q: int) -> int:
    if q == 0:
        return 0
    return abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)


def test_integers_of_rank_zero_wrap_without_a_warning(interpret: Interpret) -> None:
    a = np.array(127, np.int8)
    assert interpret(ark.add, a, a) == np.int8(-2)
    assert interpret(ark.abs, np.array(-128, np.int8)) == np.int8(-128)


# ---------------------------------------------------------------- casts


@pytest.mark.parametrize("name", INTEGERS)
def test_float_to_integer_truncates_and_saturates(interpret: Interpret, name: str) -> None:
    info = np.iinfo(name)
    x = np.array([2.9, -2.9, -0.5, 0.0, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    low, high = int(info.min), int(info.max)
    negative = -2 if low < 0 else 0
    expected = [2, negative, 0, 0, high, low, high, low, 0]
    got = interpret(lambda t: ark.cast(t, name), x)
    assert got.dtype == np.dtype(name)
    assert got.tolist() == expected


def test_integer_to_narrower_integer_wraps(interpret: Interpret) -> None:
    x = np.array([300, -1, 128, 2**40 + 5], np.int64)
    assert interpret(lambda t: ark.cast(t, ark.int8), x).tolist() == [44, -1, -128, 5]
    assert interpret(lambda t: ark.cast(t, ark.uint8), x).tolist() == [44, 255, 128, 5]
    assert interpret(lambda t: ark.cast(t, ark.uint32), x).tolist() == [300, 2**32 - 1, 128, 5]


def test_to_bool_is_not_zero(interpret: Interpret) -> None:
    x = np.array([0.0, -0.0, 0.25, -3, np.nan, np.inf], np.float32)
    assert interpret(lambda t: ark.cast(t, ark.bool), x).tolist() == [False, False] + [True] * 4
    assert interpret(lambda t: ark.cast(t, ark.bool), np.array([0, 2], np.int8)).tolist() == [
        False,
        True,
    ]


def test_from_bool(interpret: Interpret) -> None:
    x = np.array([True, False])
    assert interpret(lambda t: ark.cast(t, ark.fp32), x).tolist() == [1.0, 0.0]
    assert interpret(lambda t: ark.cast(t, ark.int64), x).dtype == np.int64


def test_to_narrow_floats_rounds_only_when_asked(interpret: Interpret) -> None:
    x = np.array([1 + 2**-12], np.float32)

    def narrow(t: Any) -> Any:
        return ark.cast(t, ark.bf16)

    assert interpret(narrow, x)[0] == 1 + 2**-12
    assert interpret(narrow, x, round_to_dtype=True)[0] == 1.0
