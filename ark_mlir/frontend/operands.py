"""Python scalars and numpy arrays as tensors of a program."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ir
from ..dialects import ark as dialect
from ..dtypes import DType, bool_, fp32, from_numpy, int32
from .builder import append
from .program import current
from .shapes import invalid
from .tensor import Tensor

# Each stage of the compiler copies a program with its constants, and each dump prints them.
_MAX_BYTES = 1 << 30

__all__ = [
    "as_operand", "as_pair", "as_tensor", "check_size", "constant_tensor", "default_dtype",
    "is_scalar", "to_array",
]  # fmt: skip


def is_scalar(value: object) -> bool:
    """Returns True if `value` is a Python or numpy number."""
    return isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, np.void)


def as_tensor(value: object, op: str, label: str = "operand") -> Tensor:
    """Returns `value`, which must be a tensor; raises InvalidUsageError if it is not."""
    if isinstance(value, Tensor):
        return value
    raise invalid(f"{label} must be a tensor, not {_described(value)}", f"ark.{op}")


def as_operand(value: object, dtype: DType, op: str) -> Tensor:
    """Returns `value` as a tensor.

    A number, or an array of float64, becomes a constant of `dtype`; any other array becomes a
    constant of the dtype of the array. Raises InvalidUsageError if `value` is not a tensor, number
    or array, or if the dtype cannot hold it.
    """
    if isinstance(value, Tensor):
        return value
    if is_scalar(value):
        return constant_tensor(to_array(value, dtype, op), dtype)
    if isinstance(value, np.ndarray):
        found = from_numpy(value.dtype)
        # ark has no float64, which is numpy's default: such an array takes `dtype`, as numbers do.
        found = dtype if found is None and value.dtype == np.float64 else found
        if found is None:
            raise invalid(
                f"ark has no element type {value.dtype}; convert the array with astype", f"ark.{op}"
            )
        return constant_tensor(to_array(value, found, op), found)
    raise invalid(
        f"operand must be a tensor, a number or a numpy array, not {_described(value)}",
        f"ark.{op}",
    )


def as_pair(lhs: object, rhs: object, op: str) -> tuple[Tensor, Tensor]:
    """Returns both operands of a binary op as tensors; a number takes the tensor's dtype."""
    if isinstance(lhs, Tensor):
        return lhs, as_operand(rhs, lhs.dtype, op)
    if isinstance(rhs, Tensor):
        return as_operand(lhs, rhs.dtype, op), rhs
    first = as_operand(lhs, default_dtype(lhs), op)
    return first, as_operand(rhs, first.dtype, op)


def default_dtype(value: object) -> DType:
    """Returns the dtype of a number or array in an op without another operand that has a dtype.

    An array keeps its dtype; numbers have bool, int32 or fp32.
    """
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return bool_
    found = from_numpy(array.dtype) if isinstance(value, (np.ndarray, np.generic)) else None
    return found or (int32 if array.dtype.kind in "iu" else fp32)


def to_array(value: object, dtype: DType, op: str) -> NDArray[Any]:
    """Returns `value` as an array of `dtype`.

    Raises InvalidUsageError if `value` is not an array of numbers, or an integer dtype or bool
    cannot hold a number.
    """
    name = f"ark.{op}"
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise invalid(f"{_described(value)} is not an array: {error}", name) from None
    # Text and objects are not numbers. The kinds of bf16 and fp8 are not among numpy's letters.
    if array.dtype.kind not in "biuf" and from_numpy(array.dtype) is None:
        raise invalid(f"{_described(value)} is not an array of numbers", name)
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return array.astype(dtype.numpy)
    if array.dtype.kind not in "biu" and not _is_whole(array):
        raise invalid(f"{_short(array)} is not a value of {dtype}", name)
    if not _within(array, *dtype.integer_range):
        hint = "; compare with 0 or use ark.cast" if dtype is bool_ else ""
        raise invalid(f"{_short(array)} does not fit into {dtype}{hint}", name)
    return array.astype(dtype.numpy)


def _is_whole(array: NDArray[Any]) -> bool:
    return bool(np.all(np.isfinite(array)) and np.all(array == np.trunc(array)))


def _within(array: NDArray[Any], low: int, high: int) -> bool:
    return array.size == 0 or (int(array.min()) >= low and int(array.max()) <= high)


def constant_tensor(
    array: NDArray[Any],
    dtype: DType,
    name: str | None = None,
    shape: tuple[int, ...] | None = None,
) -> Tensor:
    """Returns a constant with the elements of `array`, which has the numpy type of `dtype`.

    If `shape` is given, `array` has one element, the value of all elements of that shape.
    """

    def build(**context: Any) -> Any:
        extents = array.shape if shape is None else shape
        return dialect.ConstantOp(
            elements(array, dtype, program.tensor_type(extents, dtype)), **context
        )

    program = current("ark.constant")
    check_size(array.size, dtype, "constant")
    value = append(build, "constant", (), name)
    return Tensor(program, value, name or "constant")


def check_size(size: int, dtype: DType, op: str) -> None:
    """Raises InvalidUsageError if a constant of `size` elements is larger than 1 GiB."""
    if size * dtype.itemsize > _MAX_BYTES:
        raise invalid(
            f"a constant of {size} elements of {dtype} is too large for a program, whose limit is "
            "1 GiB; make it a parameter",
            f"ark.{op}",
        )


def elements(array: NDArray[Any], dtype: DType, tensor_type: ir.Type) -> ir.Attribute:
    """Returns the ``DenseElementsAttr`` of an array, a splat if all elements are equal."""
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    data: Any = flat.view(np.uint8).reshape(flat.size, dtype.itemsize)
    # Bytes are compared: NaN must equal NaN, and -0.0 must differ from 0.0.
    if flat.size > 1 and bool(np.all(data == data[0])):
        data = data[:1]
    if dtype.kind == "bool":
        # MLIR packs bools into bits; a splat is one byte, 0 or 255.
        data = data * np.uint8(255) if len(data) == 1 else np.packbits(data, bitorder="little")
    return ir.DenseElementsAttr.get(data, type=tensor_type)


def _described(value: object) -> str:
    """Returns the type of a value with the value, for a message: ``the int 3``."""
    return "None" if value is None else f"the {type(value).__name__} {_short(value)}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
