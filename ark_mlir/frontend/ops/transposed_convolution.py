"""Transposed convolutions, as products for each remainder of a position by the strides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..operands import as_tensor
from ..shapes import as_int, as_ints, invalid
from ..tensor import Tensor
from .convolution import (
    MAX_SHIFTS,
    Padding,
    add_bias,
    check_dtype,
    depthwise,
    numbers_of,
    pads_of,
    product,
)
from .creation import zeros
from .linear import matmul
from .views import concat, reshape, transpose, unsqueeze
from .window_axes import Windows, elements, fitted, padded, spaced

__all__ = ["conv_transpose1d", "conv_transpose2d"]

# A transposed convolution has a product for each phase, which is a remainder of the strides.
_MAX_PHASES = 16


def conv_transpose1d(
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    output_padding: int = 0,
    groups: int = 1,
    dilation: int = 1,
    name: str | None = None,
) -> Tensor:
    """Returns the transposed convolution of sequences; see :func:`conv_transpose2d`.

    Args:
        x: ``[N, C, L]`` or ``[C, L]``.
        filters: ``[C, F / groups, k]``, of the dtype of `x`.
        bias: ``[F]``, or None.
        stride, output_padding, groups, dilation: as for :func:`conv_transpose2d`, of one dimension.
        padding: number of elements to cut off on each side, or a pair ``(before, after)``.

    The result is ``[N, F, length]``, without N if `x` has none, of the dtype of `x`. Raises
    InvalidUsageError as :func:`conv_transpose2d` does.

    Example:
        >>> codes = ark.input("codes", (2, 64, 50))
        >>> filters = ark.parameter("filters", (64, 80, 4))
        >>> ark.conv_transpose1d(codes, filters, stride=2, padding=1).shape
        (2, 80, 100)
    """
    settings = (stride, padding, output_padding, groups, dilation)
    return _convolution("conv_transpose1d", 1, x, filters, bias, *settings, name)


def conv_transpose2d(
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    name: str | None = None,
) -> Tensor:
    """Returns the transposed convolution of images, the derivative of :func:`conv2d` by its images.

    Each element of an image is multiplied by the filters of its channel, and the products are added
    around `stride` times its position. The arguments have the order of PyTorch's.

    Args:
        x: ``[N, C, H, W]`` or ``[C, H, W]``.
        filters: ``[C, F / groups, kh, kw]``, of the dtype of `x`.
        bias: ``[F]``, or None.
        stride: distance between the positions of neighbouring elements, one number or one for each
            of rows and columns.
        padding: number of elements to cut off on each side of the result, as :func:`conv2d` takes
            it.
        output_padding: number of elements by which the result is longer at its end, less than the
            stride or the dilation; one number or one for each of rows and columns.
        groups: the channels and the filters are divided into this number of groups.
        dilation: distance between neighbouring elements of a filter, as `stride`.

    The result is ``[N, F, rows, columns]``, without N if `x` has none, of the dtype of `x`, where
    ``rows`` is ``(H - 1) * stride - before - after + dilation * (kh - 1) + output_padding + 1``.
    Floats accumulate in fp32; integers wrap. With overlapping windows, the number of products is
    that of the remainders of the strides. Raises InvalidUsageError if shapes or dtypes do not fit,
    the dtype is bool, or an 8-bit float type with a bias, a number is out of range, or the result
    has no elements.

    Example:
        >>> image = ark.input("image", (1, 16, 16, 16))
        >>> filters = ark.parameter("filters", (16, 3, 4, 4))
        >>> ark.conv_transpose2d(image, filters, stride=2, padding=1).shape
        (1, 3, 32, 32)
    """
    settings = (stride, padding, output_padding, groups, dilation)
    return _convolution("conv_transpose2d", 2, x, filters, bias, *settings, name)


def _convolution(
    label: str,
    rank: int,
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: Padding,
    output_padding: int | Sequence[int],
    groups: int,
    dilation: int | Sequence[int],
    name: str | None,
) -> Tensor:
    op = f"ark.{label}"
    images, weights = as_tensor(x, label), as_tensor(filters, label, "filters")
    if images.ndim not in (rank + 1, rank + 2):
        raise invalid(f"x must have rank {rank + 1} or {rank + 2}, not {images.ndim}", op)
    strides = numbers_of(stride, rank, "stride", op)
    dilations = numbers_of(dilation, rank, "dilation", op)
    pads = pads_of(padding, rank, op)
    number = as_int(groups, "groups", op)
    check_dtype(images.dtype, bias is not None, op)
    _check_filters(images, weights, rank, number, op)
    windows = [Windows(*each) for each in zip(weights.shape[2:], strides, dilations, strict=True)]
    more = _longer(output_padding, windows, op)
    extents = images.shape[-rank:]
    shape = [
        each.reach(extent) - before - after + surplus
        for each, extent, (before, after), surplus in zip(windows, extents, pads, more, strict=True)
    ]
    if min(extents) < 1:
        raise invalid(f"images of extents {list(extents)} have no elements", op)
    if min(shape) < 1:
        raise invalid(
            f"the result of images of extents {list(extents)} would have extents {shape}; use less "
            "padding",
            op,
        )
    batched = images if images.ndim == rank + 2 else reshape(images, (1, *images.shape))
    first = [before for before, _ in pads]
    found = transposed(batched, weights, windows, first, shape, number)
    lead = images.shape[: -rank - 1]
    return add_bias(found, bias, (*lead, *found.shape[1:]), rank, op, name or label)


def _check_filters(images: Tensor, filters: Tensor, rank: int, groups: int, op: str) -> None:
    channels = images.shape[-rank - 1]
    fits = filters.ndim == rank + 2 and groups >= 1 and min(filters.shape[1:]) >= 1
    if not fits or filters.shape[0] != channels or channels % groups:
        raise invalid(
            f"filters of shape {list(filters.shape)} in {groups} groups do not fit {channels} "
            f"channels; the shape must be [channels, F / groups, {', '.join(['k'] * rank)}], where "
            "groups divides the channels",
            op,
        )
    if filters.dtype != images.dtype:
        raise invalid(f"x has dtype {images.dtype} and filters have {filters.dtype}", op)


def _longer(values: int | Sequence[int], windows: Sequence[Windows], op: str) -> list[int]:
    """Returns the number of elements by which each dimension of the result is longer."""
    numbers = as_ints(values, "output_padding", op)
    numbers = numbers * len(windows) if len(numbers) == 1 else numbers
    fits = len(numbers) == len(windows) and all(
        0 <= number < max(each.stride, each.dilation)
        for number, each in zip(numbers, windows, strict=True)
    )
    if not fits:
        raise invalid(
            "output_padding must be not negative and less than the stride or the dilation, one "
            f"number or one for each dimension, not {values!r}",
            op,
        )
    return numbers


def _combined(
    filters: Tensor, parts: Sequence[Tensor], shape: Sequence[int], groups: int
) -> Tensor:
    """Returns the convolution ``[N, F, ...]`` of the elements of windows.

    Args:
        filters: ``[F, C / groups, ...]``.
        parts: the elements of all windows, each ``[N, C, ...]``, in the order of the filters'.
        shape: the extents of the result.
    """
    if parts[0].shape[1] == groups > 1 and len(parts) <= MAX_SHIFTS:
        return depthwise(filters, parts)
    return product(filters, _columns(parts, groups), shape, groups)


def _columns(elements: Sequence[Tensor], groups: int) -> Tensor:
    """Returns elements of windows as ``[N, groups, C / groups * len(elements), windows]``.

    Each of `elements` has the shape ``[N, C, ...]``.
    """
    batch, channels, *shape = elements[0].shape
    count = math.prod(shape)
    flat = [reshape(each, (batch, channels, 1, count)) for each in elements]
    stacked = flat[0] if len(flat) == 1 else concat(flat, 2)
    return reshape(stacked, (batch, groups, channels // groups * len(elements), count))


def transposed(
    images: Tensor,
    filters: Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    groups: int,
) -> Tensor:
    """Returns the transposed convolution of images ``[N, C, ...]``.

    Args:
        filters: ``[C, F / groups, ...]``.
        windows: the windows of the convolution of which this one is the transpose.
        pads: the number of results that are cut off at the front of each dimension.
        shape: the extents of the result; elements that no window reaches are zero.
    """
    apart = all(each.size == each.stride and each.dilation == 1 for each in windows)
    exact = all(
        extent * each.size == result
        for extent, each, result in zip(images.shape[2:], windows, shape, strict=True)
    )
    if apart and exact and not any(pads):
        return _tiled(images, filters, shape, groups)
    turned = _swapped(filters, groups)
    if math.prod(each.stride for each in windows) > _MAX_PHASES:
        return _with_zeros(images, turned, windows, pads, shape, groups)
    axes = [_phases(each, pad) for each, pad in zip(windows, pads, strict=True)]
    counts = [-(-count // each.stride) for each, count in zip(windows, shape, strict=True)]
    for axis, (phases, count) in enumerate(zip(axes, counts, strict=True), 2):
        starts = [start for phase in phases for start in phase.starts]
        before, after = -min(starts), max(starts) + count - images.shape[axis]
        images = padded(images, axis, before, after, 0)
        axes[axis - 2] = [phase.moved(before) for phase in phases]
    parts = [_phase(images, turned, each, counts, groups) for each in itertools.product(*axes)]
    result = _interleaved(parts, [each.stride for each in windows])
    return result[(slice(None), slice(None), *(slice(0, count) for count in shape))]


@dataclass(frozen=True)
class _Phase:
    """Every stride-th result of a transposed convolution along one dimension.

    Result ``q`` is the sum over ``i`` of the products of the filter's element ``taps[i]`` and the
    image's element ``q + starts[i]``. `taps` may be empty.
    """

    taps: range
    starts: tuple[int, ...]

    def moved(self, distance: int) -> _Phase:
        return _Phase(self.taps, tuple(start + distance for start in self.starts))


def _phases(windows: Windows, pad: int) -> list[_Phase]:
    """Returns the phases along one dimension, one for each remainder of a result's position."""
    stride, dilation = windows.stride, windows.dilation
    step = stride // math.gcd(stride, dilation)
    found: list[_Phase] = []
    for first in range(pad, pad + stride):
        hits = (t for t in range(windows.size) if (first - t * dilation) % stride == 0)
        taps = range(next(hits, windows.size), windows.size, step)
        found.append(_Phase(taps, tuple((first - t * dilation) // stride for t in taps)))
    return found


def _phase(
    images: Tensor,
    filters: Tensor,
    phases: Sequence[_Phase],
    counts: Sequence[int],
    groups: int,
) -> Tensor:
    """Returns the results ``[N, F, *counts]`` of one phase in each dimension.

    `filters` has the shape ``[F, C / groups, ...]``.
    """
    if not all(phase.taps for phase in phases):
        return zeros((images.shape[0], filters.shape[0], *counts), images.dtype)
    whole = (slice(None), slice(None))
    taps = [slice(each.taps.start, each.taps[-1] + 1, each.taps.step) for each in phases]
    parts = [
        images[(*whole, *(slice(s, s + count) for s, count in zip(starts, counts, strict=True)))]
        for starts in itertools.product(*(phase.starts for phase in phases))
    ]
    return _combined(filters[(*whole, *taps)], parts, counts, groups)


def _interleaved(parts: Sequence[Tensor], strides: Sequence[int]) -> Tensor:
    """Returns ``[N, F, ...]`` from its phases, which are in row-major order."""
    for axis, stride in reversed(list(enumerate(strides, 2))):
        groups = [parts[first : first + stride] for first in range(0, len(parts), stride)]
        parts = [_alternating(group, axis) for group in groups]
    (result,) = parts
    return result


def _alternating(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Returns a tensor whose elements along an axis are those of each part in turn."""
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] *= len(parts)
    return reshape(concat([unsqueeze(p, axis + 1) for p in parts], axis + 1), shape)


def _with_zeros(
    images: Tensor,
    filters: Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    groups: int,
) -> Tensor:
    """Returns the convolution of the image with zeros between its elements, with reversed filters.

    `filters` has the shape ``[F, C / groups, ...]``.
    """
    ones = [Windows(each.size, 1, each.dilation) for each in windows]
    for axis, (each, one, count, pad) in enumerate(zip(windows, ones, shape, pads, strict=True), 2):
        images = spaced(images, axis, each.stride)
        images = fitted(images, axis, one, count, one.span - 1 - pad, 0)
    parts = elements(images, 2, ones, shape)[::-1]
    return _combined(filters, parts, shape, groups)


def _swapped(filters: Tensor, groups: int) -> Tensor:
    """Returns filters ``[C, F / groups, ...]`` as ``[F, C / groups, ...]``."""
    channels, features, *sizes = filters.shape
    split = reshape(filters, (groups, channels // groups, features, math.prod(sizes)))
    turned = transpose(split, (0, 2, 1, 3))
    return reshape(turned, (groups * features, channels // groups, *sizes))


def _tiled(images: Tensor, filters: Tensor, shape: Sequence[int], groups: int) -> Tensor:
    """Returns the transposed convolution whose windows touch and do not overlap.

    Each element of an image becomes a tile of the result.
    """
    batch, channels, *extents = images.shape
    _, features, *sizes = filters.shape
    rank, depth = len(sizes), channels // groups
    rows = reshape(filters, (groups, depth, features * math.prod(sizes)))
    columns = reshape(images, (batch, groups, depth, math.prod(extents)))
    tiles = matmul(rows, columns, transpose_input=True)
    tiles = reshape(tiles, (batch, groups * features, *sizes, *extents))
    # From [N, F, sizes, extents] to [N, F, extent, size, extent, size, ...].
    order = [index for axis in range(rank) for index in (2 + rank + axis, 2 + axis)]
    return reshape(transpose(tiles, (0, 1, *order)), (batch, groups * features, *shape))
