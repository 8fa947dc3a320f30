"""The log-sum-exps of an attention, which its gradients need, are computed with its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from attention_sums import Case, attentions, build, draw, log_sum_exp, slopes

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

CASES = {
    "plain": Case(ark.fp32),
    "bool mask": Case(ark.fp32, length=5, mask=ark.bool),
    "float mask": Case(ark.fp16, mask=ark.fp16),
    "causal": Case(ark.bf16, length=5, causal=True),
    "no keys": Case(ark.fp32, length=0),
}
TOGETHER = ["attention", "attention_log_sum_exp"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_interpreter_and_the_compiled_kernel(case: Case) -> None:
    program, inputs = build(case), draw(case)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    np.testing.assert_allclose(expected.outputs["lse"], log_sum_exp(case, inputs), atol=1e-12)
    with ark.compile(program, target="cpu:2") as executable:
        assert attentions(executable) == [TOGETHER]
        got = executable.run(inputs)
    for name, value in expected.outputs.items():
        assert np.isfinite(expected.bounds[name]).all()
        assert_within(got[name], value, expected.bounds[name], name)


@pytest.mark.parametrize("length", [0, 1, 7, 137, 240])
@pytest.mark.parametrize("mask", [None, ark.bool, ark.fp32], ids=["unmasked", "bool", "float"])
def test_partitions_of_the_keys_merge(length: int, mask: ark.DType | None) -> None:
    """Sixteen workers have few heads, so that each of them has a part of the keys."""
    case = Case(ark.fp32, (2, 1), queries=3, keys=240, length=length, mask=mask)
    program, inputs = build(case), draw(case)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target="cpu:16") as executable:
        assert attentions(executable) == [["partial_attention"]]
        got = executable.run(inputs)
    for name, value in expected.outputs.items():
        assert_within(got[name], value, expected.bounds[name], name)


def test_a_query_that_is_nan_makes_the_log_sum_exp_nan() -> None:
    case = CASES["plain"]
    inputs = draw(case)
    inputs["q"][1, 0] = np.nan
    with ark.compile(build(case), target="cpu:2") as executable:
        got = executable.run(inputs)["lse"]
    assert np.isnan(got[1, 0]).all()
    assert np.isfinite(got[0]).all()


@pytest.mark.parametrize(
    ("target", "dtype", "length"),
    [
        ("cpu:2", ark.fp32, 256),
        ("cuda:sm_80", ark.bf16, 256),
        ("cuda:sm_90a", ark.bf16, 1024),
        ("cuda:sm_90a", ark.fp16, 128),
    ],
)
def test_gradients_read_what_the_forward_pass_stores(
    target: str, dtype: ark.DType, length: int
) -> None:
    """Gradients of 128 queries and keys are products; those of more are loops over blocks."""
    with ark.compile(slopes(dtype, length), target=target, cache=False) as executable:
        assert attentions(executable) == [TOGETHER]


def test_a_recomputed_attention_computes_the_log_sum_exp_again() -> None:
    program = slopes(ark.fp32, 256, recomputed=True)
    with ark.compile(program, target="cpu:2", cache=False) as executable:
        assert attentions(executable) == [["attention"], TOGETHER]


def test_short_rows_of_fp32_have_a_softmax_instead() -> None:
    with ark.compile(slopes(ark.fp32, 32), target="cpu:2", cache=False) as executable:
        assert attentions(executable) == [["attention"]]


def test_the_plan_of_the_attention_applies_to_its_log_sum_exp() -> None:
    """A tile is a part of the plan, and tasks with different plans stay separate."""
    with ark.compile(
        slopes(ark.bf16, 256, tile=(64, 16)), target="cpu:2", cache=False
    ) as executable:
        assert attentions(executable) == [TOGETHER]


def build_penalty(recomputed: bool) -> ark.Program:
    """The derivative of a function that differentiates an attention outside of it.

    The attention gets a log-sum-exp each time that the function is called.
    """
    with ark.Program("penalty") as program:
        q, k, v, seed = (ark.input(name, (1, 256, 64), ark.bf16) for name in ("q", "k", "v", "s"))
        attended = ark.attention(q, k, v)

        def penalty(seed: ark.Tensor) -> ark.Tensor:
            (slope,) = ark.gradients(attended, [q], seed=seed)
            return ark.reduce_sum(slope * slope, keepdims=False)

        total: Any = ark.checkpoint(penalty, seed) if recomputed else penalty(seed)
        for name, slope in zip("qs", ark.gradients(total, [q, seed]), strict=True):
            ark.output(name, slope)
    return program


def test_a_recomputed_function_that_differentiates_an_attention() -> None:
    random = np.random.default_rng(5)
    shape, dtype = (1, 256, 64), ark.bf16.numpy
    inputs = {name: random.standard_normal(shape).astype(dtype) for name in "qkvs"}
    plain, recomputed = (
        ark.reference.evaluate(build_penalty(again), inputs).outputs for again in (False, True)
    )
    for name, value in plain.items():
        assert np.abs(value).max() > 1e-3
        np.testing.assert_allclose(recomputed[name], value, rtol=1e-9, atol=1e-12)
