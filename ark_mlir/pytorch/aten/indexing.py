"""ATen ops that read by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import frontend as ark
from ...dtypes import bool_, int32, int64
from ...frontend.ops.scattering import scattered
from .checks import check_size, required
from .table import Out, Unavailable, aten, unsupported
from .values import Operand, axis_of, shaped, tensor

_BAG = Unavailable("the offsets of an embedding bag, which its derivative needs")


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
    source, positions = with_axis(tensor(x)), with_axis(tensor(index))
    axis = axis_of(dim, source.ndim)
    extent = source.shape[axis]
    if extent != source.size and positions.size:
        # A position of the flat tensor would be that of another row.
        is_there = ark.logical_and(positions >= 0, positions < extent)
        positions = required(positions, is_there, "the indices of gather are in range")
    return shaped(take_along(source, axis, positions), out.shape)


def with_axis(x: ark.Tensor) -> ark.Tensor:
    """Returns a tensor of rank zero as a vector, as which torch indexes it; others themselves."""
    return x if x.ndim else ark.reshape(x, (1,))


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


@aten("repeat_interleave.Tensor")
def _repeat_interleave(out: Out, repeats: Operand, *, output_size: int | None = None) -> ark.Tensor:
    """Returns each index as often as `repeats` says.

    ``torch.repeat_interleave`` with a tensor of numbers selects by these indices. A run raises
    DataRangeError if a number is negative, or their sum is not the extent of the result. A result
    without elements has no task that could check this.
    """
    counts = tensor(repeats, int64)
    if counts.size == 0:
        if out.shape[0]:
            raise unsupported(f"output_size={out.shape[0]} without elements to repeat")
        return ark.zeros(out.shape, out.dtype)
    check_size(out.shape[0], counts.size)
    ends = ark.cumsum(counts)
    ends = required(ends, ends[-1:] == out.shape[0], "sum of the repeats")
    ends = required(ends, counts >= 0, "repeats are not negative")
    numbers = ark.reshape(ark.arange(out.shape[0], dtype=int64), (out.shape[0], 1))
    passed = ark.reduce_sum(ark.cast(ends <= numbers, int32), -1, keepdims=False)
    return tensor(passed, out.dtype)


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(
    out: tuple[Out, ...],
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Operand | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Returns the sum (mode 0) or the mean (mode 1) of the rows of each bag.

    A run raises DataRangeError if the first offset is not zero, or the last one exceeds the number
    of indices. With `include_last_offset`, indices from the last offset on belong to no bag.
    """
    if mode not in (0, 1):
        raise unsupported("an embedding bag with mode='max'")
    table, flat, begins = tensor(weight), tensor(indices, int64), tensor(offsets, int64)
    bags, count = out[0].shape[0], flat.size
    if count == 0 or bags == 0:
        return ark.zeros(out[0].shape, out[0].dtype), *(_BAG,) * 3
    check_size(count, bags)
    begins = required(begins, begins[:1] == 0, "first offset of a bag")
    begins = required(begins, begins[-1:] <= count, "last offset of a bag")
    positions = ark.reshape(ark.arange(count, dtype=int64), (count, 1))
    bag = ark.reduce_sum(ark.cast(begins <= positions, int32), -1, keepdims=False) - 1
    if include_last_offset:  # of which the last bag begins no bag
        bag = ark.where(bag == bags, -1, bag)
    if padding_idx >= 0:  # the sum ignores a bag out of range
        bag = ark.where(flat == padding_idx, -1, bag)
    rows = ark.embedding(flat, table)
    if per_sample_weights is not None:
        rows = rows * ark.unsqueeze(tensor(per_sample_weights, rows.dtype), -1)
    sums = scattered(bag, rows, bags, 0)
    if mode == 1:
        sizes = ark.bincount(bag, bags, ark.ones(bag.shape, sums.dtype))
        sums = sums / ark.unsqueeze(ark.maximum(sizes, 1), -1)
    return tensor(sums, out[0].dtype), *(_BAG,) * 3


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
    flat, strides = tensor(index, int64) * math.prod(shape[axis + 1 :]), _strides(shape)
    for other, (extent, stride) in enumerate(zip(index.shape, strides, strict=True)):
        if other != axis and extent > 1:
            first = ark.arange(extent, dtype=int64) * stride
            flat = flat + ark.reshape(first, (extent, *(1,) * (index.ndim - other - 1)))
    return flat


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
