"""Memory of a GPU, and pinned host memory."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .api import GpuApi

# Up to this size, zeros are copied: a copy needs no SM, so it cannot wait behind another kernel
# without a report.
_SMALL = 1 << 16


class DeviceBytes:
    """Bytes on the device that another object allocates and frees.

    Args:
        api: the API of the vendor's driver.
        address: the address of the first byte.
        nbytes: the size.
    """

    def __init__(self, api: GpuApi, address: int, nbytes: int) -> None:
        self._api = api
        self.address = address
        self.nbytes = nbytes

    def clear(self, stream: object) -> None:
        """Queues a memset of all bytes to zero on a stream."""
        if self.nbytes:
            self._api.call(self._api.names.set_bytes, self.address, 0, self.nbytes, stream)


class DeviceMemory(DeviceBytes):
    """Memory of the device; see :class:`ark_mlir.runtime.Memory`.

    Args:
        api: the API of the vendor's driver.
        stream: the stream of copies, which block until they end and do not wait for other streams.
        nbytes: the size.
        zeroed: sets every byte to zero, for which a large block needs an SM; otherwise the contents
            are undefined.
        limited: True if the allocation has a time limit, which costs a thread.
        coherent: True if the host reads or writes the memory while a kernel uses it.

    Raises BusyError if other work on the GPU makes the allocation exceed its limit.
    """

    def __init__(
        self,
        api: GpuApi,
        stream: object,
        nbytes: int,
        zeroed: bool = True,
        limited: bool = True,
        coherent: bool = False,
    ) -> None:
        self._stream = stream
        api.enter()
        # A block without bytes has an address, too.
        size = max(nbytes, 1)
        name, flags = api.names.allocate, ()
        if coherent:
            name, flags = api.names.allocate_coherent, api.coherent_flags
        if limited:
            pointer = api.take(name, api.names.free, size, *flags)
        else:
            pointer = api.call(name, size, *flags)
        super().__init__(api, int(pointer), nbytes)
        self._free = api.own(self, api.names.free, pointer)
        if not zeroed:
            return
        try:
            # HIP may read the zeros until the stream has copied them.
            zeros = np.zeros(nbytes if nbytes <= _SMALL else 0, np.uint8)
            if nbytes <= _SMALL:
                self._copy(zeros)
            else:
                self.clear(stream)
            api.await_stream(stream)
        except BaseException:
            self.free()
            raise

    def upload(self, array: NDArray[Any]) -> None:
        """Copies a C-contiguous array of `nbytes` bytes here."""
        if self.nbytes:
            self._api.enter()
            self._copy(array)
            self._api.call(self._api.names.await_stream, self._stream)

    def _copy(self, array: NDArray[Any]) -> None:
        if self.nbytes:
            name, source = self._api.names.to_device, array.ctypes.data
            self._api.call(name, self.address, source, self.nbytes, self._stream)

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """See :meth:`Memory.write`: dense arrays are copied without another copy on the host."""
        given = cast("NDArray[Any] | None", value if isinstance(value, np.ndarray) else None)
        if given is None or not _is_dense(given, dtype, shape):
            given = np.empty(shape, dtype)
            given[...] = value
        self.upload(given)

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """See :meth:`Memory.read`: returns a copy."""
        return download(self._api, self._stream, self.address, dtype, shape)

    def free(self) -> None:
        """Frees the memory; the end of the last reference does so, too."""
        self._free()


def _is_dense(array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return array.dtype == dtype and array.shape == shape and array.flags.c_contiguous


def download(
    api: GpuApi, stream: object, address: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Returns a copy of an array on the device, after earlier work of a stream."""
    array = np.empty(shape, dtype)
    if array.nbytes:
        api.enter()
        api.call(api.names.to_host, array.ctypes.data, address, array.nbytes, stream)
        api.call(api.names.await_stream, stream)
    return array


class PinnedMemory:
    """Zeroed page-locked memory of the host, which the device can address.

    Args:
        api: the API of the vendor's driver.
        nbytes: the size.

    Raises BusyError if other work on the GPU makes the allocation exceed its limit.
    """

    def __init__(self, api: GpuApi, nbytes: int) -> None:
        names, size = api.names, max(nbytes, 1)
        pointer = api.take(names.allocate_host, names.free_host, size, api.host_flags)
        self._free = api.own(self, names.free_host, pointer)
        self.nbytes = nbytes
        self.address = int(pointer)
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.address))
        self.bytes[:] = 0

    def view(
        self, offset: int, dtype: np.dtype[Any] | type, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """Returns a part of the memory as an array."""
        return np.ndarray(shape, dtype, self.bytes.data, offset)

    def free(self) -> None:
        """Frees the memory; no view may be used afterwards."""
        self._free()
