"""Functions that several rules use."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import sympy
import torch

from ..axes import Axes, Axis, Dynamic, Refusal, is_plain, is_prefix
from ..padding import Padder, Value

_aten: Any = torch.ops.aten


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


def dim_of(dim: int, value: Value) -> int:
    """Returns a dimension as an index from the front; a negative one counts from the end."""
    return dim % max(1, len(value.axes))


def replaced(axes: Axes, dim: int, *new: Axis) -> Axes:
    """Returns axes in which other axes replace the axis of a dimension."""
    return (*axes[:dim], *new, *axes[dim + 1 :])


def has_symbols(*bounds: Any) -> bool:
    """Returns True if a bound depends on a size that changes."""
    return any(isinstance(b, sympy.Basic) and b.free_symbols for b in bounds)


def dynamic_size(axis: Axis) -> Any:
    """Returns the size of an axis that is one dynamic size; raises Refusal if it is not."""
    if not is_plain(axis) or not isinstance(axis[0], Dynamic):
        raise Refusal("a part of an axis that joins several sizes")
    return axis[0].expression


def count_data(padder: Padder, axis: Axis) -> Any:
    """Returns the number of indices with data along an axis, whose data must be a prefix."""
    if not is_prefix(axis):
        raise Refusal("an index into an axis that joins several sizes")
    first, rest = (axis[0] if axis else 1), math.prod(int(factor) for factor in axis[1:])  # type: ignore[arg-type]
    length = padder.length(first) if isinstance(first, Dynamic) else first
    return length if rest == 1 else length * rest


def select_within(padder: Padder, x: Value, dim: int, positions: torch.Tensor) -> torch.Tensor:
    """Returns the elements at positions within the data; others are clamped to the tensor."""
    last = padder.sizes.of(x.axes[dim]) - 1
    return _aten.index_select.default(x.tensor, dim, _aten.clamp.default(positions, 0, last))
