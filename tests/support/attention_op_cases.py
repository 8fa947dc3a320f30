"""Cases of attention: caches, decode steps and prompts, also behind norms and rotations."""

from __future__ import annotations

import numpy as np
from op_case import FLOATS, Case, extremes

import ark_mlir as ark


def attentions(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, mask: ark.Tensor) -> list[ark.Tensor]:
    return [
        ark.attention(q, k, v),
        ark.attention(q, k, v, causal=True, scale=0.3),
        ark.attention(q, k, v, mask=mask),
        ark.attention(q, k, v, mask=mask > 0),
        ark.attention(q, k, v, kv_length=4, causal=True),
    ]


def length(keys: int) -> ark.Tensor:
    """Returns a scalar whose value is known only at run time."""
    return ark.constant(np.array(keys - 1, np.int32)) + ark.constant(np.array(1, np.int32))


def caches(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, mask: ark.Tensor) -> list[ark.Tensor]:
    """Returns attentions over a dynamic number of keys: one, an odd number, all."""

    most = k.shape[-2]
    return [
        *(ark.attention(q, k, v, kv_length=length(n), causal=True) for n in (1, 37, most - 1)),
        ark.attention(q, k, v, mask=mask, kv_length=length(most)),
    ]


def heads(
    q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, cos: ark.Tensor, sin: ark.Tensor, w: ark.Tensor
) -> list[ark.Tensor]:
    """Returns norms and rotations of heads, as before attention."""
    q, k = (ark.rope(ark.rmsnorm(x, w), cos, sin) for x in (q, k))
    return [ark.attention(q, k, v), ark.attention(ark.layernorm(q, w), k, v, causal=True)]


def steps(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, mask: ark.Tensor) -> list[ark.Tensor]:
    """Returns decode steps with no key, one key, and numbers of keys that do or do not divide
    evenly among warps; with masks, one of which masks all keys.
    """
    lengths = (0, 1, 63, 64, 65, k.shape[-2])
    return [
        *(ark.attention(q, k, v, kv_length=length(keys)) for keys in lengths),
        ark.attention(q, k, v, mask=mask, kv_length=length(65), causal=True),
        ark.attention(q, k, v, mask=mask > 0.5),
        ark.attention(q, k, v, mask=mask > 100),
    ]


def prompts(q: ark.Tensor, k: ark.Tensor, v: ark.Tensor, mask: ark.Tensor) -> list[ark.Tensor]:
    """Returns attentions of many queries with different keys; some queries have no keys."""
    keys = k.shape[-2]
    return [
        ark.attention(q, k, v, causal=True),
        ark.attention(q, k, v, mask=mask),
        ark.attention(q, k, v, mask=mask > 1.5),
        *(ark.attention(q, k, v, kv_length=length(n), causal=True) for n in (1, keys // 2, keys)),
    ]


ATTENTIONS: dict[str, Case] = {
    "attention": Case(
        attentions, ((2, 4, 3, 6), (2, 2, 5, 6), (2, 2, 5, 6), (4, 3, 5)), FLOATS
    ),
    "attention of a cache": Case(
        caches, ((2, 4, 1, 32), (2, 2, 140, 32), (2, 2, 140, 32), (4, 1, 140)), FLOATS
    ),
    "attention of a cache for every head": Case(
        caches, ((1, 3, 1, 16), (1, 3, 141, 16), (1, 3, 141, 16), (1, 141)), FLOATS
    ),
    "attention of a long cache": Case(
        caches, ((1, 4, 1, 32), (1, 2, 1280, 32), (1, 2, 1280, 32), (1, 1280)), FLOATS
    ),
    "attention of a few queries and a long cache": Case(
        caches, ((1, 4, 3, 16), (1, 2, 1024, 16), (1, 2, 1024, 16), (3, 1024)), FLOATS
    ),
    "attention of several queries and a cache": Case(
        caches, ((1, 4, 3, 16), (1, 2, 131, 16), (1, 2, 131, 16), (3, 131)), FLOATS
    ),
    "attention of a step": Case(
        steps, ((2, 8, 1, 64), (2, 2, 160, 64), (2, 2, 160, 64), (8, 1, 160)), FLOATS
    ),
    "attention of a step for every head": Case(
        steps, ((1, 2, 1, 128), (1, 2, 160, 128), (1, 2, 160, 128), (2, 1, 160)), FLOATS
    ),
    "attention of a step and eight heads": Case(
        steps, ((1, 8, 1, 80), (1, 1, 160, 80), (1, 1, 160, 80), (8, 1, 160)), FLOATS
    ),
    "attention of a step of two queries": Case(
        steps, ((1, 6, 2, 64), (1, 2, 160, 64), (1, 2, 160, 64), (2, 160)), FLOATS
    ),
    "attention of anything": Case(
        steps, ((1, 4, 1, 64), (1, 1, 160, 64), (1, 1, 160, 64), (1, 160)), FLOATS, extremes
    ),
    "attention of heads with norms": Case(
        heads, ((1, 4, 1, 128), (1, 2, 8, 128), (1, 2, 8, 128), (1, 64), (1, 64), (128,)), FLOATS
    ),
    "attention of odd heads with norms": Case(
        heads, ((2, 3, 1, 96), (2, 1, 5, 96), (2, 1, 5, 96), (1, 48), (1, 48), (96,)), FLOATS
    ),
    "attention of a prompt": Case(
        prompts, ((2, 4, 37, 32), (2, 2, 37, 32), (2, 2, 37, 32), (2, 1, 1, 37)), FLOATS
    ),
    "attention of a prompt and a cache": Case(
        prompts, ((1, 4, 48, 64), (1, 2, 131, 64), (1, 2, 131, 64), (48, 131)), FLOATS
    ),
    "attention of a prompt and wide heads": Case(
        prompts, ((1, 2, 33, 128), (1, 1, 64, 128), (1, 1, 64, 128), (2, 33, 64)), FLOATS
    ),
    "attention of a prompt and odd heads": Case(
        prompts, ((1, 2, 20, 80), (1, 2, 96, 80), (1, 2, 96, 80), (20, 96)), FLOATS
    ),
    "attention of a long prompt": Case(
        prompts, ((1, 3, 256, 16), (1, 3, 300, 16), (1, 3, 300, 16), (256, 300)), FLOATS
    ),
    "attention of a prompt of anything": Case(
        prompts, ((1, 2, 24, 32), (1, 1, 40, 32), (1, 1, 40, 32), (24, 40)), FLOATS, extremes
    ),
}  # fmt: skip
