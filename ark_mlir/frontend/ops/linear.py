"""Matrix product, attention, rotary positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects import ark as dialect
from ...dtypes import int32
from ..operands import as_pair, as_tensor, constant_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .common import emit
from .views import squeeze, unsqueeze

__all__ = ["attention", "matmul", "rope"]


def matmul(
    a: Tensor | NDArray[Any],
    b: Tensor | NDArray[Any],
    transpose_input: bool = False,
    transpose_other: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrix product over the last two dimensions; leading ones broadcast.

    Args:
        a: ``[..., M, K]``, or ``[..., K, M]`` with `transpose_input`; or a vector ``[K]``.
        b: ``[..., K, N]``, or ``[..., N, K]`` with `transpose_other`; or a vector ``[K]``.

    Both have one dtype, or one has 8-bit floats and the result has the other's: weights of
    fp8_e4m3 are read as they are, half the bytes of bf16. Floats accumulate in fp32, integers
    wrap; 8-bit floats among themselves give fp32. The result lacks the dimension that a vector
    lacks, as numpy's does; to transpose a vector changes nothing. Raises InvalidUsageError on
    numbers, contracted extents that differ, leading extents that do not broadcast.

    Example:
        >>> weight = ark.parameter("weight", (256, 64))
        >>> ark.matmul(x, weight, transpose_other=True).shape  # x: (4, 64)
        (4, 256)
    """
    lhs, rhs = as_pair(a, b, "matmul")
    row, column = lhs.ndim == 1, rhs.ndim == 1
    product = emit(
        "matmul",
        dialect.MatmulOp,
        name,
        lhs=unsqueeze(lhs, 0) if row else lhs,
        rhs=unsqueeze(rhs, 1) if column else rhs,
        transpose_input=bool(transpose_input) and not row,
        transpose_other=bool(transpose_other) and not column,
    )
    absent = [-2] * row + [-1] * column
    return squeeze(product, absent, name) if absent else product


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    causal: bool = False,
    mask: Tensor | None = None,
    kv_length: Tensor | int | None = None,
    name: str | None = None,
) -> Tensor:
    """``softmax(q k^T * scale + mask) v`` for every head.

    Args:
        q: ``[..., Hq, Tq, D]`` of floats.
        k, v: ``[..., Hkv, Tk, D]``; Hq is a multiple of Hkv.
        scale: by default ``1 / sqrt(D)``.
        causal: whether a query sees only keys up to its own position, the last query being
            at the last valid key.
        mask: broadcasts to ``[..., Hq, Tq, Tk]``: bool (true keeps), or of q's dtype (added).
        kv_length: how many of the Tk keys are valid: an int, or a scalar tensor at run time.

    A row without a valid key gives zeros. Raises InvalidUsageError where shapes do not fit.

    Example:
        >>> position = ark.scalar("position", max=511)
        >>> q = ark.input("q", (1, 32, 1, 64))
        >>> keys, values = (ark.state(name, (1, 8, 512, 64)) for name in ("keys", "values"))
        >>> ark.attention(q, keys, values, causal=True, kv_length=position + 1).shape
        (1, 32, 1, 64)
    """
    query, key, value = (as_tensor(t, "attention", w) for t, w in ((q, "q"), (k, "k"), (v, "v")))
    if scale is None:
        scale = 1 / math.sqrt(max(1, query.shape[-1] if query.shape else 1))
    elif isinstance(scale, bool) or not isinstance(scale, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"scale must be a number, not {scale!r}", "ark.attention")
    return emit(
        "attention",
        dialect.AttentionOp,
        name,
        query=query,
        key=key,
        value=value,
        scale=float(scale),
        mask=None if mask is None else as_tensor(mask, "attention", "mask"),
        kv_length=_as_length(kv_length, key),
        causal=bool(causal),
    )


def _as_length(length: Tensor | int | None, key: Tensor) -> Tensor | None:
    if length is None or isinstance(length, Tensor):
        return length
    number = as_int(length, "kv_length", "ark.attention")
    extent = key.shape[-2] if key.ndim > 1 else 0
    if not 0 <= number <= extent:
        raise invalid(f"kv_length {number} is not between 0 and {extent}", "ark.attention")
    return constant_tensor(np.array(number, np.int32), int32)


def rope(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, name: str | None = None
) -> Tensor:
    """Rotary position embedding of the last dimension, of even extent D.

    Args:
        cos, sin: one value for every pair: shapes that end in ``D/2`` and broadcast.
        interleaved: pairs ``2i`` with ``2i + 1`` instead of ``i`` with ``i + D/2``.

    Example:
        >>> q = ark.input("q", (1, 32, 16, 64))
        >>> cos, sin = (ark.parameter(name, (16, 32)) for name in ("cos", "sin"))
        >>> ark.rope(q, cos, sin).shape
        (1, 32, 16, 64)
    """
    return emit(
        "rope",
        dialect.RopeOp,
        name,
        operand=as_tensor(x, "rope"),
        cos=as_tensor(cos, "rope", "cos"),
        sin=as_tensor(sin, "rope", "sin"),
        interleaved=bool(interleaved),
    )
