"""ATen ops that write by index.

An op of ark adds slices by index, and another one finds the last slice with an index, which
replaces the present one. A reduction by ``scatter_reduce`` compares positions of results with all
indices, and has a limit of comparisons. An index out of range is an error of the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import frontend as ark
from ...dtypes import bool_, int32, int64
from ...frontend.ops.scattering import in_range, replaced, scattered
from .checks import check_size, required
from .indexing import Indexed, flat_along, with_axis
from .reductions import product
from .table import Out, aten, unsupported
from .values import Operand, axis_of, shaped, tensor, to


def _last(axis: int, rank: int) -> list[int]:
    """Returns the permutation that moves an axis to the end."""
    return [a for a in range(rank) if a != axis] + [axis]


def _part(x: ark.Tensor, shape: Sequence[int]) -> ark.Tensor:
    """Returns the first elements of `x` along each dimension; torch ignores the others."""
    x = x if shape else ark.reshape(x, ())
    if x.shape == tuple(shape):
        return x
    return x[tuple(slice(0, extent) for extent in shape)]


def _written(x: ark.Tensor, axis: int, index: Operand, source: ark.Tensor) -> ark.Tensor:
    """Returns `x` with the elements that `index` selects along an axis replaced.

    The last of several indices of an element wins. `source` has the shape of `index`, or rank zero.
    """
    positions = with_axis(tensor(index))
    if x.ndim == 0:
        return ark.reshape(_written(with_axis(x), 0, positions, source), ())
    if positions.size == 0 or x.size == 0:
        return x
    flat = flat_along(x.shape, axis, in_range(tensor(positions, int64), x.shape[axis]))
    values = ark.reshape(ark.broadcast_to(source, positions.shape), (positions.size,))
    rows = ark.reshape(x, (x.size,))
    return shaped(replaced(rows, ark.reshape(flat, (flat.size,)), values, 0), x.shape)


@aten("scatter.src")
def _scatter(out: Out, x: Operand, dim: int, index: Operand, src: Operand) -> ark.Tensor:
    target, positions = tensor(x), with_axis(tensor(index))
    source = _part(with_axis(tensor(src, out.dtype)), positions.shape)
    return _written(target, axis_of(dim, target.ndim), positions, source)


@aten("scatter.value")
def _scatter_value(out: Out, x: Operand, dim: int, index: Operand, value: Operand) -> ark.Tensor:
    target = tensor(x)
    source = tensor(to(value, target.dtype), target.dtype)
    return _written(target, axis_of(dim, target.ndim), index, source)


@aten("scatter.reduce", "scatter.value_reduce")
def _scatter_joined(
    out: Out, x: Operand, dim: int, index: Operand, src: Operand, *, reduce: str
) -> ark.Tensor:
    """Adds or multiplies as ``scatter_reduce`` does, with the older names of the reductions."""
    shape = tensor(index).shape
    source = tensor(to(src, out.dtype), out.dtype)
    source = source if source.ndim == len(shape) else ark.broadcast_to(source, shape)
    name = {"add": "sum", "multiply": "prod"}[reduce]
    return _scatter_reduce(out, x, dim, index, source, name)


class _Writes:
    """The writes to the elements of `x` that indices along an axis select.

    Args:
        x: the tensor that is written to.
        index: positions along `axis`; its other extents are those of `x`.
    """

    def __init__(self, x: ark.Tensor, axis: int, index: Operand) -> None:
        positions = tensor(index)
        if any(
            a != b
            for d, (a, b) in enumerate(zip(positions.shape, x.shape, strict=True))
            if d != axis
        ):
            raise unsupported("an index with fewer rows than the tensor")
        extent, count = x.shape[axis], positions.shape[axis]
        check_size(x.size, count)
        self._x, self._axis = x, axis
        self._back = np.argsort(_last(axis, x.ndim)).tolist()
        checked = in_range(tensor(positions, int64), extent)
        rows = ark.transpose(checked, _last(axis, x.ndim))
        numbers = ark.arange(extent, dtype=int64)
        # [..., position, index]
        self._hits = ark.equal(ark.unsqueeze(rows, -2), ark.reshape(numbers, (extent, 1)))

    def reduced(self, source: ark.Tensor, reduce: str, include_self: bool) -> ark.Tensor:
        """Returns `x` with the maxima (``amax``), minima or products of elements of `source`.

        With `include_self`, the element of `x` counts, too; elements without an index stay as they
        are.
        """
        dtype = source.dtype
        low, high = (-math.inf, math.inf) if dtype.is_float else dtype.integer_range
        fill, join = {
            "amax": (low, ark.maximum), "amin": (high, ark.minimum), "prod": (1, ark.mul)
        }[reduce]  # fmt: skip
        rows = ark.unsqueeze(ark.transpose(source, _last(self._axis, source.ndim)), -2)
        given = ark.where(self._hits, rows, fill)
        if reduce == "prod":
            found = product(given, given.ndim - 1)
        else:
            op = ark.reduce_max if reduce == "amax" else ark.reduce_min
            found = op(given, -1, keepdims=False)
        found = ark.transpose(found, self._back)
        if include_self:
            return join(self._x, found)
        hit = ark.reduce_max(ark.cast(self._hits, int32), -1, keepdims=False)
        return ark.where(ark.transpose(hit, self._back) > 0, found, self._x)


@aten("scatter_add.default")
def _scatter_add(out: Out, x: Operand, dim: int, index: Operand, src: Operand) -> ark.Tensor:
    positions = with_axis(tensor(index))
    target, source = with_axis(tensor(x)), _part(with_axis(tensor(src)), positions.shape)
    axis, count = axis_of(dim, target.ndim), source.size
    checked = in_range(tensor(positions, int64), target.shape[axis])
    flat = flat_along(target.shape, axis, checked)
    sums = scattered(shaped(flat, (count,)), shaped(source, (count,)), target.size, 0)
    return shaped(target + shaped(sums, target.shape), out.shape)


@aten("scatter_reduce.two")
def _scatter_reduce(
    out: Out,
    x: Operand,
    dim: int,
    index: Operand,
    src: Operand,
    reduce: str,
    include_self: bool = True,
) -> ark.Tensor:
    positions = with_axis(tensor(index))
    target, source = with_axis(tensor(x)), _part(with_axis(tensor(src)), positions.shape)
    if reduce in ("sum", "mean"):
        result = _sums(out, target, dim, positions, source, reduce == "mean", include_self)
    else:
        writes = _Writes(target, axis_of(dim, target.ndim), positions)
        result = writes.reduced(source, reduce, include_self)
    return shaped(result, out.shape)


def _sums(
    out: Out,
    target: ark.Tensor,
    dim: int,
    positions: ark.Tensor,
    source: ark.Tensor,
    mean: bool,
    include_self: bool,
) -> ark.Tensor:
    """Returns the sums or means of the elements of `source` that are written to each position."""
    summed = Out(target.shape, out.dtype)
    if not mean and include_self:
        return _scatter_add(summed, target, dim, positions, source)
    if mean and not target.dtype.is_float:
        raise unsupported(f"a scatter with reduce='mean' of {target.dtype}")
    zeros = ark.zeros(target.shape, target.dtype)
    ones = ark.ones(source.shape, source.dtype)
    sums = _scatter_add(summed, zeros, dim, positions, source)
    counts = _scatter_add(summed, zeros, dim, positions, ones)
    if include_self:
        return (target + sums) / (counts + 1)
    return ark.where(counts > 0, sums / ark.maximum(counts, 1) if mean else sums, target)


@aten("index_put.default", "_unsafe_index_put.default")
def _index_put(
    out: Out,
    x: Operand,
    indices: Sequence[Operand | None],
    values: Operand,
    accumulate: bool = False,
) -> ark.Tensor:
    target, source = tensor(x), tensor(values, out.dtype)
    given = [(axis, tensor(i)) for axis, i in enumerate(indices) if i is not None]
    axis, index = given[0]
    if len(given) == 1 and index.dtype is bool_:
        return _masked_put(target, axis, index, source, accumulate)
    if accumulate:
        return _index_add(target, indices, source)
    plan = Indexed(target.shape, indices)
    if plan.positions.size == 0 or target.size == 0:
        return target
    merged, first = plan.merged(target), plan.first
    shape = (*merged.shape[:first], *plan.positions.shape, *merged.shape[first + 1 :])
    positions = in_range(plan.positions, plan.extent)
    slices = ark.broadcast_to(source, shape)
    return plan.restored(replaced(merged, positions, slices, first))


def _index_add(
    target: ark.Tensor, indices: Sequence[Operand | None], source: ark.Tensor
) -> ark.Tensor:
    """Adds to the slices that indices select, as the gradient of a selection does."""
    plan = Indexed(target.shape, indices)
    merged, positions = plan.merged(target), in_range(plan.positions, plan.extent)
    lead, rest = merged.shape[: plan.first], merged.shape[plan.first + 1 :]
    spread = ark.broadcast_to(source, (*lead, *positions.shape, *rest))
    return target + plan.restored(scattered(positions, spread, plan.extent, plan.first))


@aten("embedding_dense_backward.default")
def _embedding_backward(
    out: Out,
    slopes: Operand,
    indices: Operand,
    num_weights: int,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
) -> ark.Tensor:
    if scale_grad_by_freq:
        raise unsupported("scale_grad_by_freq=True")
    rows = tensor(indices)
    if padding_idx >= 0:  # the sum ignores an index out of range
        rows = ark.where(ark.equal(rows, padding_idx), -1, rows)
    return scattered(rows, tensor(slopes, out.dtype), num_weights, 0)


def _masked_put(
    target: ark.Tensor, axis: int, mask: ark.Tensor, source: ark.Tensor, accumulate: bool
) -> ark.Tensor:
    rest = target.shape[axis + mask.ndim :]
    if mask.size == 0:
        return target
    wide = ark.reshape(mask, (*mask.shape, *(1,) * len(rest)))
    if source.size == 1:
        value = ark.reshape(source, ())
    else:
        value = _in_turn(mask, source, axis, rest, is_put=True)
    return ark.where(wide, target + value if accumulate else value, target)


def _in_turn(
    mask: ark.Tensor, source: ark.Tensor, axis: int, rest: Sequence[int], is_put: bool
) -> ark.Tensor:
    """Returns the slices of `source` where a mask is true, in their order.

    A run raises DataRangeError if there are fewer slices than elements that are true.

    Args:
        mask: of any shape; the element with number `n` among those that are true gets slice `n`.
        source: a slice for each element that is true, along dimension `axis`.
        axis: the first dimension of the mask.
        rest: the extents after those of the mask.
        is_put: as in ``index_put``, a single slice is for all elements that are true, and more
            slices than those elements are an error.
    """
    if axis or source.ndim != len(rest) + 1:
        raise unsupported("a write by a mask that broadcasts its values")
    chosen, count = ark.reshape(mask, (mask.size,)), source.shape[0]
    if is_put and count == 1:
        return ark.broadcast_to(source, (*mask.shape, *rest))
    ends = ark.cumsum(ark.cast(chosen, int32))
    # Elements that are false take any slice.
    numbers = ark.where(chosen, ends - 1, 0)
    if is_put or count == 0:
        numbers = required(numbers, ends[-1:] == count, "number of values for a mask")
    if count == 0:  # there is no slice, but the check needs a result
        zeros = ark.zeros((1, *rest), source.dtype)
        return ark.reshape(ark.gather(zeros, numbers, 0), (*mask.shape, *rest))
    found = ark.gather(source, numbers, 0)
    return ark.reshape(found, (*mask.shape, *rest))


@aten("masked_scatter.default")
def _masked_scatter(out: Out, x: Operand, mask: Operand, source: Operand) -> ark.Tensor:
    target, values = tensor(x), tensor(source, out.dtype)
    if target.size == 0:
        return target
    chosen = ark.broadcast_to(tensor(mask), target.shape)
    flat = shaped(values, (values.size,))
    return ark.where(chosen, _in_turn(chosen, flat, 0, (), is_put=False), target)


@aten("put.default")
def _put(
    out: Out, x: Operand, index: Operand, source: Operand, accumulate: bool = False
) -> ark.Tensor:
    target, values = tensor(x), tensor(source, out.dtype)
    rows, positions = shaped(target, (target.size,)), tensor(index)
    flat = shaped(positions, (positions.size,))
    values = shaped(values, (values.size,))
    return shaped(
        _index_put(Out(rows.shape, out.dtype), rows, [flat], values, accumulate), out.shape
    )


@aten("diagonal_scatter.default")
def _diagonal_scatter(
    out: Out, x: Operand, src: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> ark.Tensor:
    """Replaces a diagonal, which is the last dimension of `src`."""
    target, source = tensor(x), tensor(src, out.dtype)
    rank = target.ndim
    row, column = axis_of(dim1, rank), axis_of(dim2, rank)
    rest = [axis for axis in range(rank) if axis not in (row, column)]
    moved = ark.transpose(target, [*rest, row, column])
    rows, columns = moved.shape[-2:]
    first = -min(offset, 0)
    # A row without an element of the diagonal takes any element, and `hit` excludes it.
    if source.shape[-1] == 0:
        return target
    numbers = ark.clamp(ark.arange(rows) - first, 0, source.shape[-1] - 1)
    spread = ark.unsqueeze(ark.gather(source, numbers, source.ndim - 1), -1)
    hit = ark.equal(ark.reshape(ark.arange(rows), (rows, 1)) + offset, ark.arange(columns))
    return ark.transpose(ark.where(hit, spread, moved), np.argsort([*rest, row, column]).tolist())
