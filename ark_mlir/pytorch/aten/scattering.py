"""ATen ops that write by index, and sorts.

Sums of rows by index are an op of ark. ark has no op that replaces elements at run-time positions:
each result compares its position with all indices. The number of comparisons is the product of the
two counts, and has a limit. An index out of range is an error of the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bool_, int32, int64
from ...frontend.ops.scattering import scattered
from .indexing import Indexed, flat_along, take_along
from .reductions import product
from .table import Out, aten, unsupported
from .values import Operand, axis_of, promoted, shaped, tensor, to

_MAX_COMPARISONS = 1 << 22


def _check_size(*extents: int) -> None:
    if math.prod(extents) > _MAX_COMPARISONS:
        raise unsupported(
            f"{math.prod(extents)} comparisons of positions; the limit is {_MAX_COMPARISONS}"
        )


def _checked(index: Operand, extent: int) -> ark.Tensor:
    """Returns indices in ``[0, extent)``; the run raises an error for others."""
    return ark.gather(ark.arange(extent, dtype=int64), tensor(index, int64), 0)


def _last(axis: int, rank: int) -> list[int]:
    """Returns the permutation that moves an axis to the end."""
    return [a for a in range(rank) if a != axis] + [axis]


class _Writes:
    """Writes to the elements of `x` that indices along an axis select.

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
        _check_size(x.size, count)
        self._x, self._axis, self.count = x, axis, count
        self._back = np.argsort(_last(axis, x.ndim)).tolist()
        rows = ark.transpose(_checked(positions, extent), _last(axis, x.ndim))
        numbers = ark.arange(extent, dtype=int64)
        # [..., position, index]
        self.hits = ark.equal(ark.unsqueeze(rows, -2), ark.reshape(numbers, (extent, 1)))

    def last(self, source: ark.Tensor) -> ark.Tensor:
        """Returns `x` with elements of `source`; the last of several indices of an element wins."""
        number = ark.where(self.hits, ark.arange(self.count, dtype=int32), -1)
        latest = ark.transpose(ark.reduce_max(number, -1, keepdims=False), self._back)
        chosen = take_along(source, self._axis, ark.maximum(latest, 0))
        return ark.where(latest >= 0, chosen, self._x)

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
        given = ark.where(self.hits, rows, fill)
        if reduce == "prod":
            found = product(given, given.ndim - 1)
        else:
            op = ark.reduce_max if reduce == "amax" else ark.reduce_min
            found = op(given, -1, keepdims=False)
        found = ark.transpose(found, self._back)
        if include_self:
            return join(self._x, found)
        hit = ark.reduce_max(ark.cast(self.hits, int32), -1, keepdims=False)
        return ark.where(ark.transpose(hit, self._back) > 0, found, self._x)

    def filled(self, value: Operand) -> ark.Tensor:
        """Returns `x` with `value` at all elements that the indices select."""
        hit = ark.reduce_max(ark.cast(self.hits, int32), -1, keepdims=False)
        return ark.where(ark.transpose(hit, self._back) > 0, value, self._x)


@aten("scatter.src")
def _scatter(out: Out, x: Operand, dim: int, index: Operand, src: Operand) -> ark.Tensor:
    target, positions, source = tensor(x), tensor(index), tensor(src)
    if positions.shape != source.shape:
        raise unsupported("a scatter of a part of its source")
    return _Writes(target, axis_of(dim, target.ndim), positions).last(source)


@aten("scatter.value")
def _scatter_value(out: Out, x: Operand, dim: int, index: Operand, value: Operand) -> ark.Tensor:
    target = tensor(x)
    return _Writes(target, axis_of(dim, target.ndim), index).filled(to(value, target.dtype))


@aten("scatter_add.default")
def _scatter_add(out: Out, x: Operand, dim: int, index: Operand, src: Operand) -> ark.Tensor:
    target, positions, source = tensor(x), tensor(index), tensor(src)
    if positions.shape != source.shape:
        raise unsupported("a scatter of a part of its source")
    if target.ndim == 0:
        return target + source
    axis, count = axis_of(dim, target.ndim), source.size
    flat = flat_along(target.shape, axis, _checked(positions, target.shape[axis]))
    sums = scattered(shaped(flat, (count,)), shaped(source, (count,)), target.size, 0)
    return target + shaped(sums, target.shape)


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
    target, positions, source = tensor(x), tensor(index), tensor(src)
    if positions.shape != source.shape:
        raise unsupported("a scatter of a part of its source")
    if target.ndim == 0:
        target, positions, source = (ark.reshape(t, (1,)) for t in (target, positions, source))
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
    if not mean and include_self:
        return _scatter_add(out, target, dim, positions, source)
    if mean and not target.dtype.is_float:
        raise unsupported(f"a scatter with reduce='mean' of {target.dtype}")
    zeros = ark.zeros(target.shape, target.dtype)
    ones = ark.ones(source.shape, source.dtype)
    sums = _scatter_add(out, zeros, dim, positions, source)
    counts = _scatter_add(out, zeros, dim, positions, ones)
    if include_self:
        return (target + sums) / (counts + 1)
    return ark.where(counts > 0, sums / ark.maximum(counts, 1) if mean else sums, target)


def _count_below(bounds: ark.Tensor, x: ark.Tensor, right: bool, dtype: DType) -> ark.Tensor:
    """Returns, for each value, the number of sorted bounds below it.

    With `right`, bounds equal to the value count, too.
    """
    _check_size(x.size, bounds.shape[-1])
    mine = ark.unsqueeze(x, -1)
    before = ark.less_equal(bounds, mine) if right else ark.less(bounds, mine)
    if x.dtype.is_float:  # NaN is larger than all numbers
        before = ark.logical_or(before, mine != mine)
    return ark.cast(ark.reduce_sum(ark.cast(before, int32), -1, keepdims=False), dtype)


@aten("bucketize.Tensor")
def _bucketize(
    out: Out, x: Operand, boundaries: Operand, out_int32: bool = False, right: bool = False
) -> ark.Tensor:
    value, bounds = _alike(tensor(x), tensor(boundaries))
    return _count_below(bounds, value, right, out.dtype)


@aten("searchsorted.Tensor")
def _searchsorted(
    out: Out,
    sorted_sequence: Operand,
    x: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Operand | None = None,
) -> ark.Tensor:
    if sorter is not None:
        raise unsupported("a search in a sequence with a sorter")
    value, bounds = _alike(tensor(x), tensor(sorted_sequence))
    if bounds.ndim > 1:
        bounds = ark.unsqueeze(bounds, -2)
    return _count_below(bounds, value, right or side == "right", out.dtype)


def _alike(a: ark.Tensor, b: ark.Tensor) -> tuple[ark.Tensor, ark.Tensor]:
    dtype = promoted(a, b)
    return tensor(a, dtype), tensor(b, dtype)


@aten("kthvalue.default")
def _kthvalue(
    out: tuple[Out, Out], x: Operand, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    value = tensor(x)
    if value.ndim == 0:
        return value, ark.zeros((), int64)
    axis = axis_of(dim, value.ndim)
    values, indices = _ordered(value, axis, False, k)
    cut = tuple(slice(k - 1, k) if a == axis else slice(None) for a in range(value.ndim))
    return shaped(values[cut], out[0].shape), shaped(indices[cut], out[1].shape)


@aten("median.dim")
def _median(
    out: tuple[Out, Out], x: Operand, dim: int = -1, keepdim: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns the lower median, or NaN if there is one."""
    value = tensor(x)
    if value.ndim == 0:
        return _kthvalue(out, value, 1)
    axis = axis_of(dim, value.ndim)
    extent = value.shape[axis]
    middle = _kthvalue(out, value, (extent + 1) // 2, dim, keepdim)
    if not value.dtype.is_float:
        return middle
    largest, last = _kthvalue(out, value, extent, dim, keepdim)  # NaN is the largest
    lost = largest != largest
    return ark.where(lost, largest, middle[0]), ark.where(lost, last, middle[1])


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
    if len(given) != 1 or index.ndim != 1:
        raise unsupported("writing by several indices")
    extent, count = target.shape[axis], index.size
    shape = (*target.shape[:axis], count, *target.shape[axis + 1 :])
    index = ark.where(index < 0, index + extent, index)
    spread = ark.broadcast_to(ark.reshape(index, (count, *(1,) * (target.ndim - axis - 1))), shape)
    return _Writes(target, axis, spread).last(ark.broadcast_to(source, shape))


def _index_add(
    target: ark.Tensor, indices: Sequence[Operand | None], source: ark.Tensor
) -> ark.Tensor:
    """Adds to the slices that indices select, as the gradient of a selection does."""
    plan = Indexed(target.shape, indices)
    merged, positions = plan.merged(target), _checked(plan.positions, plan.extent)
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
    if source.size != 1:
        raise unsupported(
            "a write by a mask, which selects a number of elements known only at run time"
        )
    after = target.ndim - axis - mask.ndim
    wide = ark.reshape(mask, (*mask.shape, *(1,) * after))
    value = ark.reshape(source, ())
    return ark.where(wide, target + value if accumulate else value, target)


@aten("topk.default")
def _topk(
    out: tuple[Out, Out],
    x: Operand,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[ark.Tensor, ark.Tensor]:
    return _ordered(tensor(x), dim, largest, k)


@aten("sort.default")
def _sort(
    out: tuple[Out, Out], x: Operand, dim: int = -1, descending: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    return _ordered(tensor(x), dim, descending, None)


@aten("sort.stable")
def _stable_sort(
    out: tuple[Out, Out],
    x: Operand,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> tuple[ark.Tensor, ark.Tensor]:
    return _ordered(tensor(x), dim, descending, None)


def _ordered(
    x: ark.Tensor, dim: int, descending: bool, count: int | None
) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns the first `count` elements in order (None: all), and their indices.

    Equal elements keep their order; NaN is larger than all numbers.
    """
    if x.ndim == 0:
        return x, ark.zeros((), int64)
    axis = axis_of(dim, x.ndim)
    extent = x.shape[axis]
    kept = extent if count is None else count
    _check_size(x.size, extent)
    values = ark.cast(x, int32) if x.dtype is bool_ else x
    rows = ark.transpose(values, _last(axis, x.ndim))
    mine, other = ark.unsqueeze(rows, -1), ark.unsqueeze(rows, -2)
    numbers = ark.arange(extent, dtype=int32)
    earlier = ark.less(ark.reshape(numbers, (1, extent)), ark.reshape(numbers, (extent, 1)))
    ahead, equal = (other > mine if descending else other < mine), ark.equal(other, mine)
    if x.dtype.is_float:
        lost, others = ark.not_equal(mine, mine), ark.not_equal(other, other)
        first, second = (others, lost) if descending else (lost, others)
        ahead = ark.logical_or(ahead, ark.logical_and(first, ark.logical_not(second)))
        equal = ark.logical_or(equal, ark.logical_and(lost, others))
    ahead = ark.logical_or(ahead, ark.logical_and(equal, earlier))
    position = ark.reduce_sum(ark.cast(ahead, int32), -1, keepdims=True)
    found = ark.equal(position, ark.arange(kept, dtype=int32))  # [..., element, position]
    chosen = ark.where(found, ark.reshape(ark.arange(extent, dtype=int64), (extent, 1)), 0)
    indices = ark.reduce_sum(chosen, -2, keepdims=False)
    indices = ark.transpose(indices, np.argsort(_last(axis, x.ndim)).tolist())
    return take_along(x, axis, indices), shaped(indices, indices.shape)
