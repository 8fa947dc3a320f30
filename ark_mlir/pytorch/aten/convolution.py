"""ATen's convolutions, as matrix products or as sums of shifted images.

The windows of an image become the columns of a matrix, by which the filters are multiplied. The
filters keep their layout, so that a run copies images but no weights. A depthwise convolution has
one channel in each group, so that its matrices have few rows. It is a sum of products of shifted
images and elements of the filters, which one task computes without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import frontend as ark
from ...frontend.derivatives import GroupStep, attach
from ...frontend.ops.convolution import convolved
from ...frontend.ops.transposed_convolution import transposed
from .adjoints import pulled
from .table import Out, Unavailable, aten
from .values import Operand, shaped, tensor
from .windows import Windows, as_many, fitted, images_of

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
        make = transposed if self.transposed else _plain
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
