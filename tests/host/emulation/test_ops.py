"""The ops of tests/support/op_cases.py, each of one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_cases import CASES as ALL
from op_cases import build, make_inputs

# The emulator runs one thread after the other, so these cases take minutes.
SLOW = {"split argmax", "split argmax of extremes"}
CASES = {name: case for name, case in ALL.items() if name not in SLOW}
ARCHITECTURES = ("sm_90a", "sm_80")


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_op(number: int, check: Callable[..., Any]) -> None:
    """Dtypes and architectures alternate."""
    case = list(CASES.values())[number]
    dtype = case.dtypes[number % len(case.dtypes)]
    program, arrays = build(case, dtype), make_inputs(case, dtype)
    check(program, arrays, arch=ARCHITECTURES[number % 2])
