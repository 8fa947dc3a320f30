"""Modules: registration, hierarchical names, state dicts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark


class Linear(ark.Module):
    def __init__(self, inputs: int, outputs: int, dtype: Any = ark.fp32) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs), dtype)
        self.bias = ark.parameter("bias", (outputs,), dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True) + self.bias


class Net(ark.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.embed = Linear(4, 8)
        self.layers = [Linear(8, 8) for _ in range(depth)]
        self.scale = ark.parameter("scale", (8,))
        self.depth = depth

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = ark.relu(layer(x))
        return x * self.scale


NAMES = [
    "scale", "embed.weight", "embed.bias", "layers.0.weight", "layers.0.bias", "layers.1.weight",
    "layers.1.bias",
]  # fmt: skip


def build() -> tuple[ark.Program, Net]:
    with ark.Program("net") as program:
        net = Net()
        ark.output("y", net(ark.input("x", (2, 4))))
    return program, net


def test_names_are_paths_and_the_same_everywhere() -> None:
    program, net = build()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert sorted(program.parameters) == sorted(NAMES)
    assert list(net.state_dict()) == NAMES
    assert len(net.parameters()) == len(NAMES)
    assert [p for p, _ in net.named_modules()] == ["", "embed", "layers", "layers.0", "layers.1"]
    for name in NAMES:
        assert f'ark.name = "{name}"' in program.mlir


def test_the_state_dict_holds_the_loaded_arrays() -> None:
    program, net = build()
    rng = np.random.default_rng(0)
    arrays = {n: rng.normal(size=p.shape).astype(np.float32) for n, p in net.named_parameters()}
    net.load_state_dict(arrays)
    state = net.state_dict()
    assert all(state[name] is arrays[name] for name in NAMES)  # nothing is copied
    x = rng.normal(size=(2, 4)).astype(np.float32)
    y = ark.reference.run(program, {"x": x, **state})["y"]
    h = x @ arrays["embed.weight"].T + arrays["embed.bias"]
    for n in range(2):
        h = np.maximum(h @ arrays[f"layers.{n}.weight"].T + arrays[f"layers.{n}.bias"], 0)
    np.testing.assert_allclose(y, h * arrays["scale"], rtol=1e-4, atol=1e-5)


def test_state_dict_before_loading_holds_none() -> None:
    _, net = build()
    assert set(net.state_dict().values()) == {None}


def test_strict_loading_names_missing_and_unexpected_names() -> None:
    _, net = build()
    arrays = {n: np.zeros(p.shape, np.float32) for n, p in net.named_parameters()}
    del arrays["scale"]
    arrays["extra"] = np.zeros(3, np.float32)
    with pytest.raises(ark.InvalidUsageError, match="missing scale; unknown extra"):
        net.load_state_dict(arrays)
    assert set(net.state_dict().values()) == {None}
    net.load_state_dict(arrays, strict=False)
    assert net.state_dict()["scale"] is None
    assert net.state_dict()["embed.bias"] is not None


def test_arrays_of_the_wrong_shape_raise() -> None:
    _, net = build()
    with pytest.raises(
        ark.InvalidUsageError, match=r"'scale' has shape \[8\], but its array has shape \[3\]"
    ):
        net.load_state_dict({"scale": np.zeros(3, np.float32)}, strict=False)
    with pytest.raises(ark.InvalidUsageError, match="'scale' is fp32, but its array is int64"):
        net.load_state_dict({"scale": np.zeros(8, np.int64)}, strict=False)


def test_other_float_types_are_converted() -> None:
    with ark.Program("p"):
        net = Linear(2, 2, ark.bf16)
        ark.output("y", net(ark.input("x", (1, 2), ark.bf16)))
    net.load_state_dict({"weight": np.ones((2, 2)), "bias": np.ones(2, ml_dtypes.bfloat16)})
    assert net.state_dict()["weight"].dtype == ml_dtypes.bfloat16


def test_a_submodule_has_paths_from_the_root() -> None:
    _, net = build()
    layer = net.layers[1]
    assert [name for name, _ in layer.named_parameters()] == ["layers.1.weight", "layers.1.bias"]


def test_a_shared_module_has_the_path_of_its_first_attribute() -> None:
    class Tied(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Linear(4, 4)
            self.second = self.first

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return self.second(self.first(x))

    with ark.Program("p") as program:
        net = Tied()
        ark.output("y", net(ark.input("x", (1, 4))))
    assert list(program.parameters) == ["first.weight", "first.bias"]
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias"]


def test_a_parameter_with_a_dotted_name_keeps_it() -> None:
    class Named(ark.Module):
        def __init__(self, prefix: str) -> None:
            super().__init__()
            self.w = ark.parameter(f"{prefix}.weight", (2,))

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return x * self.w

    class Outer(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = Named("model.a"), Named("model.b")

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return self.b(self.a(x))

    with ark.Program("p") as program:
        ark.output("y", Outer()(ark.input("x", (2,))))
    assert list(program.parameters) == ["model.a.weight", "model.b.weight"]


def test_replaced_and_deleted_attributes_are_forgotten(program: Any) -> None:
    net = Net()
    old = net.layers
    net.layers = [Linear(8, 8)]
    del net.scale
    assert [name for name, _ in net.named_parameters()] == NAMES[1:5]
    assert old.path() == []
    net.layers = "none"
    assert [name for name, _ in net.named_parameters()] == NAMES[1:3]


def test_a_list_that_is_filled_later() -> None:
    class Stack(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = ark.ModuleList()
            self.sizes: list[int] = []
            for n in range(3):
                self.layers.append(Linear(4, 4))
                self.sizes.append(n)

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    with ark.Program("p") as program:
        net = Stack()
        ark.output("y", net(ark.input("x", (1, 4))))
    assert len(net.layers) == 3
    assert "layers.2.bias" in program.parameters


def test_two_modules_without_distinct_paths_raise() -> None:
    def build() -> None:
        with ark.Program("p"):
            first, second = Linear(4, 4), Linear(4, 4)
            ark.output("y", second(first(ark.input("x", (1, 4)))))

    with pytest.raises(ark.InvalidUsageError, match="'weight': the name is taken"):
        build()


def test_states_of_modules_have_paths_too() -> None:
    class Cache(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = ark.state("rows", (4, 2))

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return ark.update(self.rows, x, (0, 0))

    class Outer(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.caches = [Cache(), Cache()]

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return self.caches[0](x) + self.caches[1](x)

    with ark.Program("p") as program:
        net = Outer()
        ark.output("y", net(ark.input("x", (1, 2))))
    assert list(program.states) == ["caches.0.rows", "caches.1.rows"]
    assert net.parameters() == []


def test_forward_must_be_defined_and_a_program_open() -> None:
    with ark.Program("p"):
        x = ark.input("x", (1,))
        with pytest.raises(NotImplementedError, match="Module defines no forward"):
            ark.Module()(x)
        ark.output("y", x)
    with pytest.raises(ark.InvalidUsageError, match="outside of a program"):
        Linear(2, 2)


def test_a_subclass_that_forgets_super_init_works() -> None:
    class Lazy(ark.Module):
        def __init__(self) -> None:
            self.w = ark.parameter("w", (2,))

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return x * self.w

    with ark.Program("p") as program:
        ark.output("y", Lazy()(ark.input("x", (2,))))
    assert list(program.parameters) == ["w"]
