"""Attentions whose gradients are tested, each with the same function in PyTorch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.dialects import ark as dialect
from ark_mlir.frontend.ops.common import emit


def of_masks(
    q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, mask: ark.Tensor, wide: ark.Tensor
) -> list[ark.Tensor]:
    """Attention of shared key heads; the last bool mask hides all keys of some queries."""
    hidden = ark.constant(HIDDEN)
    length = ark.constant(np.array(4, np.int32)) + ark.constant(np.array(1, np.int32))
    return [
        ark.attention(q, k, v, mask=mask),
        ark.attention(q, k, v, mask=wide, causal=True),
        ark.attention(q, k, v, mask=hidden),
        ark.attention(q, k, v, kv_length=length, causal=True),
        ark.attention(q, k, v, kv_length=3, mask=hidden),
    ]


HIDDEN = np.random.default_rng(7).random((5, 7)) < 0.6
HIDDEN[2] = False


def simple(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor) -> list[ark.Tensor]:
    return [ark.attention(q, k, v), ark.attention(q, k, v, causal=True, scale=0.3)]


def torch_simple(torch: Any, q: Any, k: Any, v: Any) -> list[Any]:
    keys, values = (x.repeat_interleave(2, -3) for x in (k, v))
    scores = q @ keys.transpose(-1, -2)
    hidden = torch.arange(7) > torch.arange(5)[:, None] + 2
    return [
        (scores / math.sqrt(6)).softmax(-1) @ values,
        (scores * 0.3).masked_fill(hidden, -math.inf).softmax(-1) @ values,
    ]


def torch_of_masks(torch: Any, q: Any, k: Any, v: Any, mask: Any, wide: Any) -> list[Any]:
    hidden = torch.tensor(HIDDEN)
    columns, rows = torch.arange(7), torch.arange(5)[:, None]

    def of(scale: float = 1 / math.sqrt(6), add: Any = 0, seen: Any = None) -> Any:
        keys, values = (x.repeat_interleave(2, -3) for x in (k, v))
        scores = q @ keys.transpose(-1, -2) * scale + add
        if seen is None:
            return scores.softmax(-1) @ values
        weights = scores.masked_fill(~seen, -1e30).softmax(-1) * seen
        return weights @ values

    causal = columns <= rows + 2
    return [
        of(add=mask), of(add=wide, seen=causal), of(seen=hidden),
        of(seen=(columns < 5) & (columns <= rows)), of(seen=(columns < 3) & hidden),
    ]  # fmt: skip


def hides(queries: int, keys: int) -> Any:
    """Returns a bool mask, which hides all keys of the third query."""
    seen = np.random.default_rng(11).random((queries, keys)) < 0.7
    seen[2] = False
    return seen


def long(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor) -> list[ark.Tensor]:
    """Attentions with more queries and keys than a block."""
    mask = ark.constant(hides(q.shape[-2], k.shape[-2]))
    length = ark.constant(np.array(66, np.int32))
    return [
        ark.attention(q, k, v, causal=True),
        ark.attention(q, k, v, mask=mask),
        ark.attention(q, k, v, kv_length=length, causal=True, mask=mask),
    ]


def torch_long(torch: Any, q: Any, k: Any, v: Any) -> list[Any]:
    rows, columns = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    seen = torch.tensor(hides(q.shape[-2], k.shape[-2]))
    of = partial(torch_attention, torch, q, k, v)
    return [of(columns <= rows), of(seen), of(seen & (columns < 66) & (columns <= rows - 5))]


def of_numbers(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor) -> list[ark.Tensor]:
    """Attentions whose mask is one number."""
    return [
        ark.attention(q, k, v, mask=ark.constant(np.array(1.5, np.float32))),
        ark.attention(q, k, v, mask=ark.constant(np.array(True))),
    ]


def torch_of_numbers(torch: Any, q: Any, k: Any, v: Any) -> list[Any]:
    """The weights do not depend on a number that is added to all scores."""
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    return [torch_attention(torch, q, k, v, seen)] * 2


def plain(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor) -> list[ark.Tensor]:
    return [ark.attention(q, k, v), ark.attention(q, k, v, causal=True)]


def torch_plain(torch: Any, q: Any, k: Any, v: Any) -> list[Any]:
    rows, columns = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    of = partial(torch_attention, torch, q, k, v)
    return [of(columns >= 0 * rows), of(columns <= rows + k.shape[-2] - q.shape[-2])]


def torch_attention(torch: Any, q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Returns zeros for a query that sees no key."""
    keys, values = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~seen, -1e30).softmax(-1) * seen
    return weights @ values


SHAPES = {
    "q": (2, 3, 70, 16), "k": (2, 67, 16), "v": (2, 67, 8), "g": (2, 3, 70, 8),
    "total": (2, 3, 70), "mean": (2, 3, 70), "mask": (3, 1, 67),
}  # fmt: skip


def both_gradients(dtype: ark.DType) -> ark.Program:
    """Returns a program with both gradients of an attention, whose operands are inputs."""
    with ark.Program("gradients") as program:
        q, k, v, g, total, mean, mask = (
            ark.input(name, shape, ark.fp32 if name in ("total", "mean") else dtype)
            for name, shape in SHAPES.items()
        )
        operands: dict[str, Any] = {
            "query": q, "key": k, "value": v, "cotangent": g, "log_sum_exp": total, "mean": mean,
            "mask": mask, "kv_length": ark.scalar("length", max=67), "scale": 0.25, "causal": True,
        }  # fmt: skip
        of_queries, of_keys = dialect.AttentionQueryGradientOp, dialect.AttentionKeyValueGradientOp
        ark.output("dq", emit("attention_query_gradient", of_queries, None, **operands))
        ark.output("dkv", emit("attention_key_value_gradient", of_keys, None, **operands))
    return program


def draw_gradients(dtype: ark.DType) -> dict[str, Any]:
    """Returns inputs of :func:`both_gradients`. Keys and values beyond the length are NaN."""
    rng = np.random.default_rng(3)
    drawn = {
        name: rng.standard_normal(shape).astype(
            np.float32 if name in ("total", "mean") else dtype.numpy
        )
        for name, shape in SHAPES.items()
    }
    drawn["total"] += 3
    for name in ("k", "v"):
        drawn[name][:, 66:] = np.nan
    return {**drawn, "length": 66}
