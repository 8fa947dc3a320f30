"""A run takes inputs by name or in order; an executable can be called; integers are converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import ToyProgram, run

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]


@pytest.fixture
def copies(make: Make) -> Executable:
    """Copies ``ids`` of int32 to ``out``; takes a scalar ``n`` in [0, 9], too."""
    program = ToyProgram(sms=1)
    ids = program.buffer("ids", "input", "int32", [16])
    program.buffer("n", "scalar", "int32", [], max=9)
    out = program.buffer("out", "output", "int32", [16])
    program.lane(0, [run(program.task("copy", 1, [(out, 0), (ids, 0)]), 0, 1)])
    return make(program)


def test_arrays_in_the_order_of_the_inputs(add: Executable, x: Array) -> None:
    expected = add.run(x=x)["y"]
    assert np.array_equal(add.run(x)["y"], expected)
    assert np.array_equal(add(x)["y"], expected)
    assert np.array_equal(add({"x": x})["y"], expected)
    assert np.array_equal(add(x=x)["y"], expected)
    assert np.array_equal(add.run(None, x=x)["y"], expected)
    with add.resident() as resident:
        assert np.array_equal(resident.run(x)["y"], expected)
        assert np.array_equal(resident(x)["y"], expected)


def test_scalars_follow_the_inputs(copies: Executable) -> None:
    ids = np.arange(16, dtype=np.int32)
    assert copies(ids, 3)["out"].tolist() == ids.tolist()
    assert copies.run(ids, n=3)["out"].tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda exe, x: exe.run(x, x), "2 arrays are given, and the program has 1 input: x"),
        (lambda exe, x: exe.run(x, x=x), "input 'x' is given twice"),
        (lambda exe, x: exe.run((x, x)), r"a tuple; pass the inputs one by one, as in run\(x\);"),
        (lambda exe, x: exe.run({"x": x}, x), "one mapping with inputs by name, or arrays in the"),
        (lambda exe, x: exe.run([x]), r"list; pass the inputs one by one, as in run\(x\); each is"),
        (lambda exe, x: exe.run(), "input 'x' is missing"),
    ],
)
def test_wrong_calls(
    add: Executable, x: Array, call: Callable[[Executable, Array], object], message: str
) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        call(add, x)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint32])
def test_other_integer_types_are_converted(copies: Executable, dtype: Any) -> None:
    ids = np.arange(16, dtype=dtype)
    out = copies.run(ids=ids, n=1)["out"]
    assert out.dtype == np.int32
    assert out.tolist() == list(range(16))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.full(16, 2**31), r"has elements of int64; expected int32, .* hold 2147483648"),
        (np.full(16, -(2**31) - 1), r"cannot hold -2147483649"),
        (np.zeros(16), "has elements of float64; expected int32"),
        (np.zeros(16, bool), "has elements of bool; expected int32"),
        (np.zeros(15, np.int64), r"has shape \[15\]; expected \[16\]"),
    ],
)
def test_integers_that_do_not_fit(copies: Executable, ids: Array, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        copies.run(ids=ids, n=1)


def test_outputs_are_not_converted(copies: Executable) -> None:
    with pytest.raises(ark.InvalidUsageError, match="output 'out' has elements of int64"):
        copies.run(ids=np.zeros(16, np.int32), n=1, out={"out": np.zeros(16, np.int64)})


def test_every_error_is_public() -> None:
    """A caller can name each class of error that a run raises."""
    assert issubclass(ark.DataRangeError, ark.InvalidUsageError)
    assert issubclass(ark.DataRangeError, ark.DeviceError)
    assert set(ark.errors.__all__) <= set(ark.__all__)
