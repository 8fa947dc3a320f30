"""``upsample``, which changes the extents of images: nearest and linear along each dimension."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import int32
from ..operands import as_tensor, constant_tensor
from ..shapes import as_ints, invalid
from ..tensor import Tensor
from .conversions import converted, wide
from .elementwise import add, mul
from .indexing import gather
from .views import broadcast_to, identity, reshape, unsqueeze

__all__ = ["upsample"]

_MODES = ("nearest", "linear")


def upsample(
    x: Tensor,
    size: int | Sequence[int],
    mode: str = "nearest",
    align_corners: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns images whose spatial dimensions have other extents.

    Args:
        x: ``[N, C, ...]``, with one to three spatial dimensions: of any dtype for ``"nearest"``, of
            fp32, fp16 or bf16 for ``"linear"``.
        size: the extents of the result, one number for all spatial dimensions or one for each.
        mode: ``"nearest"`` repeats elements: element ``i`` of the result is element
            ``floor(i * old / new)`` of `x`. ``"linear"`` interpolates between the two neighbours
            along each dimension, which is bilinear for images.
        align_corners: True aligns the centres of the first and last elements, False their outer
            edges; for ``"linear"`` only.

    The result is ``[N, C, *size]`` of the dtype of `x`, and equals that of
    ``torch.nn.functional.interpolate``. Linear results are computed in fp32 and rounded once. An
    extent may also become smaller; no filter is applied. Raises InvalidUsageError if the rank,
    dtype, `size` or `mode` is wrong, `x` has no elements, or `align_corners` is True for
    ``"nearest"``.

    Example:
        >>> image = ark.input("image", (1, 3, 16, 16))
        >>> ark.upsample(image, 32, mode="linear").shape
        (1, 3, 32, 32)
    """
    op = "ark.upsample"
    source = as_tensor(x, "upsample")
    rank = source.ndim - 2
    if not 1 <= rank <= 3:
        raise invalid(f"x must have a rank from 3 to 5, not shape {list(source.shape)}", op)
    sizes = as_ints(size, "size", op)
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) != rank or min(sizes) < 1:
        raise invalid(f"size must be one or {rank} positive integers, not {size!r}", op)
    if source.size == 0:
        raise invalid(f"x of shape {list(source.shape)} has no elements", op)
    if mode not in _MODES:
        raise invalid(f"mode must be 'nearest' or 'linear', not {mode!r}", op)
    if mode == "nearest" and align_corners:
        raise invalid("align_corners=True has no meaning for 'nearest'; use mode='linear'", op)
    if mode == "nearest":
        for axis, count in enumerate(sizes, 2):
            source = nearest(source, axis, count)
        return identity(source, name=name or "upsample")
    if not source.dtype.is_float or source.dtype.itemsize < 2:
        raise invalid(f"x must be fp32, fp16 or bf16 for 'linear', not {source.dtype}", op)
    result = wide(source)
    for axis, count in enumerate(sizes, 2):
        result = blended(result, axis, count, bool(align_corners))
    return identity(converted(result, source.dtype), name=name or "upsample")


def _ratio(extent: int, count: int, scale: float | None) -> np.float32:
    """Returns the distance between neighbouring results, in elements; fp32 as in torch."""
    return np.float32(1.0 / scale) if scale else np.float32(extent) / np.float32(count)


def _gathered(x: Tensor, positions: Any, axis: int) -> Tensor:
    return gather(x, constant_tensor(positions, int32), axis)


def _repeated(x: Tensor, axis: int, times: int) -> Tensor:
    several = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
    full = (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :])
    return reshape(broadcast_to(unsqueeze(x, axis + 1), several), full)


def nearest(
    x: Tensor, axis: int, count: int, scale: float | None = None, exact: bool = False
) -> Tensor:
    """Returns `count` elements along an axis, each of which is the nearest one of `x`.

    Args:
        scale: the factor of the extent; None derives it from the extents.
        exact: True compares the centres of elements, False their beginnings.
    """
    extent = x.shape[axis]
    numbers = np.arange(count, dtype=np.float32) + np.float32(0.5 if exact else 0)
    positions = np.floor(numbers * _ratio(extent, count, scale)).astype(np.int32)
    positions = positions.clip(0, extent - 1)
    times, rest = divmod(count, extent)
    if rest == 0 and (positions == np.arange(count) // times).all():
        result = x if times == 1 else _repeated(x, axis, times)
    else:
        result = _gathered(x, positions, axis)
    assert result.shape[axis] == count
    return result


def blended(
    x: Tensor, axis: int, count: int, align_corners: bool, scale: float | None = None
) -> Tensor:
    """Interpolates between the two elements around each of `count` positions along an axis."""
    extent = x.shape[axis]
    if extent == count:
        return x
    numbers = np.arange(count, dtype=np.float32)
    if align_corners:
        step = np.float32((extent - 1) / (count - 1)) if count > 1 else np.float32(0)
        positions = numbers * step
    else:
        half = np.float32(0.5)
        positions = np.maximum(_ratio(extent, count, scale) * (numbers + half) - half, 0)
    low = positions.astype(np.int32).clip(0, extent - 1)
    share = (positions - low).astype(np.float32).clip(0, 1)
    high = np.minimum(low + 1, extent - 1)
    shape = (count, *(1,) * (x.ndim - axis - 1))
    upper, lower = (constant_tensor(s.reshape(shape), x.dtype) for s in (share, 1 - share))
    return add(mul(_gathered(x, low, axis), lower), mul(_gathered(x, high, axis), upper))
