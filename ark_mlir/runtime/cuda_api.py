"""The CUDA driver API as the runtime uses it: calls that raise, and memory."""

from __future__ import annotations

import importlib
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceError, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NOT_READY = 600


class CudaApi:
    """The driver API on one device.

    Args:
        driver: the module ``cuda.bindings.driver``, or what stands in for it in tests.
        ordinal: the device's number.

    Raises UnsupportedError where the package or a GPU is missing.
    """

    def __init__(self, driver: Any = None, ordinal: int = 0) -> None:
        self.driver: Any = _import_driver() if driver is None else driver
        self._check("cuInit", self.driver.cuInit(0), UnsupportedError)
        self.device = self._check("cuDeviceGet", self.driver.cuDeviceGet(ordinal), UnsupportedError)

    def call(self, name: str, *arguments: object) -> Any:
        """One function of the driver; raises DeviceError with its name and what went wrong."""
        return self._check(name, getattr(self.driver, name)(*arguments), DeviceError)

    def attribute(self, name: str) -> int:
        """A number that describes the device, by its name without CU_DEVICE_ATTRIBUTE."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    def is_done(self, stream: object) -> bool:
        """Whether all work of a stream has ended; raises DeviceError when it failed."""
        result = self.driver.cuStreamQuery(stream)
        if int(result[0]) == _NOT_READY:
            return False
        self._check("cuStreamQuery", result, DeviceError)
        return True

    def _check(self, name: str, result: tuple[Any, ...], error: type[Exception]) -> Any:
        code = result[0]
        if int(code):
            words = [
                text.decode() if text else str(int(code))
                for _, text in (
                    self.driver.cuGetErrorName(code),
                    self.driver.cuGetErrorString(code),
                )
            ]
            raise error(f"{name} failed: {words[0]} ({words[1]})")
        return result[1] if len(result) > 1 else None


def _import_driver() -> Any:
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise UnsupportedError("a program for cuda needs the package cuda-python to run") from None


class CudaMemory:
    """Zeroed memory of the device; see :class:`ark_mlir.runtime.driver.Memory`."""

    def __init__(self, api: CudaApi, nbytes: int) -> None:
        self._api = api
        self.nbytes = nbytes
        # Memory of no bytes still has an address.
        pointer = api.call("cuMemAlloc", max(nbytes, 1))
        self.address = int(pointer)
        self._free = weakref.finalize(self, api.driver.cuMemFree, pointer)
        try:
            self.fill(0)
        except BaseException:
            self.free()
            raise

    def fill(self, byte: int) -> None:
        """Sets every byte."""
        if self.nbytes:
            self._api.call("cuMemsetD8", self.address, byte, self.nbytes)

    def upload(self, array: NDArray[Any]) -> None:
        """Copies a C-contiguous array of `nbytes` bytes here."""
        if self.nbytes:
            self._api.call("cuMemcpyHtoD", self.address, array.ctypes.data, self.nbytes)

    def download(self, array: NDArray[Any]) -> None:
        """Copies what is here to a C-contiguous array of `nbytes` bytes."""
        if self.nbytes:
            self._api.call("cuMemcpyDtoH", array.ctypes.data, self.address, self.nbytes)

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """See :meth:`Memory.write`."""
        array = np.empty(shape, dtype)
        array[...] = value
        self.upload(array)

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """See :meth:`Memory.read`: a copy."""
        array = np.empty(shape, dtype)
        self.download(array)
        return array

    def free(self) -> None:
        """Gives the memory back, at the latest when nothing refers to it."""
        self._free()
