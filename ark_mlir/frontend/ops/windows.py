"""Windows that slide over images: their columns, and the largest of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...dtypes import bool_, int32
from ..operands import as_tensor, constant_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .elementwise import logical_and, where
from .indexing import gather
from .reductions import reduce_max
from .views import reshape, transpose

__all__ = ["im2col", "max_pool"]


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
    """Windows of images as columns, so that a convolution is a product with `[F, C*kh*kw]`.

    Args:
        x: ``[N, C, H, W]``, ``[C, H, W]`` or ``[H, W]``, of any dtype.
        pad_height, pad_width: zeros around the images, on each side.
        dilation_height, dilation_width: steps between neighbours in a window.

    The result is ``[N, C*kh*kw, windows]``, without N where `x` has none; windows go row by
    row. Raises InvalidUsageError on other ranks, and where no window fits.

    Example:
        >>> image = ark.input("image", (3, 32, 32))
        >>> filters = ark.parameter("filters", (16, 27))
        >>> ark.matmul(filters, ark.im2col(image, 3, 3, pad_height=1, pad_width=1)).shape
        (16, 1024)
    """
    op = "ark.im2col"
    images = as_tensor(x, "im2col")
    if images.ndim not in (2, 3, 4):
        raise invalid(f"needs images of rank 2 to 4, not {list(images.shape)}", op)
    rows = _places(
        images.shape[-2], kernel_height, stride_height, pad_height, dilation_height, "height"
    )
    columns = _places(
        images.shape[-1], kernel_width, stride_width, pad_width, dilation_width, "width"
    )
    lead = images.ndim - 2
    # [..., kh, oh, kw, ow], and then both of the kernel before both of the windows.
    windows = _taken(_taken(images, rows, lead), columns, lead + 2)
    order = (lead, lead + 2, lead + 1, lead + 3)
    windows = transpose(windows, (*range(lead), *order))
    if pad_height or pad_width:
        inside = logical_and(
            _inside(rows, images.shape[-2], (rows.shape[0], 1, rows.shape[1], 1)),
            _inside(columns, images.shape[-1], (columns.shape[0], 1, columns.shape[1])),
        )
        windows = where(inside, windows, 0)
    channels = images.shape[-3] if lead else 1
    depth = channels * rows.shape[0] * columns.shape[0]
    return reshape(windows, (*images.shape[:-3], depth, rows.shape[1] * columns.shape[1]), name)


def max_pool(
    x: Tensor, kernel_size: int, stride: int | None = None, name: str | None = None
) -> Tensor:
    """The largest numbers of square windows.

    Args:
        x: ``[..., H, W, C]`` of numbers.
        stride: of windows, by default `kernel_size`. They begin at its multiples; of those
            that reach beyond the end, what lies inside counts.

    The result is ``[..., ceil(H / stride), ceil(W / stride), C]``. NaN is the largest, as in
    :func:`reduce_max`. Raises InvalidUsageError on ranks other than three to five.

    Example:
        >>> ark.max_pool(ark.input("image", (32, 32, 3)), 2).shape
        (16, 16, 3)
    """
    op = "ark.max_pool"
    images = as_tensor(x, "max_pool")
    if images.ndim not in (3, 4, 5):
        raise invalid(f"needs images of rank 3 to 5, not {list(images.shape)}", op)
    size = _positive(kernel_size, "kernel_size", op)
    step = size if stride is None else _positive(stride, "stride", op)
    height, width = images.ndim - 3, images.ndim - 2
    return _largest(_largest(images, height, size, step, None), width, size, step, name)


def _positive(value: object, what: str, op: str) -> int:
    number = as_int(value, what, op)
    if number < 1:
        raise invalid(f"{what} must be positive, not {number}", op)
    return number


def _places(
    extent: int, kernel: int, stride: int, pad: int, dilation: int, what: str
) -> NDArray[np.int64]:
    """Returns the positions of the elements of windows along one dimension: [kernel, windows]."""
    op = "ark.im2col"
    size = _positive(kernel, f"kernel_{what}", op)
    step = _positive(stride, f"stride_{what}", op)
    apart = _positive(dilation, f"dilation_{what}", op)
    margin = as_int(pad, f"pad_{what}", op)
    if margin < 0:
        raise invalid(f"pad_{what} must not be negative, but is {margin}", op)
    last = extent + 2 * margin - apart * (size - 1) - 1
    if extent < 1 or last < 0:
        raise invalid(f"no window of {what} {apart * (size - 1) + 1} fits into {extent}", op)
    starts = np.arange(0, last + 1, step) - margin
    return apart * np.arange(size)[:, None] + starts


def _taken(images: Tensor, places: NDArray[np.int64], axis: int) -> Tensor:
    """`places` instead of a dimension; those outside of it take the nearest element."""
    nearest = places.clip(0, images.shape[axis] - 1).astype(np.int32)
    return gather(images, constant_tensor(nearest, int32), axis)


def _inside(places: NDArray[np.int64], extent: int, shape: tuple[int, ...]) -> Tensor:
    return reshape(constant_tensor((places >= 0) & (places < extent), bool_), shape)


def _largest(images: Tensor, axis: int, size: int, step: int, name: str | None) -> Tensor:
    # What lies beyond the end takes the last element, which all such windows have anyway.
    extent = images.shape[axis]
    places = np.arange(size) + np.arange(0, extent, step)[:, None]
    return reduce_max(_taken(images, places, axis), axis + 1, keepdims=False, name=name)
