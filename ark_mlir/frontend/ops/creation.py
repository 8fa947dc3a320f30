"""Constants: tensors whose values are known at compile time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...dtypes import DType, fp32, int32
from ...errors import shorten
from ..operands import check_size, constant_tensor, default_dtype, is_scalar, to_array
from ..program import current
from ..shapes import as_dtype, as_int, as_shape, invalid
from ..tensor import Tensor

if TYPE_CHECKING:
    from ...typing import DTypeLike, Number, NumberArray, Shape

__all__ = ["arange", "constant", "full", "ones", "zeros"]


def constant(value: NumberArray, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns a constant with the value and the shape of a number, a nested list or an array.

    Args:
        value: a number, a nested list of numbers, or an array.
        dtype: element type; by default that of a numpy array, else fp32 for floats, int32 for
            integers, and bool.

    A float dtype rounds the value; a number beyond its range becomes infinite, or NaN in fp8_e4m3.
    Raises InvalidUsageError if the value is not numeric or is larger than 1 GiB, if the dtype is
    unknown, or if an integer dtype or bool cannot hold the value.

    Example:
        >>> scale = ark.constant(np.array([1, 2, 4]), ark.fp32)
    """
    current("ark.constant")
    if isinstance(value, Tensor):
        raise invalid(f"value must be a number or an array, not {value!r}", "ark.constant")
    kind = _default(value) if dtype is None else as_dtype(dtype, "ark.constant")
    return constant_tensor(to_array(value, kind, "constant"), kind, name)


def _default(value: object) -> DType:
    try:
        return default_dtype(value)
    except ValueError as error:
        raise invalid(f"value is not an array: {error}", "ark.constant") from None


def full(shape: Shape, value: Number, dtype: DTypeLike = fp32, name: str | None = None) -> Tensor:
    """Returns a constant whose elements all have one value.

    Args:
        shape: the extents of the constant.
        value: a number, the value of every element.
        dtype: the element type.

    Raises InvalidUsageError if an extent is negative, the dtype is unknown, an integer dtype or
    bool cannot hold the value, or `value` is not a number.

    Example:
        >>> mask = ark.full((1, 8), -1e9, ark.fp32)
    """
    return _filled("full", shape, value, dtype, name)


def _filled(op: str, shape: Shape, value: object, dtype: DTypeLike, name: str | None) -> Tensor:
    where = f"ark.{op}"
    current(where)
    extents = as_shape(shape, where)
    if not is_scalar(value):
        raise invalid(f"value must be a number, not {shorten(value)}", where)
    kind = as_dtype(dtype, where)
    return constant_tensor(to_array(value, kind, op), kind, name, tuple(extents))


def zeros(shape: Shape, dtype: DTypeLike = fp32, name: str | None = None) -> Tensor:
    """Returns a constant of zeros with the extents `shape` and the element type `dtype`.

    Raises InvalidUsageError if an extent is negative or the dtype is unknown.

    Example:
        >>> x = ark.zeros((4, 64), ark.bf16)
    """
    return _filled("zeros", shape, 0, dtype, name)


def ones(shape: Shape, dtype: DTypeLike = fp32, name: str | None = None) -> Tensor:
    """Returns a constant of ones with the extents `shape` and the element type `dtype`.

    Raises InvalidUsageError if an extent is negative or the dtype is unknown.

    Example:
        >>> x = ark.ones((4, 64), ark.bf16)
    """
    return _filled("ones", shape, 1, dtype, name)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the vector ``[start, start + step, ...]``, whose elements are below `stop`.

    ``arange(n)`` is ``arange(0, n)``. With a negative step, elements are above `stop`.

    Args:
        start: the first element, an int or a float.
        stop: the bound, which is not an element; None makes `start` the bound.
        step: the difference of consecutive elements.
        dtype: the element type; by default int32, or fp32 if a bound or the step is a float.

    Raises InvalidUsageError if a bound or the step is not a finite number, the step is zero, the
    vector is larger than 1 GiB, the dtype is unknown, or an integer dtype cannot hold the values.

    Example:
        >>> positions = ark.arange(64)
    """
    current("ark.arange")
    begin, end, stride = (
        _finite(value, label)
        for value, label in (
            (0 if stop is None else start, "start"),
            (start if stop is None else stop, "start" if stop is None else "stop"),
            (step, "step"),
        )
    )
    if stride == 0:
        raise invalid("step must not be zero", "ark.arange")
    whole = all(isinstance(value, int) for value in (begin, end, stride))
    kind = as_dtype((int32 if whole else fp32) if dtype is None else dtype, "ark.arange")
    # numpy computes the number of elements in float64, which is not exact for large integers.
    count = -((begin - end) // stride) if whole else math.ceil((end - begin) / stride)
    check_size(max(0, int(count)), kind, "arange")
    values = np.arange(begin, end, stride, dtype=np.int64 if whole else np.float64)
    return constant_tensor(to_array(values, kind, "arange"), kind, name)


def _finite(value: object, label: str) -> int | float:
    if not isinstance(value, (float, np.floating)):
        return as_int(value, label, "ark.arange")
    number = float(cast("Any", value))
    if not math.isfinite(number):
        raise invalid(f"{label} must be finite, not {number}", "ark.arange")
    return number
