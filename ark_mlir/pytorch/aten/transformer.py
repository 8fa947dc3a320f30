"""PyTorch's fused layers, which its modules call if gradients are disabled."""

from __future__ import annotations

import math
from typing import Any

from ... import frontend as ark
from ...dtypes import bool_
from .table import Out, Unavailable, aten
from .values import shaped, tensor

# Torch's numbers for the layouts of masks. A bool mask is true for keys to ignore.
_BY_QUERY, _BY_KEY = 0, 1
_NO_WEIGHTS = Unavailable("the weights of an attention with need_weights=False")


@aten("_native_multi_head_attention.default")
def _multi_head_attention(
    out: tuple[Out, ...],
    query: ark.Tensor,
    key: ark.Tensor,
    value: ark.Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: ark.Tensor,
    qkv_bias: ark.Tensor,
    proj_weight: ark.Tensor,
    proj_bias: ark.Tensor,
    mask: ark.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    weights = ark.split(qkv_weight, 3, 0)
    biases = ark.split(qkv_bias, 3, 0)
    q, k, v = (
        _heads(_dense(x, w, b), num_head)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    kept = None if mask is None else _laid_out(mask, mask_type)
    if not need_weights:
        return _joined(ark.attention(q, k, v, mask=kept), proj_weight, proj_bias), _NO_WEIGHTS
    shares = _shares(q, k, kept)
    mixed = _joined(ark.matmul(shares, v), proj_weight, proj_bias)
    if average_attn_weights:
        shares = ark.reduce_mean(shares, 1, keepdims=False)
    return mixed, shares


def _dense(x: ark.Tensor, weight: ark.Tensor, bias: ark.Tensor) -> ark.Tensor:
    return ark.matmul(x, weight, transpose_other=True) + bias


def _heads(x: ark.Tensor, heads: int) -> ark.Tensor:
    """Returns ``[batch, length, hidden]`` as ``[batch, heads, length, D]``."""
    batch, length, hidden = x.shape
    return ark.transpose(ark.reshape(x, (batch, length, heads, hidden // heads)), (0, 2, 1, 3))


def _joined(mixed: ark.Tensor, weight: ark.Tensor, bias: ark.Tensor) -> ark.Tensor:
    batch, heads, length, extent = mixed.shape
    rows = ark.transpose(mixed, (0, 2, 1, 3))
    return _dense(ark.reshape(rows, (batch, length, heads * extent)), weight, bias)


def _laid_out(mask: ark.Tensor, kind: int | None) -> ark.Tensor:
    """Returns a mask for ``[batch, heads, queries, keys]``; a bool mask is true for kept keys."""
    if kind == _BY_KEY:
        mask = shaped(mask, (mask.shape[0], 1, 1, mask.shape[1]))
    return ark.logical_not(mask) if mask.dtype is bool_ else mask


def _shares(q: ark.Tensor, k: ark.Tensor, mask: ark.Tensor | None) -> ark.Tensor:
    scores = ark.matmul(q, k, transpose_other=True) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = ark.where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask
    return ark.softmax(scores, -1)


@aten("_transformer_encoder_layer_fwd.default")
def _encoder_layer(
    out: Out,
    src: ark.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: ark.Tensor,
    qkv_bias: ark.Tensor,
    proj_weight: ark.Tensor,
    proj_bias: ark.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: ark.Tensor,
    norm_bias_1: ark.Tensor,
    norm_weight_2: ark.Tensor,
    norm_bias_2: ark.Tensor,
    ffn_weight_1: ark.Tensor,
    ffn_bias_1: ark.Tensor,
    ffn_weight_2: ark.Tensor,
    ffn_bias_2: ark.Tensor,
    mask: ark.Tensor | None = None,
    mask_type: int | None = None,
) -> ark.Tensor:
    def attended(x: ark.Tensor) -> ark.Tensor:
        return _multi_head_attention(
            (out,), x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
            mask, need_weights=False, mask_type=mask_type,
        )[0]  # fmt: skip

    def fed_forward(x: ark.Tensor) -> ark.Tensor:
        inner = _dense(x, ffn_weight_1, ffn_bias_1)
        inner = ark.gelu(inner, approximate="none") if use_gelu else ark.relu(inner)
        return _dense(inner, ffn_weight_2, ffn_bias_2)

    def first(x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, norm_weight_1, norm_bias_1, eps)

    def second(x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, norm_weight_2, norm_bias_2, eps)

    x = tensor(src)
    if norm_first:
        x = x + attended(first(x))
        return x + fed_forward(second(x))
    x = first(x + attended(x))
    return second(x + fed_forward(x))
