"""Tensors: Python's operators, slicing, and implicit conversions that raise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]


def evaluate(function: Callable[..., ark.Tensor], *arrays: np.ndarray[Any, Any]) -> Any:
    with ark.Program("test") as program:
        inputs = [
            ark.input(f"x{i}", a.shape, ark.dtypes.as_dtype(a.dtype)) for i, a in enumerate(arrays)
        ]
        ark.output("y", function(*inputs))
    return ark.reference.run(program, {f"x{i}": a for i, a in enumerate(arrays)})["y"]


A = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -0.25]], np.float32)
B = np.array([[2.0], [-0.5]], np.float32)
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
COMPARISONS = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge
)  # fmt: skip


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_operators_on_two_tensors(op: Any) -> None:
    np.testing.assert_allclose(evaluate(op, A, B), op(A, B), rtol=1e-6)


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("other", [2, 0.5, np.float32(0.5), np.array([1.0, 2.0, 4.0])])
def test_operators_with_numbers_and_arrays_on_either_side(op: Any, other: Any) -> None:
    np.testing.assert_allclose(evaluate(lambda x: op(x, other), A), op(A, other), rtol=1e-6)
    np.testing.assert_allclose(evaluate(lambda x: op(other, x), A), op(other, A), rtol=1e-6)


def test_more_operators() -> None:
    np.testing.assert_array_equal(evaluate(operator.neg, A), -A)
    np.testing.assert_array_equal(evaluate(abs, A), abs(A))
    np.testing.assert_allclose(evaluate(lambda x: x**2, A), A**2)
    np.testing.assert_allclose(evaluate(lambda x: 2**x, A), 2.0**A)
    np.testing.assert_allclose(evaluate(lambda x: x @ A.T, A), A @ A.T)
    np.testing.assert_allclose(evaluate(lambda x: A.T @ x, A), A.T @ A)
    c = A > 0
    np.testing.assert_array_equal(evaluate(lambda x: ~x & True | x[:1], c), ~c | c[:1])


def test_a_scalar_takes_the_dtype_of_the_tensor(program: Any) -> None:
    assert (ark.input("b", (3,), ark.bf16) * 0.1).dtype is ark.bf16
    assert (1 - ark.input("i", (3,), ark.int8)).dtype is ark.int8
    assert (ark.input("u", (3,), ark.uint8) + np.int64(200)).dtype is ark.uint8
    assert (ark.input("f", (3,), ark.fp16) + np.ones(3)).dtype is ark.fp16


def test_numbers_that_the_dtype_cannot_hold(program: Any, refuses: Refuses) -> None:
    i = ark.input("i", (3,), ark.int8)
    refuses(lambda: i + 2.5, "ark.add", "2.5 is not a value of int8")
    refuses(lambda: i + 300, "ark.add", "300 does not fit into int8")
    refuses(lambda: 300 - i, "ark.sub", "300 does not fit into int8")
    refuses(lambda: i * float("nan"), "nan is not a value of int8")
    refuses(lambda: i + np.array([1, 2, 3]), "different element types")
    refuses(lambda: i + np.ones(3, np.complex64), "ark has no element type complex64")
    refuses(lambda: i + "1", "must be a tensor, a number or a numpy array, not the str 1")  # type: ignore[operator]
    refuses(lambda: i + None, "must be a tensor, a number or a numpy array, not None")  # type: ignore[operator]
    refuses(lambda: operator.add(i, [1, 2, 3]), "not the list [1, 2, 3]")


def test_a_tensor_has_no_value(program: Any, refuses: Refuses) -> None:
    x = ark.input("x", (3,))
    refuses(lambda: bool(x), "'x' has no value while the program is built", "ark.where")
    refuses(lambda: bool(x == x), "has no value")
    refuses(lambda: float(x), "has no value")
    refuses(lambda: int(x), "has no value")
    refuses(lambda: np.asarray(x), "has no value")
    refuses(lambda: 1 if x > 0 else 0, "has no value")


def test_tensors_are_keys_by_identity(program: Any) -> None:
    x, y = ark.input("x", (3,)), ark.input("y", (3,))
    table = {x: 1, y: 2}
    assert (table[x], table[y]) == (1, 2)


def test_length_and_iteration(program: Any) -> None:
    x = ark.input("x", (3, 4))
    assert len(x) == 3
    assert [row.shape for row in x] == [(4,)] * 3
    with pytest.raises(TypeError, match="rank zero"):
        len(ark.scalar("s"))


def test_operators_that_tensors_lack_name_their_replacement(program: Any) -> None:
    x: Any = ark.input("x", (3, 4))
    for wrong, message in (
        (lambda: x % 2, r"no operator %; use x - ark\.floor\(x / y\) \* y"),
        (lambda: 7 % x, "no operator %"),
        (lambda: x // 2, r"no operator //; use ark\.floor\(x / y\)"),
        (lambda: x.__setitem__(0, 1), "nothing can be assigned; use ark.where or ark.concat"),
    ):
        with pytest.raises(ark.InvalidUsageError, match=message) as caught:
            wrong()
        assert "test_tensor.py:" in str(caught.value)


def test_repr_names_shape_and_dtype(program: Any) -> None:
    assert repr(ark.input("x", (3, 4), ark.bf16)) == "<ark.Tensor 'x' bf16[3, 4]>"


# ---------------------------------------------------------------- slicing

X = np.arange(5 * 4 * 3, dtype=np.float32).reshape(5, 4, 3)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1], np.s_[-1], np.s_[1:3], np.s_[..., 0], np.s_[:, 1], np.s_[1, 2, 0],
        np.s_[::2], np.s_[::-1], np.s_[3:0:-2], np.s_[-3:], np.s_[:100], np.s_[4:2],
        np.s_[None], np.s_[:, None, 1:], np.s_[..., None], np.s_[1, ..., None, ::2],
        np.s_[np.int64(2)], np.s_[...], np.s_[()], np.s_[2:2, 0], np.s_[:, ::-1, ::-1],
    ],
)  # fmt: skip
def test_slicing_equals_numpys(index: Any) -> None:
    np.testing.assert_array_equal(evaluate(lambda x: x[index], X), X[index])


slices = st.builds(
    slice, *[st.none() | st.integers(-7, 7)] * 2, st.none() | st.sampled_from([-3, -1, 1, 2])
)
entries = slices | st.integers(-3, 2) | st.none()


@given(st.lists(entries, max_size=4).filter(lambda e: sum(i is not None for i in e) <= 3))
@settings(max_examples=150)
def test_slicing_equals_numpys_for_any_index(index: list[Any]) -> None:
    key = tuple(index)
    np.testing.assert_array_equal(evaluate(lambda x: x[key], X), X[key])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (5, "index 5 is out of range for dimension 0 of shape [5, 4, 3]"),
        (np.s_[:, -5], "index -5 is out of range for dimension 1"),
        (np.s_[0, 0, 0, 0], "4 indices do not fit shape [5, 4, 3]"),
        (np.s_[..., 0, ...], "one `...`, not 2"),
        (np.s_[::0], "step must not be zero"),
        (np.s_[1.5], "an index must be an integer, not 1.5"),
        (np.s_[1.5:], "a bound of a slice must be an integer"),
        (True, "an index must be an integer, not True"),
        ("a", "an index must be an integer"),
        ([0, 1], "an index must be an integer"),
    ],
)
def test_slices_that_are_refused(program: Any, refuses: Refuses, index: Any, message: str) -> None:
    x = ark.input("x", (5, 4, 3))
    refuses(lambda: x[index], "ark.slice", message)


def test_a_tensor_as_an_index_raises(program: Any, refuses: Refuses) -> None:
    x, i = ark.input("x", (5,)), ark.scalar("i")
    refuses(lambda: x[i], "an index must be static, which <ark.Tensor 'i'", "use ark.gather")
