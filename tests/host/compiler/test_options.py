"""The options of a compilation that name GPUs."""

from __future__ import annotations

from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.compiler.options import CompileOptions


def test_one_device() -> None:
    """`device` is another form of `devices`, which it replaces in given options."""
    assert CompileOptions(device=1) == CompileOptions(devices=[1])
    two = CompileOptions(devices=[0, 2])
    assert CompileOptions.make(two, {"device": 3}).devices == (3,)
    assert CompileOptions.make(two, {"device": None}).devices == (0, 2)


@pytest.mark.parametrize("device", [-1, True, "1", [1]])
def test_numbers_that_name_no_gpu(device: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"option device=.*: expected the number"):
        CompileOptions(device=device)


def test_both_options() -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"device=1 and devices=\[0\]: give one"):
        CompileOptions(device=1, devices=[0])


def test_the_target_may_not_name_another_gpu() -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    with ark.Program("one") as program:
        ark.output("y", ark.relu(ark.input("x", (4, 8), ark.fp32)))
    with pytest.raises(ark.InvalidUsageError, match="both name GPUs"):
        ark.compile(program, target="cuda:0", device=1, cache=False)
