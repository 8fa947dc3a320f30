"""The decompositions of ATen ops before a graph is partitioned.

The core ATen decompositions of PyTorch apply to all ops that ark does not support itself. Three
more rules serve training, one serves LSTMs on the host, and one AMD GPUs. PyTorch traces them, so
that a subgraph that ark cannot compile runs in eager PyTorch like any other.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch._decomp import core_aten_decompositions

from .aten import names

__all__ = ["decompositions"]


_LOCAL = threading.local()
# The program has the ops of every step of an LSTM; the limit keeps the compilation short.
_MAX_STEPS = 256
_LSTM = 2  # the mode of an LSTM in ``mkldnn_rnn_layer``


def decompositions() -> dict[Any, Any]:
    """Returns the core ATen decompositions of ops that ark does not support, and the rules for
    training."""
    return {
        **_core(),
        _op("_scaled_dot_product_flash_attention_for_cpu_backward"): _flash_backward,
        _op("_scaled_dot_product_efficient_attention_backward"): _efficient_backward,
        _op("native_dropout"): _dropout,
        _op("mkldnn_rnn_layer"): _lstm_layer,
        **_rules_for_rocm(),
    }


@functools.cache
def _core() -> dict[Any, Any]:
    """Returns the core ATen decompositions of ops that ark does not support."""
    translated = set(names())
    rules = core_aten_decompositions()
    return {op: rule for op, rule in rules.items() if str(op) not in translated}


def _rules_for_rocm() -> dict[Any, Any]:
    """Returns the rule for the batch norm of MIOpen, an op that only PyTorch for ROCm calls.

    The core decompositions have none. Inductor's module has one, and registers it for Autograd as
    well, so that a training step updates the running statistics. Versions of PyTorch without the
    rule execute the op themselves.
    """
    if not torch.version.hip:
        return {}
    from torch._inductor.decomposition import decompositions as rules

    op = _op("miopen_batch_norm")
    return {op: rules[op]} if op in rules else {}


def _op(name: str) -> Any:
    return getattr(torch.ops.aten, name).default


def _lstm_layer(
    x: torch.Tensor,
    input_weight: torch.Tensor,
    hidden_weight: torch.Tensor,
    input_bias: torch.Tensor,
    hidden_bias: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> Any:
    """Computes one layer and direction of an LSTM for ``x [steps, batch, inputs]``, step by step.

    Eager PyTorch has this op on the host only, and only without gradients.
    """
    if mode != _LSTM or batch_sizes or num_layers > 1 or bidirectional or train:
        return NotImplemented
    steps: Any = x.shape[0]
    if not isinstance(steps, int) or steps > _MAX_STEPS:
        return NotImplemented
    biases = input_bias + hidden_bias if has_biases else None
    shares = torch.nn.functional.linear(x, input_weight, biases)
    h, c = hidden.reshape(x.shape[1], -1), cell.reshape(x.shape[1], -1)
    outputs: list[torch.Tensor] = []
    for step in reversed(range(steps)) if reverse else range(steps):
        gates = shares[step] + torch.nn.functional.linear(h, hidden_weight)
        write, keep, new, read = gates.chunk(4, -1)
        c = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
        h = torch.sigmoid(read) * torch.tanh(c)
        outputs.append(h)
    result = torch.stack(outputs[::-1] if reverse else outputs)
    return result, h.reshape(hidden.shape), c.reshape(cell.shape), x.new_zeros((0,))


def _flash_backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> Any:
    if dropout_p:
        return NotImplemented
    gradients = _attention_backward(grad_out, query, key, value, attn_mask, is_causal, scale)
    return gradients[:3]


def _efficient_backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: torch.Tensor | None,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    philox_seed: torch.Tensor,
    philox_offset: torch.Tensor,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    if dropout_p:
        return NotImplemented
    given = _attention_backward(grad_out, query, key, value, attn_bias, is_causal, scale)
    *gradients, scores = given
    wants_bias = attn_bias is not None and grad_input_mask[3]
    bias = scores.sum_to_size(attn_bias.shape).to(attn_bias.dtype) if wants_bias else None  # type: ignore[union-attr]
    return (*gradients, bias)


def _attention_backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> tuple[torch.Tensor, ...]:
    """Returns the gradients of queries, keys, values and scores.

    The weights are computed again from queries and keys, in fp32 or wider. The forward pass then
    keeps neither the weights nor the logarithms of their sums.
    """
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    groups = query.shape[1] // key.shape[1]
    keys, values = (_repeated(x, groups) for x in (key, value))
    weights = _weights(_wide(query) @ _wide(keys).mT * factor, mask, is_causal)
    slopes = _wide(grad_out) @ _wide(values).mT
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdim=True))
    scaled, shares = (slopes * factor).to(query.dtype), weights.to(query.dtype)
    return (
        scaled @ keys,
        _over_groups(scaled.mT @ query, groups),
        _over_groups(shares.mT @ grad_out, groups),
        slopes,
    )


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype.itemsize < 4 else x


def _repeated(x: torch.Tensor, groups: int) -> torch.Tensor:
    return x if groups == 1 else x.repeat_interleave(groups, 1)


def _over_groups(x: torch.Tensor, groups: int) -> torch.Tensor:
    return x if groups == 1 else x.unflatten(1, (-1, groups)).sum(2)


def _weights(scores: torch.Tensor, mask: torch.Tensor | None, is_causal: bool) -> torch.Tensor:
    """Returns the softmax of scores; zeros in a row that is masked completely."""
    if is_causal:  # PyTorch aligns the first query with the first key
        seen = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if mask is None:
        return scores.softmax(-1)
    hidden = mask.dtype is torch.bool
    scores = scores.masked_fill(~mask, -math.inf) if hidden else scores + _wide(mask)
    return _op("_safe_softmax")(scores, -1)


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """Draws the mask by an op that does not depend on `x`.

    PyTorch draws the random numbers, so that they follow its generator. An op that depends on `x`
    would split the program at each dropout.
    """
    if train is False or not 0 < p < 1 or getattr(_LOCAL, "draws_mask", False):
        return NotImplemented
    kept = _draw_mask(x, p)
    return x * kept * (1 / (1 - p)), kept


def _draw_mask(x: torch.Tensor, p: float) -> torch.Tensor:
    """Returns the mask that eager PyTorch would draw for the dropout of `x`.

    The layout of `x` decides the order of the numbers, and on a GPU also its dtype: there, eager
    PyTorch draws and applies the mask in one kernel.
    """
    dtype = x.dtype if x.is_cuda else torch.bool
    empty = torch.empty_strided(x.shape, x.stride(), dtype=dtype, device=x.device)
    if not x.is_cuda:
        return torch.bernoulli(empty, 1 - p)
    _LOCAL.draws_mask = True  # this op stays as it is
    try:
        return _op("native_dropout")(empty, p, True)[1]
    finally:
        _LOCAL.draws_mask = False
