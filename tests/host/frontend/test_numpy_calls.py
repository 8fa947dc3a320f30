"""Tensors have numpy's methods, and functions of numpy give an op or a clear error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Array = np.ndarray[Any, Any]


@contextmanager
def building() -> Iterator[None]:
    """An open program with an output, which a program needs."""
    with ark.Program("p"):
        yield
        ark.output("always", ark.zeros((1,)))


ROW = np.linspace(0.5, 2, 5, dtype=np.float32)

# Expressions of an array, that a tensor takes as well.
SAME: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T,
    "reshape of ints": lambda x: x.reshape(5, -1),
    "reshape of a tuple": lambda x: x.reshape((2, 2, -1)),
    "transpose": lambda x: x.transpose(),
    "transpose of ints": lambda x: x.transpose(1, 0),
    "transpose of a tuple": lambda x: x.transpose((1, 0)),
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(axis=1),
    "mean": lambda x: x.mean(axis=-1, keepdims=True),
    "max": lambda x: x.max(axis=(0, 1)),
    "min": lambda x: x.min(0),
    "exp": np.exp,
    "sqrt": np.sqrt,
    "sign": np.sign,
    "floor": np.floor,
    "negative": np.negative,
    "absolute": np.abs,
    "power": lambda x: np.power(x, 2),
    "an array first": lambda x: ROW + x,
    "an array first, minus": lambda x: ROW - x,
    "an array first, compared": lambda x: x > ROW,
    "an array first, product": lambda x: np.ones((2, 4), np.float32) @ x,
    "a numpy number first": lambda x: np.float32(2) * x,
    "maximum": lambda x: np.maximum(x, 1),
}


def test_methods_and_universal_functions_give_numpys_results() -> None:
    x = np.linspace(0.25, 3, 20, dtype=np.float32).reshape(4, 5)
    with ark.Program("same") as program:
        tensor = ark.input("x", x.shape)
        for name, function in SAME.items():
            ark.output(name, function(tensor))
    results = ark.reference.run(program, {"x": x})
    for name, function in SAME.items():
        expected = np.asarray(function(x))
        assert results[name].shape == expected.shape, name
        assert np.allclose(results[name], expected, rtol=1e-6), name


def test_astype() -> None:
    with building():
        assert ark.input("x", (2,)).astype("int8").dtype is ark.int8


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (np.sum, r"numpy\.sum takes arrays, and not tensors of a program; use ark\.reduce_sum"),
    (lambda x: np.concatenate([x, x]), r"numpy\.concatenate .*; use ark\.concat$"),
    (lambda x: np.stack([x, x]), r"numpy\.stack .*; use ark\.stack$"),
    (lambda x: np.clip(x, 0, 1), r"numpy\.\w+ takes arrays"),
    (np.arctan, r"numpy\.arctan takes arrays, and not tensors of a program$"),
    (np.add.reduce, r"numpy\.add takes arrays.*; use ark\.add$"),
    (lambda x: np.add(x, x, out=np.zeros((4, 5))), r"numpy\.add takes arrays"),
    (np.asarray, "has no value while the program is built"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_other_functions_name_an_op(function: Callable[[Any], Any], message: str) -> None:
    with building():
        x = ark.input("x", (4, 5))
        with pytest.raises(ark.InvalidUsageError, match=message) as caught:
            function(x)
    assert caught.value.location is not None
    assert __file__ in caught.value.location


def test_functions_of_torch_name_an_op() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    cases: list[tuple[Callable[[Any], Any], str]] = [
        (torch.exp, r"torch\.exp takes arrays, and not tensors of a program; use ark\.exp$"),
        (lambda x: torch.cat([x, x]), r"torch\.cat .*; use ark\.concat$"),
        (torch.nn.functional.softmax, r"torch\.softmax .*; use ark\.softmax$"),
        (lambda x: torch.ones(4, 5) + x, r"torch\.add .*; use ark\.add$"),
        (torch.erfinv, r"torch\.erfinv takes arrays, and not tensors of a program$"),
    ]
    for function, message in cases:
        test_other_functions_name_an_op(function, message)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("view", r"; use x\.reshape\(\.\.\.\)"),
        ("to", r"; use x\.astype\(\.\.\.\)"),
        ("exp", r"; use ark\.exp\(x, \.\.\.\)"),
        ("unsqueeze", r"; use ark\.unsqueeze\(x, \.\.\.\)"),
        ("nonsense", ""),
    ],
)
def test_missing_methods_name_an_op(name: str, hint: str) -> None:
    with building():
        x = ark.input("x", (4, 5))
        with pytest.raises(AttributeError, match=f"ark.Tensor has no attribute '{name}'{hint}$"):
            getattr(x, name)
        assert not hasattr(x, "__dlpack__")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.sum(dim=1), "ark.Tensor.sum: there is no argument dim=; use axis="),
        (lambda x: x.max(0, keepdim=True), "there is no argument keepdim=; use keepdims="),
        (lambda x: ark.softmax(x, dim=1), "ark.softmax: there is no argument dim=; use axis="),
    ],
)
def test_arguments_of_pytorch_name_those_of_ark(call: Callable[[Any], Any], message: str) -> None:
    with building():
        x = ark.input("x", (4, 5))
        with pytest.raises(ark.InvalidUsageError) as caught:
            call(x)
    assert message in str(caught.value)
    assert str(caught.value).startswith(__file__)


# -- composed ops ---------------------------------------------------------------------------------


def interpret(make: Callable[..., ark.Tensor], *arrays: Array) -> Array:
    with ark.Program("p") as program:
        ark.output("y", make(*(ark.input(f"x{k}", a.shape, a.dtype) for k, a in enumerate(arrays))))
    return ark.reference.run(program, {f"x{k}": a for k, a in enumerate(arrays)})["y"]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ik,kj->ij", [(2, 3), (3, 4)]),
        ("ik,jk", [(2, 3), (4, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("i,j->ji", [(3,), (4,)]),
        ("i,i->", [(3,), (3,)]),
        ("ij,ij->ij", [(3, 4), (3, 4)]),
        ("ijx,yjk->ki", [(2, 3, 4), (5, 3, 6)]),
        ("ij->ji", [(2, 3)]),
        ("ijk->k", [(2, 3, 4)]),
        ("ba", [(2, 3)]),
        (" i j , j -> i ", [(2, 3), (3,)]),
    ],
)
def test_einsum_equals_numpys(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    got = interpret(lambda *xs: ark.einsum(equation, *xs), *arrays)
    expected = np.einsum(equation, *(a.astype(np.float64) for a in arrays))
    assert got.shape == expected.shape
    assert np.allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("equation", "count", "message"),
    [
        ("ij,jk->ik", 1, "it has subscripts for 2 operands, not for 1"),
        ("ii->i", 1, "'ii' has a letter twice"),
        ("ij->k", 1, "no operand has 'k'"),
        ("...i->i", 1, "only letters"),
        ("ijk->i", 1, "does not fit the shape"),
        ("ij,jk->ik", 2, "'j' is both 3 and 2"),
        ("ij,ij,ij->ij", 3, "expected one or two operands, not 3"),
    ],
)
def test_einsum_refuses(equation: str, count: int, message: str) -> None:
    with building():
        x = ark.input("x", (2, 3))
        with pytest.raises(ark.InvalidUsageError, match=message):
            ark.einsum(equation, *[x] * count)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ark.clamp(x),
        lambda x: ark.stack([]),
        lambda x: ark.stack([x, x[0]]),
        lambda x: ark.stack([x], axis=3),
        lambda x: ark.pad(x, [(1, 1)]),
        lambda x: ark.pad(x, [(1, 1), (-1, 0)]),
        lambda x: ark.pad(x, [(1, 1), 2]),
        lambda x: ark.pad(x, [(1, 1), (0.5, 0)]),
        lambda x: ark.pad(x > 0, [(1, 1), (0, 0)], 0.5),
        lambda x: ark.pad([1.0], [(1, 1)]),
        lambda x: ark.one_hot(x, 3),
        lambda x: ark.one_hot(x > 0, 3),
        lambda x: ark.one_hot(ark.cast(x, ark.int32), 0),
        lambda x: ark.one_hot(ark.cast(x, ark.int32), 2.5),
        lambda x: ark.floor(x > 0),
        lambda x: ark.sign(3),
    ],
)
def test_composed_ops_refuse(call: Callable[[ark.Tensor], object]) -> None:
    with building():
        x = ark.input("x", (2, 3))
        with pytest.raises(ark.InvalidUsageError) as caught:
            call(x)
    assert __file__ in (caught.value.location or "")


def test_floor_keeps_what_is_whole_and_the_sign_of_zero() -> None:
    x = np.array([-0.0, 2.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 8388607.5], np.float32)
    y = interpret(ark.floor, x)
    assert np.array_equal(y, np.floor(x), equal_nan=True)
    assert np.signbit(y[0])


# -- sums of integers -----------------------------------------------------------------------------


def test_products_of_integers_accumulate_in_out_dtype() -> None:
    a = np.full((2, 100), -128, np.int8)
    wide = interpret(lambda x: ark.matmul(x, x, transpose_other=True, out_dtype=ark.int32), a)
    narrow = interpret(lambda x: ark.matmul(x, x, transpose_other=True), a)
    assert wide.tolist() == [[1_638_400] * 2] * 2
    assert narrow.tolist() == [[0] * 2] * 2


@pytest.mark.parametrize(
    ("dtype", "out"), [(ark.int8, ark.uint32), (ark.int32, ark.int8), (ark.int8, ark.fp32),
                       (ark.fp32, ark.int32), (ark.bf16, ark.fp32)],
)  # fmt: skip
def test_out_dtype_holds_the_operands(dtype: ark.DType, out: ark.DType) -> None:
    with building():
        x = ark.input("x", (3, 3), dtype)
        with pytest.raises(ark.InvalidUsageError, match=r"out_dtype .* must be an integer type"):
            ark.matmul(x, x, out_dtype=out)


def test_values_of_pad_and_one_hot() -> None:
    """The values are NumPy's; a row of an index that is no class is zero."""
    with ark.Program("program") as program:
        x = ark.input("x", (2, 3))
        labels = ark.input("labels", (2, 2), ark.uint8)
        ark.output("padded", ark.pad(x, [(0, 1), (2, 0)], -1.5))
        ark.output("same", ark.pad(x, [(0, 0), (0, 0)]))
        ark.output("hot", ark.one_hot(labels, 300, ark.int32))
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    numbers = np.array([[0, 255], [7, 3]], np.uint8)
    got = ark.reference.run(program, {"x": given, "labels": numbers})
    expected = np.pad(given, [(0, 1), (2, 0)], constant_values=-1.5)
    np.testing.assert_array_equal(got["padded"], expected)
    np.testing.assert_array_equal(got["same"], given)
    np.testing.assert_array_equal(got["hot"], np.eye(300)[numbers])
