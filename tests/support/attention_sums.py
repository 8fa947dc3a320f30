"""Programs of an attention and of the log-sum-exps of its scores, which gradients need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.dialects import ark as dialect
from ark_mlir.frontend.ops.common import emit

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """Shapes and operands of an attention; `heads` are those of the queries and of the keys.

    A mask, ``[queries, keys]``, hides all keys of the third query, or is added to the scores.
    """

    dtype: ark.DType
    heads: tuple[int, int] = (4, 2)
    queries: int = 6
    keys: int = 7
    depth: int = 16
    length: int | None = None
    causal: bool = False
    mask: ark.DType | None = None


def build(case: Case) -> ark.Program:
    """Returns a program with the outputs `y` and `lse`."""
    with ark.Program("sums") as program:
        q = ark.input("q", (case.heads[0], case.queries, case.depth), case.dtype)
        k, v = (ark.input(n, (case.heads[1], case.keys, case.depth), case.dtype) for n in "kv")
        operands: dict[str, Any] = {
            "query": q, "key": k, "value": v,
            "mask": case.mask and ark.input("mask", (case.queries, case.keys), case.mask),
            "kv_length": None if case.length is None else ark.scalar("length", max=case.keys),
            "scale": case.depth**-0.5, "causal": case.causal,
        }  # fmt: skip
        ark.output("y", emit("attention", dialect.AttentionOp, None, **operands))
        sums = emit("attention_log_sum_exp", dialect.AttentionLogSumExpOp, None, **operands)
        ark.output("lse", sums)
    return program


def draw(case: Case) -> dict[str, Any]:
    """Returns inputs of :func:`build`. Keys and values beyond the length are NaN."""
    rng = np.random.default_rng(3)
    keys = (case.heads[1], case.keys, case.depth)
    shapes = {"q": (case.heads[0], case.queries, case.depth), "k": keys, "v": keys}
    drawn: dict[str, Any] = {
        name: rng.standard_normal(shape).astype(case.dtype.numpy) for name, shape in shapes.items()
    }
    if case.mask is not None:
        numbers = rng.standard_normal((case.queries, case.keys))
        drawn["mask"] = numbers.astype(case.mask.numpy)
        if case.mask is ark.bool:
            drawn["mask"] = numbers > -0.5
            drawn["mask"][2] = False
    if case.length is not None:
        drawn["length"] = case.length
        for name in "kv":
            drawn[name][:, case.length :] = np.nan
    return drawn


def log_sum_exp(case: Case, inputs: dict[str, Any]) -> Array:
    """Returns the log-sum-exps in float64, ``[Hq, Tq, 1]``; zero for a row without a key."""
    length = case.keys if case.length is None else case.length
    q, k = (inputs[name].astype(np.float64) for name in "qk")
    k = np.repeat(k, case.heads[0] // case.heads[1], axis=0)[:, :length]
    scores = q @ k.swapaxes(-1, -2) * case.depth**-0.5
    shown = np.ones(scores.shape[-2:], bool)
    if case.causal:
        shown &= np.arange(length) <= np.arange(case.queries)[:, None] + length - case.queries
    if case.mask is ark.bool:
        shown &= inputs["mask"][:, :length]
    elif case.mask is not None:
        scores += inputs["mask"][:, :length].astype(np.float64)
    total = np.where(shown, np.exp(scores), 0.0).sum(-1, keepdims=True)
    return np.log(np.where(total > 0, total, 1.0))


def slopes(
    dtype: ark.DType,
    length: int,
    recomputed: bool = False,
    tile: tuple[int, int] | None = None,
) -> ark.Program:
    """Returns gradients of a causal attention of two query heads that share a key head.

    Args:
        recomputed: True computes the attention again in the backward pass.
        tile: the plan of the attention.
    """
    depth = 16

    def attend(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor) -> ark.Tensor:
        with ark.planner(tile=tile):
            return ark.attention(q, k, v, causal=True)

    with ark.Program("slopes") as program:
        q = ark.input("q", (2, length, depth), dtype)
        k, v = (ark.input(name, (1, length, depth), dtype) for name in "kv")
        y = ark.checkpoint(attend, q, k, v) if recomputed else attend(q, k, v)
        assert isinstance(y, ark.Tensor)
        total = ark.reduce_sum(y**2.0, keepdims=False)
        for name, slope in zip("qkv", ark.gradients(total, [q, k, v]), strict=True):
            ark.output(f"d{name}", slope)
    return program


def attentions(executable: ark.Executable) -> list[list[str]]:
    """Returns the ops about attention of each task that computes an attention or log-sum-exps."""
    forward = {"attention", "attention_log_sum_exp", "partial_attention"}
    tasks = [task.ops for task in executable.bundle.manifest.tasks]
    return [sorted(forward.intersection(ops)) for ops in tasks if forward.intersection(ops)]
