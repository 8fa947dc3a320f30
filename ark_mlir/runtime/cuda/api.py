"""The CUDA driver API as the runtime uses it: calls that raise errors, and owned handles."""

from __future__ import annotations

import importlib
import os
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ...errors import ArkError, BusyError, DeviceError, UnsupportedError
from ...units import counted
from . import backlog
from .backlog import Stuck, backlog_of

_INVALID_DEVICE = 101
_NOT_READY = 600
_CAPTURE_IMPLICIT = 906
# The handle of the legacy default stream, with which blocking streams synchronise.
_LEGACY_STREAM = 1
# A waiting host first spins, since most waits are short, then sleeps between queries.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005


class CudaApi:
    """The driver API on one device, and the device's primary context.

    Each handle belongs to a Python object (:meth:`own`). The context is released after
    :meth:`close`, once no handle is left, so memory that a caller still holds outlives its program.

    Args:
        driver: the module ``cuda.bindings.driver``, or a stand-in.
        ordinal: the CUDA ordinal of the device.

    Raises UnsupportedError if the package or a GPU is missing.
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
        except RuntimeError as error:  # the package is installed, NVIDIA's driver is not
            raise UnsupportedError(f"a program for cuda needs a GPU of NVIDIA: {error}") from None
        if int(device[0]) == _INVALID_DEVICE:
            raise UnsupportedError(
                f"there is no GPU {ordinal}: this process sees "
                f"{counted(int(self.call('cuDeviceGetCount')), 'GPU')}"
            )
        self.device = _check(self.driver, "cuDeviceGet", device, UnsupportedError)

    def call(self, name: str, *arguments: object) -> Any:
        """Calls a function of the driver.

        Raises DeviceError with the name of the function and the error, and UnsupportedError if the
        driver is too old for the function.
        """
        try:
            result = getattr(self.driver, name)(*arguments)
        except RuntimeError as error:
            if "not found" not in str(error):
                raise DeviceError(f"{name} failed: {error}") from None
            # The package has the function; the installed driver lacks it.
            raise UnsupportedError(f"the driver of NVIDIA is too old: {error}") from None
        if result[0]:
            _check(self.driver, name, result, DeviceError)
        return result[1] if len(result) > 1 else None

    def attribute(self, name: str) -> int:
        """Returns an attribute of the device; `name` lacks the prefix ``CU_DEVICE_ATTRIBUTE_``."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    def ordinal_of(self, address: int) -> int | None:
        """Returns the ordinal of the GPU whose memory has an address, or None."""
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

        ark's own streams are non-blocking and do not count. The driver has no query for other
        libraries' non-blocking streams that does not invalidate a capture. Returns False, and
        records nothing, if a blocking stream is being captured: an event would invalidate that
        capture.
        """
        result = self.driver.cuStreamIsCapturing(_LEGACY_STREAM)
        if int(result[0]) == _CAPTURE_IMPLICIT:
            return False
        _check(self.driver, "cuStreamIsCapturing", result, DeviceError)
        self.call("cuEventRecord", event, _LEGACY_STREAM)
        return True

    # -- the context -------------------------------------------------------------------------

    def open(self) -> None:
        """Retains the device's primary context, and makes it current in this thread.

        PyTorch and other libraries use this context, too, so that memory can be shared with them.
        """
        self._context = self.call("cuDevicePrimaryCtxRetain", self.device)
        finalizer = weakref.finalize(
            self, _release_context, self.driver, self.device, self._process
        )
        finalizer.atexit = False
        self._release = finalizer
        self.enter()

    def enter(self) -> None:
        """Makes the context current in this thread."""
        self.call("cuCtxSetCurrent", self._context)

    @contextmanager
    def within(self) -> Generator[None]:
        """Makes the context current in a block, in which any thread may release handles and query
        events.

        The block restores the thread's own context at its end. The thread's capture mode is relaxed
        within the block: in another mode, a call that frees memory or queries an event fails while
        a stream is being captured, and invalidates the capture.
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
        """True if this process is a fork of the process that opened the device.

        A forked process cannot use the device.
        """
        return os.getpid() != self._process

    def close(self) -> None:
        """Releases the context as soon as no handle of it is left."""
        self._closed = True
        self._backlog.release_deferred()
        self._release_unused()

    def _release_unused(self) -> None:
        if self._closed and not self._owned and self._release is not None:
            self._release()

    # -- handles -----------------------------------------------------------------------------

    def take(
        self, name: str, release: str | None, *arguments: object, seconds: float | None = None
    ) -> Any:
        """Calls a function of the driver that may wait for other work on the GPU.

        Args:
            name: the function, which returns a handle.
            release: the function that releases the handle, or None.
            arguments: the arguments.
            seconds: the limit; None selects `LIMIT_SECONDS` of :mod:`.backlog`.

        Raises BusyError after the limit. A late handle is released when the call returns.
        """
        key = object()
        self._owned.add(key)

        def call() -> Any:
            with self.within():
                return self.call(name, *arguments)

        def late(handle: Any) -> None:
            try:
                if release is not None and handle is not None:
                    with self.within():
                        self.call(release, handle)
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
        """Waits for one of ark's streams.

        Raises BusyError after the limit; the release of handles is then deferred until the stream
        has completed its work.
        """
        start = time.monotonic()
        while not self._is_done(stream):
            waited = time.monotonic() - start
            if waited > backlog.LIMIT_SECONDS:
                self._backlog.wait_for(Stuck(lambda: self._is_done_elsewhere(stream), None))
                raise BusyError(
                    f"memory has not been zeroed within {backlog.LIMIT_SECONDS:g} s: other work "
                    "holds all SMs of the GPU",
                    notes=["ark frees its memory when that work has ended"],
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

    def own(self, owner: object, release: str, *handle: object) -> Callable[[], object]:
        """Returns a function that releases a handle once: when called, or when `owner` is
        collected.

        The garbage collector may collect `owner` in any thread, also while another library captures
        a stream: see :meth:`within`. A call of the returned function raises DeviceError if the
        driver refuses; after a collection the error goes to ``sys.unraisablehook``. At exit the
        operating system reclaims remaining handles.

        Args:
            owner: the owner.
            release: the function of the driver that releases the handle.
            handle: arguments of `release`.
        """
        self._backlog.release_deferred()
        key = object()
        self._owned.add(key)
        finalizer = weakref.finalize(owner, self._release_handle, key, release, *handle)
        finalizer.atexit = False
        return finalizer

    def release_deferred(self) -> bool:
        """Releases the deferred handles; returns False if a kernel still defers them."""
        return self._backlog.release_deferred()

    def wait_for(self, event: object, owners: object) -> None:
        """Defers all releases on this device until an event has happened.

        Args:
            event: the event.
            owners: the owners of memory that is in use until then.
        """

        def has_ended() -> bool:
            with self.within():
                return self.has_happened(event)

        self._backlog.wait_for(Stuck(has_ended, owners))

    def _release_handle(self, key: object, release: str, *handle: object) -> None:
        if self.forked:
            return  # the handle is the parent's

        def call() -> None:
            try:
                with self.within():
                    self.call(release, *handle)
            finally:
                self._owned.discard(key)
                self._release_unused()

        self._backlog.release(call, release)


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


def _release_context(driver: Any, device: object, process: int) -> None:
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
