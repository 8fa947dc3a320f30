"""The data of the cases of ops, and what a case is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.dtypes import DType

Array = np.ndarray[Any, Any]
Make = Callable[..., ark.Tensor | list[ark.Tensor]]
Shape = tuple[int, ...]

EVERY = ark.dtypes.ALL
FLOATS = tuple(dtype for dtype in EVERY if dtype.is_float and dtype.itemsize > 1)
HALVES = tuple(dtype for dtype in FLOATS if dtype.itemsize == 2)
EIGHTS = tuple(dtype for dtype in EVERY if dtype.is_float and dtype.itemsize == 1)
INTEGERS = tuple(dtype for dtype in EVERY if dtype.is_integer)
NUMBERS = INTEGERS + FLOATS
MATRIX = tuple(dtype for dtype in EVERY if dtype is not ark.dtypes.bool_)
BOOL = (ark.dtypes.bool_,)
# The number of elements of a large array, and the prime period with which its values repeat.
LARGE, PERIOD = 1 << 18, 4093


# -- data -----------------------------------------------------------------------------------------


def numbers(dtype: DType, shape: Shape, seed: int) -> Array:
    """Returns numbers of moderate size, whose sums and products are finite."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        low, high = dtype.integer_range
        return rng.integers(low, high, shape, dtype.numpy, endpoint=True)
    # Large arrays repeat their values, so that they compress well when they are exported for a GPU.
    count = math.prod(shape)
    values = rng.standard_normal(count if count < LARGE else PERIOD)
    return np.resize(values.astype(np.float32).astype(dtype.numpy), shape)


def extremes(dtype: DType, shape: Shape, seed: int) -> Array:
    """Returns numbers that begin with values on which implementations often fail."""
    values = numbers(dtype, shape, seed)
    special = np.random.default_rng(seed).permutation(special_values(dtype))[: values.size]
    values.reshape(-1)[: len(special)] = special
    return values


def late_extremes(dtype: DType, shape: Shape, seed: int) -> Array:
    """Returns numbers with the special values at the end, and some of them elsewhere, too."""
    values = extremes(dtype, shape, seed)
    flat = values.reshape(-1)[::-1].copy()
    flat[flat.size // 2 :: flat.size // 7] = flat[-3]
    return flat.reshape(shape)


def special_values(dtype: DType) -> Array:
    if dtype.kind == "bool":
        return np.array([], dtype.numpy)
    if dtype.is_integer:
        low, high = dtype.integer_range
        return np.array([0, 1, low, high, high - 1, high // 2 + 1, max(low, -1)], dtype.numpy)
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype.numpy)
    largest, tiny = float(limits.max), float(limits.smallest_subnormal)
    special = [0, 1, -0.0, np.nan, np.inf, -np.inf, largest, -1.0, tiny, -tiny, 0.5, 20.0]
    return np.array(special, np.float32).astype(dtype.numpy)


def positive(dtype: DType, shape: Shape, seed: int) -> Array:
    """Returns numbers that are at least about 0.1."""
    values = np.abs(numbers(dtype, shape, seed).astype(np.float32)) + np.float32(0.1)
    return values.astype(dtype.numpy)


# -- cases ----------------------------------------------------------------------------------------

Data = Callable[[DType, Shape, int], Array]


@dataclass(frozen=True)
class Case:
    """An op, or ops that differ in attributes only, on operands of one dtype.

    Attributes:
        make: takes a tensor for every shape, and returns the outputs.
        shapes: the shapes of the operands.
        dtypes: the dtypes that the op takes.
        data: makes the operands.
        indices: the extents that further int32 operands of shape ``[2, 3]`` point into.
    """

    make: Make
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]
    data: Data = numbers
    indices: tuple[int, ...] = ()
