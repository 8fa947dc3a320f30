"""The rules of matrix products and attentions."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from typing import Any

import torch

from ..axes import Axes, Refusal, is_fixed, is_prefix
from ..padding import Padder, Value, rule
from .shared import broadcast

_aten: Any = torch.ops.aten


def _product(padder: Padder, target: Any, a: Value, b: Value) -> tuple[Any, Any, Axes]:
    """Returns the operands of a matrix product, and the axes of the product.

    The operands are zero beyond the data that is summed.
    """
    if len(a.axes) < 2 or len(b.axes) < 2:
        raise Refusal(f"{target} of a vector")
    summed = a.axes[-1]
    if summed != b.axes[-2]:
        raise Refusal("a product over sizes that only happen to be equal")
    lead = broadcast([a.axes[:-2], b.axes[:-2]])
    axes = (*lead, a.axes[-2], b.axes[-1])
    return padder.masked(a, [-1], 0), padder.masked(b, [-2], 0), axes


@rule("mm", "bmm", "matmul")
def product(padder: Padder, target: Any, a: Value, b: Value) -> Value:
    lhs, rhs, axes = _product(padder, target, a, b)
    return Value(target(lhs, rhs), axes)


@rule("addmm", "baddbmm")
def sum_of_product(
    padder: Padder, target: Any, addend: Value, a: Value, b: Value, **kwargs: Any
) -> Value:
    lhs, rhs, axes = _product(padder, target, a, b)
    if broadcast([axes, addend.axes]) != axes:
        raise Refusal("an addend larger than the product")
    return Value(target(addend.tensor, lhs, rhs, **kwargs), axes)


@rule("linear")
def linear(
    padder: Padder, target: Any, x: Value, weight: Value, bias: Value | None = None
) -> Value:
    if not weight.fixed or (bias is not None and not bias.fixed):
        raise Refusal("weights of a size that changes")
    return Value(target(*padder.plain((x, weight, bias))), (*x.axes[:-1], *weight.axes[:-1]))


@rule("_grouped_mm", "transformers.grouped_mm_fallback.default")
def grouped_product(
    padder: Padder, target: Any, x: Value, weights: Value, offs: Value | None = None, *args: Any
) -> Value:
    """Rows beyond the last offset belong to no group, so that they may have any value."""
    if offs is None or not weights.fixed or not offs.fixed or not is_fixed(x.axes[-1]):
        raise Refusal("a grouped product without offsets, or with matrices of a size that changes")
    if len(x.axes) != 2 or not is_prefix(x.axes[0]):
        raise Refusal("groups of rows that are not the first ones")
    result = target(x.tensor, weights.tensor, offs.tensor, *padder.plain(args))
    return Value(result, (x.axes[0], weights.axes[-1]))


@rule("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    padder: Padder,
    target: Any,
    q: Value,
    k: Value,
    v: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    keys = k.axes[-2]
    if dropout_p or keys != v.axes[-2] or not is_fixed(q.axes[-1]) or q.axes[-1] != k.axes[-1]:
        raise Refusal(f"an attention over {q.axes}, {k.axes} and {v.axes}")
    mask = None if attn_mask is None else attn_mask.tensor
    # A causal query of the data sees keys of the data only, if there are as many keys.
    if not is_fixed(keys) and not (is_causal and q.axes[-2] == keys):
        if is_causal:
            raise Refusal("a causal attention with other keys than queries")
        mask = _keys_with_data(padder, k, q, mask)
    options = {} if mask is None else {"attn_mask": mask}
    lead = broadcast([q.axes[:-2], _per_query_head(padder, q, k), _per_query_head(padder, q, v)])
    # The share of a masked key is zero, but zero times NaN is NaN.
    tensors = (q.tensor, padder.masked(k, [-2], 0), padder.masked(v, [-2], 0))
    result = target(*tensors, dropout_p, is_causal, scale=scale, **options)
    axes = (*lead, q.axes[-2], v.axes[-1])
    return Value(result[0], axes), *(None for _ in result[1:])


@rule("_scaled_dot_product_efficient_attention")
def efficient_attention(
    padder: Padder,
    target: Any,
    q: Value,
    k: Value,
    v: Value,
    attn_bias: Value | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    def call(q: Any, k: Any, v: Any, p: float, causal: bool, *, scale: Any, **named: Any) -> Any:
        mask = named.get("attn_mask")
        return target(q, k, v, mask, compute_log_sumexp, p, causal, scale=scale)

    options: Any = {"attn_mask": attn_bias, "scale": scale}
    return attention(padder, call, q, k, v, dropout_p, is_causal, **options)


def _per_query_head(padder: Padder, q: Value, x: Value) -> Axes:
    """Returns the axes of keys or values before the last two, with the heads of the queries.

    In a grouped-query attention, several heads of queries share one head of keys and values.
    """
    lead = x.axes[:-2]
    if not lead or len(q.axes) != len(x.axes):
        return lead
    heads, shared = q.axes[-3], lead[-1]
    fixed = is_fixed(heads) and is_fixed(shared)
    grouped = fixed and padder.sizes.of(heads) % padder.sizes.of(shared) == 0
    return (*lead[:-1], heads) if grouped else lead


def _keys_with_data(padder: Padder, k: Value, q: Value, mask: torch.Tensor | None) -> torch.Tensor:
    """Returns the addend of the scores that masks keys beyond the data."""
    found = padder.has_data(k, [len(k.axes) - 2])
    assert found is not None
    rank, keys = len(k.axes), found.numel()
    row = _aten.view.default(found, [1] * (rank - 1) + [keys])
    shape = [1] * (rank - 2) + [q.tensor.shape[-2], keys]
    scores: Any = q.tensor.new_zeros(shape) if mask is None else mask
    least = torch.full((), -math.inf, dtype=scores.dtype, device=scores.device)
    return _aten.where.self(row, scores, least)
