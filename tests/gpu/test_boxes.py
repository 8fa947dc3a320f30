"""Operands may move between launches, since every launch makes its tensor maps again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Load = Callable[[str], ark.Executable]

pytestmark = pytest.mark.gpu


@pytest.fixture
def boxes(read_arrays: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The arrays of the program `boxes`."""
    return read_arrays("boxes")


@pytest.fixture
def tensors(torch: Any, boxes: dict[str, Any]) -> dict[str, Any]:
    """The inputs and parameters of `boxes` on the GPU."""
    bits = {name: boxes[f"input.{name}"].view(np.int16).copy() for name in "xwv"}
    result = {name: torch.from_numpy(a).view(torch.bfloat16).cuda() for name, a in bits.items()}
    torch.cuda.synchronize()
    return result


def test_values(load: Load, boxes: dict[str, Any]) -> None:
    """In every iteration, the copies of the second product read values that other SMs stored in the
    first product.
    """
    exe = load("boxes").bind({name: boxes[f"input.{name}"] for name in "wv"})
    for iterations in (1, 100):
        y = exe.run(x=boxes["input.x"], iterations=iterations)["y"]
        assert_within(y, boxes["output.y"], boxes["bound.y"], "y")


def test_operands_that_move(load: Load, torch: Any, tensors: dict[str, Any]) -> None:
    exe = load("boxes").bind({name: tensors[name] for name in "wv"})
    expected = exe.run(x=tensors["x"])["y"]
    moved = tensors["x"].clone()
    tensors["x"].fill_(float("nan"))
    torch.cuda.synchronize()
    assert torch.equal(exe.run(x=moved)["y"], expected)
    # neg is exact, so the results differ by the sign alone.
    other = -tensors["v"]
    tensors["v"].fill_(float("nan"))
    torch.cuda.synchronize()
    exe.bind({"v": other})
    assert torch.equal(exe.run(x=moved)["y"], -expected)


def test_operands_that_move_under_a_resident_kernel(
    load: Load, torch: Any, tensors: dict[str, Any]
) -> None:
    exe = load("boxes").bind({name: tensors[name] for name in "wv"})
    expected = exe.run(x=tensors["x"])["y"].cpu()
    inputs = [tensors["x"].clone() for _ in range(3)]
    torch.cuda.synchronize()
    with exe.resident() as resident:
        for tensor in inputs:
            assert torch.equal(resident.run(x=tensor)["y"].cpu(), expected)
            tensor.fill_(float("nan"))
            torch.cuda.synchronize()
