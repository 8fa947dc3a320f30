"""ATen's views that read a tensor's memory with other strides."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import int32
from .table import Out, aten, unsupported
from .values import Operand, axis_of, shaped, tensor

__all__ = ["AS_STRIDED", "Layout"]

AS_STRIDED = "aten.as_strided.default"
_MAX_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Layout:
    """The strides of a tensor of torch, in elements, and the offset of its first element."""

    strides: tuple[int, ...]
    offset: int


@aten("as_strided.default")
def _as_strided(
    out: Out,
    x: Operand,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    source: Layout | None = None,
) -> ark.Tensor:
    value = tensor(x)
    if source is None:
        raise unsupported("strides of a tensor whose layout is unknown")
    if max(value.size, math.prod(size)) > _MAX_ELEMENTS:
        raise unsupported(f"strides of more than {_MAX_ELEMENTS} elements")
    offset = source.offset if storage_offset is None else storage_offset
    wanted = offset + _offsets(size, stride)
    held = source.offset + _offsets(value.shape, source.strides)
    order = np.argsort(held, kind="stable")
    found = np.searchsorted(held, wanted, sorter=order).clip(0, max(0, held.size - 1))
    elements = order[found] if held.size else found
    if wanted.size and not (held.size and (held[elements] == wanted).all()):
        raise unsupported("strides that leave the tensor, and address memory of another one")
    if wanted.size == value.size and (elements == np.arange(value.size)).all():
        return shaped(value, out.shape)
    flat = ark.gather(
        shaped(value, (value.size,)), ark.constant(elements.astype(np.int32), int32), 0
    )
    return shaped(flat, out.shape)


@aten("diagonal.default", view=True)
def _diagonal(out: Out, x: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> ark.Tensor:
    value = tensor(x)
    first, second = axis_of(dim1, value.ndim), axis_of(dim2, value.ndim)
    rest = [axis for axis in range(value.ndim) if axis not in (first, second)]
    rows, columns = value.shape[first], value.shape[second]
    flat = shaped(
        ark.transpose(value, [*rest, first, second]),
        (*(value.shape[axis] for axis in rest), rows * columns),
    )
    start = offset if offset >= 0 else -offset * columns
    index = start + np.arange(out.shape[-1]) * (columns + 1)
    return ark.gather(flat, ark.constant(index.astype(np.int32), int32), len(rest))


@aten("unfold.default", view=True)
def _unfold(out: Out, x: Operand, dimension: int, size: int, step: int) -> ark.Tensor:
    value = tensor(x)
    axis = axis_of(dimension, value.ndim)
    starts = np.arange(out.shape[axis]) * step
    index = (starts[:, None] + np.arange(size)).astype(np.int32)
    windows = ark.gather(value, ark.constant(index, int32), axis)
    order = [a for a in range(windows.ndim) if a != axis + 1] + [axis + 1]
    return ark.transpose(windows, order)


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Any:
    """Returns the offsets in memory of all elements, in row-major order."""
    offsets = np.zeros(1, np.int64)
    for extent, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + np.arange(extent) * stride).reshape(-1)
    return offsets
