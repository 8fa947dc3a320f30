"""Fixtures of the interpreter's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ark_opt import find_ark_opt

import ark_mlir as ark


@pytest.fixture(scope="session")
def ark_opt() -> str:
    found = find_ark_opt()
    if found is None:
        pytest.skip("ark-opt is not installed")
    return found


@pytest.fixture(scope="session")
def evaluation() -> Callable[..., Any]:
    """Builds ``y = function(*tensors)`` and interprets it on arrays; returns the Evaluation."""

    def run(
        function: Callable[..., ark.Tensor], *arrays: Any, dtype: Any = None, **options: Any
    ) -> Any:
        values = [np.asarray(a) for a in arrays]
        with ark.Program("test") as program:
            tensors = [
                ark.input(f"x{i}", a.shape, dtype or ark.dtypes.as_dtype(a.dtype))
                for i, a in enumerate(values)
            ]
            ark.output("y", function(*tensors))
        inputs = {f"x{i}": a for i, a in enumerate(values)}
        return ark.reference.evaluate(program, inputs, **options)

    return run


@pytest.fixture(scope="session")
def interpret(evaluation: Callable[..., Any]) -> Callable[..., Any]:
    """Like `evaluation`, but returns the array of ``y``."""
    return lambda *arguments, **options: evaluation(*arguments, **options).outputs["y"]
