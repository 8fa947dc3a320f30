"""Binding of arrays to buffers: checks, and copies of arrays that a kernel cannot use in place."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np

from ...errors import InvalidUsageError, a_type
from ..driver import Driver, Memory
from .device import DeviceArray, receive_device
from .frameworks import receive_host, store
from .safetensors import read_safetensors
from .scalars import receive_scalar
from .streams import RunStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer
    from ...typing import Sources

# An array on the host, or on the device that the program runs on.
Array = Union["NDArray[Any]", DeviceArray]

# Classes of values that have neither a device nor a gradient.
_PLAIN = frozenset((int, np.ndarray))

# Limit of the problems that an error lists: a wrong file may have thousands.
_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Bound:
    """The memory of a bound buffer: its address, the owner that keeps it alive, and whether it is a
    copy."""

    address: int
    owner: object
    copied: bool

    def free(self) -> None:
        """Frees the memory of a copy; does nothing if the caller's array is used in place."""
        if self.copied:
            cast("Memory", self.owner).free()


def read_sources(sources: Sources | Sequence[Sources]) -> dict[str, Any]:
    """Returns the arrays of dicts and safetensors files, by name; later sources replace earlier
    ones.

    Raises InvalidUsageError if a source is neither, or a file cannot be read.
    """
    if isinstance(sources, (str, os.PathLike)):
        return dict(read_safetensors(sources))
    if isinstance(sources, Mapping):
        if odd := [name for name in sources if not isinstance(name, str)]:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUsageError(f"the name of a parameter is a string, not {odd[0]!r}")
        return dict(sources)
    if not isinstance(sources, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError(
            f"cannot bind {a_type(sources)}; expected arrays by name, the path of a "
            ".safetensors file, or a list of those"
        )
    result: dict[str, Any] = {}
    for source in sources:
        result.update(read_sources(source))
    return result


def bind_array(driver: Driver, array: Array, buffer: Buffer) -> Bound:
    """Returns memory with an array's values: the array itself if the kernel can use it in place,
    else a copy. The array must have the dtype and shape of the buffer."""
    if isinstance(array, DeviceArray):
        return Bound(array.address, array.owner, copied=False)
    if array.flags.c_contiguous:
        address = driver.adopt(array, buffer.alignment)
        if address is not None:
            return Bound(address, array, copied=False)
    memory = driver.allocate(buffer.bytes, buffer.alignment, zeroed=False, rank=buffer.rank)
    try:
        store(memory, buffer, array)
    except BaseException:
        memory.free()
        raise
    return Bound(memory.address, memory, copied=True)


def check_arrays(
    values: Mapping[str, object],
    buffers: Iterable[Buffer],
    problems: list[str],
    where: RunStream,
) -> dict[str, Array]:
    """Returns the arrays of `values` that fit their buffers, and appends the problems of the others
    to `problems`.

    Arrays on the devices `where` are not copied.
    """
    arrays: dict[str, Array] = {}
    for buffer in buffers:
        if buffer.name not in values:
            continue
        value = values[buffer.name]
        plain = value.__class__ in _PLAIN
        # Parameters of a model in training may be bound; an input that requires a gradient is an
        # error.
        if not plain and buffer.kind != "input" and getattr(value, "requires_grad", False):
            value = cast("Any", value).detach()
        try:
            on_host = plain or where.on_host
            array = None if on_host else receive_device(value, buffer, where.of(buffer))
            if array is None:
                receive = receive_scalar if buffer.kind == "scalar" else receive_host
                array = receive(value, buffer)
        except InvalidUsageError as error:
            problems.append(error.message)
        else:
            arrays[buffer.name] = array
    return arrays


def name_problems(
    given: Iterable[str], wanted: Iterable[str], needed: Iterable[str], kind: str
) -> list[str]:
    """Returns the problems of a set of names: missing names and unknown names."""
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
