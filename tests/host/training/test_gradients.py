"""The rules of ``ark.gradients`` against finite differences and PyTorch, in float64, and compiled
against the interpreter within its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from gradient_cases import CASES, Case, add_case, arrays, as_list, build

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

STEP = 1e-5


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_finite_differences(case: Case) -> None:
    """The slope along a direction is the central difference along it."""
    program, given = build(case), arrays(case)
    slopes = ark.reference.run(program, given)
    rng = np.random.default_rng(5)
    for number in range(len(case.shapes)):
        direction = rng.standard_normal(case.shapes[number])
        losses = [
            float(
                ark.reference.run(
                    program, {**given, f"x{number}": given[f"x{number}"] + side * STEP * direction}
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
    given = arrays(case)
    got = ark.reference.run(build(case), given)
    operands = [torch.tensor(given[f"x{i}"], requires_grad=True) for i in range(len(given))]
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
NAMES = list(CASES)
# Cases that are compiled together, in one program.
GROUPS = [NAMES[:17], NAMES[17:24], NAMES[24:32], NAMES[32:36], NAMES[36:]]


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_compiled(names: list[str], pick_target: Pick) -> None:
    """Compiled gradients are within the bounds of the interpreter."""
    given: dict[str, Any] = {}
    with ark.Program("slopes") as program:
        for number, name in enumerate(names):
            add_case(CASES[name], f"c{number}_")
            for key, array in arrays(CASES[name]).items():
                given[f"c{number}_{key}"] = array.astype(np.float32)
    expected = ark.reference.evaluate(program, given, bound=True)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(given)
    finite = 0
    for name, value in expected.outputs.items():
        assert_within(got[name], value, expected.bounds[name], f"{names}: {name}")
        finite += int(np.isfinite(expected.bounds[name]).all())
    assert finite >= len(expected.outputs) // 2  # infinite bounds hold for everything
