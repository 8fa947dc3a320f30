"""The rules of ops that move or select elements."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from ..axes import (
    Axes,
    Axis,
    Dynamic,
    Refusal,
    axis_of_size,
    expression,
    grouped,
    is_fixed,
    is_plain,
    size_of,
)
from ..padding import Padder, Value, rule
from .shared import dim_of, dynamic_size, has_symbols, replaced, select_within

_aten: Any = torch.ops.aten


@rule("view.default", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten")
def reshape(padder: Padder, target: Any, x: Value, *_: Any) -> Value:
    axes = grouped(x.axes, padder.described.shape)
    return Value(_aten.reshape.default(x.tensor, padder.sizes.shape(axes)), axes)


@rule("expand", "expand_as")
def expand(padder: Padder, target: Any, x: Value, *_: Any, **__: Any) -> Value:
    shape = padder.described.shape
    old: Axes = ((),) * (len(shape) - len(x.axes)) + x.axes
    axes = tuple(
        axis if axis else axis_of_size(size) for axis, size in zip(old, shape, strict=True)
    )
    return Value(_aten.expand.default(x.tensor, padder.sizes.shape(axes)), axes)


@rule("permute")
def permute(padder: Padder, target: Any, x: Value, dims: Sequence[int]) -> Value:
    order = [dim_of(dim, x) for dim in dims]
    return Value(target(x.tensor, order), tuple(x.axes[dim] for dim in order))


@rule("transpose.int")
def transpose(padder: Padder, target: Any, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(len(x.axes)))
    a, b = dim_of(dim0, x), dim_of(dim1, x)
    order[a], order[b] = order[b], order[a]
    return permute(padder, _aten.permute.default, x, order)


@rule("t")
def t(padder: Padder, target: Any, x: Value) -> Value:
    return permute(padder, _aten.permute.default, x, list(range(len(x.axes)))[::-1])


@rule("slice.Tensor")
def slice_(
    padder: Padder,
    target: Any,
    x: Value,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Value:
    dim = dim_of(dim, x)
    size = padder.described.shape[dim]
    axis = x.axes[dim]
    if is_fixed(axis) and expression(size).is_Integer and not has_symbols(start, end):
        axes = replaced(x.axes, dim, axis_of_size(size))
        return Value(target(x.tensor, dim, start, end, step), axes)
    if sympy.expand(expression(size) - size_of(axis)) == 0 and step == 1:  # the whole axis
        return Value(_aten.alias.default(x.tensor), x.axes)
    old = sympy.Integer(padder.sizes.of(axis)) if is_fixed(axis) else dynamic_size(axis)
    begin = _from_front(0 if start is None else start, old)
    if step != 1:
        raise Refusal("a slice with a step of a size that changes")
    new = axis_of_size(size)
    count = padder.sizes.of(new)
    axes = replaced(x.axes, dim, new)
    if begin.is_Integer:
        if int(begin) + count > padder.sizes.of(axis):
            raise Refusal(f"a slice of {int(begin) + count} of {padder.sizes.of(axis)} elements")
        return Value(target(x.tensor, dim, int(begin), int(begin) + count), axes)
    positions = torch.arange(count, device=x.tensor.device) + padder.number(begin)
    return Value(select_within(padder, x, dim, positions), axes)


def _from_front(bound: Any, size: Any) -> Any:
    """Returns a bound of a slice as an index from the front."""
    value = sympy.sympify(bound)
    return sympy.expand(value + size) if value.is_Integer and value < 0 else value


@rule("select.int")
def select(padder: Padder, target: Any, x: Value, dim: int, index: Any) -> Value:
    dim = dim_of(dim, x)
    axes = replaced(x.axes, dim)
    if is_fixed(x.axes[dim]) and not has_symbols(index):
        return Value(target(x.tensor, dim, int(index)), axes)
    position = _from_front(index, dynamic_size(x.axes[dim]))
    if position.is_Integer:
        return Value(target(x.tensor, dim, int(position)), axes)
    row = select_within(padder, x, dim, _aten.view.default(padder.number(position), [1]))
    return Value(_aten.squeeze.dim(row, dim), axes)


@rule("split", "split_with_sizes", "chunk", "unbind")
def split(padder: Padder, target: Any, x: Value, *args: Any) -> tuple[Value, ...]:
    names = {"unbind": 0}
    index = names.get(str(target).split(".")[1], 1)
    dim = dim_of(args[index] if len(args) > index else 0, x)
    if not is_fixed(x.axes[dim]) or any(has_symbols(leaf) for leaf in pytree.tree_leaves(args)):
        raise Refusal(f"{target} of a size that changes")
    parts = target(x.tensor, *padder.plain(args))
    gone = len(padder.described[0].shape) < len(x.axes)
    return tuple(
        Value(part, replaced(x.axes, dim, *(() if gone else (axis_of_size(part.shape[dim]),))))
        for part in parts
    )


@rule("cat", "stack")
def cat(padder: Padder, target: Any, values: Sequence[Value], dim: int = 0) -> Value:
    rank = len(padder.described.shape)
    dim = dim % rank
    if "stack" in str(target):
        if len({value.axes for value in values}) > 1:
            raise Refusal("a stack of tensors whose sizes only happen to be equal")
        axes = (*values[0].axes[:dim], axis_of_size(len(values)), *values[0].axes[dim:])
        return Value(target([value.tensor for value in values], dim), axes)
    # torch.cat skips tensors of shape (0,), with which the caches of transformers begin.
    first, *others = [v for v in values if v.axes != ((0,),)] or values[:1]
    joined = first
    for value in others:
        joined = _joined(padder, joined, value, dim)
    return joined


def _joined(padder: Padder, a: Value, b: Value, dim: int) -> Value:
    if replaced(a.axes, dim) != replaced(b.axes, dim):
        raise Refusal("a concatenation of tensors whose sizes only happen to be equal")
    first, second = a.axes[dim], b.axes[dim]
    whole = _aten.cat.default([a.tensor, b.tensor], dim)
    if is_fixed(first):
        new: Axis
        if is_fixed(second):
            total = padder.sizes.of(first) + padder.sizes.of(second)
            new = axis_of_size(total)
        else:
            dynamic_size(second)
            new = (Dynamic(second[0].symbol, second[0].offset + padder.sizes.of(first)),)  # type: ignore[union-attr]
        return Value(whole, replaced(a.axes, dim, new))
    if not is_fixed(second):
        raise Refusal("a concatenation of two sizes that change")
    # The second part begins where the data of the first ends.
    dynamic_size(first)
    factor: Any = first[0]
    extent, length = padder.sizes.of(first), padder.length(factor)
    count = extent + padder.sizes.of(second)
    numbers = torch.arange(count, device=whole.device)
    shifted = numbers + (extent - length)
    positions = _aten.where.self(_aten.lt.Tensor(numbers, length), numbers, shifted)
    axes = replaced(a.axes, dim, (Dynamic(factor.symbol, factor.offset + count - extent),))
    return Value(select_within(padder, Value(whole, axes), dim, positions), axes)


@rule("tril", "triu")
def triangle(padder: Padder, target: Any, x: Value, diagonal: int = 0) -> Value:
    if not all(is_fixed(axis) or is_plain(axis) for axis in x.axes[-2:]) or has_symbols(diagonal):
        raise Refusal("a triangle of joined sizes")
    return Value(target(x.tensor, int(diagonal)), x.axes)


@rule("constant_pad_nd")
def pad(padder: Padder, target: Any, x: Value, pads: Sequence[Any], value: float = 0) -> Value:
    axes = list(x.axes)
    for index in range(0, len(pads), 2):
        dim = len(axes) - 1 - index // 2
        if has_symbols(*pads[index : index + 2]):
            raise Refusal("padding by a size that changes")
        if int(pads[index]) == 0 == int(pads[index + 1]):
            continue
        if not is_fixed(axes[dim]):
            raise Refusal("padding of a size that changes")
        axes[dim] = axis_of_size(padder.described.shape[dim])
    return Value(target(x.tensor, padder.plain(list(pads)), value), tuple(axes))
