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
    flat = flat_along(source.shape, axis, index)
    return ark.gather(shaped(source, (source.size,)), flat, 0)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


@aten("index.Tensor", "_unsafe_index.Tensor")
def _index(out: Out, x: Operand, indices: Sequence[Operand | None]) -> ark.Tensor:
    """Merges the indexed dimensions into one, and gathers along it."""
    source, plan = tensor(x), Indexed(tensor(x).shape, indices)
    return ark.gather(plan.merged(source), plan.positions, plan.first)


class Indexed:
    """Indices of a tensor: the indexed dimensions are merged into one.

    Args:
        shape: the shape of the tensor.
        indices: integers for each indexed dimension, None for others.

    Attributes:
        first: the merged dimension.
        positions: the positions along the merged dimension, in the shape of all indices together.
        extent: the extent of the merged dimension.
    """

    def __init__(self, shape: Sequence[int], indices: Sequence[Operand | None]) -> None:
        axes = [axis for axis, index in enumerate(indices) if index is not None]
        positions = [tensor(index) for index in indices if index is not None]
        if any(position.dtype is bool_ for position in positions):
            raise unsupported("indexing with a mask, whose result has no static shape")
        # Indexed dimensions that are not adjacent move to the front, as in numpy.
        self.first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
        rest = [axis for axis in range(len(shape)) if axis not in axes]
        self._order = [*rest[: self.first], *axes, *rest[self.first :]]
        self._moved = tuple(shape[axis] for axis in self._order)
        self._last = self.first + len(axes)
        extents = self._moved[self.first : self._last]
        self.extent = math.prod(extents)
        self.positions = _flat_positions(positions, extents)

    def merged(self, x: ark.Tensor) -> ark.Tensor:
        """Returns the tensor with the indexed dimensions merged."""
        moved = x if self._is_in_order else ark.transpose(x, self._order)
        lead, rest = self._moved[: self.first], self._moved[self._last :]
        return shaped(moved, (*lead, self.extent, *rest))

    def restored(self, x: ark.Tensor) -> ark.Tensor:
        """Returns a tensor with merged dimensions in the original shape."""
        moved = shaped(x, self._moved)
        return (
            moved if self._is_in_order else ark.transpose(moved, np.argsort(self._order).tolist())
        )

    @property
    def _is_in_order(self) -> bool:
        return self._order == sorted(self._order)


def flat_along(shape: Sequence[int], axis: int, index: ark.Tensor) -> ark.Tensor:
    """Returns the positions of the elements that `index` selects along an axis of a flat tensor."""
    positions = tensor(index, int64)
    strides = _strides(shape)
    grids = np.indices(index.shape, dtype=np.int64)
    fixed = sum((g * s for a, (g, s) in enumerate(zip(grids, strides, strict=True)) if a != axis),
                np.zeros(index.shape, np.int64))  # fmt: skip
    return positions * strides[axis] + ark.constant(fixed, int64) if index.shape else positions


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
