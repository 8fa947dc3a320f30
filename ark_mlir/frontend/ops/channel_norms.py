"""Normalisations of images, whose weights are those of channels; composed of other ops."""

from __future__ import annotations

from ...dtypes import fp32
from ..operands import as_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .conversions import converted, shaped, wide
from .elementwise import add, mul, rsqrt, sub
from .reductions import as_eps, layernorm
from .views import reshape

__all__ = ["batch_norm", "group_norm"]


def group_norm(
    x: Tensor,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Returns ``(x - mean) / sqrt(var + eps) * weight + bias`` over groups of channels.

    Mean and variance are those of all elements of a group of one image.

    Args:
        x: ``[N, C, ...]`` of fp32, fp16 or bf16; the result has its shape and dtype.
        groups: the number of groups, which divides C. One group per channel makes an instance norm.
        weight, bias: ``[C]`` of fp32 or of the dtype of `x`, or None.
        eps: a number that is not negative.

    The op is group normalization (Wu and He, 2018). The result is rounded once, from fp32. Raises
    InvalidUsageError if shapes or dtypes do not fit, `x` has no elements, `groups` does not divide
    the channels, or `eps` is negative or not finite.

    Example:
        >>> image = ark.input("image", (2, 32, 16, 16))
        >>> weight, bias = (ark.parameter(name, (32,)) for name in ("weight", "bias"))
        >>> ark.group_norm(image, 8, weight, bias).shape
        (2, 32, 16, 16)
    """
    op = "ark.group_norm"
    source = _images(x, "group_norm")
    channels, count = source.shape[1], as_int(groups, "groups", op)
    if count < 1 or channels % count:
        raise invalid(f"{count} groups do not divide {channels} channels", op)
    scale, shift = (
        _per_channel(vector, source, label, "group_norm")
        for vector, label in ((weight, "weight"), (bias, "bias"))
    )
    rows = reshape(wide(source), (source.shape[0], count, source.size // (source.shape[0] * count)))
    result = shaped(layernorm(rows, eps=eps), source.shape)
    if scale is not None:
        result = mul(result, scale)
    if shift is not None:
        result = add(result, shift)
    return converted(result, source.dtype, name or "group_norm")


def batch_norm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Returns ``(x - mean) / sqrt(variance + eps) * weight + bias``, with statistics of channels.

    The statistics are given, as in inference.

    Args:
        x: ``[N, C, ...]`` of fp32, fp16 or bf16; the result has its shape and dtype.
        mean, variance: ``[C]`` of fp32 or of the dtype of `x`.
        weight, bias: ``[C]`` of fp32 or of the dtype of `x`, or None.
        eps: a number that is not negative.

    The op is batch normalization (Ioffe and Szegedy, 2015). The result is rounded once, from fp32.
    Raises InvalidUsageError if shapes or dtypes do not fit, `x` has no elements, or `eps` is
    negative or not finite.

    Example:
        >>> image = ark.input("image", (2, 32, 16, 16))
        >>> mean, variance = (ark.parameter(name, (32,)) for name in ("mean", "variance"))
        >>> ark.batch_norm(image, mean, variance).shape
        (2, 32, 16, 16)
    """
    source = _images(x, "batch_norm")
    given = (mean, "mean"), (variance, "variance"), (weight, "weight"), (bias, "bias")
    center, spread, factor, shift = (
        _per_channel(vector, source, label, "batch_norm") for vector, label in given
    )
    if center is None or spread is None:
        raise invalid("mean and variance must be tensors, not None", "ark.batch_norm")
    scale = rsqrt(add(spread, as_eps(eps, "batch_norm")))
    if factor is not None:
        scale = mul(scale, factor)
    result = mul(sub(wide(source), center), scale)
    if shift is not None:
        result = add(result, shift)
    return converted(result, source.dtype, name or "batch_norm")


def _images(x: object, label: str) -> Tensor:
    source = as_tensor(x, label)
    if source.ndim < 2:
        raise invalid(
            f"x must be [N, C, ...] of rank 2 or more, not of shape {list(source.shape)}",
            f"ark.{label}",
        )
    if not source.dtype.is_float or source.dtype.itemsize < 2:
        raise invalid(f"x must be fp32, fp16 or bf16, not {source.dtype}", f"ark.{label}")
    if not source.size:
        raise invalid(f"x of shape {list(source.shape)} has no elements", f"ark.{label}")
    return source


def _per_channel(value: Tensor | None, x: Tensor, label: str, op: str) -> Tensor | None:
    """Returns a vector ``[C]`` as fp32 that broadcasts along dimension one of `x`, or None."""
    if value is None:
        return None
    vector = as_tensor(value, op, label)
    dtypes = (fp32,) if x.dtype is fp32 else (fp32, x.dtype)
    if vector.shape != x.shape[1:2] or vector.dtype not in dtypes:
        raise invalid(
            f"{label} must have shape [{x.shape[1]}] and dtype {' or '.join(map(str, dtypes))}, "
            f"not {list(vector.shape)} and {vector.dtype}; ark.cast converts it",
            f"ark.{op}",
        )
    return reshape(wide(vector), (x.shape[1], *(1,) * (x.ndim - 2)))
