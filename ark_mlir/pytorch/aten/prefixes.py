"""ATen's reductions of all prefixes along a dimension."""

from __future__ import annotations

import math
from typing import Any

from ... import frontend as ark
from ...dtypes import DType, int32
from ...frontend.ops.prefixes import scan
from .reductions import product
from .table import Out, aten
from .values import Operand, axis_of, tensor, wide


@aten("cumsum.default")
def _cumsum(out: Out, x: Operand, dim: int, dtype: DType | None = None) -> ark.Tensor:
    value = tensor(x, out.dtype)
    return ark.cumsum(value, axis_of(dim, value.ndim)) if value.ndim else value


@aten("cumprod.default")
def _cumprod(out: Out, x: Operand, dim: int, dtype: DType | None = None) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return value
    value = wide(value)

    def reduce(blocks: ark.Tensor, axis: int, keepdims: bool) -> ark.Tensor:
        return product(blocks, axis % blocks.ndim)

    return tensor(scan(value, axis_of(dim, value.ndim), reduce, ark.mul, 1), out.dtype)


def _enter_extremes(name: str, is_max: bool) -> None:
    def extremes(out: tuple[Out, Out], x: Operand, dim: int) -> Any:
        """Returns the extremes of prefixes, and the positions of the last ones of them."""
        value = tensor(x)
        if value.ndim == 0:
            return value, ark.zeros((), out[1].dtype)
        axis = axis_of(dim, value.ndim)
        low, high = (-math.inf, math.inf) if value.dtype.is_float else value.dtype.integer_range
        reduce, join, neutral = (
            (ark.reduce_max, ark.maximum, low) if is_max else (ark.reduce_min, ark.minimum, high)
        )
        found = scan(value, axis, reduce, join, neutral)
        is_extreme = ark.equal(value, found)
        if value.dtype.is_float:  # from the first NaN on, all are NaN
            is_extreme = ark.logical_or(is_extreme, value != value)
        extent = value.shape[axis]
        numbers = ark.reshape(ark.arange(extent), (extent, *(1,) * (value.ndim - axis - 1)))
        marked = ark.where(is_extreme, numbers, -1)
        position = scan(marked, axis, ark.reduce_max, ark.maximum, int32.integer_range[0])
        return found, tensor(position, out[1].dtype)

    aten(f"{name}.default")(extremes)


_enter_extremes("cummax", True)
_enter_extremes("cummin", False)
