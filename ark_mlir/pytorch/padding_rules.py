"""The rules of ATen ops on padded tensors; see ``padding``."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from .axes import (
    Axes,
    Axis,
    Dynamic,
    Refusal,
    axis_of_expression,
    axis_of_size,
    expression,
    grouped,
    is_fixed,
    is_plain,
)
from .padding import Padder, Value, rule

_aten: Any = torch.ops.aten

# Each element of the result depends only on the elements of the operands at its position.
_POINTWISE = (
    "abs", "acos", "add", "alias", "asin", "atan", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min", "clone", "contiguous", "cos", "cosh",
    "detach", "elu", "eq", "erf", "erfinv", "exp", "exp2", "expm1", "floor", "full_like", "ge",
    "gelu", "gt", "hardsigmoid", "hardswish", "hardtanh", "isinf", "isnan", "le", "leaky_relu",
    "lift_fresh_copy", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "masked_fill", "maximum", "minimum", "mul", "ne", "neg", "ones_like",
    "pow", "reciprocal", "relu", "round", "rsqrt", "rsub", "sigmoid", "sign", "silu", "sin", "sinh",
    "softplus", "sqrt", "square", "sub", "tan", "tanh", "to", "trunc", "where", "zeros_like",
    "_to_copy",
)  # fmt: skip


def broadcast(operands: Iterable[Axes]) -> Axes:
    """Returns the axes of a result to which axes broadcast; raises Refusal if two differ."""
    lists = list(operands)
    result: list[Axis] = []
    for index in range(max(map(len, lists), default=0)):
        found = {axes[-1 - index] for axes in lists if index < len(axes)} - {()}
        if len(found) > 1:
            raise Refusal("operands whose sizes only happen to be equal")
        result.append(found.pop() if found else ())
    return tuple(reversed(result))


def _dim(dim: int, value: Value) -> int:
    return dim % max(1, len(value.axes))


@rule(*_POINTWISE)
def pointwise(padder: Padder, target: Any, *args: Any, **kwargs: Any) -> Value:
    values = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Value)]
    axes = broadcast(value.axes for value in values)
    if any(isinstance(leaf, sympy.Basic) for leaf in args) and "Scalar" in str(target):
        target = target.overloadpacket.Tensor  # the number is a tensor now
    numbers = [padder.number(a) if isinstance(a, sympy.Basic) else a for a in args]
    return Value(target(*padder.plain(numbers), **padder.plain(kwargs)), axes)


@rule("div", "floor_divide", "remainder", "fmod")
def quotient(padder: Padder, target: Any, a: Any, b: Any, **kwargs: Any) -> Value:
    # Integers beyond the data may be zero, by which integers cannot be divided.
    if isinstance(b, Value) and not b.fixed and not b.tensor.dtype.is_floating_point:
        b = Value(padder.masked(b, range(len(b.axes)), 1), b.axes)
    return pointwise(padder, target, a, b, **kwargs)


# -- views -----------------------------------------------------------------------------------


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
    order = [_dim(dim, x) for dim in dims]
    return Value(target(x.tensor, order), tuple(x.axes[dim] for dim in order))


@rule("transpose.int")
def transpose(padder: Padder, target: Any, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(len(x.axes)))
    a, b = _dim(dim0, x), _dim(dim1, x)
    order[a], order[b] = order[b], order[a]
    return permute(padder, _aten.permute.default, x, order)


@rule("t")
def t(padder: Padder, target: Any, x: Value) -> Value:
    return permute(padder, _aten.permute.default, x, list(range(len(x.axes)))[::-1])


def _replaced(axes: Axes, dim: int, *new: Axis) -> Axes:
    return (*axes[:dim], *new, *axes[dim + 1 :])


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
    dim = _dim(dim, x)
    size = padder.described.shape[dim]
    axis = x.axes[dim]
    if is_fixed(axis) and expression(size).is_Integer and not _symbolic(start, end):
        axes = _replaced(x.axes, dim, axis_of_size(size))
        return Value(target(x.tensor, dim, start, end, step), axes)
    old = sympy.Integer(padder.sizes.of(axis)) if is_fixed(axis) else _whole(axis)
    begin = _from_front(0 if start is None else start, old)
    if sympy.expand(expression(size) - old) == 0 and step == 1:  # the whole axis
        return Value(_aten.alias.default(x.tensor), x.axes)
    if step != 1:
        raise Refusal("a slice with a step of a size that changes")
    new = axis_of_size(size)
    count = padder.sizes.of(new)
    axes = _replaced(x.axes, dim, new)
    if begin.is_Integer:
        if int(begin) + count > padder.sizes.of(axis):
            raise Refusal(f"a slice of {int(begin) + count} of {padder.sizes.of(axis)} elements")
        return Value(target(x.tensor, dim, int(begin), int(begin) + count), axes)
    positions = torch.arange(count, device=x.tensor.device) + padder.number(begin)
    return Value(_select(padder, x, dim, positions), axes)


def _symbolic(*bounds: Any) -> bool:
    return any(isinstance(b, sympy.Basic) and b.free_symbols for b in bounds)


def _whole(axis: Axis) -> Any:
    """Returns the size of an axis that is one dynamic size; raises Refusal if it is not."""
    if not is_plain(axis) or not isinstance(axis[0], Dynamic):
        raise Refusal("a part of an axis that joins several sizes")
    return axis[0].expression


def _from_front(bound: Any, size: Any) -> Any:
    """Returns a bound of a slice that counts from the front."""
    value = sympy.sympify(bound)
    return sympy.expand(value + size) if value.is_Integer and value < 0 else value


def _select(padder: Padder, x: Value, dim: int, positions: torch.Tensor) -> torch.Tensor:
    """Returns the elements at positions within the data; others are clamped to the tensor."""
    last = padder.sizes.of(x.axes[dim]) - 1
    return _aten.index_select.default(x.tensor, dim, _aten.clamp.default(positions, 0, last))


@rule("select.int")
def select(padder: Padder, target: Any, x: Value, dim: int, index: Any) -> Value:
    dim = _dim(dim, x)
    axes = _replaced(x.axes, dim)
    if is_fixed(x.axes[dim]) and not _symbolic(index):
        return Value(target(x.tensor, dim, int(index)), axes)
    position = _from_front(index, _whole(x.axes[dim]))
    if position.is_Integer:
        return Value(target(x.tensor, dim, int(position)), axes)
    row = _select(padder, x, dim, _aten.view.default(padder.number(position), [1]))
    return Value(_aten.squeeze.dim(row, dim), axes)


@rule("split", "split_with_sizes", "chunk", "unbind")
def split(padder: Padder, target: Any, x: Value, *args: Any) -> tuple[Value, ...]:
    names = {"unbind": 0}
    index = names.get(str(target).split(".")[1], 1)
    dim = _dim(args[index] if len(args) > index else 0, x)
    if not is_fixed(x.axes[dim]) or any(_symbolic(leaf) for leaf in pytree.tree_leaves(args)):
        raise Refusal(f"{target} of a size that changes")
    parts = target(x.tensor, *padder.plain(args))
    gone = len(padder.described[0].shape) < len(x.axes)
    return tuple(
        Value(part, _replaced(x.axes, dim, *(() if gone else (axis_of_size(part.shape[dim]),))))
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
    joined = values[0]
    for value in values[1:]:
        joined = _joined(padder, joined, value, dim)
    return joined


def _joined(padder: Padder, a: Value, b: Value, dim: int) -> Value:
    if _replaced(a.axes, dim) != _replaced(b.axes, dim):
        raise Refusal("a concatenation of tensors whose sizes only happen to be equal")
    first, second = a.axes[dim], b.axes[dim]
    whole = _aten.cat.default([a.tensor, b.tensor], dim)
    if is_fixed(first):
        new: Axis
        if is_fixed(second):
            total = padder.sizes.of(first) + padder.sizes.of(second)
            new = axis_of_size(total)
        else:
            _whole(second)
            new = (Dynamic(second[0].symbol, second[0].offset + padder.sizes.of(first)),)  # type: ignore[union-attr]
        return Value(whole, _replaced(a.axes, dim, new))
    if not is_fixed(second):
        raise Refusal("a concatenation of two sizes that change")
    # The second part begins where the data of the first ends.
    _whole(first)
    factor: Any = first[0]
    extent, length = padder.sizes.of(first), padder.length(factor)
    count = extent + padder.sizes.of(second)
    numbers = torch.arange(count, device=whole.device)
    shifted = numbers + (extent - length)
    positions = _aten.where.self(_aten.lt.Tensor(numbers, length), numbers, shifted)
    axes = _replaced(a.axes, dim, (Dynamic(factor.symbol, factor.offset + count - extent),))
    return Value(_select(padder, Value(whole, axes), dim, positions), axes)


@rule("tril", "triu")
def triangle(padder: Padder, target: Any, x: Value, diagonal: int = 0) -> Value:
    if not all(is_fixed(axis) or is_plain(axis) for axis in x.axes[-2:]) or _symbolic(diagonal):
        raise Refusal("a triangle of joined sizes")
    return Value(target(x.tensor, int(diagonal)), x.axes)


@rule("constant_pad_nd")
def pad(padder: Padder, target: Any, x: Value, pads: Sequence[Any], value: float = 0) -> Value:
    axes = list(x.axes)
    for index in range(0, len(pads), 2):
        dim = len(axes) - 1 - index // 2
        if _symbolic(*pads[index : index + 2]):
            raise Refusal("padding by a size that changes")
        if int(pads[index]) == 0 == int(pads[index + 1]):
            continue
        if not is_fixed(axes[dim]):
            raise Refusal("padding of a size that changes")
        axes[dim] = axis_of_size(padder.described.shape[dim])
    return Value(target(x.tensor, padder.plain(list(pads)), value), tuple(axes))


# -- creation --------------------------------------------------------------------------------


@rule("arange")
def arange(padder: Padder, target: Any, *bounds: Any, **kwargs: Any) -> Value:
    start, end, step = (0, *bounds, 1)[-3:] if len(bounds) == 1 else (*bounds, 1)[:3]
    if step != 1:
        raise Refusal("a range with a step")
    axis = axis_of_expression(sympy.expand(expression_of(end) - expression_of(start)))
    options = {name: kwargs[name] for name in ("dtype", "device") if name in kwargs}
    options.setdefault("dtype", padder.described.dtype)
    numbers = torch.arange(padder.sizes.of(axis), **options)
    begin = padder.number(start)
    if isinstance(begin, torch.Tensor) or begin != 0:
        numbers = numbers + begin
    return Value(numbers, (axis,))


def expression_of(bound: Any) -> Any:
    """Returns a bound as an expression; raises Refusal if it is no integer."""
    value = sympy.sympify(bound)
    if isinstance(bound, float) or not (value.is_Integer or value.free_symbols):
        raise Refusal(f"the bound {bound}")
    return value


@rule("full", "zeros", "ones", "empty", "new_full", "new_zeros", "new_ones", "new_empty")
def full(padder: Padder, target: Any, *args: Any, **kwargs: Any) -> Value:
    axes = tuple(axis_of_size(size) for size in padder.described.shape)
    after = 2 if "new_" in str(target) else 1
    if any(_symbolic(a) for a in args[after:] if isinstance(a, sympy.Basic)):
        raise Refusal("a tensor filled with a size")
    values = (*padder.plain(args[: after - 1]), padder.sizes.shape(axes))
    return Value(target(*values, *padder.plain(args[after:]), **kwargs), axes)


@rule("scalar_tensor")
def scalar_tensor(padder: Padder, target: Any, value: Any, **kwargs: Any) -> Value:
    number = padder.number(value)
    return Value(_aten._to_copy.default(number, dtype=padder.described.dtype), ())


# -- products and attention ------------------------------------------------------------------


def _product(padder: Padder, target: Any, a: Value, b: Value) -> tuple[Any, Any, Axes]:
    """Returns the operands of a matrix product, zero beyond the data that is summed, and the axes
    of the product."""
    if len(a.axes) < 2 or len(b.axes) < 2:
        raise Refusal(f"{target} of a vector")
    summed = a.axes[-1]
    if summed != b.axes[-2]:
        raise Refusal("a product over sizes that only happen to be equal")
    lead = broadcast([a.axes[:-2], b.axes[:-2]])
    axes = (*lead, a.axes[-2], b.axes[-1])
    return padder.masked(a, [-1], 0), padder.masked(b, [-2], 0), axes


@rule("mm", "bmm", "matmul")
def product(padder: Padder, target: Any, a: Value, b: Value) -> Value:
    lhs, rhs, axes = _product(padder, target, a, b)
    return Value(target(lhs, rhs), axes)


@rule("addmm", "baddbmm")
def sum_of_product(
    padder: Padder, target: Any, addend: Value, a: Value, b: Value, **kwargs: Any
) -> Value:
    lhs, rhs, axes = _product(padder, target, a, b)
    if broadcast([axes, addend.axes]) != axes:
        raise Refusal("an addend larger than the product")
    return Value(target(addend.tensor, lhs, rhs, **kwargs), axes)


@rule("linear")
def linear(
    padder: Padder, target: Any, x: Value, weight: Value, bias: Value | None = None
) -> Value:
    if not weight.fixed or (bias is not None and not bias.fixed):
        raise Refusal("weights of a size that changes")
    return Value(target(*padder.plain((x, weight, bias))), (*x.axes[:-1], *weight.axes[:-1]))


@rule("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    padder: Padder,
    target: Any,
    q: Value,
    k: Value,
    v: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    keys = k.axes[-2]
    if dropout_p or keys != v.axes[-2] or not is_fixed(q.axes[-1]) or q.axes[-1] != k.axes[-1]:
        raise Refusal(f"an attention over {q.axes}, {k.axes} and {v.axes}")
    mask = None if attn_mask is None else attn_mask.tensor
    # A causal query of the data sees keys of the data only, if there are as many keys.
    if not is_fixed(keys) and not (is_causal and q.axes[-2] == keys):
        if is_causal:
            raise Refusal("a causal attention with other keys than queries")
        mask = _keys_with_data(padder, k, q, mask)
    options = {} if mask is None else {"attn_mask": mask}
    lead = broadcast([q.axes[:-2], k.axes[:-2], v.axes[:-2]])
    # The share of a masked key is zero, but zero times NaN is NaN.
    tensors = (q.tensor, padder.masked(k, [-2], 0), padder.masked(v, [-2], 0))
    result = target(*tensors, dropout_p, is_causal, scale=scale, **options)
    axes = (*lead, q.axes[-2], v.axes[-1])
    return Value(result[0], axes), *(None for _ in result[1:])


@rule("_scaled_dot_product_efficient_attention")
def efficient_attention(
    padder: Padder,
    target: Any,
    q: Value,
    k: Value,
    v: Value,
    attn_bias: Value | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    def call(q: Any, k: Any, v: Any, p: float, causal: bool, *, scale: Any, **named: Any) -> Any:
        mask = named.get("attn_mask")
        return target(q, k, v, mask, compute_log_sumexp, p, causal, scale=scale)

    options: Any = {"attn_mask": attn_bias, "scale": scale}
    return attention(padder, call, q, k, v, dropout_p, is_causal, **options)


def _keys_with_data(padder: Padder, k: Value, q: Value, mask: torch.Tensor | None) -> torch.Tensor:
    """Returns the addend of the scores that masks keys beyond the data."""
    found = padder.has_data(k, [len(k.axes) - 2])
    assert found is not None
    rank, keys = len(k.axes), found.numel()
    row = _aten.view.default(found, [1] * (rank - 1) + [keys])
    shape = [1] * (rank - 2) + [q.tensor.shape[-2], keys]
    scores: Any = q.tensor.new_zeros(shape) if mask is None else mask
    least = torch.full((), -math.inf, dtype=scores.dtype, device=scores.device)
    return _aten.where.self(row, scores, least)


# -- reductions ------------------------------------------------------------------------------


def _dims_of(x: Value, dims: Any) -> list[int]:
    listed = [dims] if isinstance(dims, int) else list(dims or ())
    return [_dim(dim, x) for dim in listed] if listed else list(range(len(x.axes)))


def _without(x: Value, dims: Sequence[int], keepdim: bool) -> Axes:
    if keepdim:
        return tuple(() if dim in dims else axis for dim, axis in enumerate(x.axes))
    return tuple(axis for dim, axis in enumerate(x.axes) if dim not in dims)


def _least(dtype: torch.dtype) -> Any:
    if dtype == torch.bool:
        return False
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _greatest(dtype: torch.dtype) -> Any:
    if dtype == torch.bool:
        return True
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


_FILLS = {
    "sum": lambda dtype: 0, "amax": _least, "max": _least, "argmax": _least, "any": lambda _: 0,
    "amin": _greatest, "min": _greatest, "argmin": _greatest, "all": lambda _: 1,
}  # fmt: skip


@rule("sum", "amax", "amin", "any", "all", "max.default", "max.dim", "min.default", "min.dim")
def reduction(
    padder: Padder, target: Any, x: Value, dim: Any = None, keepdim: bool = False, **kwargs: Any
) -> Any:
    dims = _dims_of(x, dim)
    fill = _FILLS[str(target).split(".")[1]](x.tensor.dtype)
    source = padder.masked(x, dims, fill)
    given = () if dim is None else (dim, keepdim)
    result = target(source, *given, **kwargs)
    axes = _without(x, dims, keepdim)
    if isinstance(result, tuple):
        return tuple(Value(part, axes) for part in result)
    return Value(result, axes)


@rule("argmax", "argmin")
def index_of_extremum(
    padder: Padder, target: Any, x: Value, dim: int | None = None, keepdim: bool = False
) -> Value:
    if dim is None:
        raise Refusal("an index into a tensor whose sizes change")
    dims = _dims_of(x, dim)
    fill = _FILLS[str(target).split(".")[1]](x.tensor.dtype)
    return Value(target(padder.masked(x, dims, fill), dim, keepdim), _without(x, dims, keepdim))


@rule("mean.dim", "mean.default")
def mean(
    padder: Padder, target: Any, x: Value, dim: Any = None, keepdim: bool = False, **kwargs: Any
) -> Value:
    dims = _dims_of(x, dim)
    axes = _without(x, dims, keepdim)
    if all(is_fixed(x.axes[d]) for d in dims):
        return Value(target(x.tensor, dims, keepdim, **kwargs), axes)
    total = _aten.sum.dim_IntList(padder.masked(x, dims, 0), dims, keepdim, **kwargs)
    count: Any = 1
    for d in dims:
        for factor in x.axes[d]:
            count = count * (padder.length(factor) if isinstance(factor, Dynamic) else factor)
    return Value(total / count, axes)


@rule("_softmax", "_log_softmax", "_safe_softmax")
def softmax(padder: Padder, target: Any, x: Value, dim: int, *args: Any, **kwargs: Any) -> Value:
    return Value(target(padder.masked(x, [dim], -math.inf), dim, *args, **kwargs), x.axes)


@rule("cumsum")
def cumsum(padder: Padder, target: Any, x: Value, dim: int, **kwargs: Any) -> Value:
    if not (is_fixed(x.axes[_dim(dim, x)]) or is_plain(x.axes[_dim(dim, x)])):
        raise Refusal("a cumulative sum over joined sizes")
    # A sum may be computed as a product, where NaN beyond the data has an effect.
    return Value(target(padder.masked(x, [dim], 0), dim, **kwargs), x.axes)


# -- normalisation and images ----------------------------------------------------------------


@rule("native_layer_norm", "_fused_rms_norm", "layer_norm", "rms_norm")
def row_norm(padder: Padder, target: Any, x: Value, shape: Sequence[Any], *args: Any) -> Any:
    if not all(map(is_fixed, x.axes[len(x.axes) - len(shape) :])):
        raise Refusal(f"{target} over a size that changes")
    result = target(x.tensor, padder.plain(list(shape)), *padder.plain(args))
    if isinstance(result, tuple):
        return Value(result[0], x.axes), *(None for _ in result[1:])
    return Value(result, x.axes)


_PER_IMAGE = (
    "adaptive_avg_pool1d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "convolution", "max_pool2d_with_indices", "max_pool3d_with_indices", "native_group_norm",
    "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
    "upsample_nearest2d", "_adaptive_avg_pool2d", "_native_batch_norm_legit_no_training",
    "_upsample_nearest_exact2d",
)  # fmt: skip


@rule(*_PER_IMAGE)
def per_image(padder: Padder, target: Any, x: Value, *args: Any, **kwargs: Any) -> Any:
    """Each image of a batch has a result of its own; only the size of the batch changes."""
    others = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Value)]
    fixed = all(map(is_fixed, x.axes[1:])) and all(value.fixed for value in others)
    if not fixed or not (is_plain(x.axes[0]) or is_fixed(x.axes[0])):
        raise Refusal(f"{target} of images whose sizes change")
    result = target(x.tensor, *padder.plain(args), **padder.plain(kwargs))
    if not isinstance(result, tuple):
        return Value(result, _of_images(x, result))
    return Value(result[0], _of_images(x, result[0])), *(None for _ in result[1:])


def _of_images(x: Value, result: torch.Tensor) -> Axes:
    return (x.axes[0], *(axis_of_size(size) for size in result.shape[1:]))


# -- indexing --------------------------------------------------------------------------------


def _indices(padder: Padder, index: Value) -> torch.Tensor:
    """Returns indices with zero beyond the data, so that none is out of range."""
    return padder.masked(index, range(len(index.axes)), 0)


@rule("embedding")
def embedding(padder: Padder, target: Any, weight: Value, index: Value, *args: Any) -> Value:
    if not weight.fixed:
        raise Refusal("a table of a size that changes")
    rows = target(weight.tensor, _indices(padder, index), *args)
    return Value(rows, (*index.axes, *weight.axes[1:]))


@rule("index_select")
def index_select(padder: Padder, target: Any, x: Value, dim: int, index: Value) -> Value:
    dim = _dim(dim, x)
    axes = _replaced(x.axes, dim, *(index.axes or ((),)))
    return Value(target(x.tensor, dim, _indices(padder, index)), axes)


@rule("gather")
def gather(padder: Padder, target: Any, x: Value, dim: int, index: Value) -> Value:
    dim = _dim(dim, x)
    if _replaced(x.axes, dim) != _replaced(index.axes, dim):
        raise Refusal("a gather whose sizes only happen to be equal")
    return Value(target(x.tensor, dim, _indices(padder, index)), index.axes)


@rule("index.Tensor", "_unsafe_index")
def index(padder: Padder, target: Any, x: Value, indices: Sequence[Value | None]) -> Value:
    given = [(dim, each) for dim, each in enumerate(indices) if each is not None]
    if any(each.tensor.dtype == torch.bool for _, each in given):
        raise Refusal("indexing with a mask")
    shape = broadcast(each.axes for _, each in given)
    chosen: list[Any] = [None] * len(indices)
    for dim, each in given:
        tensor = _indices(padder, each)
        axis = x.axes[dim]
        if not is_fixed(axis):  # a negative index counts from the end of the data
            _whole(axis)
            factor: Any = axis[0]
            negative = _aten.lt.Scalar(tensor, 0)
            tensor = _aten.where.self(negative, tensor + padder.length(factor), tensor)
        chosen[dim] = tensor
    dims = [dim for dim, _ in given]
    kept = [axis for dim, axis in enumerate(x.axes) if dim not in dims]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    first = dims[0] if adjacent else 0
    return Value(target(x.tensor, chosen), (*kept[:first], *shape, *kept[first:]))
