"""Ops on sliding windows of images: im2col and max pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...dialects import ark as dialect
from ...dtypes import int32
from ..operands import as_tensor, constant_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .common import emit
from .composed import pad
from .indexing import gather
from .reductions import reduce_max
from .views import reshape

__all__ = ["im2col", "max_pool"]


def windows(
    x: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """Returns the sliding windows over the last dimensions of `x`.

    Args:
        x: ``[..., *extents]``, of any dtype.
        sizes, strides, dilations: for each of the last dimensions, the number of elements of a
            window, the distance between windows, and the distance between elements of a window.

    The result is ``[..., *sizes, *counts]``. The numbers must be positive, and a window must fit
    into each extent; the callers check this.
    """
    return emit(
        "windows",
        dialect.WindowsOp,
        name,
        operand=x,
        sizes=list(sizes),
        strides=list(strides),
        dilations=list(dilations),
    )


def im2col(
    x: Tensor,
    kernel_height: int,
    kernel_width: int,
    stride_height: int = 1,
    stride_width: int = 1,
    pad_height: int = 0,
    pad_width: int = 0,
    dilation_height: int = 1,
    dilation_width: int = 1,
    name: str | None = None,
) -> Tensor:
    """Returns the sliding windows of images as columns.

    The matrix product of filters ``[F, C*kh*kw]`` with the result is a convolution. The layout
    is PyTorch's, channels before rows and columns, so that PyTorch's filters need no transposition
    and the product has this layout, too; :func:`max_pool` expects channels last.

    Args:
        x: ``[N, C, H, W]``, ``[C, H, W]`` or ``[H, W]``, of any dtype.
        kernel_height, kernel_width: extents kh and kw of a window, in elements.
        stride_height, stride_width: distances between windows.
        pad_height, pad_width: numbers of zeros that are added on each side of an image.
        dilation_height, dilation_width: distances between neighbouring elements of a window.

    The result is ``[N, C*kh*kw, windows]``, without N if `x` has none. The windows are in row-major
    order. Raises InvalidUsageError if `x` has another rank, a size is not positive, a padding is
    negative, or no window fits into a padded image.

    Example:
        >>> image = ark.input("image", (3, 32, 32))
        >>> filters = ark.parameter("filters", (16, 27))
        >>> ark.matmul(filters, ark.im2col(image, 3, 3, pad_height=1, pad_width=1)).shape
        (16, 1024)
    """
    op = "ark.im2col"
    images = as_tensor(x, "im2col")
    if images.ndim not in (2, 3, 4):
        raise invalid(f"x must have a rank from 2 to 4, not shape {list(images.shape)}", op)
    settings = (
        ("height", images.shape[-2], kernel_height, stride_height, pad_height, dilation_height),
        ("width", images.shape[-1], kernel_width, stride_width, pad_width, dilation_width),
    )
    axes = [_axis(*setting) for setting in settings]
    sizes, strides, dilations, margins = zip(*axes, strict=True)
    lead = images.ndim - 2
    images = pad(images, [*[(0, 0)] * lead, *((margin, margin) for margin in margins)])
    found = windows(images, sizes, strides, dilations)
    channels = images.shape[-3] if lead else 1
    depth = channels * sizes[0] * sizes[1]
    shape = (*images.shape[:-3], depth, found.shape[-2] * found.shape[-1])
    return reshape(found, shape, name)


def max_pool(
    x: Tensor, kernel_size: int, stride: int | None = None, name: str | None = None
) -> Tensor:
    """Returns the maximum of each square window of images.

    The layout is that of ARK, channels last: neighbouring elements are maxima of different windows,
    so that a task reads whole rows of channels. After a convolution by :func:`im2col`, transpose
    ``[N, C, H, W]`` to ``[N, H, W, C]``.

    Args:
        x: ``[..., H, W, C]``, of any dtype except 8-bit floats.
        kernel_size: height and width of a window.
        stride: distance between windows, by default `kernel_size`. The first window begins at the
            first element. A window that extends beyond the image is cut off at its edge.

    The result is ``[..., ceil(H / stride), ceil(W / stride), C]``, of the dtype of `x`. A maximum
    is NaN if an element of the window is NaN. Raises InvalidUsageError if the rank of `x` is not 3,
    4 or 5, its dtype is an 8-bit float type, or a size is not positive.

    Example:
        >>> ark.max_pool(ark.input("image", (32, 32, 3)), 2).shape
        (16, 16, 3)
    """
    op = "ark.max_pool"
    images = as_tensor(x, "max_pool")
    if images.ndim not in (3, 4, 5):
        raise invalid(f"x must have a rank from 3 to 5, not shape {list(images.shape)}", op)
    size = _positive(kernel_size, "kernel_size", op)
    step = size if stride is None else _positive(stride, "stride", op)
    height, width = images.ndim - 3, images.ndim - 2
    return _largest(_largest(images, height, size, step, None), width, size, step, name)


def _positive(value: object, label: str, op: str) -> int:
    number = as_int(value, label, op)
    if number < 1:
        raise invalid(f"{label} must be positive, not {number}", op)
    return number


def _axis(
    axis: str, extent: int, kernel: int, stride: int, around: int, dilation: int
) -> tuple[int, int, int, int]:
    """Returns the checked size, stride, dilation and padding of windows along one dimension."""
    op = "ark.im2col"
    size = _positive(kernel, f"kernel_{axis}", op)
    step = _positive(stride, f"stride_{axis}", op)
    apart = _positive(dilation, f"dilation_{axis}", op)
    margin = as_int(around, f"pad_{axis}", op)
    if margin < 0:
        raise invalid(f"pad_{axis} must not be negative, but is {margin}", op)
    span = apart * (size - 1) + 1
    if extent < 1 or extent + 2 * margin < span:
        raise invalid(
            f"a window of {axis} {span} does not fit into an image of {axis} "
            f"{extent} with {margin} zeros on each side",
            op,
        )
    return size, step, apart, margin


def _gathered(images: Tensor, indices: NDArray[np.int64], axis: int) -> Tensor:
    """Gathers the elements at `indices` of dimension `axis`; an index beyond the end gets the last
    element."""
    nearest = indices.clip(0, images.shape[axis] - 1).astype(np.int32)
    return gather(images, constant_tensor(nearest, int32), axis)


def _largest(images: Tensor, axis: int, size: int, step: int, name: str | None) -> Tensor:
    # Indices beyond the end get the last element, which does not change the maximum: a window that
    # extends beyond the end contains it.
    extent = images.shape[axis]
    indices = np.arange(size) + np.arange(0, extent, step)[:, None]
    return reduce_max(_gathered(images, indices, axis), axis + 1, keepdims=False, name=name)
