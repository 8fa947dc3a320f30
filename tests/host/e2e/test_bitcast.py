"""``ark.bitcast`` is bitwise numpy's ``view`` for every pair of types, and makes no copy if strides
can express the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.dtypes import DType

Array = np.ndarray[Any, Any]
EVERY = ark.dtypes.ALL
PAIRS = [(a, b) for a in EVERY for b in EVERY if b is not ark.bool or a is ark.bool]


def compiled(
    inputs: dict[str, Array], make: Callable[..., ark.Tensor], target: str = "cpu:2"
) -> Any:
    with ark.Program("bits") as program:
        tensors = [
            ark.input(name, array.shape, ark.dtypes.from_numpy(array.dtype))
            for name, array in inputs.items()
        ]
        ark.output("y", make(*tensors))
    return program, ark.compile(program, target=target)


def bits(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Returns random bytes, in which every bit pattern of a number, also of NaN, is likely."""
    rng = np.random.default_rng(seed)
    if dtype is ark.bool:
        return rng.integers(0, 2, shape).astype(bool)
    size = (*shape[:-1], shape[-1] * dtype.itemsize) if shape else (dtype.itemsize,)
    raw = rng.integers(0, 256, size, np.uint8)
    return raw.view(dtype.numpy).reshape(shape)


def raw(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_every_bit_is_kept(source: DType, target: DType) -> None:
    x = bits(source, (3, 16))
    program, executable = compiled({"x": x}, lambda t: ark.bitcast(t, target))
    with executable:
        got = executable.run(x=x)["y"]
    expected = x.view(target.numpy)
    assert program.outputs["y"].shape == expected.shape
    assert got.dtype == expected.dtype
    assert raw(got) == raw(expected)
    # The interpreter handles bits, too, if every number fits into float64.
    with np.errstate(invalid="ignore"):  # signalling NaN
        reference = ark.reference.run(program, {"x": x})["y"]
        np.testing.assert_array_equal(reference, expected.astype(reference.dtype))


@pytest.mark.parametrize(
    "shape", [(8,), (1, 8), (2, 1, 8), (2, 1, 3, 8), (1, 2, 1, 3, 8), (2,) * 5 + (8,)]
)
@pytest.mark.parametrize("target", [ark.uint8, ark.fp16, ark.int64], ids=str)
def test_ranks(shape: tuple[int, ...], target: DType) -> None:
    x = bits(ark.fp32, shape)
    _, executable = compiled({"x": x}, lambda t: ark.bitcast(t, target))
    with executable:
        assert raw(executable.run(x=x)["y"]) == raw(x)


def test_rank_zero_keeps_its_size() -> None:
    x = np.array(-1.5, np.float32)
    _, executable = compiled({"x": x}, lambda t: ark.bitcast(t, ark.uint32))
    with executable:
        assert executable.run(x=x)["y"] == x.view(np.uint32)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("target", [ark.uint8, ark.bf16, ark.int64], ids=str)
def test_no_elements(shape: tuple[int, ...], target: DType) -> None:
    x = np.zeros(shape, np.float32)
    if shape[-1] * 4 % target.itemsize:
        pytest.fail("shapes here divide")
    program, executable = compiled({"x": x}, lambda t: ark.bitcast(t, target))
    with executable:
        got = executable.run(x=x)["y"]
    assert got.shape == program.outputs["y"].shape == x.view(target.numpy).shape
    assert ark.reference.run(program, {"x": x})["y"].shape == got.shape


VIEWS: dict[str, tuple[Callable[[ark.Tensor], ark.Tensor], Callable[[Array], Array], int]] = {
    "whole": (lambda x: x, lambda x: x, 0),
    "rows": (lambda x: x[1::2], lambda x: x[1::2], 0),
    "columns": (lambda x: x[:, 4:12], lambda x: x[:, 4:12], 0),
    "heads": (
        lambda x: ark.transpose(ark.reshape(x, (6, 2, 8)), (1, 0, 2)),
        lambda x: x.reshape(6, 2, 8).transpose(1, 0, 2),
        0,
    ),
    "repeated": (
        lambda x: ark.broadcast_to(x[:1], (3, 16)), lambda x: np.broadcast_to(x[:1], (3, 16)), 0
    ),
    "turned": (lambda x: ark.transpose(x[:4]), lambda x: x[:4].T, 1),
    "odd columns": (lambda x: x[:, 1:9], lambda x: x[:, 1:9], 1),
    "every other column": (lambda x: x[:, ::2], lambda x: x[:, ::2], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_read_through(name: str) -> None:
    """A consumer reads the bytes in place; a copy is made only if strides cannot express the
    view."""
    view, expected, copies = VIEWS[name]
    x = bits(ark.int8, (6, 16))
    _, executable = compiled({"x": x}, lambda t: ark.bitcast(view(t), ark.int32) + 1)
    with executable:
        got = executable.run(x=x)["y"]
        tasks = executable.bundle.manifest.tasks
    np.testing.assert_array_equal(got, np.array(expected(x), order="C").view(np.int32) + 1)
    assert len(tasks) == 1 + copies
    assert sum(task.ops == ("copy",) for task in tasks) == copies


def test_packed_weights_are_multiplied_in_place() -> None:
    """A byte parameter, as a file may hold it, is bound in place and multiplied as bf16."""
    weights = bits(ark.bf16, (8, 32))
    weights = np.where(np.isfinite(weights.astype(np.float32)), weights, 1).astype(ark.bf16.numpy)
    x = np.random.default_rng(1).standard_normal((4, 32)).astype(ark.bf16.numpy)
    with ark.Program("packed") as program:
        packed = ark.parameter("w", (8, 64), ark.uint8)
        h = ark.input("x", x.shape, ark.bf16)
        ark.output("y", ark.matmul(h, ark.bitcast(packed, ark.bf16), transpose_other=True))
    with ark.compile(program, target="cpu:2") as executable:
        executable.bind({"w": weights.view(np.uint8)})
        got = executable.run(x=x)["y"]
        assert len(executable.bundle.manifest.tasks) == 1
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) @ weights.astype(np.float32).T
        expected = wide.astype(ark.bf16.numpy).astype(np.float32)
    np.testing.assert_allclose(got.astype(np.float32), expected, rtol=0.05)


def test_bytes_are_bound_where_elements_may_begin() -> None:
    """Bytes may be misaligned; a body that reads words then gets a copy."""
    memory = np.zeros(4 * 8 + 64, np.uint8)
    start = -memory.ctypes.data % 4 + 1
    x = memory[start : start + 32]
    x[:] = np.arange(32)
    assert x.ctypes.data % 4 == 1
    _, executable = compiled({"x": x}, lambda t: ark.bitcast(t, ark.int32) + 1)
    with executable:
        (buffer,) = (b for b in executable.bundle.manifest.buffers if b.name == "x")
        assert buffer.alignment == 4
        np.testing.assert_array_equal(executable.run(x=x)["y"], x.copy().view(np.int32) + 1)


def test_a_bitcast_of_a_state_keeps_the_old_bytes() -> None:
    """A bitcast that is taken before an update shows the bytes before the update."""
    with ark.Program("state") as program:
        x = ark.input("x", (4,), ark.fp32)
        state = ark.state("s", (4,), ark.fp32, init=1)
        before = ark.bitcast(state, ark.int32)
        ark.output("after", ark.bitcast(ark.update(state, x, (0,)), ark.uint8))
        ark.output("before", before + 0)
    values = np.array([1.5, -0.0, np.inf, 2], np.float32)
    with ark.compile(program, target="cpu:2") as executable:
        got = executable.run(x=values)
    np.testing.assert_array_equal(got["before"], np.ones(4, np.float32).view(np.int32))
    np.testing.assert_array_equal(got["after"], values.view(np.uint8))


@pytest.mark.parametrize("dtype", [ark.int8, ark.fp16, ark.int64], ids=str)
def test_known_values(dtype: DType) -> None:
    """Bitcasts of splat constants, whose bytes may differ, and of other constants."""
    several = bits(ark.fp32, (2, 4))
    with ark.Program("known") as program:
        ark.output("one", ark.bitcast(ark.full((2, 4), 1.5, ark.fp32), dtype))
        ark.output("none", ark.bitcast(ark.zeros((2, 4), ark.fp32), dtype))
        ark.output("true", ark.bitcast(ark.ones((2, 8), ark.bool), ark.uint8))
        ark.output("several", ark.bitcast(ark.constant(several, ark.fp32), dtype))
    with ark.compile(program, target="cpu:2") as executable:
        got = executable.run({})
    assert raw(got["one"]) == raw(np.full((2, 4), 1.5, np.float32))
    assert raw(got["none"]) == bytes(32)
    assert raw(got["true"]) == b"\1" * 16
    assert raw(got["several"]) == raw(several)


@pytest.mark.parametrize(
    ("shape", "source", "target", "message"),
    [
        ((3,), ark.int8, ark.int32, "does not fill elements of 'i32' (bitcast_c2)"),
        ((4, 3), ark.fp16, ark.int64, "does not fill elements of 'i64' (bitcast_c2)"),
        ((), ark.fp32, ark.int8, "does not fill elements of 'i8' (bitcast_c2)"),
        ((), ark.int8, ark.fp32, "does not fill elements of 'f32' (bitcast_c2)"),
        ((4,), ark.uint8, ark.bool, "may not be values of 'i1' (bitcast_c1)"),
        ((4,), ark.fp32, ark.bool, "may not be values of 'i1' (bitcast_c1)"),
    ],
)
def test_shapes_that_do_not_fit_raise(
    shape: tuple[int, ...], source: DType, target: DType, message: str
) -> None:
    with ark.Program("odd"):
        x = ark.input("x", shape, source)
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.bitcast(x, target)
        ark.output("y", x + x if source.kind != "bool" and source.itemsize > 0 else x)
    assert message in str(caught.value)
    assert "test_bitcast.py" in str(caught.value)
    assert "ark.bitcast" in str(caught.value)
