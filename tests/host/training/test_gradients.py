"""The rules of ``ark.gradients`` against finite differences and PyTorch, in float64, and compiled
against the interpreter within its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from gradient_cases import CASES, Case, add_case, arrays, as_list, build
from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

STEP = 1e-5


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_finite_differences(case: Case) -> None:
    """The slope along a direction is the central difference along it."""
    program, inputs = build(case), arrays(case)
    slopes = ark.reference.run(program, inputs)
    rng = np.random.default_rng(5)
    for number in range(len(case.shapes)):
        direction = rng.standard_normal(case.shapes[number])
        losses = [
            float(
                ark.reference.run(
                    program,
                    {**inputs, f"x{number}": inputs[f"x{number}"] + side * STEP * direction},
                )["loss"]
            )
            for side in (1, -1)
        ]
        measured = (losses[0] - losses[1]) / (2 * STEP)
        exact = float((slopes[f"g{number}"] * direction).sum())
        assert abs(measured - exact) <= 1e-6 * max(1.0, abs(exact), np.abs(losses).max()), number


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for name, case in CASES.items() if case.torch is not None],
)
def test_torch(case: Case) -> None:
    """The interpreter's gradients are those of PyTorch in float64."""
    torch = pytest.importorskip("torch")
    inputs = arrays(case)
    got = ark.reference.run(build(case), inputs)
    operands = [torch.tensor(inputs[f"x{i}"], requires_grad=True) for i in range(len(inputs))]
    assert case.torch is not None
    rng = np.random.default_rng(1)
    total = torch.zeros((), dtype=torch.float64)
    for result in as_list(case.torch(torch, *operands)):
        weights = rng.standard_normal(tuple(result.shape)).astype(np.float32)
        total = total + (result * torch.tensor(weights, dtype=torch.float64)).sum()
    total.backward()
    assert abs(float(got["loss"]) - total.item()) <= 1e-6 * max(1.0, abs(total.item()))
    for number, operand in enumerate(operands):
        expected = operand.grad.numpy()
        scale = max(1.0, float(np.abs(expected).max()))
        assert np.abs(got[f"g{number}"] - expected).max() <= 1e-6 * scale, number


Pick = Callable[[str], str]
# Cases that are compiled, those of a line in one program. e2e/test_ops.py compiles ops alone.
COMPILED = (
    (
        "gelu",
        "sigmoid",
        "div",
        "maximum",
        "reduce_max",
        "softmax",
        "layernorm",
        "rope",
        "selections",
    ),
    ("matmul", "attention", "cross_entropy", "dropout", "checkpoint", "views"),
)


@pytest.mark.parametrize("names", COMPILED, ids=lambda names: names[0])
def test_compiled(names: tuple[str, ...], pick_target: Pick) -> None:
    """Compiled gradients are within the bounds of the interpreter."""
    inputs: dict[str, Any] = {}
    with ark.Program("slopes") as program:
        for number, name in enumerate(names):
            add_case(CASES[name], f"c{number}_")
            for key, array in arrays(CASES[name]).items():
                inputs[f"c{number}_{key}"] = array.astype(np.float32)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(inputs)
    finite = 0
    for name, value in expected.outputs.items():
        assert_within(got[name], value, expected.bounds[name], f"{names}: {name}")
        finite += int(np.isfinite(expected.bounds[name]).all())
    assert finite >= len(expected.outputs) // 2  # infinite bounds hold for everything


# Ops of one tensor that keep its shape, for drawn graphs.
STEPS: dict[str, Callable[[ark.Tensor], ark.Tensor]] = {
    "gelu": ark.gelu,
    "norm": lambda x: ark.layernorm(x, eps=0.1),
    "softmax": ark.softmax,
    "turn": lambda x: ark.reshape(ark.transpose(x), x.shape),
    "half": lambda x: ark.concat([x[..., 1:] * 0.5, x[..., :1]], -1),
    "mean": lambda x: x - ark.reduce_mean(x, 0),
    "rows": lambda x: ark.gather(x, ark.constant(np.arange(x.shape[0])[::-1] // 2), 0),
    "again": lambda x: x + _one(ark.checkpoint(lambda h: ark.tanh(h) * h, x)),
    "drop": lambda x: ark.dropout(x, 0.3, seed=x.size),
    "square": lambda x: ark.matmul(ark.matmul(x, x, transpose_other=True), x) * 0.1,
}


def _one(made: ark.Tensor | list[ark.Tensor]) -> ark.Tensor:
    return made if isinstance(made, ark.Tensor) else made[0]


@settings(max_examples=25, derandomize=True)
@given(data=st.data())
def test_drawn_graphs(data: st.DataObject) -> None:
    """Each op reads a drawn tensor before it, so that tensors have several readers or none."""
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=3)))
    count = data.draw(st.integers(2, 6))
    steps = [data.draw(st.sampled_from(sorted(STEPS))) for _ in range(count)]
    readers = [data.draw(st.integers(0, number)) for number in range(count)]

    def make(x: ark.Tensor) -> list[ark.Tensor]:
        values = [x]
        for name, reader in zip(steps, readers, strict=True):
            values.append(STEPS[name](values[reader]) + values[-1])
        return values[-1:]

    test_finite_differences(Case(make, (shape,)))
