"""ATen's ``as_strided``, which reads a tensor's memory with other strides."""

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
from .values import Operand, shaped, tensor

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


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Any:
    """Returns the offsets in memory of all elements, in row-major order."""
    offsets = np.zeros(1, np.int64)
    for extent, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + np.arange(extent) * stride).reshape(-1)
    return offsets
