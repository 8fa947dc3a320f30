"""Checks of arrays, on the host or on a device, against the declarations of buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import dtypes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer
    from .device import DeviceArray


def label(buffer: Buffer) -> str:
    """Returns the name of a buffer in errors: ``input 'x'``."""
    return f"{buffer.kind} {buffer.name!r}"


def mismatch(array: NDArray[Any] | DeviceArray, buffer: Buffer) -> str | None:
    """Returns the difference between an array and the declaration of a buffer, or None."""
    got: Any = array.dtype
    if got != buffer.dtype.numpy:
        dtype = dtypes.from_numpy(got)
        elements = dtype.name if dtype else got.name
        if dtype is buffer.dtype:
            elements += " in another byte order"
        return f"has elements of {elements}, should have {buffer.dtype.name}"
    if array.shape != buffer.shape:
        return f"has shape {list(array.shape)}, should have {list(buffer.shape)}"
    return None
