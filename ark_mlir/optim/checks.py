"""Checks of the arguments of optimizers, and updates of whole states."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .. import frontend as ark
from ..dtypes import fp32
from ..errors import InvalidUsageError
from ..frontend import Tensor
from ..frontend.locations import user_frames

__all__ = ["as_floats", "as_number", "as_state_name", "invalid", "store", "widened"]


def invalid(message: str, op: str) -> InvalidUsageError:
    """Returns an InvalidUsageError whose location is the user's line."""
    return InvalidUsageError(message, location=str(user_frames(0)[0]), op=op)


def as_number(
    value: object, label: str, op: str, low: float = 0.0, high: float = math.inf
) -> float:
    """Returns a finite number in ``[low, high]``; raises InvalidUsageError on other values."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise invalid(f"{label} must be a number, not {value!r}", op)
    if not math.isfinite(value) or not low <= value <= high:
        limit = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise invalid(f"{label} must be {limit}, not {value!r}", op)
    return float(value)


def as_floats(values: Sequence[Tensor], label: str, op: str) -> list[Tensor]:
    """Returns a list of tensors of floats; raises InvalidUsageError on other values."""
    if isinstance(values, Tensor) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"{label} must be a list of tensors, not {values!r}", op)
    tensors = list(values)
    if not tensors:
        raise invalid(f"{label} is empty; pass at least one tensor", op)
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_float:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"{label}[{number}] must be a tensor of floats, not {tensor!r}", op)
    return tensors


def as_state_name(name: object, op: str) -> str:
    """Returns a prefix of names of states; raises InvalidUsageError if it is not printable."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise invalid(f"name must be a printable, non-empty string, not {name!r}", op)
    return name


def widened(x: Tensor) -> Tensor:
    """Returns `x` as fp32."""
    return x if x.dtype == fp32 else ark.cast(x, fp32)


def store(state: Tensor, value: Tensor, skip: Tensor | None = None) -> None:
    """Updates the whole of a state, but keeps the old value where `skip` is true."""
    if value.dtype != state.dtype:
        value = ark.cast(value, state.dtype)
    if skip is not None:
        value = ark.where(skip, state, value)
    ark.update(state, value, [0] * state.ndim)
