"""ATen ops that read by index."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import frontend as ark
from ...dtypes import bool_, int64
from .table import Out, aten, unsupported
from .values import Operand, axis_of, shaped, tensor


@aten("embedding.default")
def _embedding(
    out: Out,
    weight: ark.Tensor,
    indices: Operand,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> ark.Tensor:
    return ark.embedding(tensor(indices), tensor(weight))


@aten("index_select.default")
def _index_select(out: Out, x: Operand, dim: int, index: Operand) -> ark.Tensor:
    source = tensor(x)
    return shaped(ark.gather(source, tensor(index), axis_of(dim, source.ndim)), out.shape)


@aten("gather.default")
def _gather(
    out: Out, x: Operand, dim: int, index: Operand, sparse_grad: bool = False
) -> ark.Tensor:
    source = tensor(x)
    return take_along(source, axis_of(dim, source.ndim), tensor(index))


def take_along(source: ark.Tensor, axis: int, index: ark.Tensor) -> ark.Tensor:
    """Gathers each element along an axis by its position in the flat tensor."""
    positions, shape = tensor(index, int64), index.shape
    strides = _strides(source.shape)
    grids = np.indices(shape, dtype=np.int64)
    fixed = sum((g * s for a, (g, s) in enumerate(zip(grids, strides, strict=True)) if a != axis),
                np.zeros(shape, np.int64))  # fmt: skip
    flat = positions * strides[axis] + ark.constant(fixed, int64) if shape else positions
    return ark.gather(shaped(source, (source.size,)), flat, 0)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


@aten("index.Tensor", "_unsafe_index.Tensor")
def _index(out: Out, x: Operand, indices: Sequence[Operand | None]) -> ark.Tensor:
    """Merges the indexed dimensions into one, and gathers along it."""
    source = tensor(x)
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    positions = [tensor(index) for index in indices if index is not None]
    if any(position.dtype is bool_ for position in positions):
        raise unsupported("indexing with a mask, whose result has no static shape")
    # Indexed dimensions that are not adjacent move to the front, as in numpy.
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    rest = [axis for axis in range(source.ndim) if axis not in axes]
    order = [*rest[:first], *axes, *rest[first:]]
    if order != list(range(source.ndim)):
        source = ark.transpose(source, order)
    extents = source.shape[first : first + len(axes)]
    flat = _flat_positions(positions, extents)
    merged = (*source.shape[:first], math.prod(extents), *source.shape[first + len(axes) :])
    return ark.gather(shaped(source, merged), flat, first)


def _flat_positions(positions: Sequence[ark.Tensor], extents: Sequence[int]) -> ark.Tensor:
    """Returns positions in the merged dimension of `extents`; negative ones count from the end."""
    flat: ark.Tensor | None = None
    for position, extent, stride in zip(positions, extents, _strides(extents), strict=True):
        at = tensor(position, int64)
        at = ark.where(at < 0, at + extent, at)
        # An index out of range must stay out of range in the merged dimension.
        if len(extents) > 1:
            at = ark.where(ark.logical_and(at >= 0, at < extent), at, math.prod(extents))
        scaled = at * stride
        flat = scaled if flat is None else flat + scaled
    if flat is None:
        raise unsupported("indexing without an index")
    return flat
