"""The rules of ops that read elements at indices."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..axes import Refusal, is_fixed, is_prefix
from ..padding import Padder, Value, rule
from .shared import broadcast, count_data, dim_of, replaced

_aten: Any = torch.ops.aten


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
    dim = dim_of(dim, x)
    count_data(padder, x.axes[dim])
    axes = replaced(x.axes, dim, *(index.axes or ((),)))
    return Value(target(x.tensor, dim, _indices(padder, index)), axes)


@rule("gather")
def gather(padder: Padder, target: Any, x: Value, dim: int, index: Value) -> Value:
    dim = dim_of(dim, x)
    if replaced(x.axes, dim) != replaced(index.axes, dim):
        raise Refusal("a gather whose sizes only happen to be equal")
    count_data(padder, x.axes[dim])
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
            count = count_data(padder, axis)
            negative = _aten.lt.Scalar(tensor, 0)
            tensor = _aten.where.self(negative, tensor + count, tensor)
        chosen[dim] = tensor
    dims = [dim for dim, _ in given]
    kept = [axis for dim, axis in enumerate(x.axes) if dim not in dims]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    first = dims[0] if adjacent else 0
    return Value(target(x.tensor, chosen), (*kept[:first], *shape, *kept[first:]))


@rule("index_put", "_unsafe_index_put")
def index_put(
    padder: Padder,
    target: Any,
    x: Value,
    indices: Sequence[Value | None],
    values: Value,
    accumulate: bool = False,
) -> Value:
    """Writes what lies beyond the data to the last row, which is beyond the data, too."""
    given = [(dim, each) for dim, each in enumerate(indices) if each is not None]
    (dim, index), *others = given
    if others or index.tensor.dtype == torch.bool or len(index.axes) != 1:
        raise Refusal("a write by several indices, or by a mask")
    if not is_fixed(index.axes[0]) and (index.axes[0] != x.axes[dim] or not is_prefix(x.axes[dim])):
        raise Refusal("a write to other rows than there are indices")
    if broadcast([values.axes, replaced(x.axes, dim, *index.axes)]) != replaced(
        x.axes, dim, *index.axes
    ):
        raise Refusal("a write of values larger than the rows")
    count = count_data(padder, x.axes[dim])
    rows = _aten.where.self(_aten.lt.Scalar(index.tensor, 0), index.tensor + count, index.tensor)
    last = padder.sizes.of(x.axes[dim]) - 1
    rows = padder.masked(Value(rows, index.axes), [0], last)
    chosen = [None] * dim + [rows]
    return Value(target(x.tensor, chosen, values.tensor, accumulate), x.axes)
