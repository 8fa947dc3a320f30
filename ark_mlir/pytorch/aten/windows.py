"""Sliding windows over the last dimensions of a tensor, for convolutions and pools.

A window's elements are strided slices of the padded tensor, which are views: element `i` of all
windows along a dimension is one slice.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ... import frontend as ark
from .table import unsupported
from .values import Operand, tensor

__all__ = [
    "Windows", "as_many", "check_floats", "elements", "fitted", "images_of", "padded", "spaced",
]  # fmt: skip


@dataclass(frozen=True)
class Windows:
    """The windows along one dimension: their size, their distance, and the distance of elements."""

    size: int
    stride: int = 1
    dilation: int = 1

    @property
    def span(self) -> int:
        """The distance from the first to the last element of a window, plus one."""
        return self.dilation * (self.size - 1) + 1

    def reach(self, count: int) -> int:
        """Returns the number of elements that `count` windows extend over."""
        return self.stride * (count - 1) + self.span

    def element(self, number: int, count: int) -> slice:
        """Returns the slice with an element of each of `count` windows."""
        begin = number * self.dilation
        return slice(begin, begin + self.stride * (count - 1) + 1, self.stride)


def as_many(value: int | Sequence[int] | None, rank: int, default: int = 1) -> tuple[int, ...]:
    """Returns a number for each of `rank` dimensions, as torch reads its lists.

    One number applies to all dimensions, and an empty list or None means `default`.
    """
    listed = [value] if isinstance(value, int) else list(value or ())
    if not listed:
        return (default,) * rank
    return tuple(listed) * rank if len(listed) == 1 else tuple(listed)


def images_of(x: Operand, rank: int) -> ark.Tensor:
    """Returns `x` with a batch dimension before its channels and `rank` spatial dimensions."""
    value = tensor(x)
    return value if value.ndim == rank + 2 else ark.unsqueeze(value, 0)


def padded(x: ark.Tensor, axis: int, before: int, after: int, fill: float) -> ark.Tensor:
    """Returns `x` with elements added along an axis; a negative number removes elements."""
    index = (slice(None),) * axis
    inner = x[(*index, slice(max(0, -before), x.shape[axis] - max(0, -after)))]
    parts = [
        ark.full((*x.shape[:axis], extent, *x.shape[axis + 1 :]), fill, x.dtype)
        if extent > 0
        else None
        for extent in (before, after)
    ]
    found = [part for part in (parts[0], inner, parts[1]) if part is not None]
    return ark.concat(found, axis) if len(found) > 1 else inner


def fitted(
    x: ark.Tensor, axis: int, windows: Windows, count: int, before: int, fill: float
) -> ark.Tensor:
    """Returns `x`, padded and cut along an axis so that exactly `count` windows fit."""
    after = windows.reach(count) - before - x.shape[axis]
    return padded(x, axis, before, after, fill)


def spaced(x: ark.Tensor, axis: int, stride: int) -> ark.Tensor:
    """Returns `x` with ``stride - 1`` zeros between neighbouring elements along an axis."""
    extent = x.shape[axis]
    if stride == 1 or extent < 2:
        return x
    wide = ark.unsqueeze(x, axis + 1)
    wide = padded(wide, axis + 1, 0, stride - 1, 0)
    full = ark.reshape(wide, (*x.shape[:axis], extent * stride, *x.shape[axis + 1 :]))
    return full[(slice(None),) * axis + (slice(0, (extent - 1) * stride + 1),)]


def elements(
    x: ark.Tensor, first: int, windows: Sequence[Windows], counts: Sequence[int]
) -> list[ark.Tensor]:
    """Returns the elements of all windows over the dimensions from `first`.

    The result has a tensor for each position in a window, in row-major order.
    """
    slices = [
        [each.element(number, count) for number in range(each.size)]
        for each, count in zip(windows, counts, strict=True)
    ]
    lead = (slice(None),) * first
    return [x[(*lead, *choice)] for choice in itertools.product(*slices)]


def check_floats(x: ark.Tensor, op: str) -> None:
    """Raises UnsupportedError if the elements are not floats."""
    if not x.dtype.is_float:
        raise unsupported(f"{op} of {x.dtype}")
