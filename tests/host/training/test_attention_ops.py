"""The gradient ops of attention, which work in blocks, compiled for cpu."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from attention_cases import both_gradients, draw_gradients

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within


@pytest.mark.parametrize("dtype", [ark.fp32, ark.fp16, ark.bf16], ids=str)
def test_gradients_of_each_dtype(dtype: ark.DType) -> None:
    program, inputs = both_gradients(dtype), draw_gradients(dtype)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target="cpu:2") as executable:
        got = executable.run(inputs)
        ops = {op for task in executable.report().task_ops for op in task[0]}
    assert {"attention_query_gradient", "attention_key_value_gradient"} <= ops
    for name, value in expected.outputs.items():
        assert np.isfinite(expected.bounds[name]).all()
        assert np.abs(value).max() > 0.1
        assert_within(got[name], value, expected.bounds[name], name)
    # The last key lies beyond the length.
    assert not got["dkv"][:, 66].any()


def test_a_number_as_mask_changes_no_derivative_of_16_bits() -> None:
    def slopes(mask: float | None) -> dict[str, np.ndarray]:
        with ark.Program("slopes") as program:
            q, k, v = (ark.input(name, (2, 5, 8), ark.bf16) for name in "qkv")
            number = None if mask is None else ark.constant(np.array(mask, ark.bf16.numpy))
            y = ark.attention(q, k, v, mask=number)
            loss = ark.reduce_sum(ark.cast(y * y, ark.fp32), keepdims=False)
            for name, slope in zip("qkv", ark.gradients(loss, [q, k, v]), strict=True):
                ark.output(name, slope)
        rng = np.random.default_rng(0)
        inputs = {name: rng.standard_normal((2, 5, 8)).astype(ark.bf16.numpy) for name in "qkv"}
        return ark.reference.run(program, inputs)

    plain, masked = slopes(None), slopes(1.5)
    for name, slope in plain.items():
        assert np.abs(slope).max() > 0.1
        np.testing.assert_allclose(masked[name], slope, atol=1e-9)
