"""The rules of ``ark.gradients`` against finite differences and PyTorch, in float64, and compiled
against the interpreter within its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from drawn_gradients import STEPS, draw_case, graph_case
from gradient_cases import CASES, Case, arrays, as_list, build
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


def check_compiled(case: Case, target: str) -> None:
    """Compares compiled gradients with the interpreter, within its finite bounds."""
    program = build(case)
    inputs: dict[str, Any] = {name: a.astype(np.float32) for name, a in arrays(case).items()}
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target=target) as executable:
        got = executable.run(inputs)
    for name, value in expected.outputs.items():
        bound = expected.bounds[name]
        assert np.isfinite(bound).all(), name  # infinite bounds hold for everything
        assert_within(got[name], value, bound, name)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_compiled(case: Case, pick_target: Pick) -> None:
    """Each case is a program of its own; emulation/test_gradients.py has those of a GPU."""
    check_compiled(case, pick_target("cpu:2"))


@pytest.mark.parametrize("seed", range(24))
def test_compiled_drawn_graphs(seed: int, pick_target: Pick) -> None:
    check_compiled(draw_case(seed), pick_target("cpu:2"))


@settings(max_examples=25, derandomize=True)
@given(data=st.data())
def test_drawn_graphs(data: st.DataObject) -> None:
    """Each op reads a drawn tensor before it, so that tensors have several readers or none."""
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=3)))
    count = data.draw(st.integers(2, 6))
    steps = [data.draw(st.sampled_from(sorted(STEPS))) for _ in range(count)]
    readers = [data.draw(st.integers(0, number)) for number in range(count)]
    test_finite_differences(graph_case(shape, steps, readers))
