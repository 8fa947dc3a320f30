"""Gradients of attention in a loop over blocks on matrix units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.dialects import ark as dialect
from ark_mlir.frontend.ops.common import emit

Check = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """Shapes and operands of an attention; `repeats` query heads share each key head."""

    dtype: ark.DType
    queries: int
    keys: int
    depth: int
    heads: int = 1
    repeats: int = 1
    length: int | None = None
    causal: bool = False
    mask: ark.DType | None = None


ON_UNITS = {
    "one block": Case(ark.bf16, queries=16, keys=16, depth=16),
    "causal": Case(ark.bf16, queries=192, keys=192, depth=64, causal=True),
    "deep": Case(ark.fp16, queries=64, keys=128, depth=128, causal=True),
    "size 80": Case(ark.bf16, queries=64, keys=48, depth=80),
    "size 96": Case(ark.fp16, queries=40, keys=64, depth=96, causal=True),
    "odd": Case(ark.bf16, queries=37, keys=53, depth=32),
    "clipped tiles": Case(ark.fp16, queries=67, keys=131, depth=64, causal=True),
    "shared heads": Case(ark.bf16, queries=70, keys=70, depth=64, heads=2, repeats=3, causal=True),
    "bool mask": Case(ark.bf16, queries=40, keys=72, depth=64, repeats=2, mask=ark.bool),
    "float mask": Case(ark.fp16, queries=40, keys=72, depth=64, mask=ark.fp16),
    "length": Case(ark.bf16, queries=40, keys=90, depth=64, length=77, causal=True),
    "no keys": Case(ark.bf16, queries=40, keys=40, depth=64, length=0),
}  # fmt: skip


def build(case: Case) -> ark.Program:
    """Returns a program with both gradients of an attention, whose operands are inputs."""
    rows = (case.heads, case.repeats, case.queries)
    keys = (case.heads, case.keys, case.depth)
    with ark.Program("gradients") as program:
        q, g = (ark.input(name, (*rows, case.depth), case.dtype) for name in "qg")
        k, v = (ark.input(name, keys, case.dtype) for name in "kv")
        mask = None
        if case.mask is not None:
            mask = ark.input("mask", (*rows, case.keys), case.mask)
        operands: dict[str, Any] = {
            "query": q, "key": k, "value": v, "cotangent": g,
            "log_sum_exp": ark.input("total", rows), "mean": ark.input("mean", rows), "mask": mask,
            "kv_length": None if case.length is None else ark.scalar("length", max=case.keys),
            "scale": case.depth**-0.5, "causal": case.causal,
        }  # fmt: skip
        of_queries, of_keys = dialect.AttentionQueryGradientOp, dialect.AttentionKeyValueGradientOp
        ark.output("dq", emit("attention_query_gradient", of_queries, None, **operands))
        ark.output("dkv", emit("attention_key_value_gradient", of_keys, None, **operands))
    return program


def draw(case: Case) -> dict[str, Any]:
    """Returns inputs of :func:`build`. Keys and values beyond the length are NaN."""
    rng = np.random.default_rng(5)
    rows = (case.heads, case.repeats, case.queries)
    shapes = {
        "q": (*rows, case.depth), "g": (*rows, case.depth),
        "k": (case.heads, case.keys, case.depth), "v": (case.heads, case.keys, case.depth),
    }  # fmt: skip
    drawn: dict[str, Any] = {
        name: rng.standard_normal(shape).astype(case.dtype.numpy) for name, shape in shapes.items()
    }
    drawn["total"] = (rng.standard_normal(rows) + 3).astype(np.float32)
    drawn["mean"] = rng.standard_normal(rows).astype(np.float32)
    if case.mask is ark.bool:
        drawn["mask"] = rng.random((*rows, case.keys)) < 0.6
    elif case.mask is not None:
        drawn["mask"] = rng.standard_normal((*rows, case.keys)).astype(case.mask.numpy)
    if case.length is not None:
        drawn["length"] = case.length
        for name in ("k", "v"):
            drawn[name][:, case.length :] = np.nan
    return drawn


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", ON_UNITS.values(), ids=ON_UNITS)
def test_on_matrix_units(case: Case, arch: str, check: Check) -> None:
    emulation = check(build(case), draw(case), arch=arch)
    ops = {op for task in emulation.bundle.manifest.tasks for op in task.ops}
    assert {"attention_query_gradient", "attention_key_value_gradient"} <= ops
    assert "mma.m16n8k16" in emulation.text


def test_the_rule_of_long_attentions_of_16_bits(check: Check) -> None:
    """The task of the attention computes the log-sum-exp of each query."""
    length = 256
    with ark.Program("slopes") as program:
        q = ark.input("q", (2, length, 16), ark.bf16)
        k, v = (ark.input(name, (1, length, 16), ark.bf16) for name in "kv")
        loss = ark.reduce_sum(ark.attention(q, k, v, causal=True) ** 2.0, keepdims=False)
        for name, slope in zip("qkv", ark.gradients(loss, [q, k, v]), strict=True):
            ark.output(f"d{name}", slope)
    rng = np.random.default_rng(2)
    shapes = {"q": (2, length, 16), "k": (1, length, 16), "v": (1, length, 16)}
    arrays = {n: rng.standard_normal(s).astype(ark.bf16.numpy) for n, s in shapes.items()}
    emulation = check(program, arrays, arch="sm_90a")
    ops = {op for task in emulation.bundle.manifest.tasks for op in task.ops}
    assert {"attention_query_gradient", "attention_key_value_gradient"} <= ops
