"""Windows along single dimensions: their size, stride and dilation, and the padding around them.

Element `i` of all windows along a dimension is one strided slice of the tensor, which is a view.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..tensor import Tensor
from .composed import surrounded
from .views import reshape, unsqueeze

__all__ = ["Windows", "elements", "fitted", "padded", "spaced"]


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


def padded(x: Tensor, axis: int, before: int, after: int, fill: float) -> Tensor:
    """Returns `x` with elements added along an axis; a negative number removes elements."""
    index = (slice(None),) * axis
    inner = x[(*index, slice(max(0, -before), x.shape[axis] - max(0, -after)))]
    return surrounded(inner, axis, max(0, before), max(0, after), fill)


def fitted(x: Tensor, axis: int, windows: Windows, count: int, before: int, fill: float) -> Tensor:
    """Returns `x`, padded and cut along an axis so that exactly `count` windows fit."""
    after = windows.reach(count) - before - x.shape[axis]
    return padded(x, axis, before, after, fill)


def spaced(x: Tensor, axis: int, stride: int) -> Tensor:
    """Returns `x` with ``stride - 1`` zeros between neighbouring elements along an axis."""
    extent = x.shape[axis]
    if stride == 1 or extent < 2:
        return x
    wide = padded(unsqueeze(x, axis + 1), axis + 1, 0, stride - 1, 0)
    full = reshape(wide, (*x.shape[:axis], extent * stride, *x.shape[axis + 1 :]))
    return full[(slice(None),) * axis + (slice(0, (extent - 1) * stride + 1),)]


def elements(
    x: Tensor, first: int, windows: Sequence[Windows], counts: Sequence[int]
) -> list[Tensor]:
    """Returns the elements of all windows over the dimensions from `first`.

    The result has a tensor for each position in a window, in row-major order.
    """
    slices = [
        [each.element(number, count) for number in range(each.size)]
        for each, count in zip(windows, counts, strict=True)
    ]
    lead = (slice(None),) * first
    return [x[(*lead, *choice)] for choice in itertools.product(*slices)]
