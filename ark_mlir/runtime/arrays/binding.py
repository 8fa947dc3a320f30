"""The memory from which a kernel reads the caller's arrays: the arrays themselves, or copies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, cast

from ...errors import InvalidUsageError, a_type
from ..drivers.interface import Driver, Memory
from .device import DeviceArray
from .frameworks import store
from .safetensors import read_safetensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer
    from ...typing import Sources

# An array on the host, or on the device that the program runs on.
Array = Union["NDArray[Any]", DeviceArray]


@dataclass(frozen=True)
class Bound:
    """The memory of a bound buffer: its address, and its owner; `copied` is True for a copy."""

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

    Raises InvalidUsageError if a source is neither a dict nor a path, or a file cannot be read.
    """
    if isinstance(sources, (str, os.PathLike)):
        return dict(read_safetensors(sources))
    if isinstance(sources, Mapping):
        if wrong := [name for name in sources if not isinstance(name, str)]:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUsageError(f"the name of a parameter must be a string, not {wrong[0]!r}")
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
    """Returns the memory of an array if the kernel can use it in place, else a copy.

    The array must have the dtype and shape of the buffer.
    """
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
