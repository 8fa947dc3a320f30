"""Binding: one error lists all problems; arrays are used in place if possible, else copied."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from internals import storage_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import ToyProgram, run

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]


def aligned(array: Array, alignment: int = 64, offset: int = 0) -> Array:
    """Returns a copy of `array` at a multiple of `alignment`, plus `offset`."""
    block = np.empty(array.nbytes + alignment + offset, np.uint8)
    start = -block.ctypes.data % alignment + offset
    copy = block[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def three_parameters() -> ToyProgram:
    """``weight, ids = first.weight, ids``: returns the bound arrays."""
    program = ToyProgram(sms=1)
    weight, _, ids = (
        program.buffer(name, "parameter", dtype, shape)
        for name, dtype, shape in (
            ("first.weight", "fp32", [4, 4]),
            ("first.bias", "bf16", [4]),
            ("ids", "int64", [2]),
        )
    )
    tasks = [
        program.task(
            "copy", 1, [(program.buffer("weight", "output", "fp32", [4, 4]), 0), (weight, 0)]
        ),
        program.task("align", 1, [(program.buffer("low", "output", "int64", []), 0), (ids, 0)]),
    ]
    program.lane(0, [run(task, 0, 1) for task in tasks])
    return program


def values_of(executable: Executable) -> dict[str, Array]:
    """Returns the bound values in host memory."""
    storage = storage_of(executable)
    slots = storage.slots()
    values: dict[str, Array] = {}
    for buffer in executable.parameters:
        memory: Any = (ctypes.c_char * buffer.bytes).from_address(slots[buffer.slot].address)
        values[buffer.name] = np.array(np.ndarray(buffer.shape, buffer.dtype.numpy, memory))
    return values


def assert_bound(executable: Executable, expected: Mapping[str, Array]) -> None:
    """Checks that the kernel sees these values, and runs with them."""
    got = values_of(executable)
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(got[name], array, name)
    np.testing.assert_array_equal(executable.run()["weight"], expected["first.weight"])


GOOD: dict[str, Array] = {
    "first.weight": np.arange(16, dtype=np.float32).reshape(4, 4),
    "first.bias": np.arange(4).astype(ml_dtypes.bfloat16),
    "ids": np.array([5, 6]),
}


def test_all_problems_in_one_error(make: Make) -> None:
    executable = make(three_parameters())
    with pytest.raises(ark.InvalidUsageError) as caught:
        executable.bind(
            {
                "first.wieght": np.zeros((4, 4), np.float32),
                "first.bias": np.zeros(5, ml_dtypes.bfloat16),
                "ids": np.zeros(2, np.int32),
            }
        )
    text = str(caught.value)
    assert "cannot bind 'toy': 4 problems" in text
    assert "parameter 'first.weight' is missing" in text
    assert "there is no parameter 'first.wieght' (did you mean 'first.weight'?)" in text
    assert "parameter 'first.bias' has shape [5]; expected [4]" in text
    assert "parameter 'ids' has elements of int32; expected int64" in text


def test_nothing_is_bound_after_an_error(make: Make) -> None:
    executable = make(three_parameters())
    with pytest.raises(ark.InvalidUsageError):
        executable.bind(GOOD | {"extra": np.zeros(1)})
    with pytest.raises(ark.InvalidUsageError, match="3 problems"):
        executable.run()
    executable.bind(GOOD)
    assert_bound(executable, GOOD)


def test_extra_names_may_be_ignored(make: Make) -> None:
    executable = make(three_parameters())
    executable.bind(GOOD | {"extra": np.zeros(1)}, strict=False)
    assert_bound(executable, GOOD)


def test_some_parameters_may_be_bound_again(make: Make) -> None:
    executable = make(three_parameters()).bind(GOOD)
    again = {"ids": np.ones(2, np.int64), "first.weight": np.ones((4, 4), np.float32)}
    assert_bound(executable, GOOD)
    executable.bind(again)
    assert_bound(executable, GOOD | again)


def test_a_list_of_sources(make: Make) -> None:
    parts: list[dict[str, object]] = [{name: array} for name, array in GOOD.items()]
    executable = make(three_parameters()).bind(parts)
    assert_bound(executable, GOOD)
    # If two sources have the same name, the last one counts.
    executable.bind([*parts, {"ids": np.array([8, 9])}])
    assert_bound(executable, GOOD | {"ids": np.array([8, 9])})


def test_a_long_list_of_problems_is_cut(make: Make) -> None:
    extra = {f"extra{index}": np.zeros(1) for index in range(100)}
    with pytest.raises(ark.InvalidUsageError) as caught:
        make(three_parameters()).bind(GOOD | extra)
    assert "and 80 more" in str(caught.value)


@pytest.mark.parametrize("value", [[[0.0]], 3, None, "weights", object()])
def test_values_that_are_no_arrays_raise(make: Make, value: object) -> None:
    with pytest.raises(ark.InvalidUsageError, match="pass a numpy array"):
        make(three_parameters()).bind(GOOD | {"ids": value})


def test_byte_order(make: Make) -> None:
    with pytest.raises(ark.InvalidUsageError, match="another byte order"):
        make(three_parameters()).bind(GOOD | {"ids": np.zeros(2, ">i8")})


def address_program(alignment: int | None = None) -> ToyProgram:
    """Returns the lowest bits of the address at which the kernel sees its parameter."""
    program = ToyProgram(sms=1)
    extra = {} if alignment is None else {"alignment": alignment}
    w = program.buffer("w", "parameter", "fp32", [2, 3], **extra)
    y = program.buffer("y", "output", "int64", [])
    program.lane(0, [run(program.task("align", 1, [(y, 0), (w, 0)]), 0, 1)])
    return program


def test_an_aligned_array_is_used_in_place(make: Make) -> None:
    executable = make(address_program())
    executable.bind({"w": aligned(np.zeros((2, 3), np.float32))})
    assert executable.run()["y"] == 0
    report = executable.report()
    assert (report.bound_in_place, report.bound_copied) == (24, 0)


def test_a_badly_aligned_array_is_copied(make: Make) -> None:
    executable = make(address_program())
    executable.bind({"w": aligned(np.zeros((2, 3), np.float32), offset=4)})
    assert executable.run()["y"] == 0
    assert executable.report().bound_copied == 24


def test_a_kernel_may_need_less_alignment(make: Make) -> None:
    executable = make(address_program(4))
    executable.bind({"w": aligned(np.zeros((2, 3), np.float32), offset=4)})
    assert executable.run()["y"] == 4
    assert executable.report().bound_in_place == 24


def test_an_array_that_is_not_contiguous_is_copied(make: Make, x: Array) -> None:
    program = ToyProgram(sms=1)
    w = program.buffer("w", "parameter", "fp32", [4, 4])
    y = program.buffer("y", "output", "fp32", [4, 4])
    program.lane(0, [run(program.task("copy", 1, [(y, 0), (w, 0)]), 0, 1)])
    executable = make(program)
    array = np.arange(16, dtype=np.float32).reshape(4, 4)
    for view in (array.T, array[::-1], np.repeat(array, 2, axis=1)[:, ::2]):
        assert np.array_equal(executable.bind({"w": view}).run()["y"], view)


def test_a_parameter_in_place_can_be_read_only(make: Make) -> None:
    array = aligned(np.arange(6, dtype=np.float32).reshape(2, 3))
    array.flags.writeable = False
    executable = make(address_program()).bind({"w": array})
    assert executable.run()["y"] == 0
    assert executable.report().bound_in_place == 24
    np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3))


def test_a_bound_array_lives_as_long_as_the_executable(make: Make) -> None:
    """The memory must outlive the caller's own reference."""
    import gc
    import weakref

    array = aligned(np.zeros((2, 3), np.float32))
    gone = weakref.ref(array)
    executable = make(address_program()).bind({"w": array})
    del array
    gc.collect()
    assert gone() is not None
    executable.close()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"X": 1}, "there is no input 'X'"),
        ({"x": np.zeros(128, np.float32)}, r"has shape \[128\]; expected \[8, 16\]"),
        ({"x": np.zeros((8, 16))}, "has elements of float64; expected fp32"),
        ({"x": np.zeros((8, 16), np.float16)}, "has elements of fp16; expected fp32"),
        ({"x": [[0.0] * 16] * 8}, "pass a numpy array"),
    ],
)
def test_inputs(add: Executable, inputs: dict[str, object], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        add.run(**inputs)


def test_inputs_of_any_layout(add: Executable, x: Array) -> None:
    want = np.arange(128) + 1.5
    for view in (x, aligned(x), aligned(x, offset=4), np.asfortranarray(x), x[::-1][::-1]):
        assert np.array_equal(add.run(x=view)["y"], want)


def test_names_that_are_no_identifiers(make: Make) -> None:
    program = ToyProgram(sms=1)
    x = program.buffer("trace", "input", "fp32", [16])
    y = program.buffer("a.b/c", "output", "fp32", [16])
    program.lane(0, [run(program.task("copy", 1, [(y, 0), (x, 0)]), 0, 1)])
    ones = np.ones(16, np.float32)
    assert np.array_equal(make(program).run({"trace": ones})["a.b/c"], ones)


def test_a_safetensors_file(make: Make, tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    good = {name: array for name, array in GOOD.items() if name != "first.bias"}
    numpy.save_file(good, tmp_path / "a.safetensors")
    executable = make(three_parameters())
    with pytest.raises(ark.InvalidUsageError, match=r"parameter 'first\.bias' is missing"):
        executable.bind(tmp_path / "a.safetensors")
    executable.bind([str(tmp_path / "a.safetensors"), {"first.bias": GOOD["first.bias"]}])
    assert_bound(executable, GOOD)
