"""The graph stage changes the form of a program, and not its results.

Random programs are interpreted before and after ``ark-opt --ark-compile-to=graph``.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

UNARY = ("exp", "neg", "abs", "tanh", "sigmoid", "silu", "relu", "gelu", "copy", "erf", "sin")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
REDUCTIONS = ("reduce_sum", "reduce_max", "reduce_mean", "reduce_min")
SHAPES = ((4, 8), (8,), (2, 4, 8), (1, 8), (4, 1), (3, 5), (8, 8))
NARROW = (ark.bf16, ark.int8, ark.int32, ark.int64, ark.bool, ark.fp32)
LARGEST = 4000  # elements of one tensor


class Network:
    """A random program and inputs for it."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.inputs: dict[str, Any] = {}
        self.tensors: list[ark.Tensor] = []
        with ark.Program("random") as self.program:
            self._build()

    def _build(self) -> None:
        for _ in range(4):
            shape = self.pick.choice(SHAPES)
            self._input(self.rng.normal(size=shape).astype(np.float32))
        self._input(self.rng.integers(-50, 50, (4, 8)).astype(np.int32))
        self._input(self.rng.integers(-120, 120, (8,)).astype(np.int8))
        self._input(self.rng.random((4, 8)) > 0.5)
        self.state = ark.state("state", (4, 8))
        self.position = ark.scalar("position", max=3)
        self.inputs["position"] = self.pick.randint(0, 3)
        for _ in range(self.pick.randint(5, 40)):
            self._op()
        # An output that another op reads is scaled, since forming groups does not support it yet.
        for number in range(self.pick.randint(1, 4)):
            ark.output(f"y{number}", self._fresh(self.pick.choice(self.tensors[-6:]), number))
        if self.pick.random() < 0.3:
            ark.output("z", self.state * 1.25)

    def _fresh(self, tensor: ark.Tensor, number: int) -> ark.Tensor:
        if tensor.dtype is ark.bool:
            return tensor & (self.state[0, 0] < number)
        return tensor * (1.25 + number) if tensor.dtype is ark.fp32 else tensor

    def _input(self, array: Any) -> None:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        self.tensors.append(ark.input(name, array.shape, ark.dtypes.as_dtype(array.dtype)))

    def _one(self, *dtypes: Any) -> ark.Tensor:
        return self.pick.choice([t for t in self.tensors if t.dtype in dtypes])

    def _op(self) -> None:
        f, g, pick = self._one(ark.fp32), self._one(ark.fp32), self.pick
        axis = pick.randrange(max(1, f.ndim))
        slices = [slice(None), slice(1, None), slice(None, None, 2), 0, None]
        kinds: list[tuple[int, Callable[[], ark.Tensor]]] = [
            (25, lambda: getattr(ark, pick.choice(UNARY))(f)),
            (20, lambda: getattr(ark, pick.choice(BINARY))(f, pick.choice([g, 0, 1, 2.5, -1]))),
            (10, lambda: getattr(ark, pick.choice(REDUCTIONS))(f, axis, pick.random() < 0.5)),
            (5, lambda: ark.softmax(f, axis)),
            (4, lambda: ark.layernorm(f)),
            (6, lambda: ark.matmul(f, g, pick.random() < 0.5, pick.random() < 0.5)),
            (5, lambda: ark.transpose(f, pick.sample(range(f.ndim), f.ndim))),
            (5, lambda: ark.reshape(f, pick.choice([(-1,), (4, -1), (2, -1, 2), (1, -1, 1)]))),
            (6, lambda: f[tuple(pick.choices(slices, k=pick.randint(1, 3)))]),
            (3, lambda: ark.concat([f, g], axis)),
            (3, lambda: ark.where(self._one(ark.bool), f, g)),
            (2, lambda: f > g),
            (3, lambda: ark.cast(pick.choice(self.tensors), pick.choice(NARROW))),
            (2, lambda: ark.update(self.state, ark.reshape(f, (1, 8)), (self.position, 0))),
            (1, lambda: ~self._one(ark.bool)),
            (1, lambda: self._one(ark.int32, ark.int8) * 3),
        ]
        make = pick.choices([k[1] for k in kinds], [k[0] for k in kinds])[0]
        try:
            result = make()
        except ark.InvalidUsageError:
            return  # the drawn shapes do not fit together
        if result.size <= LARGEST:
            self.tensors.append(result)


@pytest.mark.parametrize("seed", range(60))
def test_the_graph_stage_keeps_the_results(ark_opt: str, seed: int) -> None:
    network = Network(seed)
    done = subprocess.run(
        [ark_opt, "--ark-compile-to=graph"],
        input=network.program.mlir, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
    assert "ark.group" in done.stdout
    before = ark.reference.evaluate(network.program, network.inputs)
    after = ark.reference.evaluate(done.stdout, network.inputs)
    for name, expected in {**before.outputs, **before.states}.items():
        got = {**after.outputs, **after.states}[name]
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("out_dtype", [None, ark.int32], ids=str)
def test_products_of_int8_for_matrix_units(ark_opt: str, out_dtype: ark.DType | None) -> None:
    """The products are added in int32 instead of int8, or instead of casts of the operands."""
    random = np.random.default_rng(0)
    with ark.Program("product") as program:
        x, w = ark.input("x", (4, 64), ark.int8), ark.input("w", (64, 6), ark.int8)
        ark.output("y", ark.matmul(x, w, out_dtype=out_dtype))
    arrays = {
        name: random.integers(-128, 128, shape).astype(np.int8)
        for name, shape in (("x", (4, 64)), ("w", (64, 6)))
    }
    done = subprocess.run(
        [ark_opt, "--ark-assign-target=target=hip:gfx942", "--ark-compile-to=graph"],
        input=program.mlir, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "(tensor<4x64xi8>, tensor<64x6xi8>) -> tensor<4x6xi32>" in done.stdout
    expected = ark.reference.evaluate(program, arrays).outputs["y"]
    got = ark.reference.evaluate(done.stdout, arrays).outputs["y"]
    assert got.dtype == expected.dtype
    assert np.array_equal(got, expected)


@pytest.mark.parametrize(
    ("shape", "filters", "settings"),
    [
        ((2, 64, 16, 16), (64, 64, 3, 3), (1, 1, 1, 1)),
        ((3, 64, 14, 14), (96, 64, 3, 3), (1, 1, 1, 1)),
        ((2, 64, 13, 14), (64, 64, 3, 3), ((1, 2), 1, 1, 1)),
        ((1, 128, 8, 18), (128, 64, 3, 3), (1, 2, 2, 2)),
        ((8, 16, 12, 14), (64, 16, 2, 2), (1, 0, 2, 1)),
    ],
    ids=["whole rows", "padded rows", "strides", "groups", "dilations"],
)
def test_windows_stay_in_images(
    ark_opt: str, shape: tuple[int, ...], filters: tuple[int, ...], settings: tuple[Any, ...]
) -> None:
    random = np.random.default_rng(0)
    with ark.Program("convolution") as program:
        x, f = ark.input("x", shape, ark.fp16), ark.parameter("f", filters, ark.fp16)
        ark.output("y", ark.conv2d(x, f, None, *settings))
    arrays = {
        name: random.standard_normal(extents).astype(np.float16)
        for name, extents in (("x", shape), ("f", filters))
    }
    done = subprocess.run(
        [ark_opt, "--ark-assign-target=target=cuda:sm_90a", "--ark-compile-to=graph"],
        input=program.mlir, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ark.convolution" in done.stdout
    assert "ark.matmul" not in done.stdout
    expected = ark.reference.evaluate(program, arrays, bound=True)
    got = ark.reference.evaluate(done.stdout, arrays, bound=True)
    np.testing.assert_allclose(got.outputs["y"], expected.outputs["y"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got.bounds["y"], expected.bounds["y"], rtol=1e-9)
