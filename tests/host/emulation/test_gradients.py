"""Gradients of single ops and of drawn graphs, on the emulated GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attention_cases import both_gradients, draw_gradients
from drawn_gradients import draw_case
from gradient_cases import CASES, Case, arrays, build

import ark_mlir as ark


def inputs_of(case: Case) -> dict[str, Any]:
    return {name: array.astype(np.float32) for name, array in arrays(case).items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cases(case: Case, check: Callable[..., Any]) -> None:
    check(build(case), inputs_of(case), arch="sm_90a")


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for name, case in CASES.items() if case.in_blocks],
)
def test_gradients_in_blocks(case: Case, check: Callable[..., Any]) -> None:
    """The matrix units of this GPU do not multiply fp32, so that gradients stay in blocks."""
    emulation = check(build(case), inputs_of(case), arch="sm_80")
    ops = [op for task in emulation.bundle.manifest.tasks for op in task.ops]
    assert "attention_query_gradient" in ops
    assert "attention_key_value_gradient" in ops


@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
def test_gradients_of_attention(dtype: ark.DType, check: Callable[..., Any]) -> None:
    """The matrix units of this GPU multiply 16-bit types, whose gradients become products."""
    emulation = check(both_gradients(dtype), draw_gradients(dtype), arch="sm_80")
    ops = {op for task in emulation.bundle.manifest.tasks for op in task.ops}
    assert ("matmul" in ops) == (dtype is not ark.fp32)
    assert ("attention_query_gradient" in ops) == (dtype is ark.fp32)


@pytest.mark.parametrize("seed", range(24))
def test_drawn_graphs(seed: int, check: Callable[..., Any]) -> None:
    case = draw_case(seed)
    check(build(case), inputs_of(case), arch="sm_90a")
