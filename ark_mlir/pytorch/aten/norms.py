"""ATen's normalisations of rows, groups and batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import frontend as ark
from ...dtypes import fp32
from .reductions import variance_of
from .table import Deferred, Out, Unavailable, aten
from .values import Operand, shaped, tensor, wide


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
        variance, _ = variance_of(values, -1, 0)
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
    """Returns `x`, of fp32, multiplied by one weight and shifted by one bias for each channel."""
    if weight is not None:
        x = x * _per_channel(tensor(weight, fp32), x.ndim)
    if bias is not None:
        x = x + _per_channel(tensor(bias, fp32), x.ndim)
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
    vectors = [None if each is None else tensor(each, fp32) for each in (weight, bias)]
    result = tensor(ark.group_norm(tensor(value, fp32), groups, *vectors, eps=eps), out[0].dtype)
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
    value = tensor(x, fp32)
    axes = [axis for axis in range(value.ndim) if axis != 1]
    variance, mean = variance_of(value, axes, 0)
    scale = ark.rsqrt(variance + eps)
    result = tensor(_scaled((value - mean) * scale, weight, bias), out[0].dtype)
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
        return *found, tensor(mean, out[3].dtype), tensor(variance, out[4].dtype)
    value = tensor(x)
    axes = [axis for axis in range(value.ndim) if axis != 1]
    values = wide(value)
    own, center = variance_of(values, axes, 0)
    scale = ark.rsqrt(own + eps)
    result = _scaled((values - center) * scale, weight, bias)
    # torch keeps the variance whose divisor is one less than the number of elements.
    count = math.prod(value.shape[axis] for axis in axes)
    unbiased = own * (count / (count - 1)) if count > 1 else own

    def moved(result: Out, running: ark.Tensor, found: ark.Tensor) -> ark.Tensor:
        new = wide(running) * (1 - momentum) + shaped(found, running.shape) * momentum
        return tensor(new, result.dtype)  # torch says fp32 for running statistics of 16 bits, too

    return (
        tensor(result, out[0].dtype),
        *(_later(o, t) for o, t in zip(out[1:3], (center, scale), strict=True)),
        moved(out[3], mean, center),
        moved(out[4], variance, unbiased),
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
    statistics = tensor(mean, fp32), tensor(variance, fp32)
    vectors = [None if each is None else tensor(each, fp32) for each in (weight, bias)]
    found = ark.batch_norm(tensor(value, fp32), *statistics, *vectors, eps=eps)
    unavailable = Unavailable("statistics of a batch, which training needs")
    return tensor(found, out[0].dtype), unavailable, unavailable
