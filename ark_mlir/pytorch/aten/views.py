"""ATen's views, and ops that concatenate, pad and fill."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import builtins
from collections.abc import Sequence

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bool_
from .table import Out, aten, unsupported
from .values import Operand, as_axes, axis_of, lower_triangle, shaped, tensor, to

_RESHAPES = (
    "view.default", "_unsafe_view.default", "reshape.default", "unsqueeze.default",
    "squeeze.default", "squeeze.dim", "squeeze.dims", "flatten.using_ints", "unflatten.int",
    "view_as.default",
)  # fmt: skip


@aten(*_RESHAPES, view=True)
def _reshape(out: Out, x: Operand, *_: object) -> ark.Tensor:
    return shaped(tensor(x), out.shape)


@aten("view.dtype", view=True)
def _bitcast(out: Out, x: Operand, dtype: object) -> ark.Tensor:
    source = tensor(x)
    if out.dtype is bool_ and source.dtype is not bool_:
        raise unsupported("bytes as bool: a byte may be neither true nor false")
    return ark.bitcast(source, out.dtype)


@aten("permute.default", view=True)
def _permute(out: Out, x: Operand, dims: Sequence[int]) -> ark.Tensor:
    source = tensor(x)
    return ark.transpose(source, tuple(axis_of(d, source.ndim) for d in dims))


@aten("transpose.int", view=True)
def _transpose(out: Out, x: Operand, dim0: int, dim1: int) -> ark.Tensor:
    source = tensor(x)
    order = list(range(source.ndim))
    a, b = axis_of(dim0, source.ndim), axis_of(dim1, source.ndim)
    if order:
        order[a], order[b] = order[b], order[a]
    return ark.transpose(source, order)


@aten("t.default", "numpy_T.default", view=True)
def _t(out: Out, x: Operand) -> ark.Tensor:
    return ark.transpose(tensor(x))


@aten("expand.default", "expand_as.default", view=True)
def _expand(out: Out, x: Operand, size: object, implicit: bool = False) -> ark.Tensor:
    return ark.broadcast_to(tensor(x), out.shape)


@aten("repeat.default")
def _repeat(out: Out, x: Operand, repeats: Sequence[int]) -> ark.Tensor:
    source = tensor(x)
    shape = (1,) * (len(repeats) - source.ndim) + source.shape
    pairs = tuple(extent for e in shape for extent in (1, e))
    full = [extent for n, e in zip(repeats, shape, strict=True) for extent in (n, e)]
    return shaped(ark.broadcast_to(shaped(source, pairs), full), out.shape)


def _at(x: ark.Tensor, axis: int, index: int | builtins.slice) -> ark.Tensor:
    return x[(slice(None),) * axis_of(axis, x.ndim) + (index,)]


@aten("slice.Tensor", view=True)
def _slice(
    out: Out,
    x: Operand,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> ark.Tensor:
    return _at(tensor(x), dim, slice(start, end, step))


@aten("narrow.default", view=True)
def _narrow(out: Out, x: Operand, dim: int, start: int, length: int) -> ark.Tensor:
    source = tensor(x)
    begin = start % max(1, source.shape[dim]) if start < 0 else start
    return _at(source, dim, slice(begin, begin + length))


@aten("select.int", view=True)
def _select(out: Out, x: Operand, dim: int, index: int) -> ark.Tensor:
    return _at(tensor(x), dim, index)


@aten("split.Tensor", "split_with_sizes.default", "chunk.default", view=True)
def _split(out: tuple[Out, ...], x: Operand, sizes: object, dim: int = 0) -> tuple[ark.Tensor, ...]:
    source = tensor(x)
    axis = axis_of(dim, source.ndim)
    return tuple(ark.split(source, [part.shape[axis] for part in out], axis))


@aten("unbind.int", view=True)
def _unbind(out: tuple[Out, ...], x: Operand, dim: int = 0) -> tuple[ark.Tensor, ...]:
    return tuple(_at(tensor(x), dim, index) for index in range(len(out)))


@aten("cat.default")
def _cat(out: Out, tensors: Sequence[Operand], dim: int = 0) -> ark.Tensor:
    # torch ignores empty vectors in a concatenation of tensors of any rank.
    parts = [tensor(t, out.dtype) for t in tensors]
    parts = [p for p in parts if p.shape != (0,) or len(out.shape) == 1]
    return ark.concat(parts, axis_of(dim, len(out.shape)))


@aten("stack.default")
def _stack(out: Out, tensors: Sequence[Operand], dim: int = 0) -> ark.Tensor:
    axis = axis_of(dim, len(out.shape))
    return ark.concat([ark.unsqueeze(tensor(t, out.dtype), axis) for t in tensors], axis)


@aten("flip.default")
def _flip(out: Out, x: Operand, dims: Sequence[int]) -> ark.Tensor:
    source = tensor(x)
    axes = as_axes(dims, source.ndim) if dims else ()
    return source[tuple(slice(None, None, -1 if a in axes else 1) for a in range(source.ndim))]


@aten("roll.default")
def _roll(out: Out, x: Operand, shifts: Sequence[int], dims: Sequence[int] = ()) -> ark.Tensor:
    source = tensor(x)
    if not dims:
        flat = shaped(source, (source.size,))
        return shaped(_rolled(flat, shifts[0], 0), out.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        source = _rolled(source, shift, axis_of(dim, source.ndim))
    return source


def _rolled(x: ark.Tensor, shift: int, axis: int) -> ark.Tensor:
    first = -shift % max(1, x.shape[axis])
    if first == 0:
        return x
    return ark.concat([_at(x, axis, slice(first, None)), _at(x, axis, slice(first))], axis)


@aten("constant_pad_nd.default")
def _pad(out: Out, x: Operand, pad: Sequence[int], value: float = 0) -> ark.Tensor:
    result = tensor(x)
    for i in range(0, len(pad), 2):
        result = _padded(result, result.ndim - 1 - i // 2, pad[i], pad[i + 1], value)
    return result


def _padded(x: ark.Tensor, axis: int, before: int, after: int, fill: float) -> ark.Tensor:
    # Negative padding removes elements.
    inner = _at(x, axis, slice(max(0, -before), x.shape[axis] - max(0, -after)))
    parts = [_filled(x, axis, before, fill), inner, _filled(x, axis, after, fill)]
    return ark.concat([part for part in parts if part is not None], axis)


def _filled(x: ark.Tensor, axis: int, extent: int, fill: float) -> ark.Tensor | None:
    if extent <= 0:
        return None
    return ark.full((*x.shape[:axis], extent, *x.shape[axis + 1 :]), fill, x.dtype)


@aten("slice_scatter.default")
def _slice_scatter(
    out: Out,
    x: Operand,
    source: Operand,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> ark.Tensor:
    target = tensor(x)
    axis = axis_of(dim, target.ndim)
    begin, stop, stride = slice(start, end, step).indices(target.shape[axis])
    if stride != 1:
        return _spread(target, tensor(source), axis, range(begin, stop, stride))
    parts = [_at(target, axis, slice(begin)), tensor(source), _at(target, axis, slice(stop, None))]
    return ark.concat([part for part in parts if part.shape[axis]], axis)


def _spread(target: ark.Tensor, source: ark.Tensor, axis: int, written: range) -> ark.Tensor:
    """Returns `target` with the slices of `source` at the indices `written` of an axis."""
    extent = target.shape[axis]
    hit = np.isin(np.arange(extent), written)
    numbers = np.clip(np.cumsum(hit) - 1, 0, None).astype(np.int32)
    mask = hit.reshape(extent, *(1,) * (target.ndim - axis - 1))
    return ark.where(ark.constant(mask), ark.gather(source, ark.constant(numbers), axis), target)


@aten("select_scatter.default")
def _select_scatter(out: Out, x: Operand, source: Operand, dim: int, index: int) -> ark.Tensor:
    axis = axis_of(dim, len(out.shape))
    first = index % out.shape[axis]
    row = ark.unsqueeze(tensor(source), axis)
    return _slice_scatter(out, x, row, axis, first, first + 1)


@aten("tril.default")
def _tril(out: Out, x: Operand, diagonal: int = 0) -> ark.Tensor:
    return ark.where(lower_triangle(out.shape, diagonal), tensor(x), 0)


@aten("triu.default")
def _triu(out: Out, x: Operand, diagonal: int = 0) -> ark.Tensor:
    return ark.where(lower_triangle(out.shape, diagonal - 1), 0, tensor(x))


@aten("scalar_tensor.default")
def _scalar_tensor(out: Out, value: Operand, dtype: DType | None = None) -> ark.Tensor:
    return ark.constant(to(value, out.dtype), out.dtype)  # type: ignore[arg-type]


@aten("full.default", "full_like.default", "new_full.default")
def _full(out: Out, x: object, *rest: object, dtype: DType | None = None) -> ark.Tensor:
    return ark.full(out.shape, to(rest[-1], out.dtype), out.dtype)  # type: ignore[arg-type]


@aten("zeros.default", "zeros_like.default", "new_zeros.default")
def _zeros(out: Out, x: object, *_: object, dtype: DType | None = None) -> ark.Tensor:
    return ark.zeros(out.shape, out.dtype)


@aten("ones.default", "ones_like.default", "new_ones.default")
def _ones(out: Out, x: object, *_: object, dtype: DType | None = None) -> ark.Tensor:
    return ark.ones(out.shape, out.dtype)


@aten("copy.default")
def _copy(out: Out, x: object, source: Operand, non_blocking: bool = False) -> ark.Tensor:
    return ark.broadcast_to(tensor(source, out.dtype), out.shape)


@aten("fill.Scalar", "fill.Tensor")
def _fill(out: Out, x: object, value: Operand) -> ark.Tensor:
    return ark.broadcast_to(tensor(value, out.dtype), out.shape)
