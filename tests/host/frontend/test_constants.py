"""Constants: every dtype and shape arrives in the program bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]
DTYPES = [d for d in ark.dtypes.ALL]


def stored(array: Any, dtype: Any = None) -> Any:
    """Returns the constant of the program as the interpreter reads it."""
    with ark.Program("test") as program:
        ark.output("y", ark.constant(array, dtype))
    return ark.reference.run(program, {})["y"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 0, 3), (200,)])
def test_every_dtype_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    array = rng.integers(0, 2 if dtype.kind == "bool" else 100, shape).astype(dtype.numpy)
    with ark.Program("test") as program:
        x = ark.constant(array)
        ark.output("y", x)
    assert (x.shape, x.dtype) == (shape, dtype)
    got = ark.reference.run(program, {})["y"]
    np.testing.assert_array_equal(got.astype(dtype.numpy), array)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_float], ids=str)
def test_special_values(dtype: Any) -> None:
    values = [0.0, -0.0, float("nan"), 1.0, -1.5]
    if dtype is not ark.fp8_e4m3:  # the dtype has no infinity
        values += [float("inf"), float("-inf")]
    array = np.array(values, np.float32).astype(dtype.numpy)
    got = stored(array)
    np.testing.assert_array_equal(got, array.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(array.astype(np.float64)))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_splats_of_special_values(value: float, dtype: str) -> None:
    got = stored(np.full((3, 4), value), dtype)
    np.testing.assert_array_equal(got, np.full((3, 4), value))
    assert (np.signbit(got) == np.signbit(value)).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal_elements_are_stored_once(dtype: Any) -> None:
    with ark.Program("test") as program:
        ark.output("y", ark.ones((1000,), dtype))
    assert len(program.mlir) < 400
    np.testing.assert_array_equal(ark.reference.run(program, {})["y"], 1)


@given(st.binary(min_size=1, max_size=600), st.sampled_from(DTYPES))
@settings(max_examples=100)
def test_any_bits_survive(data: bytes, dtype: Any) -> None:
    size = len(data) // dtype.itemsize
    array = np.frombuffer(data[: size * dtype.itemsize], f"u{dtype.itemsize}")
    array = (array % 2).astype(bool) if dtype.kind == "bool" else array.view(dtype.numpy)
    # A signalling NaN becomes quiet, about which numpy may warn.
    with np.errstate(invalid="ignore"):
        expected = array.astype(np.float64) if dtype.is_float else array
    np.testing.assert_array_equal(stored(array), expected)


def test_default_dtypes(program: Any) -> None:
    assert ark.constant(1).dtype is ark.int32
    assert ark.constant(1.0).dtype is ark.fp32
    assert ark.constant(True).dtype is ark.bool
    assert ark.constant([[1, 2], [3, 4]]).shape == (2, 2)
    assert ark.constant(np.float16(2)).dtype is ark.fp16
    assert ark.constant(np.ones(3)).dtype is ark.fp32
    assert ark.constant(np.arange(3)).dtype is ark.int64


def test_views_of_arrays_are_read_in_order() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(stored(array.T[::-1]), array.T[::-1])


def test_creation() -> None:
    with ark.Program("test") as program:
        for name, tensor in {
            "zeros": ark.zeros((2, 3), ark.int8),
            "ones": ark.ones(3),
            "full": ark.full((2,), -1.5, ark.bf16),
            "range": ark.arange(5),
            "bounds": ark.arange(2, 11, 3, ark.fp32),
            "down": ark.arange(5, 0, -2),
            "none": ark.arange(0),
            "backwards": ark.arange(3, 0),
            "fractions": ark.arange(0.5, -1, -0.25),
            "halves": ark.arange(0, 1.75, 0.5, ark.bf16),
        }.items():
            ark.output(name, tensor)
    got = ark.reference.run(program, {})
    assert got["zeros"].dtype == np.int8
    np.testing.assert_array_equal(got["zeros"], np.zeros((2, 3)))
    np.testing.assert_array_equal(got["ones"], np.ones(3))
    np.testing.assert_array_equal(got["full"], [-1.5, -1.5])
    np.testing.assert_array_equal(got["range"], np.arange(5))
    np.testing.assert_array_equal(got["bounds"], [2.0, 5.0, 8.0])
    np.testing.assert_array_equal(got["down"], [5, 3, 1])
    assert got["none"].shape == got["backwards"].shape == (0,)
    assert program.outputs["fractions"].dtype is ark.fp32
    np.testing.assert_array_equal(got["fractions"], np.arange(0.5, -1, -0.25))
    np.testing.assert_array_equal(got["halves"], [0, 0.5, 1, 1.5])


def test_invalid_values_raise(program: Any, refuses: Refuses) -> None:
    refuses(lambda: ark.constant("a"), "ark.constant", "is not an array of numbers")
    refuses(lambda: ark.constant(None), "ark.constant", "is not an array of numbers")
    refuses(lambda: ark.constant([[1], [1, 2]]), "ark.constant")
    refuses(lambda: ark.constant(1.5, ark.int32), "1.5 is not a value of int32")
    refuses(lambda: ark.constant([1, 300], ark.uint8), "does not fit into uint8")
    refuses(lambda: ark.constant(2, ark.bool), "2 does not fit into bool; compare with 0")
    refuses(lambda: ark.constant(float("inf"), ark.int32), "inf is not a value of int32")
    refuses(lambda: ark.constant(float("nan"), ark.bool), "nan is not a value of bool")
    refuses(lambda: ark.constant(1j), "is not an array of numbers")
    refuses(lambda: ark.full((2,), "1"), "ark.full", "value must be a number")  # type: ignore[arg-type]
    refuses(lambda: ark.zeros((2, -1)), "is negative")
    refuses(lambda: ark.arange(0, 300, dtype=ark.int8), "does not fit into int8")
    refuses(lambda: ark.arange("3"), "start must be an integer")  # type: ignore[arg-type]
    refuses(lambda: ark.arange(0.5, 3, dtype=ark.int32), "is not a value of int32")
    refuses(lambda: ark.arange(0.0, float("inf")), "stop must be finite, not inf")
    refuses(lambda: ark.arange(0.0, 1.0, 1e-300), "is too large for a program")
    refuses(lambda: ark.arange(0, 5, 0), "step must not be zero")


def test_constants_of_any_size_do_not_fill_memory(program: Any, refuses: Refuses) -> None:
    assert ark.zeros((2**20, 2**20)).shape == (2**20, 2**20)  # one element in the program
    refuses(lambda: ark.arange(2**40, dtype=ark.int64), "too large for a program")
    x = ark.input("x", (2**40,), ark.int8)
    refuses(lambda: x[::-1], "too large for a program")
    refuses(lambda: ark.sharding(x, 0, 1), "1099511627776 shards; the limit is")
    refuses(lambda: ark.split(x, 2**40, 0), "n_or_sizes 1099511627776 is not in [1, 65536]")
