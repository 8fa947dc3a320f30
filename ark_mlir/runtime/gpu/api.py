"""The vendor's driver as the runtime uses it: calls that raise errors, and owned handles."""

from __future__ import annotations

import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import ArkError, BusyError, UnsupportedError
from . import backlog
from .backlog import Stuck, backlog_of
from .names import Names, format_uuid

if TYPE_CHECKING:
    from ...bundle import Bundle

__all__ = [
    "CAPTURE_IMPLICIT", "DISABLE_TIMING", "NON_BLOCKING", "NOT_READY", "GpuApi", "GpuImage",
    "Launcher", "Names", "format_uuid",
]  # fmt: skip

# Codes of errors, which CUDA and HIP share.
NOT_READY = 600
CAPTURE_IMPLICIT = 906
# Flags of streams and events, which CUDA and HIP share.
NON_BLOCKING = 1
DISABLE_TIMING = 2
# A waiting host first spins, since most waits are short, then sleeps between queries.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005

# Launches a kernel with the parameters at an address: those of a launch record.
Launcher = Callable[[int], object]


class GpuImage(Protocol):
    """A loaded module."""

    def function(self, name: str) -> Any:
        """Returns the handle of a kernel in the module."""
        ...

    def free(self) -> None:
        """Unloads the module."""
        ...


class GpuApi(ABC):
    """The API of a vendor's driver on one device.

    Each handle belongs to a Python object (:meth:`own`). The context is released after
    :meth:`close`, once no handle is left, so memory that a caller still holds outlives its program.

    Args:
        driver: the module with the vendor's functions, or a stand-in.
        ordinal: the vendor's number of the device.

    Attributes:
        names: the names of functions.
        vendor: the vendor, as messages name it.
        library: the name of the vendor's interface: ``CUDA`` or ``HIP``.
        device_type: DLPack's type of the device.
        warp_size: the number of threads of a warp.
        process_setting: what to do so that kernels of several processes run at the same time.
        host_flags: the flags of pinned memory of the host that the device can address.
        coherent_flags: further arguments of `names.allocate_coherent`.
        is_coherent: True if all memory of the device is coherent: the host may read and write it
            while a kernel uses it.
        default_stream: the handle of the default stream, with which blocking streams synchronise.
        device: the device, as functions of the vendor's driver take it.
    """

    names: Names
    vendor: str
    library: str
    device_type: int
    warp_size: int
    process_setting: str
    host_flags: int
    coherent_flags: tuple[int, ...] = ()
    is_coherent: bool = True
    default_stream: int
    device: Any

    def __init__(self, driver: Any, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.device = ordinal
        self._release: Callable[[], object] | None = None
        self._owned: set[object] = set()
        self._closed = False
        self._process = os.getpid()
        self._backlog = backlog_of(driver, ordinal, self.names.waits)

    # -- of the vendor -----------------------------------------------------------------------

    @abstractmethod
    def call(self, name: str, *arguments: object) -> Any:
        """Calls a function of the vendor's driver.

        Raises DeviceError with the name of the function and the error, and UnsupportedError if the
        vendor's driver is too old for the function.
        """

    @abstractmethod
    def check(self, name: str, result: tuple[Any, ...]) -> None:
        """Raises DeviceError if the result of a function of the vendor's driver is an error."""

    @abstractmethod
    def ordinal_of(self, address: int) -> int | None:
        """Returns the ordinal of the GPU whose memory has an address, or None."""

    @abstractmethod
    def open(self) -> None:
        """Prepares the device, and makes it current in this thread."""

    @abstractmethod
    def enter(self) -> None:
        """Makes the device current in this thread."""

    @abstractmethod
    def within(self) -> AbstractContextManager[None]:
        """Makes the device current in a block, in which any thread may release handles and query
        events.

        The block restores the thread's own device at its end. The thread's capture mode is relaxed
        within the block: in another mode, a call that frees memory or queries an event fails while
        a stream is being captured, and invalidates the capture.
        """

    @property
    @abstractmethod
    def multiprocessors(self) -> int:
        """The number of multiprocessors of the device, as the vendor counts them."""

    @abstractmethod
    def load_image(self, bundle: Bundle) -> GpuImage:
        """Loads the module of a bundle.

        Raises UnsupportedError if the module is for another GPU or another version of the vendor's
        driver, and DeviceError if the vendor's driver rejects it.
        """

    @abstractmethod
    def take_shared_memory(self, function: Any, bundle: Bundle) -> int:
        """Prepares a kernel for its shared memory; returns the bytes that each launch requests.

        Raises UnsupportedError if a CTA of this GPU has less shared memory.
        """

    @staticmethod
    def check_shared_memory(bundle: Bundle, most: int, memory: str, group: str) -> int:
        """Returns the bytes of shared memory that the kernel of a bundle needs.

        Args:
            bundle: the bundle.
            most: the bytes that this GPU has for a CTA.
            memory: the vendor's word for shared memory.
            group: the vendor's word for a CTA.

        Raises UnsupportedError with the remedy if the kernel needs more than `most`.
        """
        target = bundle.manifest.target
        if target.shared_memory > most:
            remedy = (
                "compile the program for a target with less: dataclasses.replace("
                f'ark.targets.resolve("{target.backend}:{target.arch}"), shared_memory={most})'
            )
            raise UnsupportedError(
                f"the program needs {target.shared_memory} bytes of {memory}; a {group} of this "
                f"GPU has {most}",
                location=bundle.where,
                notes=[remedy],
            )
        return target.shared_memory

    @abstractmethod
    def make_launcher(
        self, function: Any, lanes: int, threads: int, shared_memory: int, stream: int
    ) -> Launcher:
        """Returns a function that launches a kernel in a stream, with a CTA for each lane.

        The function raises BusyError if the vendor's driver refuses the launch since other work
        occupies the GPU.
        """

    # -- several GPUs ----------------------------------------------------------------------

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name and the architecture of the GPU."""

    @property
    @abstractmethod
    def device_count(self) -> int:
        """The number of GPUs that this process sees."""

    @property
    @abstractmethod
    def version(self) -> int:
        """The version of `library` that the vendor's driver has."""

    @property
    @abstractmethod
    def runs_processes_at_once(self) -> bool:
        """True if the GPU is set up to run kernels of several processes at the same time.

        A launch still checks that it begins, since other work may leave no room.
        """

    @abstractmethod
    def uuid_of(self, ordinal: int) -> str:
        """Returns the identity of a GPU, which is the same in all processes."""

    @abstractmethod
    def can_access(self, ordinal: int) -> bool:
        """Returns True if this GPU can access the memory of another GPU."""

    # -- memory that several GPUs map ------------------------------------------------------

    @abstractmethod
    def memory_properties(self, *, shared: bool = False, rdma: bool = False) -> Any:
        """Returns the properties of memory on this GPU that other GPUs can map.

        Args:
            shared: True if other processes map the memory, too, by a file descriptor.
            rdma: True if network adapters access the memory, too, where the GPU has a way.

        Raises UnsupportedError if the vendor's package lacks a function for such memory.
        """

    def create_memory(self, nbytes: int, properties: Any) -> Any:
        """Returns a handle of new memory, a multiple of its pages, which the caller releases.

        Raises DeviceError if memory is short, and UnsupportedError if the vendor's driver has no
        memory with these properties.
        """
        return self.call(self.names.create_memory, nbytes, properties, 0)

    @abstractmethod
    def page_of(self, properties: Any) -> int:
        """Returns the bytes of a page of memory with these properties.

        Raises UnsupportedError if the vendor's driver has no such memory.
        """

    @abstractmethod
    def grant_access(self, address: int, nbytes: int, ordinals: Sequence[int]) -> None:
        """Lets GPUs read and write mapped memory."""

    @abstractmethod
    def export_memory(self, handle: Any) -> int:
        """Returns a file descriptor of memory, which the caller closes."""

    @abstractmethod
    def import_memory(self, file: int) -> Any:
        """Returns a handle of the memory of a file descriptor, which the caller releases."""

    @abstractmethod
    def allocate_lent(self, nbytes: int) -> int:
        """Returns the address of an allocation that other processes can map by legacy IPC."""

    @abstractmethod
    def borrow(self, handle: bytes) -> int:
        """Maps an allocation of another process by the bytes of its handle; returns its address."""

    # -- queries -----------------------------------------------------------------------------

    def has_happened(self, event: object) -> bool:
        """Returns True if all work before an event has ended; raises DeviceError if it failed."""
        return self._is_ready(self.names.query_event, event)

    def _is_ready(self, name: str, handle: object) -> bool:
        result = getattr(self.driver, name)(handle)
        code = int(result[0])
        if code == NOT_READY:
            return False
        if code:
            self.check(name, result)
        return True

    def record_after_others(self, event: object) -> bool:
        """Records an event after all work of the default stream and of blocking streams.

        ark's own streams are non-blocking and do not count. The vendor's driver has no query for
        other libraries' non-blocking streams that does not invalidate a capture. Returns False, and
        records nothing, if a blocking stream is being captured: an event would invalidate that
        capture.
        """
        name = self.names.is_capturing
        result = getattr(self.driver, name)(self.default_stream)
        if int(result[0]) == CAPTURE_IMPLICIT:
            return False
        self.check(name, result)
        self.call(self.names.record_event, event, self.default_stream)
        return True

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
        """Calls a function of the vendor's driver that may wait for other work on the GPU.

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
        return self._is_ready(self.names.query_stream, stream)

    def _is_done_elsewhere(self, stream: object) -> bool:
        with self.within():
            return self._is_done(stream)

    def own(self, owner: object, release: str, *handle: object) -> Callable[[], object]:
        """Returns a function that releases a handle once: when called, or when `owner` is
        collected.

        The garbage collector may collect `owner` in any thread, also while another library captures
        a stream: see :meth:`within`. A call of the returned function raises DeviceError if the
        vendor's driver refuses; after a collection the error goes to ``sys.unraisablehook``. At
        exit the operating system reclaims remaining handles.

        Args:
            owner: the owner.
            release: the function of the vendor's driver that releases the handle.
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
