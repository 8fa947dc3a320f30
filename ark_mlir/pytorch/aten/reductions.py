"""ATen's reductions, softmax and normalisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bool_, int32
from .table import Deferred, Out, Unavailable, aten, unsupported
from .values import Operand, as_axes, axis_of, shaped, tensor, wide

__all__ = ["product"]

Axes = int | Sequence[int] | None
_MAX_PREFIXES = 4096
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
    if not value.dtype.is_float:  # the least integer has no negation
        raise unsupported(f"argmin of {value.dtype}")
    return _argmax(out, -value, dim, keepdim)


@aten("max.dim")
def _max(out: tuple[Out, Out], x: Operand, dim: int, keepdim: bool = False) -> Any:
    return _amax(out[0], x, dim, keepdim), _argmax(out[1], x, dim, keepdim)


@aten("min.dim")
def _min(out: tuple[Out, Out], x: Operand, dim: int, keepdim: bool = False) -> Any:
    return _amin(out[0], x, dim, keepdim), _argmin(out[1], x, dim, keepdim)


def _variance(x: ark.Tensor, dim: Axes, correction: float | None) -> tuple[ark.Tensor, ark.Tensor]:
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
        return finish(shaped(_variance(tensor(x), dim, correction)[0], out.shape))

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
    variance, mean = _variance(tensor(x), dim, correction)
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


def _prefix_axis(op: str, x: ark.Tensor, dim: int) -> int:
    """Returns the axis along which a cumulative op runs; raises Unsupported if it is too long."""
    axis = axis_of(dim, x.ndim)
    if x.shape[axis] > _MAX_PREFIXES:
        raise unsupported(f"{op} over {x.shape[axis]} elements; the limit is {_MAX_PREFIXES}")
    return axis


@aten("cumsum.default")
def _cumsum(out: Out, x: Operand, dim: int, dtype: DType | None = None) -> ark.Tensor:
    """Multiplies by a triangular matrix of ones, which suffices for positions and masks."""
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return value
    axis = _prefix_axis("cumsum", value, dim)
    extent = value.shape[axis]
    order = [a for a in range(value.ndim) if a != axis] + [axis]
    rows = shaped(ark.transpose(value, order), (value.size // max(1, extent), extent))
    ones = np.triu(np.ones((extent, extent), np.int8))
    sums = ark.matmul(rows, ark.constant(ones, out.dtype))
    sums = shaped(sums, tuple(value.shape[a] for a in order))
    return ark.transpose(sums, np.argsort(order).tolist())


@aten("cumprod.default")
def _cumprod(out: Out, x: Operand, dim: int, dtype: DType | None = None) -> ark.Tensor:
    """Multiplies each element by the one before it, then by the one two before it, and so on."""
    value = tensor(x, out.dtype)
    if value.ndim == 0:
        return value
    axis = _prefix_axis("cumprod", value, dim)
    extent = value.shape[axis]
    value = wide(value) if value.dtype.is_float else value
    lead, distance = (slice(None),) * axis, 1
    while distance < extent:
        first, rest = value[(*lead, slice(0, distance))], value[(*lead, slice(distance, extent))]
        before = value[(*lead, slice(0, extent - distance))]
        value = ark.concat([first, rest * before], axis)
        distance *= 2
    return tensor(value, out.dtype)


@aten("histc.default")
def _histc(out: Out, x: Operand, bins: int = 100, min: float = 0, max: float = 0) -> ark.Tensor:
    """Counts the elements in each of `bins` ranges of equal width between `min` and `max`."""
    if not min < max:
        raise unsupported("a histogram without min and max, between the extremes of the data")
    if not out.dtype.is_float:
        raise unsupported("a histogram of integers")
    value = shaped(tensor(x, out.dtype), (tensor(x).size, 1))
    inside = ark.logical_and(value >= min, value <= max)
    # Torch computes the position in this order. The last range includes `max`.
    position = (value - min) / (max - min) * bins
    number = ark.minimum(ark.cast(ark.where(inside, position, 0), int32), bins - 1)
    ranges = ark.constant(np.arange(bins, dtype=np.int32)[None], int32)
    found = ark.logical_and(inside, number == ranges)
    return ark.reduce_sum(ark.cast(found, out.dtype), 0, keepdims=False)


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


@aten("layer_norm.default")
def _layer_norm(
    out: Out,
    x: Operand,
    normalized_shape: Sequence[int],
    weight: ark.Tensor | None = None,
    bias: ark.Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> ark.Tensor:
    rows = _rows(tensor(x), normalized_shape)
    parts = (_vector(weight, rows), _vector(bias, rows))
    return shaped(ark.layernorm(rows, *parts, eps=eps), out.shape)


def _rows(x: ark.Tensor, normalized_shape: Sequence[int]) -> ark.Tensor:
    """Returns `x` with the normalised dimensions merged into one."""
    if len(normalized_shape) == 1:
        return x
    kept = x.shape[: x.ndim - len(normalized_shape)]
    return shaped(x, (*kept, math.prod(normalized_shape)))


def _vector(weight: ark.Tensor | None, rows: ark.Tensor) -> ark.Tensor | None:
    if weight is None:
        return None
    return shaped(tensor(weight, rows.dtype), rows.shape[-1:])


@aten("native_layer_norm.default")
def _native_layer_norm(
    out: tuple[Out, ...],
    x: Operand,
    normalized_shape: Sequence[int],
    weight: ark.Tensor | None,
    bias: ark.Tensor | None,
    eps: float,
) -> Any:
    result = _layer_norm(out[0], x, normalized_shape, weight, bias, eps)
    rows = _rows(tensor(x), normalized_shape)
    return result, *_statistics(out[1:], rows, eps)


def _statistics(out: Sequence[Out], rows: ark.Tensor, eps: float) -> tuple[Deferred, Deferred]:
    """Returns the mean of each row, and the reciprocal of its deviation, which gradients need."""
    values = wide(rows)
    mean = Deferred(lambda: _shaped_as(out[0], ark.reduce_mean(values, -1)))

    def deviation() -> ark.Tensor:
        variance, _ = _variance(values, -1, 0)
        return _shaped_as(out[1], ark.rsqrt(variance + eps))

    return mean, Deferred(deviation)


def _shaped_as(out: Out, x: ark.Tensor) -> ark.Tensor:
    return tensor(shaped(x, out.shape), out.dtype)


@aten("rms_norm.default")
def _rms_norm(
    out: Out,
    x: Operand,
    normalized_shape: Sequence[int],
    weight: ark.Tensor | None = None,
    eps: float | None = None,
) -> ark.Tensor:
    rows = _rows(tensor(x), normalized_shape)
    # torch's default is the machine epsilon of the dtype.
    chosen = 2 * rows.dtype.unit_roundoff if eps is None else eps
    return shaped(ark.rmsnorm(rows, _vector(weight, rows), eps=chosen), out.shape)


@aten("_fused_rms_norm.default")
def _fused_rms_norm(
    out: tuple[Out, ...],
    x: Operand,
    normalized_shape: Sequence[int],
    weight: ark.Tensor | None,
    eps: float | None,
) -> Any:
    def scale() -> ark.Tensor:
        rows = wide(_rows(tensor(x), normalized_shape))
        return _shaped_as(out[1], ark.rsqrt(ark.reduce_mean(rows * rows, -1) + chosen))

    chosen = 2 * tensor(x).dtype.unit_roundoff if eps is None else eps
    return _rms_norm(out[0], x, normalized_shape, weight, chosen), Deferred(scale)


def _per_channel(value: ark.Tensor, rank: int) -> ark.Tensor:
    """Reshapes a vector to broadcast along dimension one of a tensor of rank `rank`."""
    return shaped(value, (1, value.size) + (1,) * (rank - 2))


def _scaled(x: ark.Tensor, weight: ark.Tensor | None, bias: ark.Tensor | None) -> ark.Tensor:
    """Returns `x`, multiplied by one weight and shifted by one bias for each channel."""
    if weight is not None:
        x = x * _per_channel(weight, x.ndim)
    if bias is not None:
        x = x + _per_channel(bias, x.ndim)
    return x


@aten("native_group_norm.default")
def _group_norm(
    out: tuple[Out, ...],
    x: Operand,
    weight: ark.Tensor | None,
    bias: ark.Tensor | None,
    n: int,
    channels: int,
    extent: int,
    groups: int,
    eps: float,
) -> Any:
    value = tensor(x)
    rows = ark.layernorm(shaped(value, (n, groups, -1)), eps=eps)
    result = _scaled(shaped(rows, value.shape), weight, bias)
    return result, *_statistics(out[1:], shaped(value, (n, groups, -1)), eps)


@aten("_native_batch_norm_legit.no_stats")
def _instance_norm(
    out: tuple[Out, ...],
    x: Operand,
    weight: ark.Tensor | None,
    bias: ark.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Normalises each channel over all other dimensions, as instance norms do for one image."""
    value = tensor(x)
    axes = [axis for axis in range(value.ndim) if axis != 1]
    variance, mean = _variance(value, axes, 0)
    scale = ark.rsqrt(variance + eps)
    result = _scaled((value - mean) * scale, weight, bias)
    return result, *(_later(o, t) for o, t in zip(out[1:], (mean, scale), strict=True))


@aten("_native_batch_norm_legit_functional.default")
def _training_batch_norm(
    out: tuple[Out, ...],
    x: Operand,
    weight: ark.Tensor | None,
    bias: ark.Tensor | None,
    mean: ark.Tensor,
    variance: ark.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Returns the result, the statistics of the batch, and the new running statistics."""
    if not training:
        found = _batch_norm(out, x, weight, bias, mean, variance, momentum, eps)
        return *found, mean, variance
    value = tensor(x)
    axes = [axis for axis in range(value.ndim) if axis != 1]
    values = wide(value)
    own, center = _variance(values, axes, 0)
    scale = ark.rsqrt(own + eps)
    result = _scaled((values - center) * scale, weight, bias)
    # torch keeps the variance whose divisor is one less than the number of elements.
    count = math.prod(value.shape[axis] for axis in axes)
    unbiased = own * (count / (count - 1)) if count > 1 else own

    def moved(running: ark.Tensor, found: ark.Tensor) -> ark.Tensor:
        new = tensor(shaped(found, running.shape), running.dtype)
        return running * (1 - momentum) + new * momentum

    return (
        tensor(result, out[0].dtype),
        *(_later(o, t) for o, t in zip(out[1:3], (center, scale), strict=True)),
        moved(mean, center),
        moved(variance, unbiased),
    )


def _later(out: Out, x: ark.Tensor) -> Deferred:
    return Deferred(lambda: _shaped_as(out, x))


@aten("_native_batch_norm_legit_no_training.default")
def _batch_norm(
    out: tuple[Out, ...],
    x: Operand,
    weight: ark.Tensor | None,
    bias: ark.Tensor | None,
    mean: ark.Tensor,
    variance: ark.Tensor,
    momentum: float,
    eps: float,
) -> Any:
    value = tensor(x)
    scale = ark.rsqrt(variance + eps)
    if weight is not None:
        scale = scale * weight
    centered = value - _per_channel(mean, value.ndim)
    result = _scaled(centered, scale, bias)
    statistics = Unavailable("statistics of a batch, which training needs")
    return result, statistics, statistics
