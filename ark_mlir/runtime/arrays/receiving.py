"""The arguments of a run or of `bind` as arrays that fit their buffers; nothing is copied."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ... import dtypes
from ...errors import InvalidUsageError
from .binding import Array
from .device import DeviceArray, receive_device, usable_tensor
from .frameworks import to_numpy
from .streams import RunStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer

# Classes of values that have neither a device nor a gradient.
_PLAIN = frozenset((int, np.ndarray))

# An error lists at most this number of problems, since a wrong file may have thousands.
_MAX_PROBLEMS = 20


def receive_arrays(
    values: Mapping[str, object],
    buffers: Iterable[Buffer],
    problems: list[str],
    where: RunStream,
) -> dict[str, Array]:
    """Returns the arrays of `values` that fit their buffers.

    Appends a message to `problems` for each other value. Arrays on the devices `where` stay there.
    All other arrays become NumPy arrays.
    """
    arrays: dict[str, Array] = {}
    for buffer in buffers:
        if buffer.name in values:
            try:
                arrays[buffer.name] = _receive(values[buffer.name], buffer, where)
            except InvalidUsageError as error:
                problems.append(error.message)
    return arrays


def _receive(value: object, buffer: Buffer, where: RunStream) -> Array:
    """Returns a value as an array that fits a buffer; raises InvalidUsageError if it does not."""
    if value.__class__ not in _PLAIN:
        # Parameters of a model in training may be bound; an input that requires a gradient is an
        # error.
        if buffer.kind != "input" and getattr(value, "requires_grad", False):
            value = cast("Any", value).detach()
        if not where.on_host:
            of_rank = where.of(buffer)
            if (tensor := usable_tensor(value, buffer, of_rank)) is not None:
                return tensor
            if (array := receive_device(value, _label(buffer), of_rank)) is not None:
                return _fit_device(array, buffer)
    if buffer.kind == "scalar":
        return _receive_scalar(value, buffer)
    return _receive_host(value, buffer)


def _receive_host(value: object, buffer: Buffer) -> NDArray[Any]:
    array = cast(
        "NDArray[Any]",
        value if value.__class__ is np.ndarray else to_numpy(value, _label(buffer)),
    )
    if array.dtype != buffer.dtype.numpy and _may_convert(array, buffer):
        array = _convert(array, buffer)
    if array.dtype != buffer.dtype.numpy or array.shape != buffer.shape:
        raise InvalidUsageError(f"{_label(buffer)} {_difference(array, buffer)}")
    return array


def _may_convert(array: NDArray[Any], buffer: Buffer) -> bool:
    """Returns True if an input has another integer type than its buffer.

    Token ids, for example, are int64 in many libraries, and int32 in programs.
    """
    return buffer.kind == "input" and buffer.dtype.is_integer and array.dtype.kind in "iu"


def _convert(array: NDArray[Any], buffer: Buffer) -> NDArray[Any]:
    """Returns integers in the type of their buffer.

    Raises InvalidUsageError if the type does not hold one of the integers.
    """
    low, high = buffer.dtype.integer_range
    for number in (int(array.min()), int(array.max())) if array.size else ():
        if not low <= number <= high:
            raise InvalidUsageError(
                f"{_label(buffer)} {_difference(array, buffer)}, which cannot hold {number}"
            )
    return array.astype(buffer.dtype.numpy)


def _fit_device(array: DeviceArray, buffer: Buffer) -> DeviceArray:
    """Returns an array on the device that a kernel can use as a buffer in place.

    Raises InvalidUsageError for other arrays.
    """
    if buffer.kind == "scalar" and array.size == 1:
        # The host cannot check the bound of a value on the device.
        array.shape = buffer.shape
    if array.dtype != buffer.dtype.numpy or array.shape != buffer.shape:
        raise InvalidUsageError(f"{_label(buffer)} {_difference(array, buffer)}")
    if not array.dense:
        raise InvalidUsageError(
            f"{_label(buffer)} is not dense and row-major; pass a contiguous array"
        )
    if array.address % buffer.alignment:
        raise InvalidUsageError(
            f"{_label(buffer)} begins at an address that is not a multiple of {buffer.alignment}, "
            "as the kernel requires; pass a copy"
        )
    return array


def _label(buffer: Buffer) -> str:
    """Returns the name of a buffer in errors: ``input 'x'``."""
    return f"{buffer.kind} {buffer.name!r}"


def _difference(array: Array, buffer: Buffer) -> str:
    """Returns the difference between an array and the declaration of a buffer."""
    got: Any = array.dtype
    if got == buffer.dtype.numpy:
        return f"has shape {list(array.shape)}; expected {list(buffer.shape)}"
    dtype = dtypes.from_numpy(got)
    elements = dtype.name if dtype else got.name
    if dtype is buffer.dtype:
        elements += " in another byte order"
    return f"has elements of {elements}; expected {buffer.dtype.name}"


# -- scalars ---------------------------------------------------------------------------------


def _receive_scalar(value: object, buffer: Buffer) -> NDArray[Any]:
    """Returns a scalar on the host as an array.

    Raises InvalidUsageError if the value is not one integer within the bounds of the scalar.
    """
    number = value if value.__class__ is int else _integer(value, _label(buffer))
    low, high = buffer.dtype.integer_range if buffer.maximum is None else (0, buffer.maximum)
    if not low <= cast("int", number) <= high:
        raise InvalidUsageError(f"{_label(buffer)} is {number}; it must be in [{low}, {high}]")
    array: NDArray[Any] = np.empty(buffer.shape, buffer.dtype.numpy)
    array[...] = number
    return array


def _integer(value: object, name: str) -> int:
    """Returns the value of an integer, or of an array of one integer."""
    if isinstance(value, float):
        raise InvalidUsageError(f"{name} is {value}; it must be one integer")
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(cast("int", value))
    array = to_numpy(value, name)
    if array.dtype.kind not in "iu" or array.size != 1:
        raise InvalidUsageError(f"{name} must be one integer")
    return int(array.item())


# -- problems --------------------------------------------------------------------------------


def name_problems(
    given: Iterable[str], wanted: Iterable[str], needed: Iterable[str], kind: str
) -> list[str]:
    """Returns a message for each missing name and each unknown name."""
    given, wanted = list(given), list(wanted)
    missing = [name for name in needed if name not in given]
    problems = [f"{kind} {name!r} is missing" for name in missing]
    known = set(wanted)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, missing, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            problems.append(f"there is no {kind} {name!r}{hint}")
    return problems


def refuse(problems: Sequence[str], action: str) -> None:
    """Raises one InvalidUsageError for all `problems`, if there are any."""
    if not problems:
        return
    if len(problems) == 1:
        raise InvalidUsageError(f"cannot {action}: {problems[0]}")
    shown = list(problems[:_MAX_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    raise InvalidUsageError(f"cannot {action}: {len(problems)} problems", notes=shown)
