"""The CUDA driver API as the runtime uses it: calls that raise."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import DeviceError, UnsupportedError

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
        self.ordinal = ordinal
        self._context: Any = None
        try:
            self._check("cuInit", self.driver.cuInit(0), UnsupportedError)
            device = self.driver.cuDeviceGet(ordinal)
        except RuntimeError as error:  # the package is there, and no driver of NVIDIA
            raise UnsupportedError(f"a program for cuda needs a GPU of NVIDIA: {error}") from None
        self.device = self._check("cuDeviceGet", device, UnsupportedError)

    def call(self, name: str, *arguments: object) -> Any:
        """One function of the driver; raises DeviceError with its name and what went wrong."""
        try:
            result = getattr(self.driver, name)(*arguments)
        except RuntimeError as error:
            if "not found" not in str(error):
                raise DeviceError(f"{name} failed: {error}") from None
            # The package knows the function, this driver does not.
            raise UnsupportedError(f"the driver of NVIDIA is too old: {error}") from None
        if result[0]:
            self._check(name, result, DeviceError)
        return result[1] if len(result) > 1 else None

    def use(self, context: object) -> None:
        """The context in which `enter` puts threads."""
        self._context = context

    def enter(self) -> None:
        """Makes the context that of this thread."""
        self.call("cuCtxSetCurrent", self._context)

    def attribute(self, name: str) -> int:
        """A number that describes the device, by its name without CU_DEVICE_ATTRIBUTE."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    def has_happened(self, event: object) -> bool:
        """Whether all work before an event has ended; raises DeviceError when it failed."""
        result = self.driver.cuEventQuery(event)
        if int(result[0]) == _NOT_READY:
            return False
        self._check("cuEventQuery", result, DeviceError)
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
