"""Memory of a GPU, and of the host where a GPU reads and writes without a copy of the driver's."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .api import CudaApi

# What is zeroed by a copy, which needs no SM: a launch that waits for other work in vain is
# reported, but here nobody would say what is waited for.
_SMALL = 1 << 16


class CudaMemory:
    """Memory of the device; see :class:`ark_mlir.runtime.driver.Memory`.

    Args:
        api: the driver API.
        stream: what copies go through. Each waits for its end, and for nothing else: work on
            other streams goes on.
        nbytes: the size.
        zeroed: whether every byte is zero; else nothing is written to it, which may need an SM.
        limited: whether a limit holds for the allocation, which costs a thread.

    Raises BusyError if other work on the GPU makes the allocation exceed its limit.
    """

    def __init__(
        self,
        api: CudaApi,
        stream: object,
        nbytes: int,
        zeroed: bool = True,
        limited: bool = True,
    ) -> None:
        self._api = api
        self._stream = stream
        self.nbytes = nbytes
        api.enter()
        # Memory of no bytes still has an address.
        size = max(nbytes, 1)
        if limited:
            pointer = api.take("cuMemAlloc", "cuMemFree", size)
        else:
            pointer = api.call("cuMemAlloc", size)
        self.address = int(pointer)
        self._free = api.own(self, "cuMemFree", pointer)
        if not zeroed:
            return
        try:
            if nbytes <= _SMALL:
                self._copy(np.zeros(nbytes, np.uint8))
            else:
                self.clear(stream)
            api.await_stream(stream)
        except BaseException:
            self.free()
            raise

    def clear(self, stream: object) -> None:
        """Zeroes every byte, in the order of a stream."""
        if self.nbytes:
            self._api.call("cuMemsetD8Async", self.address, 0, self.nbytes, stream)

    def upload(self, array: NDArray[Any]) -> None:
        """Copies a C-contiguous array of `nbytes` bytes here."""
        if self.nbytes:
            self._api.enter()
            self._copy(array)
            self._api.call("cuStreamSynchronize", self._stream)

    def _copy(self, array: NDArray[Any]) -> None:
        if self.nbytes:
            source = array.ctypes.data
            self._api.call("cuMemcpyHtoDAsync", self.address, source, self.nbytes, self._stream)

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """See :meth:`Memory.write`: dense arrays go to the device from where they are."""
        given = cast("NDArray[Any] | None", value if isinstance(value, np.ndarray) else None)
        if given is None or not _is_dense(given, dtype, shape):
            given = np.empty(shape, dtype)
            given[...] = value
        self.upload(given)

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """See :meth:`Memory.read`: a copy."""
        return download(self._api, self._stream, self.address, dtype, shape)

    def free(self) -> None:
        """Frees the memory, at the latest when nothing refers to it."""
        self._free()


def _is_dense(array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return array.dtype == dtype and array.shape == shape and array.flags.c_contiguous


def download(
    api: CudaApi, stream: object, address: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """A copy of an array of the device, in the order of a stream."""
    array = np.empty(shape, dtype)
    if array.nbytes:
        api.enter()
        api.call("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)
        api.call("cuStreamSynchronize", stream)
    return array


class PinnedMemory:
    """Zeroed memory of the host that never moves, and that the device can address."""

    def __init__(self, api: CudaApi, nbytes: int) -> None:
        flags = api.driver.CU_MEMHOSTALLOC_DEVICEMAP
        pointer = api.take("cuMemHostAlloc", "cuMemFreeHost", max(nbytes, 1), flags)
        self._free = api.own(self, "cuMemFreeHost", pointer)
        self.nbytes = nbytes
        self.address = int(pointer)
        self.bytes = np.ctypeslib.as_array(
            (ctypes.c_uint8 * max(nbytes, 1)).from_address(self.address)
        )
        self.bytes[:] = 0

    def view(
        self, offset: int, dtype: np.dtype[Any] | type, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """A part of it as an array."""
        return np.ndarray(shape, dtype, self.bytes.data, offset)

    def free(self) -> None:
        """Frees the memory; views must not be used any more."""
        self._free()
