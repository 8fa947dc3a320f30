"""Optimizers over 20 steps, compiled, against PyTorch and against their definition in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
STEPS = 20
SHAPES = ((5, 7), (7,), ())

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd with decay": ("SGD", {"lr": 0.1, "weight_decay": 0.2}),
    "sgd with momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "sgd of nesterov": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    "adamw": ("AdamW", {"lr": 0.01}),
    "adamw without decay": ("AdamW", {"lr": 0.01, "weight_decay": 0.0, "betas": (0.8, 0.95)}),
    "adamw with large eps": ("AdamW", {"lr": 0.01, "weight_decay": 0.5, "eps": 1e-2}),
}


def start() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]


def slopes(step: int) -> list[Array]:
    rng = np.random.default_rng(100 + step)
    return [np.asarray(rng.standard_normal(shape), np.float32) for shape in SHAPES]


def build(kind: str, settings: dict[str, Any], **step: Any) -> ark.Program:
    with ark.Program("steps") as program:
        weights = [ark.state(f"w{i}", shape) for i, shape in enumerate(SHAPES)]
        given = [ark.input(f"g{i}", shape) for i, shape in enumerate(SHAPES)]
        getattr(ark.optim, kind)(weights, **settings).step(given, **step)
    return program


def train(program: ark.Program, target: str, steps: int = STEPS) -> list[Array]:
    with ark.compile(program, target=target) as exe:
        exe.bind({f"w{i}": array for i, array in enumerate(start())})
        for step in range(steps):
            exe.run({f"g{i}": array for i, array in enumerate(slopes(step))})
        return [np.array(exe.states[f"w{i}"]) for i in range(len(SHAPES))]


def by_definition(kind: str, settings: dict[str, Any]) -> list[Array]:
    """Follows the papers in float64."""
    weights = [array.astype(np.float64) for array in start()]
    first = [np.zeros(shape) for shape in SHAPES]
    second = [np.zeros(shape) for shape in SHAPES]
    rate = settings["lr"]
    for step in range(1, STEPS + 1):
        for i, g in enumerate(slopes(step - 1)):
            w = weights[i]
            if kind == "SGD":
                g = g + settings.get("weight_decay", 0.0) * w
                momentum = settings.get("momentum", 0.0)
                first[i] = momentum * first[i] + g
                g = g + momentum * first[i] if settings.get("nesterov") else first[i]
                weights[i] = w - rate * g
                continue
            a, b = settings.get("betas", (0.9, 0.999))
            w = w - rate * settings.get("weight_decay", 0.01) * w
            first[i] = a * first[i] + (1 - a) * g
            second[i] = b * second[i] + (1 - b) * np.square(g.astype(np.float64))
            mean, square = first[i] / (1 - a**step), second[i] / (1 - b**step)
            weights[i] = w - rate * mean / (np.sqrt(square) + settings.get("eps", 1e-8))
    return weights


@pytest.mark.parametrize(("kind", "settings"), SETTINGS.values(), ids=SETTINGS)
def test_optimizer(kind: str, settings: dict[str, Any], pick_target: Pick) -> None:
    got = train(build(kind, settings), pick_target("cpu:2"))
    for value, expected in zip(got, by_definition(kind, settings), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS.values(), ids=SETTINGS)
def test_torch(kind: str, settings: dict[str, Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    weights = [torch.nn.Parameter(torch.tensor(array)) for array in start()]
    optimizer = getattr(torch.optim, kind)(weights, **settings)
    for step in range(STEPS):
        for weight, slope in zip(weights, slopes(step), strict=True):
            weight.grad = torch.tensor(slope)
        optimizer.step()
    program = build(kind, settings)
    states: dict[str, Any] = {f"w{i}": array for i, array in enumerate(start())}
    for step in range(STEPS):
        given = {f"g{i}": array for i, array in enumerate(slopes(step))}
        _, states = ark.reference.run(program, given, states, return_states=True)
    for i, weight in enumerate(weights):
        np.testing.assert_allclose(states[f"w{i}"], weight.detach().numpy(), rtol=0, atol=1e-6)


def test_skipped_steps_change_nothing(pick_target: Pick) -> None:
    with ark.Program("skip") as program:
        w = ark.state("w", (3,), init=1.0)
        skip = ark.input("skip", (), ark.bool)
        ark.optim.AdamW([w], lr=0.1).step([ark.input("g", (3,))], skip=skip)
    given = {"g": np.ones(3, np.float32)}
    with ark.compile(program, target=pick_target("cpu:2")) as exe:
        exe.run(**given, skip=np.array(False))
        before = {name: np.array(exe.states[name]) for name in exe.states}
        exe.run(g=np.full(3, np.nan, np.float32), skip=np.array(True))
        for name, value in before.items():
            np.testing.assert_array_equal(exe.states[name], value, name)
        exe.run(**given, skip=np.array(False))
        assert int(exe.states["adamw.step"]) == 2
        assert (exe.states["w"] < before["w"]).all()


def test_accumulation_is_the_step_of_the_mean(pick_target: Pick) -> None:
    with ark.Program("accumulate") as program:
        w = ark.state("w", SHAPES[0])
        means, incomplete = ark.optim.accumulate([ark.input("g", SHAPES[0])], steps=3)
        ark.optim.SGD([w], lr=0.5).step(means, skip=incomplete)
        ark.output("incomplete", incomplete)
    with ark.compile(program, target=pick_target("cpu:2")) as exe:
        exe.bind({"w": start()[0]})
        expected = start()[0].astype(np.float64)
        for step in range(7):
            out = exe.run(g=slopes(step)[0])
            assert bool(out["incomplete"]) == (step % 3 != 2)
            if step % 3 == 2:
                expected -= 0.5 * sum(slopes(step - back)[0] for back in range(3)) / 3
            np.testing.assert_allclose(exe.states["w"], expected, rtol=1e-6, atol=1e-6)
        assert int(exe.states["sgd.step"]) == 2


def test_clipping() -> None:
    with ark.Program("clip") as program:
        given = [ark.input(f"g{i}", shape) for i, shape in enumerate(SHAPES)]
        clipped, norm = ark.optim.clip_by_global_norm(given, 2.0)
        for number, slope in enumerate(clipped):
            ark.output(f"c{number}", slope)
        ark.output("norm", norm)
    for factor in (1.0, 0.01):
        arrays = [array.astype(np.float64) * factor for array in slopes(0)]
        out = ark.reference.run(program, {f"g{i}": a for i, a in enumerate(arrays)})
        length = math.sqrt(sum(float(np.square(a).sum()) for a in arrays))
        np.testing.assert_allclose(out["norm"], length, rtol=1e-6)
        scale = min(1.0, 2.0 / (length + 1e-6))
        for number, array in enumerate(arrays):
            np.testing.assert_allclose(out[f"c{number}"], array * scale, rtol=1e-6)


def test_loss_scaler_follows_its_rule(pick_target: Pick) -> None:
    with ark.Program("scale") as program:
        w = ark.state("w", (4,), init=1.0)
        factor = ark.input("x", (4,), ark.fp16)
        scaler = ark.optim.LossScaler(initial=2.0**12, interval=2)
        loss = ark.reduce_sum(ark.cast(w, ark.fp16) * factor, keepdims=False)
        grads, overflow = scaler.unscale(ark.gradients(scaler.scale(loss), [w]))
        ark.optim.SGD([w], lr=1.0).step(grads, skip=overflow)
        ark.output("overflow", overflow)
    # An intermediate that the compiler fuses away does not overflow, so the input is what does.
    fine = np.full(4, 0.25, np.float16)
    huge, odd = (np.array([0.25, value, 0, 0], np.float16) for value in (np.inf, np.nan))
    expected = [(fine, 2.0**12), (fine, 2.0**13), (huge, 2.0**12), (fine, 2.0**12), (odd, 2.0**11)]
    weight = 1.0
    with ark.compile(program, target=pick_target("cpu:2")) as exe:
        for x, scale in expected:
            overflows = not np.isfinite(x).all()
            out = exe.run(x=x)
            assert bool(out["overflow"]) == overflows
            weight -= 0.0 if overflows else float(x[0])
            assert float(exe.states["scaler.scale"]) == scale
            np.testing.assert_array_equal(exe.states["w"], np.full(4, weight, np.float32))


@pytest.mark.parametrize("warmup", [0, 4])
@pytest.mark.parametrize("name", ["warmup_cosine", "warmup_linear"])
def test_schedules(name: str, warmup: int) -> None:
    with ark.Program("rate") as program:
        step = ark.state("step", (), ark.int32)
        rate = getattr(ark.optim, name)(step, 0.3, warmup, 12, final=0.1)
        ark.output("rate", rate)
        ark.update(step, step + 1, ())
    states: dict[str, Any] = {}
    for number in range(15):
        out, states = ark.reference.run(program, {}, states, return_states=True)
        part = min(max(number - warmup, 0) / (12 - warmup), 1.0)
        shape = (1 + math.cos(math.pi * part)) / 2 if "cosine" in name else 1 - part
        expected = 0.1 + 0.2 * shape if number >= warmup else 0.3 * (number + 1) / warmup
        assert abs(float(out["rate"]) - expected) <= 1e-6
