"""Conversion of arrays of any framework to NumPy arrays and back."""

from __future__ import annotations

import functools
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
    if (array := _of_tensor(value)) is not None:
        return array
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return import_dlpack(value, name)
    raise InvalidUsageError(
        f"{name} is {a_type(value)}; pass a numpy array or an object with __dlpack__"
    )


# The element types that NumPy has, and ark and torch have under the same names.
_COMMON_NAMES = ("float32", "float16", "int64", "int32", "int8", "uint8", "bool")
_COMMON: frozenset[np.dtype[Any]] = frozenset(np.dtype(name) for name in _COMMON_NAMES)


@functools.cache
def _common_types(torch: Any) -> dict[object, np.dtype[Any]]:
    return {getattr(torch, name): np.dtype(name) for name in _COMMON_NAMES}


def _of_tensor(value: Any) -> NDArray[Any] | None:
    """Returns the array of a plain tensor of torch in host memory, or None for other values.

    The exchange by DLPack takes microseconds more for each tensor; it serves all other tensors,
    and raises the error of those that ark cannot read. ``tensor.numpy()`` would forbid all later
    changes of the storage's size, and so FSDP, which releases the memory of parameters. The array
    therefore does not keep memory that the caller releases by ``resize_``.
    """
    torch = cast("Any", sys.modules.get("torch"))
    # A lazy tensor of a subclass has no memory.
    if torch is None or value.__class__ is not torch.Tensor:
        return None
    is_plain = (
        value.is_cpu
        and value.layout is torch.strided
        and not value.requires_grad
        and not value.is_neg()
        and value.dtype in _common_types(torch)
    )
    return np.asarray(_Memory(value, _common_types(torch)[value.dtype])) if is_plain else None


class _Memory:
    """The memory of a plain tensor of torch. An array of it keeps the tensor alive."""

    def __init__(self, tensor: Any, dtype: np.dtype[Any]) -> None:
        strides = None
        if not tensor.is_contiguous():
            strides = tuple(stride * dtype.itemsize for stride in tensor.stride())
        self._tensor = tensor
        self.__array_interface__: dict[str, object] = {
            "version": 3,
            "typestr": cast("str", dtype.str),  # pyright: ignore[reportUnknownMemberType]
            "data": (tensor.data_ptr(), False),
            "shape": tuple(tensor.shape),
            "strides": strides,
        }


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
    torch = cast("Any", sys.modules.get("torch"))
    for value in values:
        if isinstance(value, (np.ndarray, np.generic, int)) or not hasattr(value, "__dlpack__"):
            continue
        if torch is not None and isinstance(value, torch.Tensor):
            return _torch_wrapper(torch)
        from_dlpack = _importer(value)
        if from_dlpack is not None:
            return _wrapper(from_dlpack, type(value).__module__)
    return _identity


def _torch_wrapper(torch: Any) -> Wrap:
    through_dlpack = _wrapper(torch.from_dlpack, "torch")

    def wrap(array: NDArray[Any]) -> Any:
        if array.dtype in _COMMON and array.flags.writeable:
            return torch.from_numpy(array)
        return through_dlpack(array)

    return wrap


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
