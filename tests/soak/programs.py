"""Random programs of several ops, with inputs for which they stay finite.

A program is a function of its seed alone. Values stay within a few units of zero, so that the
interpreter's error bounds stay small through a chain of ops, and detect a wrong element.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ark_mlir as ark

Array = np.ndarray[Any, Any]

FLOATS = (ark.fp32, ark.fp32, ark.bf16, ark.fp16)
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 32, 33)
MOST_ELEMENTS = 4096


@dataclass
class Drawn:
    """A program and its arrays.

    Attributes:
        program: the program.
        arrays: an array for every input, parameter and scalar, by name.
        states: the initial value of every state, by name.
        ops: the names of the ops that were drawn, in order.
        positions: the arrays whose values are positions in another tensor, such as the indices of
            a gather, each with the greatest value that is valid.
    """

    program: ark.Program
    arrays: dict[str, Any]
    states: dict[str, Array]
    ops: list[str]
    positions: dict[str, int]


@dataclass
class _Builder:
    rng: random.Random
    planner: Callable[[], Any]
    parameters: bool = True
    values: list[ark.Tensor] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    ops: list[str] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)

    # -- leaves ---------------------------------------------------------------------------------

    def array(self, shape: tuple[int, ...], dtype: Any, low: float = -1, high: float = 1) -> Array:
        random_state = np.random.default_rng(self.rng.getrandbits(32))
        if dtype.kind == "bool":
            return random_state.integers(0, 2, shape).astype(bool)
        if dtype.is_integer:
            return random_state.integers(0 if dtype is ark.uint8 else -9, 10, shape).astype(
                dtype.numpy
            )
        return random_state.uniform(low, high, shape).astype(np.float32).astype(dtype.numpy)

    def leaf(self, shape: tuple[int, ...], dtype: Any, scale: float = 1) -> ark.Tensor:
        name = f"x{len(self.arrays)}"
        self.arrays[name] = self.array(shape, dtype, -scale, scale)
        make = self.rng.choice([ark.input, ark.parameter])
        return (make if self.parameters else ark.input)(name, shape, dtype)

    def shape(self, least_rank: int = 1) -> tuple[int, ...]:
        while True:
            rank = self.rng.choice([1, 2, 2, 2, 3, 3, 4])
            shape = tuple(self.rng.choice(EXTENTS) for _ in range(rank))
            if rank >= least_rank and np.prod(shape) <= MOST_ELEMENTS:
                return shape

    def pick(self, *, floats: bool = False, least_rank: int = 0) -> ark.Tensor:
        """Returns an existing value or a new leaf."""
        fitting = [
            value
            for value in self.values[-6:]
            if value.ndim >= least_rank and (value.dtype.is_float or not floats)
        ]
        if fitting and self.rng.random() < 0.85:
            return self.rng.choice(fitting)
        dtypes = FLOATS if floats else (*FLOATS, ark.int32, ark.int8)
        return self.leaf(self.shape(least_rank), self.rng.choice(dtypes))

    def like(self, x: ark.Tensor) -> ark.Tensor:
        """Returns a value that broadcasts to the shape of another one, with its dtype."""
        same = [v for v in self.values if v.shape == x.shape and v.dtype is x.dtype]
        if same and self.rng.random() < 0.5:
            return self.rng.choice(same)
        shape = x.shape[self.rng.randint(0, x.ndim) :]
        shape = tuple(extent if self.rng.random() < 0.7 else 1 for extent in shape)
        return self.leaf(shape, x.dtype)

    def add(self, name: str, value: ark.Tensor) -> None:
        self.ops.append(name)
        self.values.append(value)

    # -- ops ------------------------------------------------------------------------------------

    def unary(self) -> None:
        x = self.pick(floats=True)
        name = self.rng.choice(
            ["abs", "neg", "tanh", "sin", "cos", "erf", "relu", "sigmoid", "silu", "gelu", "copy"]
        )
        self.add(name, getattr(ark, name)(x))

    def tame(self) -> None:
        """Applies functions whose argument must be positive or small."""
        x = ark.sigmoid(self.pick(floats=True)) + 0.25
        name = self.rng.choice(["exp", "log", "sqrt", "rsqrt", "reciprocal"])
        self.add(name, getattr(ark, name)(x))

    def binary(self) -> None:
        x = self.pick()
        name = self.rng.choice(["add", "sub", "mul", "maximum", "minimum"])
        a, b = x, self.like(x)
        if self.rng.random() < 0.3:
            a, b = b, a
        self.add(name, getattr(ark, name)(a, b))

    def choice(self) -> None:
        """Compares leaves only, since rounding must not decide a comparison."""
        x = self.pick()
        shape = tuple(extent if self.rng.random() < 0.7 else 1 for extent in x.shape)
        self.add("where", ark.where(self.leaf(shape, ark.bool), x, self.like(x)))

    def cast(self) -> None:
        x = self.pick()
        self.add("cast", ark.cast(x, self.rng.choice([f for f in FLOATS if f is not x.dtype])))

    def reduction(self) -> None:
        x = self.pick(floats=True, least_rank=1)
        axes = tuple(sorted(self.rng.sample(range(x.ndim), self.rng.randint(1, min(2, x.ndim)))))
        name = self.rng.choice(["reduce_mean", "reduce_max", "reduce_min", "reduce_sum"])
        if name == "reduce_sum":  # values would grow otherwise
            x = x * (1.0 / np.prod([x.shape[axis] for axis in axes]))
        # A result of rank 0 cannot have the tile that a planner may request.
        keepdims = len(axes) == x.ndim or self.rng.random() < 0.5
        self.add(name, getattr(ark, name)(x, axes, keepdims=keepdims))

    def norm(self) -> None:
        x = self.pick(floats=True, least_rank=1)
        name = self.rng.choice(["softmax", "layernorm", "rmsnorm"])
        if name == "softmax":
            value = ark.softmax(x, self.rng.randrange(x.ndim))
        else:
            weight = self.leaf(x.shape[-1:], x.dtype) if self.rng.random() < 0.6 else None
            value = getattr(ark, name)(x, weight, eps=1e-2)
        self.add(name, value)

    def matmul(self) -> None:
        x = self.pick(floats=True, least_rank=2)
        rows, inner = x.shape[-2:]
        columns = self.rng.choice([1, 3, 8, 16, 32, 48, 65])
        turned = {f"transpose_{side}": self.rng.random() < 0.4 for side in ("input", "other")}
        inner = rows if turned["transpose_input"] else inner
        batch = x.shape[:-2] if self.rng.random() < 0.5 else ()
        other = (columns, inner) if turned["transpose_other"] else (inner, columns)
        weight = self.leaf((*batch, *other), x.dtype, 1 / np.sqrt(inner))
        tile = self.rng.choice([None, None, (16, 16), (2, 8), (1, 64), (32, 5)])
        with ark.planner(tile=tile) if tile else contextlib.nullcontext():
            self.add("matmul", ark.matmul(x, weight, **turned))

    def attention(self) -> None:
        dtype = self.rng.choice(FLOATS)
        kv_heads, share = self.rng.choice([1, 2]), self.rng.choice([1, 2, 4])
        queries, keys = self.rng.choice([1, 1, 3, 8]), self.rng.choice([8, 17, 32])
        size = self.rng.choice([4, 8, 16])
        q = self.leaf((kv_heads * share, queries, size), dtype)
        k, v = (self.leaf((kv_heads, keys, size), dtype) for _ in range(2))
        options: dict[str, Any] = {"causal": self.rng.random() < 0.5}
        if self.rng.random() < 0.5:
            options["kv_length"] = self.rng.randint(queries, keys)
        self.add("attention", ark.attention(q, k, v, **options))

    def view(self) -> None:
        x = self.pick(least_rank=1)
        name = self.rng.choice(["transpose", "slice", "reshape", "concat", "split", "broadcast_to"])
        if name == "transpose":
            value = ark.transpose(x, tuple(self.rng.sample(range(x.ndim), x.ndim)))
        elif name == "slice":
            steps = tuple(self.rng.choice([1, 1, 2]) for _ in x.shape)
            starts = tuple(self.rng.randrange(extent) for extent in x.shape)
            value = ark.slice(x, starts, x.shape, steps)
        elif name == "reshape":
            value = ark.reshape(x, self.rng.choice([(-1,), (x.shape[0], -1), (1, *x.shape)]))
        elif name == "broadcast_to":
            value = ark.broadcast_to(x, (self.rng.choice([2, 3]), *x.shape))
        else:
            axis = self.rng.randrange(x.ndim)
            cut = self.rng.randint(0, x.shape[axis])
            first, second = ark.split(x, [cut, x.shape[axis] - cut], axis)
            value = ark.concat([second, first], axis)
        if np.prod(value.shape) <= MOST_ELEMENTS:
            self.add(name, value)

    def index(self) -> None:
        x = self.pick(least_rank=1)
        axis = self.rng.randrange(x.ndim)
        count = self.rng.choice([1, 2, 5])
        name = f"x{len(self.arrays)}"
        picks = np.random.default_rng(self.rng.getrandbits(32))
        self.arrays[name] = picks.integers(0, x.shape[axis], (count,)).astype(np.int32)
        self.positions[name] = x.shape[axis] - 1
        indices = ark.input(name, (count,), ark.int32)
        self.add("gather", ark.gather(x, indices, axis))

    def argmax(self) -> None:
        """Takes the argmax of a leaf, where elements are not equal up to rounding."""
        x = self.leaf(self.shape(), self.rng.choice(FLOATS))
        self.add("argmax", ark.argmax(x, self.rng.randrange(x.ndim)))

    def state(self) -> None:
        rows, columns = self.rng.choice([4, 7, 16]), self.rng.choice([3, 8, 32])
        dtype = self.rng.choice(FLOATS)
        name = f"s{len(self.states)}"
        self.states[name] = np.zeros((rows, columns), dtype.numpy)
        state = ark.state(name, (rows, columns), dtype)
        old = ark.reduce_mean(state, 0) if self.rng.random() < 0.5 else None
        count = self.rng.randint(1, rows)
        if self.rng.random() < 0.5:
            where = f"x{len(self.arrays)}"
            self.arrays[where] = self.rng.randint(0, rows - count)
            self.positions[where] = rows - count
            at: Any = ark.scalar(where, max=rows - count)
        else:
            at = self.rng.randint(0, rows - count)
        row = self.leaf((count, columns), dtype)
        if self.rng.random() < 0.5:
            row = ark.tanh(row + ark.slice(state, (0, 0), (count, columns)))
        updated = ark.update(state, row, (at, 0))
        self.add("update", updated * 0.5)
        if old is not None:
            self.add("reduce_mean", old)

    def rope(self) -> None:
        heads, tokens, size = self.rng.choice([1, 3]), self.rng.choice([1, 5]), 8
        dtype = self.rng.choice(FLOATS)
        x = self.leaf((heads, tokens, size), dtype)
        cos, sin = (self.leaf((tokens, size // 2), dtype) for _ in range(2))
        self.add("rope", ark.rope(x, cos, sin, interleaved=self.rng.random() < 0.5))

    FAMILIES = (
        *[unary] * 4, tame, *[binary] * 5, choice, cast, *[reduction] * 2, *[norm] * 3,
        *[matmul] * 4, attention, *[view] * 3, index, argmax, *[state] * 2, rope,
    )  # fmt: skip

    def draw(self) -> None:
        left = self.rng.randint(2, 9)
        while left > 0 or not self.values:
            with self.planner():
                self.rng.choice(self.FAMILIES)(self)
            left -= 1
        used = self.rng.sample(self.values, min(len(self.values), self.rng.randint(1, 3)))
        # The last value is always an output, so that the ops that lead to it are tested.
        for number, value in enumerate({id(v): v for v in (*used, self.values[-1])}.values()):
            ark.output(f"y{number}", value)


def draw(
    seed: int, planner: Callable[[random.Random], Any] | None = None, *, parameters: bool = True
) -> Drawn:
    """Returns the program of a seed.

    Args:
        seed: determines the program and its arrays.
        planner: returns the context in which an op is built, such as a random ``ark.planner``.
        parameters: True if some tensors are parameters; if not, all of them are inputs.
    """
    rng = random.Random(seed)
    pin = planner or (lambda _: contextlib.nullcontext())
    builder = _Builder(rng, lambda: pin(rng), parameters)
    with ark.Program(f"drawn{seed}") as program:
        builder.draw()
    return Drawn(program, builder.arrays, builder.states, builder.ops, builder.positions)
