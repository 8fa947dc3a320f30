"""Inputs, parameters, states and scalars: valid and invalid definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]

DTYPES = (
    "fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "uint8", "int32", "uint32", "int64",
    "bool",
)  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_can_be_bound(name: str) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (2, 3), getattr(ark, name))
        ark.output("y", ark.copy(x))
    assert x.dtype is getattr(ark, name)
    assert program.outputs["y"].dtype.name == name
    assert f"tensor<2x3x{x.dtype.mlir}>" in program.mlir


@pytest.mark.parametrize("shape", [(), 4, [4, 2], (np.int64(3), 2), np.array([3, 4]), (0, 2)])
def test_shapes(program: Any, shape: Any) -> None:
    expected = (shape,) if isinstance(shape, int) else tuple(int(e) for e in shape)
    assert ark.input("x", shape).shape == expected


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, float("nan")), "shape[1] must be an integer, not nan"),
        ((4, 2.0), "shape[1] must be an integer, not 2.0"),
        ((4, True), "shape[1] must be an integer, not True"),
        ((4, None), "shape[1] must be an integer, not None"),
        ((-1, 4), "extent 0 of shape (-1, 4) is negative"),
        ((2**40, 2**40), "more elements than 64 bits can count"),
        ((2**70,), "does not fit into 64 bits"),
        ("34", "shape must be integers"),
        (None, "shape must be integers"),
        (3.5, "shape must be integers"),
    ],
)
def test_invalid_shapes_raise(program: Any, refuses: Refuses, shape: Any, message: str) -> None:
    refuses(lambda: ark.input("x", shape), "ark.input", message)


@pytest.mark.parametrize("dtype", ["float64", "int7", 3, None, float, object(), "complex64"])
def test_invalid_dtypes_raise(program: Any, refuses: Refuses, dtype: Any) -> None:
    refuses(lambda: ark.input("x", (4,), dtype), "ark.input", "unknown dtype", "known are fp32")


def test_scalars(program: Any, refuses: Refuses) -> None:
    assert ark.scalar("i").shape == ()
    assert ark.scalar("j", ark.int64, max=2**40).dtype is ark.int64
    refuses(lambda: ark.scalar("k", ark.fp32), "dtype must be int32 or int64, not fp32")
    refuses(lambda: ark.scalar("k", max=-1), "max -1 is not in [0, 2147483647]")
    refuses(lambda: ark.scalar("k", max=2**31), "max 2147483648 is not in [0, 2147483647]")
    refuses(lambda: ark.scalar("k", max=1.5), "max must be an integer")


def test_states(program: Any, refuses: Refuses) -> None:
    assert ark.state("a", (4,), ark.int8, init=-3).state.init == -3
    refuses(lambda: ark.state("b", (4,), ark.int8, init=0.5), "0.5 is not a value of int8")
    refuses(lambda: ark.state("b", (4,), ark.int8, init=300), "300 does not fit into int8")
    refuses(lambda: ark.state("b", (4,), ark.uint8, init=-1), "-1 does not fit into uint8")
    refuses(lambda: ark.state("b", (4,), init="0"), "init must be a number")  # type: ignore[arg-type]
    refuses(lambda: ark.state("b", (4,), ark.int8, init=float("nan")), "nan is not a value")


def test_outputs(program: Any, refuses: Refuses) -> None:
    x = ark.input("x", (4,))
    assert ark.output("y", x) is x
    refuses(lambda: ark.output("z", 3), "an output must be a tensor, not the int 3")  # type: ignore[arg-type]
    refuses(lambda: ark.output("z", None), "an output must be a tensor, not None")  # type: ignore[arg-type]
    refuses(lambda: ark.output("z", np.ones(3)), "must be a tensor, not the ndarray")  # type: ignore[arg-type]


def test_a_tensor_is_an_input(program: Any) -> None:
    x = ark.tensor((3, 5), ark.fp16)
    y, z = ark.tensor((2,)), ark.tensor((2,), name="given")
    assert (x.shape, x.dtype, x.name) == ((3, 5), ark.fp16, "tensor")
    assert (y.dtype, y.name, z.name) == (ark.fp32, "tensor_1", "given")
    ark.output("y", ark.copy(x))


def test_a_tensor_is_a_part_of_a_padded_buffer() -> None:
    with ark.Program("p") as program:
        x = ark.tensor(
            (3, 5), ark.fp32, strides=(4, 8), offsets=(1, 2), padded_shape=(3, 6), name="x"
        )
        ark.output("y", ark.copy(x))
    assert x.shape == (3, 5)
    assert program.inputs["x"].shape == (4, 8)
    array = np.arange(32, dtype=np.float32).reshape(4, 8)
    got = ark.reference.run(program, {"x": array})["y"]
    np.testing.assert_array_equal(got, array[1:4, 2:7])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strides": (3, 8)}, "shape [4, 5] at offsets [0, 0], padded to [4, 5], does not lie"),
        ({"strides": (8, 8), "offsets": (5, 0)}, "does not lie in a buffer of shape [8, 8]"),
        ({"strides": (8, 8), "offsets": (-1, 0)}, "at offsets [-1, 0]"),
        ({"strides": (8, 8), "padded_shape": (4, 4)}, "padded to [4, 4], does not lie"),
        ({"padded_shape": (8, 8)}, "does not lie in a buffer of shape [4, 5]"),
        ({"strides": (8,)}, "must have one length"),
        ({"offsets": "ab"}, "offsets must be integers"),
        ({"rank": 1}, "rank must be -1 or 0, the rank of the program, not 1"),
        ({"dtype": "fp99"}, "fp99"),
    ],
)
def test_invalid_tensors_raise(
    program: Any, refuses: Refuses, arguments: dict[str, Any], message: str
) -> None:
    refuses(lambda: ark.tensor((4, 5), **arguments), message, "ark.tensor")


def test_a_tensor_of_a_rank() -> None:
    with ark.Program("p", rank=1, world_size=2):
        assert ark.tensor((4,), rank=1).shape == (4,)
        with pytest.raises(ark.InvalidUsageError, match="rank must be -1 or 1"):
            ark.tensor((4,), rank=0)
        ark.output("y", ark.ones((4,)))
