"""The gradients of norms on the emulated GPU: rows in registers, and rows that do not fit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from norm_cases import draw, gradients_of

import ark_mlir as ark

# Rows in registers: of one load or several, of one warp or several. Other rows: of a length that no
# whole number of loads covers, in tiles that the last row clips, and longer than the registers.
# Vectors have no loop over rows.
SHAPES = [
    (16, 256), (8, 768), (24, 1024), (2, 12, 512), (5, 77), (13, 768), (4, 8192), (1, 768), (7,),
    (1024,),
]  # fmt: skip


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients(
    norm: str, dtype: ark.DType, shape: tuple[int, ...], check: Callable[..., Any]
) -> None:
    emulation = check(gradients_of(norm, shape, dtype), draw(shape, dtype, norm), arch="sm_90a")
    ops = {op for task in emulation.bundle.manifest.tasks for op in task.ops}
    assert {"norm_input_gradient", "norm_statistics"} <= ops


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_a_row_that_is_stored_and_read(dtype: ark.DType, check: Callable[..., Any]) -> None:
    """A layer norm, and a softmax, of a sum that is also a result."""
    shape = (16, 256)
    with ark.Program("stored") as program:
        x, residual = (ark.input(name, shape, dtype) for name in "xr")
        total = x + residual
        for name, result in {
            "sum": total, "softmax": ark.softmax(total), "norm": ark.layernorm(total)
        }.items():  # fmt: skip
            ark.output(name, result)
    rng = np.random.default_rng(0)
    check(program, {n: rng.standard_normal(shape).astype(dtype.numpy) for n in "xr"}, arch="sm_90a")


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("arch", ["gfx942", "sm_80"])
def test_other_architectures(norm: str, arch: str, check: Callable[..., Any]) -> None:
    """GPUs of AMD compute the rows in loops over each op."""
    for shape in ((16, 256), (5, 77)):
        check(gradients_of(norm, shape, ark.bf16), draw(shape, ark.bf16, norm), arch=arch)
