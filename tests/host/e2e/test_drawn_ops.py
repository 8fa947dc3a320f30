"""Ops on shapes, axes, dtypes and values that hypothesis draws, compiled and compared with the
float64 interpreter within its bound per element.

Ranks go from 0 to 6, extents are zero, one, odd or prime, and operands are views that a consumer
has to read through. test_ops.py tests each op on ordinary shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

EVERY = ark.dtypes.ALL
FLOATS = tuple(dtype for dtype in EVERY if dtype.is_float and dtype.itemsize > 1)
NUMBERS = tuple(dtype for dtype in EVERY if dtype.is_integer) + FLOATS
INDICES = (ark.int8, ark.uint8, ark.int32, ark.uint32, ark.int64)
EXTENTS = st.sampled_from([1, 2, 3, 5, 7, 13, 0])
SHAPES = st.lists(EXTENTS, max_size=6).map(lambda s: tuple(s if np.prod(s) < 3000 else s[:3]))

drawn = settings(max_examples=20, derandomize=True)


class Inputs:
    """The inputs of a program under construction, and their arrays."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.arrays: dict[str, Array] = {}

    def tensor(self, shape: Shape, dtype: DType, array: Array | None = None) -> ark.Tensor:
        """Returns an input with ordinary values, or with special values of the dtype."""
        name = f"x{len(self.arrays)}"
        self.arrays[name] = self._values(shape, dtype) if array is None else array
        return ark.input(name, shape, dtype)

    def view(self, shape: Shape, dtype: DType) -> ark.Tensor:
        """Returns a tensor of a shape: an input, a part of a larger input, or an input with
        permuted dimensions."""
        kind = self.draw(st.sampled_from(["whole", "part", "turned", "broadcast"]))
        if kind == "part" and shape:
            larger = tuple(2 * extent + 1 for extent in shape)
            begins = tuple(1 for _ in shape)
            whole = self.tensor(larger, dtype)
            return ark.slice(whole, begins, larger, tuple(2 for _ in shape))
        if kind == "turned" and len(shape) > 1:
            order = self.draw(st.permutations(range(len(shape))))
            whole = self.tensor(tuple(shape[axis] for axis in order), dtype)
            return ark.transpose(whole, tuple(order.index(axis) for axis in range(len(shape))))
        if kind == "broadcast" and shape and shape[0]:
            return ark.broadcast_to(self.tensor((1, *shape[1:]), dtype), shape)
        return self.tensor(shape, dtype)

    def _values(self, shape: Shape, dtype: DType) -> Array:
        seed = self.draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        if dtype.kind == "bool":
            return np.asarray(rng.integers(0, 2, shape)).astype(bool)
        if dtype.is_integer:
            low, high = dtype.integer_range
            return np.asarray(rng.integers(low, high, shape, dtype.numpy, endpoint=True))
        values = np.asarray(rng.standard_normal(shape), np.float32)
        if self.draw(st.booleans()):
            odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e15, 1e-15], np.float32)
            is_odd = rng.random(shape) < 0.2
            values = np.where(is_odd, rng.choice(odd, shape), values)
        with np.errstate(over="ignore"):
            return values.astype(dtype.numpy)


Check = Callable[[Draw, Callable[[Inputs], list[ark.Tensor]]], None]


@pytest.fixture(scope="session")
def check(pick_target: Pick) -> Check:
    """``check(draw, make)`` compares a program with the interpreter, and compiles it for another
    target."""

    def agree(draw: Draw, make: Callable[[Inputs], list[ark.Tensor]]) -> None:
        inputs = Inputs(draw)
        with ark.Program("drawn") as program:
            for number, tensor in enumerate(make(inputs)):
                ark.output(f"y{number}", tensor)
        expected = ark.reference.evaluate(program, inputs.arrays, bound=True)
        target = pick_target("cpu:2")
        if target.startswith("cpu"):
            with ark.knobs.scope(ARK_ASSEMBLER="driver"):  # the kernel, lowered to PTX
                ark.compile(program, target="cuda:sm_90a")
        with ark.compile(program, target=target) as executable:
            got = executable.run(inputs.arrays)
        for name, value in expected.outputs.items():
            assert_within(got[name], value, expected.bounds[name], name)

    return agree


def broadcastable(draw: Draw, shape: Shape) -> Shape:
    """Returns a shape that broadcasts to this shape."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(extent if draw(st.booleans()) else 1 for extent in kept)


@drawn
@given(data=st.data())
def test_elementwise(check: Check, data: st.DataObject) -> None:
    draw, shape = data.draw, data.draw(SHAPES)
    unary = {
        FLOATS: (
            "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "erf", "sigmoid",
            "silu", "gelu",
        ),
        NUMBERS: ("abs", "neg", "relu"),
        EVERY: ("copy", "logical_not"),
    }  # fmt: skip
    dtypes = draw(st.sampled_from(list(unary)))
    dtype = draw(st.sampled_from(dtypes))

    def make(inputs: Inputs) -> list[ark.Tensor]:
        x = inputs.view(shape, dtype)
        return [getattr(ark, name)(x) for name in unary[dtypes]]

    check(draw, make)


@drawn
@given(data=st.data())
def test_binary(check: Check, data: st.DataObject) -> None:
    draw, shape = data.draw, data.draw(SHAPES)
    dtype = draw(st.sampled_from(EVERY))
    names = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    names += ["logical_and", "logical_or"]
    if dtype in NUMBERS:
        names += ["add", "sub", "mul", "div", "maximum", "minimum"]
    if dtype is ark.bool:
        names += ["add", "mul", "maximum", "minimum"]

    def make(inputs: Inputs) -> list[ark.Tensor]:
        a, b = inputs.view(shape, dtype), inputs.view(broadcastable(draw, shape), dtype)
        c = inputs.view(broadcastable(draw, shape), ark.bool)
        results = [getattr(ark, name)(a, b) for name in names] + [ark.where(c, a, b)]
        return results + [getattr(ark, name)(b, a) for name in names[:2]] + [ark.where(a, b, b)]

    check(draw, make)


@drawn
@given(data=st.data())
def test_reductions(check: Check, data: st.DataObject) -> None:
    draw = data.draw
    dtype = draw(st.sampled_from((*NUMBERS, ark.bool)))
    shape = draw(SHAPES.filter(lambda s: dtype in FLOATS or 0 not in s))
    axes = tuple(draw(st.sets(st.integers(0, max(0, len(shape) - 1))))) if shape else ()
    axis = draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    keepdims = draw(st.booleans())

    def make(inputs: Inputs) -> list[ark.Tensor]:
        x = inputs.view(shape, dtype)
        ops = [ark.reduce_sum, ark.reduce_max, ark.reduce_min, ark.reduce_mean]
        choices = [lambda op=op: op(x, axes, keepdims=keepdims) for op in ops]
        choices += [lambda op=op: op(x, keepdims=keepdims) for op in ops]
        if shape and shape[axis]:
            choices.append(lambda: ark.argmax(x, axis))
        if shape and dtype in FLOATS:
            choices += [lambda: ark.softmax(x, axis), lambda: ark.layernorm(x)]
            choices.append(lambda: ark.rmsnorm(x))
        return [choice() for choice in draw(st.permutations(choices))[:3]]

    check(draw, make)


@drawn
@given(data=st.data())
def test_matmul(check: Check, data: st.DataObject) -> None:
    draw = data.draw
    dtype = draw(st.sampled_from([dtype for dtype in EVERY if dtype is not ark.bool]))
    batch = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=4).map(tuple))
    rows, inner, columns = (draw(st.sampled_from([1, 2, 5, 13, 33, 0])) for _ in range(3))
    turned = {f"transpose_{which}": draw(st.booleans()) for which in ("input", "other")}

    def make(inputs: Inputs) -> list[ark.Tensor]:
        a = (inner, rows) if turned["transpose_input"] else (rows, inner)
        b = (columns, inner) if turned["transpose_other"] else (inner, columns)
        left = inputs.view((*broadcastable(draw, batch), *a), dtype)
        return [ark.matmul(left, inputs.view((*batch, *b), dtype), **turned)]

    check(draw, make)


def can_bitcast(x: ark.Tensor, dtype: DType) -> bool:
    if dtype is ark.bool or x.dtype.itemsize == dtype.itemsize:
        return x.dtype is dtype or dtype is not ark.bool
    return x.ndim > 0 and x.shape[-1] * x.dtype.itemsize % dtype.itemsize == 0


@drawn
@given(data=st.data())
def test_views(check: Check, data: st.DataObject) -> None:
    """Several views of views, each of which an op reads and an output copies."""
    draw, dtype = data.draw, data.draw(st.sampled_from(EVERY))
    shape = draw(SHAPES)

    def next_view(x: ark.Tensor) -> ark.Tensor:
        kind = draw(
            st.sampled_from(["transpose", "slice", "reshape", "unsqueeze", "split", "bitcast"])
        )
        if kind == "bitcast":
            return ark.bitcast(x, draw(st.sampled_from([d for d in EVERY if can_bitcast(x, d)])))
        if kind == "unsqueeze" and x.ndim < 6:
            return ark.unsqueeze(x, draw(st.integers(0, x.ndim)))
        if not x.ndim:
            return ark.identity(x)
        if kind == "transpose":
            return ark.transpose(x, tuple(draw(st.permutations(range(x.ndim)))))
        if kind == "slice":
            steps = tuple(draw(st.sampled_from([1, 2, 3])) for _ in x.shape)
            begins = tuple(draw(st.integers(0, extent)) for extent in x.shape)
            return ark.slice(x, begins, x.shape, steps)
        if kind == "split":
            axis = draw(st.integers(0, x.ndim - 1))
            cut = draw(st.integers(0, x.shape[axis]))
            first, second = ark.split(x, [cut, x.shape[axis] - cut], axis)
            return ark.concat([second, first], axis)
        return ark.reshape(x, (-1,)) if 0 not in x.shape else x

    def make(inputs: Inputs) -> list[ark.Tensor]:
        x = inputs.tensor(shape, dtype)
        results: list[ark.Tensor] = []
        for _ in range(draw(st.integers(1, 4))):
            x = next_view(x)
            results += [x, ark.equal(x, x)]
        return results

    check(draw, make)


@drawn
@given(data=st.data())
def test_indices(check: Check, data: st.DataObject) -> None:
    draw, dtype = data.draw, data.draw(st.sampled_from(EVERY))
    shape = draw(SHAPES.filter(lambda s: 0 < len(s) < 5))
    axis = draw(st.integers(0, len(shape) - 1))
    where = draw(st.lists(st.sampled_from([1, 2, 3, 0]), max_size=2).map(tuple))
    shape = (*shape[:axis], max(1, shape[axis]), *shape[axis + 1 :])
    integer = draw(st.sampled_from(INDICES))

    def indices(inputs: Inputs, extent: int) -> ark.Tensor:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        array = np.asarray(rng.integers(0, extent, where)).astype(integer.numpy)
        return inputs.tensor(where, integer, array)

    def make(inputs: Inputs) -> list[ark.Tensor]:
        x, table = inputs.view(shape, dtype), inputs.view((5, 3), dtype)
        picked = ark.gather(x, indices(inputs, shape[axis]), axis)
        return [picked, ark.embedding(indices(inputs, 5), table)]

    check(draw, make)


@drawn
@given(data=st.data())
def test_integer_powers(pick_target: Pick, data: st.DataObject) -> None:
    """Integer powers equal numpy's; one task covers all bits of the exponent."""
    draw, shape = data.draw, data.draw(SHAPES)
    dtype = draw(st.sampled_from(INDICES))
    known = draw(st.integers(0, 9))
    inputs = Inputs(draw)
    with ark.Program("powers") as program:
        x = inputs.tensor(shape, dtype)
        exponents = inputs.draw(st.integers(0, 2**32 - 1))
        array = np.asarray(np.random.default_rng(exponents).integers(0, 12, shape))
        y = inputs.tensor(shape, dtype, array.astype(dtype.numpy))
        ark.output("y0", ark.pow(x, y))
        ark.output("y1", x**known)
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        got = executable.run(inputs.arrays)
        assert len(executable.bundle.manifest.tasks) <= 2
    base, exponent = inputs.arrays["x0"], inputs.arrays["x1"]
    np.testing.assert_array_equal(got["y0"], np.power(base, exponent))
    np.testing.assert_array_equal(got["y1"], np.power(base, dtype.numpy.type(known)))
