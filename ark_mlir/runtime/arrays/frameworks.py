"""Conversion of arrays of any framework to NumPy arrays and back."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import InvalidUsageError, a_type
from .dlpack import Exporter, import_dlpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer
    from ..drivers.interface import Memory

_log = logging.getLogger("ark")

# Converts a NumPy array to the caller's framework, without a copy if possible.
Wrap = Callable[["NDArray[Any]"], Any]


def to_numpy(value: object, name: str) -> NDArray[Any]:
    """Returns `value` as a NumPy array that shares its memory.

    `value` is a NumPy array or scalar, or an object with ``__dlpack__``. Raises InvalidUsageError,
    in which `name` stands for the value, for other objects: lists, for example, have no element
    type.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(cast("Any", value))
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return import_dlpack(value, name)
    raise InvalidUsageError(
        f"{name} is {a_type(value)}; pass a numpy array or an object with __dlpack__"
    )


def store(memory: Memory, buffer: Buffer, value: object) -> None:
    """Writes a buffer's array, or one number for all its elements."""
    memory.write(buffer.dtype.numpy, buffer.shape, value)


def fetch(memory: Memory, buffer: Buffer) -> NDArray[Any]:
    """Returns the array that a buffer holds; see :meth:`Memory.read`."""
    return memory.read(buffer.dtype.numpy, buffer.shape)


def framework(values: list[object]) -> Wrap:
    """Returns the conversion of outputs to the framework of the inputs.

    The first input that is not a NumPy array selects the framework. Without such an input, the
    result is the identity.
    """
    for value in values:
        if isinstance(value, (np.ndarray, np.generic, int)) or not hasattr(value, "__dlpack__"):
            continue
        from_dlpack = _importer(value)
        if from_dlpack is not None:
            return _wrapper(from_dlpack, type(value).__module__)
    return _identity


def _identity(array: NDArray[Any]) -> Any:
    return array


def _wrapper(from_dlpack: Callable[[Any], Any], owner: str) -> Wrap:
    def wrap(array: NDArray[Any]) -> Any:
        try:
            return from_dlpack(Exporter(array))
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            # The values are correct, so that a NumPy array is better than an error.
            _log.warning("%s cannot take %s: %s; returning numpy", owner, array.dtype, error)
            return array

    return wrap


def _importer(value: Any) -> Callable[[Any], Any] | None:
    """Returns the function ``from_dlpack`` of the library of `value`, or None."""
    if hasattr(value, "__array_namespace__"):
        space = value.__array_namespace__()
        if hasattr(space, "from_dlpack"):
            return space.from_dlpack
    root = type(value).__module__.partition(".")[0]
    module = sys.modules.get(root)
    if hasattr(module, "from_dlpack"):
        return module.from_dlpack  # type: ignore[union-attr]
    for name in (f"{root}.dlpack", f"{root}.utils.dlpack"):
        try:
            return importlib.import_module(name).from_dlpack
        except (ImportError, AttributeError):
            continue
    return None
