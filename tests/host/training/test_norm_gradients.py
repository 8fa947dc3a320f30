"""The gradients of norms, compiled for cpu, of each dtype and of rows of several lengths."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from norm_cases import draw, gradients_of

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

SHAPES = [(1, 1), (3, 5), (7, 64), (2, 5, 100), (33, 257), (4, 1, 768), (7,), (768,)]


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients(norm: str, dtype: ark.DType, shape: tuple[int, ...]) -> None:
    program, inputs = gradients_of(norm, shape, dtype), draw(shape, dtype, norm)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target="cpu:2") as executable:
        got = executable.run(inputs)
        ops = {op for task in executable.report().task_ops for op in task[0]}
    assert {"norm_input_gradient", "norm_statistics"} <= ops
    for name, value in expected.outputs.items():
        assert np.isfinite(expected.bounds[name]).all()
        assert shape[-1] == 1 or np.abs(value).max() > 0.1
        assert_within(got[name], value, expected.bounds[name], name)


@pytest.mark.parametrize("shape", [(0, 7), (2, 0)], ids=str)
def test_norms_of_no_elements(shape: tuple[int, ...]) -> None:
    """Sums over no rows are zero."""
    program, inputs = gradients_of("layernorm", shape, ark.bf16), draw(shape, ark.bf16, "layernorm")
    with ark.compile(program, target="cpu:1") as executable:
        got = executable.run(inputs)
    assert got["of_x"].shape == shape
    assert not got["of_weight"].any()
    assert not got["of_bias"].any()
