"""Operands of ATen ops (tensors, numbers and constant arrays), and torch's type promotion."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ... import frontend as ark
from ...dtypes import DType, bf16, bool_, fp16, fp32, int8, int32, int64, uint8
from ...errors import a_type
from ...frontend.ops.conversions import converted, shaped, wide
from .table import unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

Operand: TypeAlias = "ark.Tensor | bool | int | float | NDArray[Any]"

__all__ = [
    "Operand", "as_axes", "axis_of", "lower_triangle", "promoted", "shaped", "tensor", "to", "wide",
]  # fmt: skip

# The types in the order of torch's promotion, by category and width; others are not promoted.
_ORDER = (bool_, uint8, int8, int32, int64, fp16, bf16, fp32)


def tensor(value: Operand, dtype: DType | None = None) -> ark.Tensor:
    """Returns `value` as a tensor, cast to `dtype` if it is given."""
    if isinstance(value, ark.Tensor):
        return value if dtype is None else converted(value, dtype)
    return ark.constant(value, dtype)


def to(value: Operand, dtype: DType) -> Operand:
    """Returns `value` as an operand of an op in `dtype`; a number stays a number."""
    if isinstance(value, ark.Tensor):
        return tensor(value, dtype)
    if isinstance(value, np.ndarray):
        return value.astype(dtype.numpy)
    if not isinstance(value, (bool, int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise unsupported(f"an operand that is {a_type(value)}")
    return float(value) if dtype.is_float else value


def promoted(a: Operand, b: Operand) -> DType:
    """Returns the dtype to which torch promotes two operands.

    A number, or a tensor of rank zero, has an effect only if its category is higher: bool is the
    lowest, then integers, then floats.
    """
    kinds = sorted((_kind(a), _kind(b)), key=lambda kind: kind[0])
    (low_rank, low), (high_rank, high) = kinds
    if low_rank == high_rank or _category(low) > _category(high):
        return _higher(low, high)
    return high


def _kind(value: Operand) -> tuple[int, DType]:
    """Returns the priority of an operand in torch's type promotion, and its dtype.

    The priority is 2 for a tensor with dimensions, 1 for a tensor of rank zero, 0 for a number.
    """
    if isinstance(value, ark.Tensor):
        return (2 if value.ndim else 1), value.dtype
    if isinstance(value, np.ndarray):
        return 2, tensor(value).dtype
    if isinstance(value, bool):
        return 0, bool_
    return 0, (int64 if isinstance(value, int) else fp32)


def _category(dtype: DType) -> int:
    return 2 if dtype.is_float else int(dtype is not bool_)


def _higher(a: DType, b: DType) -> DType:
    if a not in _ORDER or b not in _ORDER:
        if a is b:
            return a
        raise unsupported(f"{a} with {b}")
    if {a, b} == {fp16, bf16}:
        return fp32
    if {a, b} == {int8, uint8}:
        raise unsupported("int8 with uint8, which is int16 in torch")
    return max(a, b, key=_ORDER.index)


def axis_of(axis: int, rank: int) -> int:
    """Returns an axis as an index from the front; a tensor of rank zero has one axis in torch."""
    return axis % max(rank, 1)


def lower_triangle(shape: tuple[int, ...], diagonal: int = 0) -> ark.Tensor:
    """Returns a bool matrix, computed by the program, that is true on and below a diagonal."""
    rows, columns = shape[-2:]
    return ark.reshape(ark.arange(rows), (rows, 1)) + diagonal >= ark.arange(columns)


def as_axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Returns axes as indices from the front; None and an empty list mean all axes."""
    listed = [axes] if isinstance(axes, int) else axes
    return tuple(axis_of(axis, rank) for axis in listed) if listed else tuple(range(rank))
