"""The rules of reductions, softmax and normalisations."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..axes import Axes, Dynamic, Refusal, axis_of_size, is_fixed, is_plain, is_prefix
from ..padding import Padder, Value, rule
from .shared import dim_of, has_symbols, replaced

_aten: Any = torch.ops.aten


def _dims_of(x: Value, dims: Any) -> list[int]:
    listed = [dims] if isinstance(dims, int) else list(dims or ())
    return [dim_of(dim, x) for dim in listed] if listed else list(range(len(x.axes)))


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


@rule("histc")
def histogram(
    padder: Padder, target: Any, x: Value, bins: int = 100, min: float = 0, max: float = 0
) -> Value:
    if not min < max:
        raise Refusal("a histogram between the extremes of the data")
    # A number above the last range is not counted.
    outside = max + 1 + abs(max)
    source = padder.masked(x, range(len(x.axes)), outside)
    return Value(target(source, bins, min, max), ((bins,),) if bins > 1 else ((),))


@rule("topk")
def topk(
    padder: Padder,
    target: Any,
    x: Value,
    k: Any,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[Value, ...]:
    if not x.axes or not is_fixed(x.axes[dim_of(dim, x)]) or has_symbols(k):
        raise Refusal("the largest elements along a size that changes")
    axes = replaced(x.axes, dim_of(dim, x), axis_of_size(k))
    return tuple(Value(part, axes) for part in target(x.tensor, int(k), dim, largest, sorted))


@rule("sort.default", "sort.stable")
def sort(
    padder: Padder,
    target: Any,
    x: Value,
    dim: int = -1,
    descending: bool = False,
    stable: bool | None = None,
) -> tuple[Value, ...]:
    """Sorts what lies beyond the data to the end, behind equal elements of the data."""
    if not x.axes or not is_prefix(x.axes[dim_of(dim, x)]):
        raise Refusal("a sort of joined sizes")
    dtype = x.tensor.dtype
    last = (
        _least(dtype) if descending else math.nan if dtype.is_floating_point else _greatest(dtype)
    )
    source = padder.masked(x, [dim], last)
    found = _aten.sort.stable(source, stable=True, dim=dim, descending=descending)
    return tuple(Value(part, x.axes) for part in found)


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
    if not (is_fixed(x.axes[dim_of(dim, x)]) or is_plain(x.axes[dim_of(dim, x)])):
        raise Refusal("a cumulative sum over joined sizes")
    # A sum may be computed as a product, where NaN beyond the data has an effect.
    return Value(target(padder.masked(x, [dim], 0), dim, **kwargs), x.axes)


@rule("native_layer_norm", "_fused_rms_norm", "layer_norm", "rms_norm")
def row_norm(padder: Padder, target: Any, x: Value, shape: Sequence[Any], *args: Any) -> Any:
    if not all(map(is_fixed, x.axes[len(x.axes) - len(shape) :])):
        raise Refusal(f"{target} over a size that changes")
    result = target(x.tensor, padder.plain(list(shape)), *padder.plain(args))
    if not isinstance(result, tuple):
        return Value(result, x.axes)
    statistics = (*x.axes[: len(x.axes) - len(shape)], *((),) * len(shape))
    return Value(result[0], x.axes), *(Value(part, statistics) for part in result[1:])
