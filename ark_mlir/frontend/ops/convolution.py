"""Convolutions, as products of filters and sliding windows."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from ...dtypes import DType, bool_
from ..operands import as_tensor
from ..shapes import as_entries, as_int, as_ints, invalid
from ..tensor import Tensor
from .composed import pad
from .conversions import converted, shaped, wide
from .elementwise import add, mul
from .linear import matmul
from .views import reshape
from .windows import windows

__all__ = ["conv1d", "conv2d"]

# A depthwise convolution has a product for each element of a window; more make a long program.
MAX_SHIFTS = 64

# One number for all dimensions, or a number or a pair of numbers for each of them.
Padding = int | Sequence[int | Sequence[int]]


def conv1d(
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    dilation: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Returns the convolution of sequences with filters; see :func:`conv2d`.

    Args:
        x: ``[N, C, L]`` or ``[C, L]``.
        filters: ``[F, C / groups, k]``, of the dtype of `x`.
        bias: ``[F]``, or None.
        stride, dilation, groups: as for :func:`conv2d`, of one dimension.
        padding: number of zeros on each side, or a pair ``(before, after)``.

    The result is ``[N, F, windows]``, without N if `x` has none, of the dtype of `x`. Raises
    InvalidUsageError as :func:`conv2d` does.

    Example:
        >>> sound = ark.input("sound", (2, 80, 100))
        >>> filters = ark.parameter("filters", (64, 80, 3))
        >>> ark.conv1d(sound, filters, stride=2, padding=1).shape
        (2, 64, 50)
    """
    return _convolution("conv1d", 1, x, filters, bias, stride, padding, dilation, groups, name)


def conv2d(
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Returns the convolution of images with filters, which are not reversed.

    The layout is PyTorch's, channels before rows and columns.

    Args:
        x: ``[N, C, H, W]`` or ``[C, H, W]``.
        filters: ``[F, C / groups, kh, kw]``, of the dtype of `x`.
        bias: ``[F]``, or None.
        stride: distance between windows, one number or one for each of rows and columns.
        padding: number of zeros on each side, one number or one for each of rows and columns; a
            pair ``(before, after)`` in place of a number has different numbers for the two sides.
        dilation: distance between neighbouring elements of a window, as `stride`.
        groups: the channels and the filters are divided into this number of groups; each filter
            reads the channels of its own group.

    The result is ``[N, F, rows, columns]``, without N if `x` has none, of the dtype of `x`. Floats
    accumulate in fp32, and the sums are rounded to this dtype; integers wrap in it. Raises
    InvalidUsageError if shapes or dtypes do not fit, the dtype is bool, or an 8-bit float type with
    a bias, a number is not positive, a padding is negative, `groups` does not divide the channels
    and the filters, or a window does not fit into a padded image.

    Example:
        >>> image = ark.input("image", (1, 3, 32, 32))
        >>> filters = ark.parameter("filters", (16, 3, 3, 3))
        >>> ark.conv2d(image, filters, stride=2, padding=1).shape
        (1, 16, 16, 16)
    """
    return _convolution("conv2d", 2, x, filters, bias, stride, padding, dilation, groups, name)


def _convolution(
    label: str,
    rank: int,
    x: Tensor,
    filters: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: Padding,
    dilation: int | Sequence[int],
    groups: int,
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
    batched = images if images.ndim == rank + 2 else reshape(images, (1, *images.shape))
    batched = pad(batched, [(0, 0), (0, 0), *pads])
    sizes = zip(batched.shape[2:], weights.shape[2:], dilations, strict=True)
    for axis, (extent, size, apart) in enumerate(sizes):
        span = apart * (size - 1) + 1
        if size < 1 or span > extent:
            raise invalid(
                f"a window of extent {span} does not fit into dimension {axis - rank} of the "
                f"padded image, which has extent {extent}",
                op,
            )
    found = convolved(batched, weights, strides, dilations, number)
    shape = found.shape if images.ndim == rank + 2 else found.shape[1:]
    return add_bias(found, bias, shape, rank, op, name or label)


def add_bias(
    x: Tensor, bias: Tensor | None, shape: tuple[int, ...], rank: int, op: str, name: str
) -> Tensor:
    """Returns a convolution's result ``[N, F, ...]`` as `shape`, with the bias ``[F]`` added."""
    if bias is None:
        return reshape(x, shape, name)
    addend, features = as_tensor(bias, op.removeprefix("ark."), "bias"), x.shape[1]
    if addend.shape != (features,) or addend.dtype != x.dtype:
        raise invalid(
            f"bias must have shape [{features}] and dtype {x.dtype}, not "
            f"{list(addend.shape)} and {addend.dtype}",
            op,
        )
    return add(reshape(x, shape), reshape(addend, (features, *(1,) * rank)), name)


def check_dtype(dtype: DType, has_bias: bool, op: str) -> None:
    if dtype is bool_:
        raise invalid("x has dtype bool, which has no sums; ark.cast converts it", op)
    if has_bias and dtype.is_float and dtype.itemsize == 1:
        raise invalid(
            f"x has dtype {dtype}, which takes no bias; omit the bias, or convert x, filters and "
            "bias by ark.cast",
            op,
        )


def _check_filters(images: Tensor, filters: Tensor, rank: int, groups: int, op: str) -> None:
    channels = images.shape[-rank - 1]
    fits = (
        filters.ndim == rank + 2
        and groups >= 1
        and channels == groups * filters.shape[1]
        and filters.shape[0] % groups == 0
    )
    if not fits:
        raise invalid(
            f"filters of shape {list(filters.shape)} in {groups} groups do not fit {channels} "
            f"channels; the shape must be [F, channels / groups, {', '.join(['k'] * rank)}], where "
            "groups divides F",
            op,
        )
    if filters.dtype != images.dtype:
        raise invalid(f"x has dtype {images.dtype} and filters have {filters.dtype}", op)


def numbers_of(values: int | Sequence[int], rank: int, label: str, op: str) -> list[int]:
    """Returns a positive number for each of `rank` dimensions."""
    numbers = as_ints(values, label, op)
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if len(numbers) != rank or any(number < 1 for number in numbers):
        each = "a positive integer" if rank == 1 else f"{rank} positive integers or one"
        raise invalid(f"{label} must be {each}, not {values!r}", op)
    return numbers


def pads_of(padding: Padding, rank: int, op: str) -> list[tuple[int, int]]:
    """Returns the numbers of zeros before and after each of `rank` dimensions."""
    entries = [as_ints(entry, "padding", op) for entry in as_entries(padding, "padding", op)]
    if rank == 1 and [len(entry) for entry in entries] == [1, 1]:
        entries = [[*entries[0], *entries[1]]]
    entries = entries * rank if len(entries) == 1 else entries
    fits = all(len(entry) in (1, 2) and min(entry) >= 0 for entry in entries)
    if len(entries) != rank or not fits:
        each = " or a pair (before, after)" if rank == 1 else f", or {rank} numbers or pairs"
        raise invalid(f"padding must be a number{each}, none negative, not {padding!r}", op)
    return [(entry[0], entry[-1]) for entry in entries]


def convolved(
    images: Tensor,
    filters: Tensor,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Tensor:
    """Returns the convolution of padded images.

    Args:
        images: ``[N, C, *extents]``.
        filters: ``[F, C / groups, *sizes]``.
        strides, dilations: numbers for each of the last dimensions.
        groups: number of groups.

    The result is ``[N, F, *counts]``.
    """
    batch, channels, *extents = images.shape
    sizes = filters.shape[2:]
    if channels == groups > 1 and math.prod(sizes) <= MAX_SHIFTS:
        return depthwise(filters, _shifted(images, sizes, strides, dilations))
    split = reshape(images, (batch, groups, channels // groups, *extents))
    if all(size == stride == 1 for size, stride in zip(sizes, strides, strict=True)):
        counts = tuple(extents)
    else:
        split = windows(split, sizes, strides, dilations)
        counts = split.shape[3 + len(sizes) :]
    depth = channels // groups * math.prod(sizes)
    columns = reshape(split, (batch, groups, depth, math.prod(counts)))
    return product(filters, columns, counts, groups)


def _shifted(
    images: Tensor, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[Tensor]:
    """Returns for each element of a window the elements of all windows, in row-major order."""
    axes = zip(images.shape[2:], sizes, strides, dilations, strict=True)
    slices = [
        [
            slice(first * apart, first * apart + extent - apart * (size - 1), stride)
            for first in range(size)
        ]
        for extent, size, stride, apart in axes
    ]
    lead = (slice(None), slice(None))
    return [images[(*lead, *choice)] for choice in itertools.product(*slices)]


def depthwise(filters: Tensor, parts: Sequence[Tensor]) -> Tensor:
    """Returns the convolution of filters ``[F, 1, ...]``, of which each reads one channel.

    Args:
        filters: ``[F, 1, *sizes]``.
        parts: the elements of all windows, each ``[N, C, ...]``, in the order of the filters'.
    """
    batch, channels, *shape = parts[0].shape
    features = filters.shape[0] // channels
    # Without another dimension for one feature, ops after the sum are in the same task.
    each, one = ((features,), (1,)) if features != 1 else ((), ())
    rows = wide(reshape(filters, (1, channels, *each, *(1,) * len(shape), len(parts))))
    products = [
        mul(wide(shaped(part, (batch, channels, *one, *shape))), rows[..., number])
        for number, part in enumerate(parts)
    ]
    result = shaped(functools.reduce(add, products), (batch, channels * features, *shape))
    return converted(result, parts[0].dtype)


def product(filters: Tensor, columns: Tensor, shape: Sequence[int], groups: int) -> Tensor:
    """Returns the product of filters ``[F, ...]`` and columns, as ``[N, F, *shape]``.

    Args:
        columns: the elements of windows ``[N, groups, depth, windows]``.
    """
    batch, _, depth, count = columns.shape
    features = filters.shape[0]
    if groups == 1:
        rows = reshape(filters, (features, depth))
        columns = reshape(columns, (batch, depth, count))
    else:
        rows = reshape(filters, (groups, features // groups, depth))
    # A product of 8-bit floats is fp32.
    return reshape(converted(matmul(rows, columns), filters.dtype), (batch, features, *shape))
