"""ATen's convolutions, as matrix products or as sums of shifted images.

The windows of an image become the columns of a matrix, by which the filters are multiplied. The
filters keep their layout, so that a run copies images but no weights. A depthwise convolution has
one channel in each group, so that its matrices have few rows. It is a sum of products of shifted
images and elements of the filters, which one task computes without a copy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import frontend as ark
from ...frontend.derivatives import GroupStep, attach
from ...frontend.ops.convolution import MAX_SHIFTS, convolved, depthwise, product
from .adjoints import pulled
from .table import Out, Unavailable, aten
from .values import Operand, shaped, tensor
from .windows import Windows, as_many, elements, fitted, images_of, padded, spaced

Many = int | Sequence[int] | None

# A transposed convolution has a product for each phase, which is a remainder of the strides.
_MAX_PHASES = 16

_UNUSED = Unavailable("a gradient that the graph does not request")


@aten("convolution.default", "_convolution.default", "_convolution.deprecated")
def _convolution(
    out: Out,
    x: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Many,
    padding: Many,
    dilation: Many,
    transposed: bool,
    output_padding: Many,
    groups: int,
    *_: object,
) -> ark.Tensor:
    filters = tensor(weight)
    rank = filters.ndim - 2
    images = images_of(x, rank)
    op = _Convolution(rank, stride, padding, dilation, transposed, groups)
    result = op.apply(images, filters, out.shape[-rank:])

    def rule(step: GroupStep) -> list[Any]:
        (slopes,) = step.cotangents
        assert slopes is not None
        return op.gradients(slopes, images, filters, step.needed)

    attach("convolution", [images, filters], [result], rule)
    if bias is not None:
        result = result + ark.reshape(tensor(bias), (1, -1, *(1,) * rank))
    return shaped(result, out.shape)


@dataclass(frozen=True)
class _Convolution:
    """A convolution over `rank` dimensions, or a transposed one."""

    rank: int
    stride: Many
    padding: Many
    dilation: Many
    transposed: bool
    groups: int

    def apply(self, images: ark.Tensor, filters: ark.Tensor, shape: Sequence[int]) -> ark.Tensor:
        """Returns the convolution of ``[N, C, ...]``; `shape` has the extents of its result."""
        sizes = zip(
            filters.shape[2:],
            as_many(self.stride, self.rank),
            as_many(self.dilation, self.rank),
            strict=True,
        )
        windows = [Windows(size, step, apart) for size, step, apart in sizes]
        make = _transposed if self.transposed else _plain
        pads = as_many(self.padding, self.rank, 0)
        return make(images, filters, windows, pads, shape, self.groups)

    def gradients(
        self,
        slopes: ark.Tensor,
        images: ark.Tensor,
        filters: ark.Tensor,
        wanted: Sequence[bool],
    ) -> list[ark.Tensor | None]:
        """Returns the gradients of images and filters.

        The gradient of the images of a convolution is the transposed convolution of the slopes, and
        vice versa. The gradient of the filters is the same for both, with images and slopes
        exchanged.
        """
        plain = replace(self, transposed=False)
        found: list[ark.Tensor | None] = [None, None]
        if wanted[0]:
            other = replace(self, transposed=not self.transposed)
            found[0] = other.apply(slopes, filters, images.shape[2:])
        if wanted[1]:
            small, large = (images, slopes) if self.transposed else (slopes, images)
            found[1] = pulled(lambda w: plain.apply(large, w, small.shape[2:]), filters, small)
        return found


@aten("convolution_backward.default")
def _convolution_backward(
    out: tuple[Out | Unavailable, ...],
    slopes: Operand,
    x: Operand,
    weight: Operand,
    bias_sizes: Sequence[int] | None,
    stride: Many,
    padding: Many,
    dilation: Many,
    transposed: bool,
    output_padding: Many,
    groups: int,
    wanted: Sequence[bool],
) -> tuple[Any, ...]:
    filters, rank = tensor(weight), tensor(weight).ndim - 2
    images, result = images_of(x, rank), images_of(slopes, rank)
    op = _Convolution(rank, stride, padding, dilation, transposed, groups)
    found: list[Any] = [*op.gradients(result, images, filters, wanted), None]
    if wanted[0]:
        found[0] = shaped(found[0], tensor(x).shape)
    if wanted[2]:
        axes = tuple(axis for axis in range(result.ndim) if axis != 1)
        found[2] = ark.reduce_sum(result, axes, keepdims=False)
    return tuple(_UNUSED if part is None else part for part in found)


@aten("conv1d.default", "conv2d.default", "conv3d.default")
def _conv(
    out: Out,
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Many = 1,
    padding: Many = 0,
    dilation: Many = 1,
    groups: int = 1,
) -> ark.Tensor:
    return _convolution(out, x, weight, bias, stride, padding, dilation, False, 0, groups)


def _plain(
    images: ark.Tensor,
    filters: ark.Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    groups: int,
) -> ark.Tensor:
    """Returns the convolution of ``[N, C, ...]`` with filters ``[F, C / groups, ...]``."""
    for axis, (each, count, pad) in enumerate(zip(windows, shape, pads, strict=True), 2):
        images = fitted(images, axis, each, count, pad, 0)
    strides = [each.stride for each in windows]
    return convolved(images, filters, strides, [each.dilation for each in windows], groups)


def _combined(
    filters: ark.Tensor, parts: Sequence[ark.Tensor], shape: Sequence[int], groups: int
) -> ark.Tensor:
    """Returns the convolution ``[N, F, ...]`` of the elements of windows.

    Args:
        filters: ``[F, C / groups, ...]``.
        parts: the elements of all windows, each ``[N, C, ...]``, in the order of the filters'.
        shape: the extents of the result.
    """
    if parts[0].shape[1] == groups > 1 and len(parts) <= MAX_SHIFTS:
        return depthwise(filters, parts)
    return product(filters, _columns(parts, groups), shape, groups)


def _columns(elements: Sequence[ark.Tensor], groups: int) -> ark.Tensor:
    """Returns elements of windows as ``[N, groups, C / groups * len(elements), windows]``.

    Each of `elements` has the shape ``[N, C, ...]``.
    """
    batch, channels, *shape = elements[0].shape
    count = math.prod(shape)
    flat = [ark.reshape(each, (batch, channels, 1, count)) for each in elements]
    stacked = flat[0] if len(flat) == 1 else ark.concat(flat, 2)
    return ark.reshape(stacked, (batch, groups, channels // groups * len(elements), count))


def _transposed(
    images: ark.Tensor,
    filters: ark.Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    groups: int,
) -> ark.Tensor:
    """Returns the transposed convolution with filters ``[C, F / groups, ...]``."""
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
    images: ark.Tensor,
    filters: ark.Tensor,
    phases: Sequence[_Phase],
    counts: Sequence[int],
    groups: int,
) -> ark.Tensor:
    """Returns the results ``[N, F, *counts]`` of one phase in each dimension.

    `filters` has the shape ``[F, C / groups, ...]``.
    """
    if not all(phase.taps for phase in phases):
        return ark.zeros((images.shape[0], filters.shape[0], *counts), images.dtype)
    whole = (slice(None), slice(None))
    taps = [slice(each.taps.start, each.taps[-1] + 1, each.taps.step) for each in phases]
    parts = [
        images[(*whole, *(slice(s, s + count) for s, count in zip(starts, counts, strict=True)))]
        for starts in itertools.product(*(phase.starts for phase in phases))
    ]
    return _combined(filters[(*whole, *taps)], parts, counts, groups)


def _interleaved(parts: Sequence[ark.Tensor], strides: Sequence[int]) -> ark.Tensor:
    """Returns ``[N, F, ...]`` from its phases, which are in row-major order."""
    for axis, stride in reversed(list(enumerate(strides, 2))):
        groups = [parts[first : first + stride] for first in range(0, len(parts), stride)]
        parts = [_alternating(group, axis) for group in groups]
    (result,) = parts
    return result


def _alternating(parts: Sequence[ark.Tensor], axis: int) -> ark.Tensor:
    """Returns a tensor whose elements along an axis are those of each part in turn."""
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] *= len(parts)
    return ark.reshape(ark.concat([ark.unsqueeze(p, axis + 1) for p in parts], axis + 1), shape)


def _with_zeros(
    images: ark.Tensor,
    filters: ark.Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    groups: int,
) -> ark.Tensor:
    """Returns the convolution of the image with zeros between its elements, with reversed filters.

    `filters` has the shape ``[F, C / groups, ...]``.
    """
    ones = [Windows(each.size, 1, each.dilation) for each in windows]
    for axis, (each, one, count, pad) in enumerate(zip(windows, ones, shape, pads, strict=True), 2):
        images = spaced(images, axis, each.stride)
        images = fitted(images, axis, one, count, one.span - 1 - pad, 0)
    parts = elements(images, 2, ones, shape)[::-1]
    return _combined(filters, parts, shape, groups)


def _swapped(filters: ark.Tensor, groups: int) -> ark.Tensor:
    """Returns filters ``[C, F / groups, ...]`` as ``[F, C / groups, ...]``."""
    channels, features, *sizes = filters.shape
    split = ark.reshape(filters, (groups, channels // groups, features, math.prod(sizes)))
    turned = ark.transpose(split, (0, 2, 1, 3))
    return ark.reshape(turned, (groups * features, channels // groups, *sizes))


def _tiled(
    images: ark.Tensor, filters: ark.Tensor, shape: Sequence[int], groups: int
) -> ark.Tensor:
    """Returns the transposed convolution whose windows touch and do not overlap.

    Each element of an image becomes a tile of the result.
    """
    batch, channels, *extents = images.shape
    _, features, *sizes = filters.shape
    rank, depth = len(sizes), channels // groups
    rows = ark.reshape(filters, (groups, depth, features * math.prod(sizes)))
    columns = ark.reshape(images, (batch, groups, depth, math.prod(extents)))
    tiles = ark.matmul(rows, columns, transpose_input=True)
    tiles = ark.reshape(tiles, (batch, groups * features, *sizes, *extents))
    # From [N, F, sizes, extents] to [N, F, extent, size, extent, size, ...].
    order = [index for axis in range(rank) for index in (2 + rank + axis, 2 + axis)]
    return ark.reshape(ark.transpose(tiles, (0, 1, *order)), (batch, groups * features, *shape))
