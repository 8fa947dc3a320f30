"""ATen's pools: the maximum or the mean of each window over the last dimensions.

A window over several dimensions is reduced along one dimension after the other.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import bool_, fp32, int64
from ...frontend.ops.scattering import scattered
from .indexing import flat_along
from .table import Deferred, Out, Unavailable, aten
from .values import Operand, shaped, tensor
from .windows import Windows, as_many, check_floats, elements, fitted

Many = int | Sequence[int] | None

_NO_POSITIONS = Unavailable(
    "the positions of the maxima of an adaptive pool with windows of several sizes"
)


def _reduced(
    x: ark.Tensor,
    windows: Sequence[Windows],
    pads: Sequence[int],
    shape: Sequence[int],
    fill: float,
    combine: Callable[[ark.Tensor, ark.Tensor], ark.Tensor],
) -> ark.Tensor:
    """Combines the elements of each window. There are `shape` windows over the last dimensions."""
    first = x.ndim - len(shape)
    for axis, (each, pad, count) in enumerate(zip(windows, pads, shape, strict=True), first):
        x = fitted(x, axis, each, count, pad, fill)
        x = functools.reduce(combine, elements(x, axis, [each], [count]))
    return x


def _windows(rank: int, size: Many, stride: Many, dilation: Many = 1) -> list[Windows]:
    sizes = as_many(size, rank)
    steps = as_many(stride, rank) if stride else sizes
    return [Windows(*each) for each in zip(sizes, steps, as_many(dilation, rank), strict=True)]


def _enter_max(rank: int) -> None:
    def largest(
        out: Out,
        x: Operand,
        kernel_size: Many,
        stride: Many = None,
        padding: Many = 0,
        dilation: Many = 1,
        ceil_mode: bool = False,
    ) -> ark.Tensor:
        value = tensor(x)
        least = -math.inf if value.dtype.is_float else value.dtype.integer_range[0]
        windows = _windows(rank, kernel_size, stride, dilation)
        pads = as_many(padding, rank, 0)
        return _reduced(value, windows, pads, out.shape[-rank:], least, ark.maximum)

    def with_indices(
        out: tuple[Out, Out],
        x: Operand,
        kernel_size: Many,
        stride: Many = None,
        padding: Many = 0,
        dilation: Many = 1,
        ceil_mode: bool = False,
    ) -> Any:
        maxima = largest(out[0], x, kernel_size, stride, padding, dilation)
        windows = _windows(rank, kernel_size, stride, dilation)
        pads = as_many(padding, rank, 0)
        return maxima, Deferred(lambda: _positions(tensor(x), windows, pads, out[1].shape[-rank:]))

    aten(f"max_pool{rank}d.default")(largest)
    aten(f"max_pool{rank}d_with_indices.default")(with_indices)


def _positions(
    x: ark.Tensor, windows: Sequence[Windows], pads: Sequence[int], shape: Sequence[int]
) -> ark.Tensor:
    """Returns the position of the maximum of each window, in int64.

    The position counts the elements of the last dimensions of `x`. The first of several maxima
    counts, and the last NaN.
    """
    first = x.ndim - len(shape)
    extents = x.shape[first:]
    grids = [
        np.arange(each.size)[:, None] * each.dilation + np.arange(count) * each.stride - pad
        for each, count, pad in zip(windows, shape, pads, strict=True)
    ]
    least = -math.inf if x.dtype.is_float else x.dtype.integer_range[0]
    padded = x
    for axis, (each, pad, count) in enumerate(zip(windows, pads, shape, strict=True), first):
        padded = fitted(padded, axis, each, count, pad, least)
    best: ark.Tensor | None = None
    index: ark.Tensor | None = None
    seen = np.zeros(tuple(shape), bool)
    numbers = itertools.product(*(range(each.size) for each in windows))
    for value, number in zip(elements(padded, first, windows, shape), numbers, strict=True):
        found = [grid[n] for grid, n in zip(grids, number, strict=True)]
        position, inside = _points(found, extents)
        mine = ark.constant(position, int64)
        if best is None or index is None:
            best, index = value, ark.broadcast_to(mine, value.shape)
        else:
            larger = value > best
            if x.dtype.is_float:
                larger = ark.logical_or(larger, value != value)
            if (inside & ~seen).any():  # an element of the padding has no position
                larger = ark.logical_or(larger, ark.constant(inside & ~seen, bool_))
            best = ark.where(larger, value, best)
            index = ark.where(larger, mine, index)
        seen |= inside
    assert index is not None
    return index


@aten("max_pool2d_with_indices_backward.default", "max_pool3d_with_indices_backward.default")
def _max_backward(
    out: Out,
    slopes: Operand,
    x: Operand,
    kernel_size: Many,
    stride: Many,
    padding: Many,
    dilation: Many,
    ceil_mode: bool,
    indices: Operand,
) -> ark.Tensor:
    """Adds the slope of each window at the position of its maximum."""
    positions = tensor(indices)
    lead = len(as_many(kernel_size, 1))
    rank = lead if lead > 1 else (2 if positions.ndim < 5 else 3)
    planes, extent = math.prod(out.shape[:-rank]), math.prod(out.shape[-rank:])
    rows = ark.reshape(positions, (planes, -1))
    flat = ark.reshape(flat_along((planes, extent), 1, rows), (positions.size,))
    values = ark.reshape(tensor(slopes), (positions.size,))
    return tensor(shaped(scattered(flat, values, planes * extent, 0), out.shape), out.dtype)


def _points(found: Sequence[Any], extents: Sequence[int]) -> tuple[Any, Any]:
    """Returns the positions in an image of points, and which of the points are in the image.

    `found` has the coordinates along each dimension, `extents` the extents of the image.
    """
    position, inside = np.zeros((), np.int64), np.ones((), bool)
    for coordinates, extent in zip(found, extents, strict=True):
        position = np.add.outer(position * extent, coordinates)
        inside = np.logical_and.outer(inside, (coordinates >= 0) & (coordinates < extent))
    return position, inside


def _enter_mean(rank: int) -> None:
    def mean(
        out: Out,
        x: Operand,
        kernel_size: Many,
        stride: Many = None,
        padding: Many = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> ark.Tensor:
        value = tensor(x)
        check_floats(value, "a mean pool")
        windows = _windows(rank, kernel_size, stride)
        pads, shape = as_many(padding, rank, 0), out.shape[-rank:]
        sums = _reduced(tensor(value, fp32), windows, pads, shape, 0, ark.add)
        if divisor_override is not None:
            return tensor(sums / divisor_override, out.dtype)
        extents = value.shape[-rank:]
        axes = zip(windows, pads, shape, extents, strict=True)
        counts = [_counts(*axis, count_include_pad) for axis in axes]
        divisor = functools.reduce(np.multiply.outer, counts)
        if (divisor == divisor.flat[0]).all():
            return tensor(sums / float(divisor.flat[0]), out.dtype)
        return tensor(sums / ark.constant(divisor.astype(np.float32), fp32), out.dtype)

    aten(f"avg_pool{rank}d.default")(mean)


def _counts(each: Windows, pad: int, count: int, extent: int, padding: bool) -> Any:
    """Returns the number of elements of each window along one dimension that torch counts.

    torch counts elements of the padding only if `padding`, and no elements beyond it.
    """
    starts = np.arange(count) * each.stride - pad
    low, high = (-pad, extent + pad) if padding else (0, extent)
    return np.minimum(starts + each.size, high) - np.maximum(starts, low)


def _enter_adaptive(rank: int) -> None:
    def mean(out: Out, x: Operand, output_size: Many) -> ark.Tensor:
        value = tensor(x)
        check_floats(value, "a mean pool")
        means = _adapted(tensor(value, fp32), out.shape[-rank:], ark.reduce_mean)
        return tensor(means, out.dtype)

    def largest(out: tuple[Out, Out], x: Operand, output_size: Many) -> Any:
        value, shape = tensor(x), out[0].shape[-rank:]
        extents = value.shape[-rank:]
        if any(extent % count for extent, count in zip(extents, shape, strict=True)):
            return _adapted(value, shape, ark.reduce_max), _NO_POSITIONS
        sizes = [extent // count for extent, count in zip(extents, shape, strict=True)]
        windows = _windows(rank, sizes, sizes)
        positions = Deferred(lambda: _positions(value, windows, (0,) * rank, shape))
        return _adapted(value, shape, ark.reduce_max), positions

    aten(f"adaptive_avg_pool{rank}d.default", f"_adaptive_avg_pool{rank}d.default")(mean)
    aten(f"adaptive_max_pool{rank}d.default")(largest)


def _adapted(x: ark.Tensor, shape: Sequence[int], reduce: Callable[..., ark.Tensor]) -> ark.Tensor:
    """Reduces `shape` windows, which cover the last dimensions."""
    for axis, count in enumerate(shape, x.ndim - len(shape)):
        extent = x.shape[axis]
        if extent % count == 0:
            tiles = (*x.shape[:axis], count, extent // count, *x.shape[axis + 1 :])
            x = reduce(ark.reshape(x, tiles), axis + 1, keepdims=False)
        else:
            lead = (slice(None),) * axis
            x = ark.concat(
                [reduce(x[(*lead, _span(number, count, extent))], axis) for number in range(count)],
                axis,
            )
    return x


def _span(number: int, count: int, extent: int) -> slice:
    """Returns the elements of window `number` of `count` windows that cover `extent` elements."""
    return slice(number * extent // count, -(-(number + 1) * extent // count))


for _rank in (1, 2, 3):
    _enter_max(_rank)
    _enter_mean(_rank)
    _enter_adaptive(_rank)
