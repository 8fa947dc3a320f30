"""ATen's reductions and softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bool_, int32
from .table import Out, aten, unsupported
from .values import Operand, as_axes, axis_of, shaped, tensor, wide

__all__ = ["product", "variance_of"]

Axes = int | Sequence[int] | None
_MAX_DIFFERENCES = 1 << 24


def _reduced(
    op: Callable[..., ark.Tensor], out: Out, x: ark.Tensor, dim: Axes, keepdim: bool
) -> ark.Tensor:
    if x.ndim == 0:  # torch lets rank zero be reduced along its only element
        return shaped(op(shaped(x, (1,)), 0, keepdims=False), out.shape)
    return op(x, as_axes(dim, x.ndim), keepdims=keepdim)


@aten("sum.default", "sum.dim_IntList")
def _sum(
    out: Out, x: Operand, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> ark.Tensor:
    return _reduced(ark.reduce_sum, out, tensor(x, out.dtype), dim, keepdim)


@aten("mean.default", "mean.dim")
def _mean(
    out: Out, x: Operand, dim: Axes = None, keepdim: bool = False, dtype: DType | None = None
) -> ark.Tensor:
    return _reduced(ark.reduce_mean, out, tensor(x, out.dtype), dim, keepdim)


def _of_numbers(
    op: Callable[..., ark.Tensor], out: Out, x: Operand, dim: Axes, keepdim: bool
) -> ark.Tensor:
    value = tensor(x)
    if value.dtype is bool_:
        value = ark.cast(value, int32)
    return tensor(_reduced(op, out, value, dim, keepdim), out.dtype)


@aten("amax.default", "max.default", "any.default", "any.dim", "any.dims")
def _amax(out: Out, x: Operand, dim: Axes = None, keepdim: bool = False) -> ark.Tensor:
    value = tensor(x, out.dtype) if out.dtype is bool_ else x
    return _of_numbers(ark.reduce_max, out, value, dim, keepdim)


@aten("amin.default", "min.default", "all.default", "all.dim", "all.dims")
def _amin(out: Out, x: Operand, dim: Axes = None, keepdim: bool = False) -> ark.Tensor:
    value = tensor(x, out.dtype) if out.dtype is bool_ else x
    return _of_numbers(ark.reduce_min, out, value, dim, keepdim)


@aten("argmax.default")
def _argmax(out: Out, x: Operand, dim: int | None = None, keepdim: bool = False) -> ark.Tensor:
    value = tensor(x)
    if dim is None or value.ndim == 0:
        value, dim = shaped(value, (value.size,)), 0
    return shaped(tensor(ark.argmax(value, dim), out.dtype), out.shape)


@aten("argmin.default")
def _argmin(out: Out, x: Operand, dim: int | None = None, keepdim: bool = False) -> ark.Tensor:
    value = tensor(x)
    if value.dtype.is_float:
        return _argmax(out, -value, dim, keepdim)
    # The least integer has no negation, but every integer has a complement.
    last = -1 if value.dtype.kind == "int" else value.dtype.integer_range[1]
    return _argmax(out, last - value, dim, keepdim)


@aten("max.dim")
def _max(out: tuple[Out, Out], x: Operand, dim: int, keepdim: bool = False) -> Any:
    return _amax(out[0], x, dim, keepdim), _argmax(out[1], x, dim, keepdim)


@aten("min.dim")
def _min(out: tuple[Out, Out], x: Operand, dim: int, keepdim: bool = False) -> Any:
    return _amin(out[0], x, dim, keepdim), _argmin(out[1], x, dim, keepdim)


def variance_of(
    x: ark.Tensor, dim: Axes, correction: float | None
) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns variance and mean; both keep the reduced dimensions."""
    axes = as_axes(dim, x.ndim)
    count = math.prod(x.shape[a] for a in axes)
    divisor = count - (1 if correction is None else correction)
    if divisor <= 0:
        raise unsupported(f"the variance of {count} elements, which is NaN")
    mean = ark.reduce_mean(x, axes)
    off = x - mean
    return ark.reduce_sum(off * off, axes) / divisor, mean


def _of_variance(finish: Callable[[ark.Tensor], ark.Tensor]) -> Callable[..., ark.Tensor]:
    def handler(
        out: Out,
        x: Operand,
        dim: Axes = None,
        correction: float | None = None,
        keepdim: bool = False,
    ) -> ark.Tensor:
        return finish(shaped(variance_of(tensor(x), dim, correction)[0], out.shape))

    return handler


aten("var.correction")(_of_variance(lambda variance: variance))
aten("std.correction")(_of_variance(ark.sqrt))


@aten("var_mean.correction")
def _var_mean(
    out: tuple[Out, Out],
    x: Operand,
    dim: Axes = None,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[ark.Tensor, ark.Tensor]:
    variance, mean = variance_of(tensor(x), dim, correction)
    return shaped(variance, out[0].shape), shaped(mean, out[1].shape)


@aten("linalg_vector_norm.default")
def _norm(
    out: Out,
    x: Operand,
    ord: float = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if ord == 2:
        return ark.sqrt(_reduced(ark.reduce_sum, out, value * value, dim, keepdim))
    if ord == 0:
        return _reduced(ark.reduce_sum, out, tensor(value != 0, out.dtype), dim, keepdim)
    reductions = {1: ark.reduce_sum, math.inf: ark.reduce_max, -math.inf: ark.reduce_min}
    if ord not in reductions:
        powers = _reduced(ark.reduce_sum, out, ark.pow(ark.abs(value), ord), dim, keepdim)
        return ark.pow(powers, 1 / ord)
    return _reduced(reductions[ord], out, ark.abs(value), dim, keepdim)


@aten("prod.default")
def _prod(out: Out, x: Operand, dtype: DType | None = None) -> ark.Tensor:
    value = tensor(x, out.dtype)
    return shaped(product(shaped(value, (value.size,)), 0), ())


@aten("prod.dim_int")
def _prod_dim(
    out: Out, x: Operand, dim: int, keepdim: bool = False, dtype: DType | None = None
) -> ark.Tensor:
    value = tensor(x, out.dtype)
    return shaped(product(value, axis_of(dim, value.ndim)) if value.ndim else value, out.shape)


def product(x: ark.Tensor, axis: int) -> ark.Tensor:
    """Multiplies both halves of an axis until one element remains."""
    narrow, value = x.dtype, ark.transpose(x, [*(a for a in range(x.ndim) if a != axis), axis])
    value = wide(value) if narrow.is_float else value
    lead = value.shape[:-1]
    if value.shape[-1] == 0:
        return ark.ones(lead, narrow)
    while (extent := value.shape[-1]) > 1:
        half = extent // 2
        product = value[..., :half] * value[..., half : 2 * half]
        rest = [value[..., 2 * half :]] if extent % 2 else []
        value = ark.concat([product, *rest], -1) if rest else product
    return tensor(shaped(value, lead), narrow)


@aten("_cdist_forward.default")
def _cdist(
    out: Out, a: Operand, b: Operand, p: float = 2, compute_mode: int | None = None
) -> ark.Tensor:
    """Returns the distances of all pairs of rows."""
    rows, columns = ark.unsqueeze(tensor(a), -2), ark.unsqueeze(tensor(b), -3)
    if math.prod((*out.shape, rows.shape[-1])) > _MAX_DIFFERENCES:
        raise unsupported(f"distances of more than {_MAX_DIFFERENCES} differences")
    return _norm(out, rows - columns, p, [-1])


@aten("histc.default")
def _histc(out: Out, x: Operand, bins: int = 100, min: float = 0, max: float = 0) -> ark.Tensor:
    """Counts the elements in each of `bins` ranges of equal width between `min` and `max`.

    PyTorch raises an error if the extremes of the data are the limits and not finite; the counts
    of such data are not specified here.
    """
    if not out.dtype.is_float:
        raise unsupported("a histogram of integers")
    value = shaped(tensor(x, out.dtype), (tensor(x).size, 1))
    low, high = _limits(value, min, max)
    inside = ark.logical_and(value >= low, value <= high)
    # Torch computes the position in this order. The last range includes `max`.
    position = (value - low) / (high - low) * bins
    number = ark.minimum(ark.cast(ark.where(inside, position, 0), int32), bins - 1)
    ranges = ark.constant(np.arange(bins, dtype=np.int32)[None], int32)
    found = ark.logical_and(inside, number == ranges)
    return ark.reduce_sum(ark.cast(found, out.dtype), 0, keepdims=False)


def _limits(x: ark.Tensor, low: float, high: float) -> tuple[Operand, Operand]:
    """Returns the limits of a histogram; equal ones stand for the extremes of the data."""
    if low > high:
        raise unsupported("a histogram whose min is above its max")
    if low < high:
        return low, high
    least, most = (ark.reduce_min(x), ark.reduce_max(x)) if low == high == 0 else (low, high)
    if not isinstance(least, ark.Tensor) or not isinstance(most, ark.Tensor):
        return low - 1, high + 1
    apart = ark.cast(least == most, x.dtype)
    return least - apart, most + apart


@aten("_softmax.default", "softmax.int")
def _softmax(out: Out, x: Operand, dim: int, *_: object, dtype: DType | None = None) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return ark.ones((), out.dtype)
    return ark.softmax(value, axis_of(dim, value.ndim))


@aten("_safe_softmax.default")
def _safe_softmax(out: Out, x: Operand, dim: int, dtype: DType | None = None) -> ark.Tensor:
    """Returns the softmax, with zeros in a row that is masked completely."""
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return _softmax(out, value, dim)
    highest = ark.reduce_max(value, axis_of(dim, value.ndim))
    return ark.where(highest > -math.inf, _softmax(out, value, dim), 0.0)


@aten("_log_softmax.default", "log_softmax.int")
def _log_softmax(
    out: Out, x: Operand, dim: int, *_: object, dtype: DType | None = None
) -> ark.Tensor:
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return ark.zeros((), out.dtype)
    axis = axis_of(dim, value.ndim)
    low = value - ark.reduce_max(value, axis)
    return low - ark.log(ark.reduce_sum(ark.exp(low), axis))
