"""The CUDA driver API as the runtime uses it: calls that raise, and handles that are given back."""

from __future__ import annotations

import importlib
import os
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ...errors import ArkError, BusyError, DeviceError, UnsupportedError
from . import backlog
from .backlog import Stuck, backlog_of

_INVALID_DEVICE = 101
_NOT_READY = 600
_CAPTURE_IMPLICIT = 906
# The handle of the default stream, with which blocking streams synchronise.
_LEGACY_STREAM = 1
# A waiting host first spins, since most waits are short, then sleeps between looks.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005


class CudaApi:
    """The driver API on one device, and the device's primary context.

    What is taken from the driver belongs to an object of Python: :meth:`own`. The context is kept
    until :meth:`close` was called and all that was taken in it is given back. So memory that a
    caller still has outlives the program that made it.

    Args:
        driver: the module ``cuda.bindings.driver``, or what stands in for it in tests.
        ordinal: the device's number.

    Raises UnsupportedError where the package or a GPU is missing.
    """

    def __init__(self, driver: Any = None, ordinal: int = 0) -> None:
        self.driver: Any = _import_driver() if driver is None else driver
        self.ordinal = ordinal
        self._context: Any = None
        self._release: Callable[[], object] | None = None
        self._owned: set[object] = set()
        self._closed = False
        self._process = os.getpid()
        self._backlog = backlog_of(self.driver, ordinal)
        try:
            _check(self.driver, "cuInit", self.driver.cuInit(0), UnsupportedError)
            device = self.driver.cuDeviceGet(ordinal)
        except RuntimeError as error:  # the package is there, and no driver of NVIDIA
            raise UnsupportedError(f"a program for cuda needs a GPU of NVIDIA: {error}") from None
        if int(device[0]) == _INVALID_DEVICE:
            raise UnsupportedError(
                f"there is no GPU {ordinal}: this process sees {self.call('cuDeviceGetCount')}"
            )
        self.device = _check(self.driver, "cuDeviceGet", device, UnsupportedError)

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
            _check(self.driver, name, result, DeviceError)
        return result[1] if len(result) > 1 else None

    def attribute(self, name: str) -> int:
        """A number that describes the device, by its name without CU_DEVICE_ATTRIBUTE."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    def ordinal_of(self, address: int) -> int | None:
        """Returns the number of the GPU that has an address, or None if no GPU has it."""
        key = self.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        result = self.driver.cuPointerGetAttribute(key, address)
        return None if int(result[0]) else int(result[1])

    def has_happened(self, event: object) -> bool:
        """Returns True if all work before an event has ended; raises DeviceError if it failed."""
        result = self.driver.cuEventQuery(event)
        if int(result[0]) == _NOT_READY:
            return False
        _check(self.driver, "cuEventQuery", result, DeviceError)
        return True

    def record_after_others(self, event: object) -> bool:
        """Records an event after all work of the default stream and of blocking streams.

        Streams of ark's are non-blocking and do not count. Of non-blocking streams of others the
        driver tells nothing, unless a call invalidates what is captured on them. Returns False,
        and records nothing, if a blocking stream is captured: to record an event would
        invalidate that capture.
        """
        result = self.driver.cuStreamIsCapturing(_LEGACY_STREAM)
        if int(result[0]) == _CAPTURE_IMPLICIT:
            return False
        _check(self.driver, "cuStreamIsCapturing", result, DeviceError)
        self.call("cuEventRecord", event, _LEGACY_STREAM)
        return True

    # -- the context -------------------------------------------------------------------------

    def open(self) -> None:
        """Takes the device's primary context, and makes it that of this thread.

        PyTorch and others use this context, too, so that memory can be shared with them.
        """
        self._context = self.call("cuDevicePrimaryCtxRetain", self.device)
        finalizer = weakref.finalize(self, _release, self.driver, self.device, self._process)
        finalizer.atexit = False
        self._release = finalizer
        self.enter()

    def enter(self) -> None:
        """Makes the context that of this thread."""
        self.call("cuCtxSetCurrent", self._context)

    @contextmanager
    def within(self) -> Generator[None]:
        """Lets a thread that is not ark's give handles back and query events in a block.

        Makes the context current, and afterwards the thread's own again. Within the block the
        thread's stream capture mode is relaxed: in another mode, a call that frees memory or
        queries an event fails while a stream is captured, and invalidates the capture.
        """
        relaxed = self.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.call("cuCtxPushCurrent", self._context)
        try:
            mode = self.call("cuThreadExchangeStreamCaptureMode", relaxed)
            try:
                yield
            finally:
                self.call("cuThreadExchangeStreamCaptureMode", mode)
        finally:
            self.call("cuCtxPopCurrent")

    @property
    def forked(self) -> bool:
        """Returns True if this process is a fork of the one that opened the device, which cannot
        use it."""
        return os.getpid() != self._process

    def close(self) -> None:
        """Releases the context as soon as no handle that was taken in it is left."""
        self._closed = True
        self._backlog.settle()
        self._release_unused()

    def _release_unused(self) -> None:
        if self._closed and not self._owned and self._release is not None:
            self._release()

    # -- handles -----------------------------------------------------------------------------

    def take(
        self, name: str, give: str | None, *arguments: object, seconds: float | None = None
    ) -> Any:
        """Calls a function of the driver that may wait for other work on the GPU.

        Args:
            name: the function, which returns a handle.
            give: the function that gives the handle back, if one has to.
            arguments: what the function takes.
            seconds: the limit; None is that of :mod:`.backlog`.

        Raises BusyError after the limit. The handle is given back then when the call returns.
        """
        key = object()
        self._owned.add(key)

        def call() -> Any:
            with self.within():
                return self.call(name, *arguments)

        def late(handle: Any) -> None:
            try:
                if give is not None and handle is not None:
                    with self.within():
                        self.call(give, handle)
            finally:
                self._owned.discard(key)
                self._release_unused()

        try:
            handle = self._backlog.limited(call, name, late, seconds)
        except BusyError:
            raise  # `late` discards the key when the call returns
        except ArkError:
            self._owned.discard(key)
            raise
        self._owned.discard(key)
        return handle

    def await_stream(self, stream: object) -> None:
        """Waits for a stream of ark's; raises BusyError after the limit, and then gives no handle
        back until the stream has done its work."""
        start = time.monotonic()
        while not self._is_done(stream):
            waited = time.monotonic() - start
            if waited > backlog.LIMIT_SECONDS:
                self._backlog.wait_for(Stuck(lambda: self._is_done_elsewhere(stream), None))
                raise BusyError(
                    f"memory has not been zeroed within {backlog.LIMIT_SECONDS:g} s: other work "
                    "holds all SMs of the GPU",
                    notes=["what ark holds is given back when that work has ended"],
                )
            if waited > _SPIN_SECONDS:
                time.sleep(_SLEEP_SECONDS)

    def _is_done(self, stream: object) -> bool:
        result = self.driver.cuStreamQuery(stream)
        if int(result[0]) == _NOT_READY:
            return False
        _check(self.driver, "cuStreamQuery", result, DeviceError)
        return True

    def _is_done_elsewhere(self, stream: object) -> bool:
        with self.within():
            return self._is_done(stream)

    def own(self, owner: object, give: str, *handle: object) -> Callable[[], object]:
        """Returns a function that gives a handle back once: when called, or when `owner` is gone.

        The garbage collector may end `owner` in any thread, also while another library captures
        a stream: see :meth:`within`. An error of the driver is a DeviceError where the result is
        called, and else goes to ``sys.unraisablehook``. At the end of the process what is left is
        the system's to give back.

        Args:
            owner: what the handle belongs to.
            give: the function of the driver that gives it back.
            handle: what that function takes.
        """
        self._backlog.settle()
        key = object()
        self._owned.add(key)
        finalizer = weakref.finalize(owner, self._give_back, key, give, *handle)
        finalizer.atexit = False
        return finalizer

    def settle(self) -> bool:
        """Gives back handles that had to wait; returns False if they still wait for a kernel to
        end."""
        return self._backlog.settle()

    def wait_for(self, event: object, owners: object) -> None:
        """Gives no handle back on this device until an event has happened; keeps `owners` alive."""

        def has_ended() -> bool:
            with self.within():
                return self.has_happened(event)

        self._backlog.wait_for(Stuck(has_ended, owners))

    def _give_back(self, key: object, give: str, *handle: object) -> None:
        if self.forked:
            return  # the parent's

        def call() -> None:
            try:
                with self.within():
                    self.call(give, *handle)
            finally:
                self._owned.discard(key)
                self._release_unused()

        self._backlog.give_back(call, give)


def count_devices() -> int:
    """Returns the number of GPUs that this process sees.

    Raises UnsupportedError if the package or a GPU is missing.
    """
    driver = _import_driver()
    try:
        _check(driver, "cuInit", driver.cuInit(0), UnsupportedError)
        return int(_check(driver, "cuDeviceGetCount", driver.cuDeviceGetCount(), UnsupportedError))
    except RuntimeError as error:
        raise UnsupportedError(f"a program for cuda needs a GPU of NVIDIA: {error}") from None


def _release(driver: Any, device: object, process: int) -> None:
    if os.getpid() == process:
        result = driver.cuDevicePrimaryCtxRelease(device)
        _check(driver, "cuDevicePrimaryCtxRelease", result, DeviceError)


def _check(driver: Any, name: str, result: tuple[Any, ...], error: type[Exception]) -> Any:
    code = result[0]
    if int(code):
        words = [
            text.decode() if text else str(int(code))
            for _, text in (driver.cuGetErrorName(code), driver.cuGetErrorString(code))
        ]
        raise error(f"{name} failed: {words[0]} ({words[1]})")
    return result[1] if len(result) > 1 else None


def _import_driver() -> Any:
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise UnsupportedError("a program for cuda needs the package cuda-python to run") from None
