"""Scalars of a run: one integer within the bound that the program declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import InvalidUsageError
from .checks import label
from .frameworks import to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer


def receive_scalar(value: object, buffer: Buffer) -> NDArray[Any]:
    """Returns a scalar on the host as an array; raises InvalidUsageError if it is not one integer
    within its bound."""
    if value.__class__ is int and _in_range(value, buffer):
        return _filled(buffer, cast("int", value))
    name = label(buffer)
    if isinstance(value, float):
        raise InvalidUsageError(f"{name} is {value}; it must be one integer")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        array = to_numpy(value, name)
        if array.dtype.kind not in "iu" or array.size != 1:
            raise InvalidUsageError(f"{name} must be one integer")
        value = array.item()
    number = int(cast("int", value))
    if not _in_range(number, buffer):
        low, high = _range(buffer)
        raise InvalidUsageError(f"{name} is {number}; it must be in [{low}, {high}]")
    return _filled(buffer, number)


def _filled(buffer: Buffer, number: int) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(buffer.shape, buffer.dtype.numpy)
    array[...] = number
    return array


def _in_range(number: Any, buffer: Buffer) -> bool:
    low, high = _range(buffer)
    return low <= number <= high


def _range(buffer: Buffer) -> tuple[int, int]:
    """Returns the least and the greatest value of a scalar."""
    return buffer.dtype.integer_range if buffer.maximum is None else (0, buffer.maximum)
