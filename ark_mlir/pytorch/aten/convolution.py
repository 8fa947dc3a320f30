"""ATen's convolutions, as matrix products.

The windows of an image become the columns of a matrix, by which the filters are multiplied. The
filters keep their layout, so that a run copies images but no weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import frontend as ark
from ...frontend.derivatives import GroupStep, attach
from .adjoints import pulled
from .table import Out, Unavailable, aten
from .values import Operand, shaped, tensor
from .windows import Windows, as_many, elements, fitted, images_of, spaced

Many = int | Sequence[int] | None

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
    columns = _columns(elements(images, 2, windows, shape), groups)
    return _product(filters, columns, shape, groups)


def _columns(elements: Sequence[ark.Tensor], groups: int) -> ark.Tensor:
    """Returns elements of windows as ``[N, groups, C / groups * len(elements), windows]``.

    Each of `elements` has the shape ``[N, C, ...]``.
    """
    batch, channels, *shape = elements[0].shape
    count = math.prod(shape)
    flat = [ark.reshape(each, (batch, channels, 1, count)) for each in elements]
    stacked = flat[0] if len(flat) == 1 else ark.concat(flat, 2)
    return ark.reshape(stacked, (batch, groups, channels // groups * len(elements), count))


def _product(
    filters: ark.Tensor, columns: ark.Tensor, shape: Sequence[int], groups: int
) -> ark.Tensor:
    """Returns the product of filters ``[F, ...]`` and columns, as ``[N, F, ...]``."""
    batch, _, depth, count = columns.shape
    features = filters.shape[0]
    rows = ark.reshape(filters, (groups, features // groups, depth))
    if groups == 1:
        rows, columns = (
            ark.reshape(rows, (features, depth)),
            ark.reshape(columns, (batch, depth, count)),
        )
    return ark.reshape(ark.matmul(rows, columns), (batch, features, *shape))


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
    # The convolution of the image with zeros between its elements, with reversed filters.
    ones = [Windows(each.size, 1, each.dilation) for each in windows]
    for axis, (each, one, count, pad) in enumerate(zip(windows, ones, shape, pads, strict=True), 2):
        images = spaced(images, axis, each.stride)
        images = fitted(images, axis, one, count, one.span - 1 - pad, 0)
    parts = elements(images, 2, ones, shape)[::-1]
    return _product(_swapped(filters, groups), _columns(parts, groups), shape, groups)


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
