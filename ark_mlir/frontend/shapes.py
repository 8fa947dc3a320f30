"""Checks of Python values: extents, axes, names.

These functions convert arguments of a caller to plain ints, or reject them (a float, a bool, a
tensor), before MLIR sees them. The rules of ops are in the dialect alone.
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ParamSpec, SupportsIndex, TypeVar

from ..dtypes import DType
from ..dtypes import as_dtype as to_dtype
from ..errors import InvalidUsageError
from ..spellings import ARGUMENTS
from .locations import user_frames

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = [
    "as_axis",
    "as_dtype",
    "as_int",
    "as_ints",
    "as_name",
    "as_shape",
    "invalid",
    "refuse_torch_arguments",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_INT64_MAX = 2**63 - 1
# More entries than a valid shape or list of extents has. The limit ends the iteration over an
# endless iterable.
MAX_ENTRIES = 1 << 16
# The dialect has this limit, too. The check here precedes the creation of the type, which is slow
# for many dimensions.
MAX_DIMENSIONS = 32


def invalid(message: str, op: str | None = None) -> InvalidUsageError:
    """Returns an InvalidUsageError whose location is the user's line."""
    return InvalidUsageError(message, location=str(user_frames(0)[0]), op=op)


def refuse_torch_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Returns a function that raises InvalidUsageError for arguments with PyTorch's names, such as
    ``dim``."""

    @functools.wraps(function)
    def call(*args: _P.args, **options: _P.kwargs) -> _R:
        for wrong, right in ARGUMENTS.items():
            if wrong in options:
                raise invalid(
                    f"there is no argument {wrong}=; use {right}=", f"ark.{function.__qualname__}"
                )
        return function(*args, **options)

    return call


def as_int(value: object, label: str, op: str | None = None) -> int:
    """Returns a Python or numpy integer as an int; raises InvalidUsageError on other values, also
    on bools."""
    if type(value) is int and abs(value) <= _INT64_MAX:  # the usual case; the others take longer
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise invalid(f"{label} must be an integer, not {value!r}", op)
    try:
        number = operator.index(value)
    except TypeError:
        raise invalid(f"{label} must be an integer, not {value!r}", op) from None
    if abs(number) > _INT64_MAX:
        raise invalid(f"{label} does not fit into 64 bits: {number}", op)
    return number


def as_ints(values: object, label: str, op: str | None = None) -> list[int]:
    """Returns a sequence of integers, or one integer, as a list of ints; raises InvalidUsageError
    on other values."""
    if _is_number(values):
        return [as_int(values, label, op)]
    return [as_int(v, f"{label}[{i}]", op) for i, v in enumerate(as_entries(values, label, op))]


def as_entries(values: object, label: str, op: str | None = None) -> list[object]:
    """Returns the entries of an iterable of integers or of sequences of integers, or one integer as
    the only entry; raises InvalidUsageError on values that are neither."""
    if _is_number(values):
        return [values]
    # A tensor is iterable, but its elements are tensors.
    if isinstance(values, str) or not isinstance(values, Iterable) or hasattr(values, "program"):
        raise invalid(f"{label} must be integers, not {values!r}", op)
    entries: list[object] = list(itertools.islice(values, MAX_ENTRIES + 1))
    if len(entries) > MAX_ENTRIES:
        raise invalid(f"{label} has more than {MAX_ENTRIES} entries", op)
    return entries


def _is_number(value: object) -> bool:
    # A numpy array with one element has __index__, too.
    if isinstance(value, Sequence) or not isinstance(value, SupportsIndex):
        return False
    return getattr(value, "ndim", 0) == 0


def as_shape(shape: object, op: str | None = None, *, wildcard: bool = False) -> list[int]:
    """Returns a shape as a list of extents; raises InvalidUsageError if it is not valid.

    With `wildcard`, an extent may be -1.
    """
    extents = as_ints(shape, "shape", op)
    if len(extents) > MAX_DIMENSIONS:
        raise invalid(f"a tensor has at most {MAX_DIMENSIONS} dimensions, not {len(extents)}", op)
    size = 1
    for axis, extent in enumerate(extents):
        if extent < 0 and not (wildcard and extent == -1):
            raise invalid(f"extent {axis} of shape {tuple(extents)} is negative", op)
        size *= extent
        if abs(size) > _INT64_MAX:
            raise invalid(f"shape {tuple(extents)} has more elements than 64 bits can count", op)
    return extents


def as_axis(axis: object, rank: int, op: str | None = None) -> int:
    """Returns the index of an axis, counted from the first dimension.

    An axis out of range is returned unchanged; the dialect's verifier rejects it.
    """
    number = as_int(axis, "axis", op)
    return number + rank if -rank <= number < 0 else number


def as_dtype(dtype: DTypeLike, op: str) -> DType:
    """Returns ``dtypes.as_dtype(dtype)``; its InvalidUsageError names the user's line and `op`."""
    try:
        return to_dtype(dtype)
    except InvalidUsageError as error:
        raise invalid(error.message, op) from None


def as_name(name: object, label: str) -> str:
    """Returns `name`; raises InvalidUsageError if it is not a printable string, or empty."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise invalid(f"{label} must be a printable, non-empty string, not {name!r}")
    return name
