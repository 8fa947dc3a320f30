"""``ark.trainable``: parameters of modules as states, with fp32 masters if asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Pick = Callable[[str], str]


class Layer(ark.Module):
    """One product, of a given dtype."""

    def __init__(self, dtype: Any = ark.fp32) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (3, 3), dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight)


class Twice(ark.Module):
    """A layer of its own, and one that is used twice."""

    def __init__(self, dtype: Any = ark.fp32) -> None:
        super().__init__()
        self.first, self.shared = Layer(dtype), Layer(dtype)
        self.again = self.shared

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return self.again(self.shared(self.first(x)))


def test_names_and_kinds() -> None:
    with ark.Program("net") as program:
        net = Twice()
        states = ark.trainable(net)
        ark.output("y", net(ark.input("x", (2, 3))))
    assert [state.name for state in states] == ["first.weight", "shared.weight"]
    assert list(program.states) == ["first.weight", "shared.weight"]
    assert not program.parameters
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "shared.weight"]
    net.load_state_dict({name: np.eye(3) for name in program.states})
    assert net.state_dict()["first.weight"] is not None


def test_a_module_reads_its_weight_after_an_update() -> None:
    with ark.Program("net") as program:
        layer = Layer()
        (state,) = ark.trainable(layer)
        x = ark.input("x", (2, 3))
        before = layer(x)
        ark.update(state, state * 2.0, (0, 0))
        ark.output("before", before)
        ark.output("after", layer(x))
    given = {"x": np.ones((2, 3))}
    out = ark.reference.run(program, given, {"weight": np.eye(3)})
    np.testing.assert_array_equal(out["after"], 2 * out["before"])


def test_masters_keep_small_updates(pick_target: Pick) -> None:
    """256 steps of 2^-10 add up in fp32; in bf16, adding one step to 1 would round to 1."""

    def build(masters: bool) -> ark.Program:
        with ark.Program("net") as program:
            layer = Layer(ark.bf16)
            states = ark.trainable(layer, masters=masters)
            assert states[0].dtype is (ark.fp32 if masters else ark.bf16)
            y = layer(ark.ones((1, 3), ark.bf16))
            assert y.dtype is ark.bf16
            loss = ark.reduce_sum(ark.cast(y, ark.fp32), keepdims=False)
            ark.optim.SGD(states, lr=2.0**-10).step(ark.gradients(loss, states))
        return program

    for masters, expected in ((True, 0.75), (False, 1.0)):
        program = build(masters)
        dtype = program.states["weight"].dtype.numpy
        with ark.compile(program, target=pick_target("cpu:1")) as exe:
            exe.bind({"weight": np.ones((3, 3), dtype)})
            exe.run(iterations=256)
            got = np.asarray(exe.states["weight"], np.float32)
        np.testing.assert_array_equal(got, np.full((3, 3), expected, np.float32))


def test_wrong_uses() -> None:
    with ark.Program("other"):
        foreign = Layer()
        ark.output("y", foreign(ark.input("x", (2, 3))))
    with ark.Program("net"):
        layer = Layer(ark.bf16)
        ark.output("y", layer(ark.input("x", (2, 3), ark.bf16)))
        for make, reason in (
            (lambda: ark.trainable(layer, masters=True), "has read parameter 'weight' already"),
            (lambda: ark.trainable(foreign), "'weight' belongs to program 'other', not to 'net'"),
            (lambda: ark.trainable(ark.Module()), "the module Module has no parameters"),
            (lambda: ark.trainable(3), "module must be an ark.Module, not 3"),  # type: ignore[arg-type]
            (lambda: ark.optim.SGD([], 0.1), "weights is empty"),
            (lambda: ark.optim.SGD([layer.weight], 0.1), "'weight' is not a state"),
        ):
            with pytest.raises(ark.InvalidUsageError, match=reason):
                make()


def test_optimizers_check_their_arguments() -> None:
    with ark.Program("net"):
        w = ark.state("w", (3,))
        ark.output("y", ark.copy(w))
        optim: Any = ark.optim
        for make, reason in (
            (lambda: optim.SGD([w], -1.0, name="a"), "lr must be at least 0"),
            (
                lambda: optim.SGD([w], 0.1, nesterov=True, name="b"),
                "nesterov=True needs a momentum",
            ),
            (lambda: optim.SGD([w, w], 0.1, name="c"), "among the weights twice"),
            (lambda: optim.AdamW([w], betas=(0.9, 1.0), name="d"), "betas must be below 1"),
            (lambda: optim.AdamW([w], lr=ark.ones((2,)), name="e"), "lr must be a float scalar"),
            (lambda: optim.SGD([w], 0.1, name="f").step([]), "gradients is empty"),
            (lambda: optim.SGD([w], 0.1, name="g").step([ark.ones((2,))]), r"has shape \[2\]"),
            (lambda: optim.SGD([w], 0.1, name="h").step([w], skip=w), "skip must be a bool"),
            (lambda: optim.clip_by_global_norm([w], 0.0), "max_norm must be positive"),
            (
                lambda: optim.clip_by_global_norm([w], 1.0, all_ranks=1),
                "all_ranks must be True or False, not 1",
            ),
            (lambda: optim.clip_by_global_norm([w], 1.0, all_ranks=True), "has no ranks; pass"),
            (lambda: optim.accumulate([w], 0), "steps must be a positive integer"),
            (lambda: optim.LossScaler(growth=0.5), "growth must be at least 1"),
            (lambda: optim.warmup_cosine(w, 0.1, 1, 2), "step must be an integer scalar"),
            (
                lambda: optim.warmup_cosine(ark.zeros((), ark.int32), 0.1, 3, 2),
                "total 2 is not above warmup 3",
            ),
        ):
            with pytest.raises(ark.InvalidUsageError, match=reason):
                make()
