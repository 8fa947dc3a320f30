"""The ops of tests/support/op_cases.py, each of one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_cases import CASES as ALL
from op_cases import build, make_inputs

import ark_mlir as ark

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


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_halves_of_words_that_were_stored_whole(arch: str, check: Callable[..., Any]) -> None:
    """Two threads store to the halves of a word that the same CTA has stored as a whole before.
    The emulator must not take these stores for stores to the same bytes."""
    case = CASES["grouped_matmul"]
    check(build(case, ark.fp16), make_inputs(case, ark.fp16), arch=arch)
