"""Checks and conversion of the arrays of a run."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..errors import InvalidUsageError, a_type
from .bounded import Array
from .interpreter import Declaration

__all__ = ["bind"]


def bind(
    arguments: list[Declaration], inputs: Mapping[str, Any], states: Mapping[str, Any]
) -> dict[str, Array]:
    """Returns arrays by argument name: float64 for floats, else arrays of the argument's dtype.

    `inputs` has inputs, parameters and scalars. A state that is not in `states` has its initial
    value. Raises InvalidUsageError if a name is missing or unknown, or a shape or dtype does not
    fit.
    """
    for label, arrays in (("inputs", inputs), ("states", states)):
        if not isinstance(arrays, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUsageError(
                f"{label} are {a_type(arrays)}; expected a dict of arrays by name"
            )
    bound = {a.name: a for a in arguments if a.kind != "state"}
    held = {a.name: a for a in arguments if a.kind == "state"}
    missing = [name for name in bound if name not in inputs]
    unknown = [n for n in inputs if n not in bound] + [n for n in states if n not in held]
    if missing or unknown:
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unknown {', '.join(unknown)}"] if unknown else []
        raise InvalidUsageError("inputs do not match the program: " + "; ".join(problems))
    arrays = {name: _converted(a, inputs[name]) for name, a in bound.items()}
    for name, argument in held.items():
        value = states[name] if name in states else np.full(argument.shape, argument.init)
        arrays[name] = _converted(argument, value)
    return arrays


def _converted(argument: Declaration, value: Any) -> Array:
    array = np.asarray(value)
    if tuple(array.shape) != argument.shape:
        raise _mismatch(
            argument, f"has shape {list(argument.shape)}, but its array has {list(array.shape)}"
        )
    dtype = argument.dtype
    if dtype.is_float:
        if array.dtype.kind not in "biuf" and from_numpy(array.dtype) is None:
            raise _mismatch(argument, f"is {dtype}, but its array is {array.dtype}")
        # float64 is not rounded, so that states of an earlier run keep their values.
        return array.astype(np.float64)
    converted = array.astype(dtype.numpy)
    if array.dtype.kind not in "biuf" or not np.array_equal(converted, array):
        raise _mismatch(
            argument, f"is {dtype}, which cannot hold the values of its array of {array.dtype}"
        )
    if argument.kind == "scalar":
        _check_scalar(argument, int(converted))
    return converted


def _check_scalar(argument: Declaration, value: int) -> None:
    if argument.max is not None and not 0 <= value <= argument.max:
        raise _mismatch(argument, f"must be between 0 and {argument.max}, got {value}")


def _mismatch(argument: Declaration, problem: str) -> InvalidUsageError:
    return InvalidUsageError(f"{argument.kind} {argument.name!r} {problem}")
