"""The ops of tests/host/e2e, each of one dtype."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = runpy.run_path(str(Path(__file__).parents[1] / "e2e" / "test_ops.py"))
# A thread after the other, they take minutes.
SLOW = {"argmax in pieces", "argmax in pieces of extremes"}
CASES = {name: case for name, case in TESTS["CASES"].items() if name not in SLOW}
ARCHITECTURES = ("sm_90a", "sm_80")


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_op(number: int, check: Callable[..., Any]) -> None:
    """Dtypes and architectures take turns."""
    case = list(CASES.values())[number]
    dtype = case.dtypes[number % len(case.dtypes)]
    program, arrays = TESTS["build"](case, dtype), TESTS["make_inputs"](case, dtype)
    check(program, arrays, arch=ARCHITECTURES[number % 2])
