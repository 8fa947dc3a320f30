"""The stand-in for NVIDIA's driver: calls, contexts, modules and launches."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from ...runtime.arrays.streams import CUDA
from ...runtime.cpu.image import Image
from ...runtime.drivers import abi
from ...runtime.drivers.abi import ArkContext
from .accesses import find_foreign
from .copies import CopyFunctions
from .devices import AGAIN, Contexts, Device
from .names import (
    ERRORS,
    ILLEGAL_ADDRESS,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_PTX,
    INVALID_VALUE,
    OF_THE_PROCESS,
    OF_THE_THREAD,
    OUT_OF_MEMORY,
    RELEASE,
    TAKE,
    TOO_MANY_CTAS,
    VIRTUAL_MEMORY,
    WAITS_FOR_ALL,
    WITHIN_RELEASES,
    WITHOUT_CONTEXT,
    Attribute,
    CaptureMode,
)
from .virtual_memory import VirtualMemoryFunctions

if TYPE_CHECKING:
    from .streams import Operation

__all__ = ["WAITS_FOR_ALL", "FakeCuda"]

_JIT_LOG = b"ptxas fatal   : Unresolved extern function '__nv_sinf'"


class FakeCuda(VirtualMemoryFunctions, CopyFunctions):
    """A driver with one GPU or several. Several threads may call it at once.

    A call that needs a context fails in a thread without a context. The current context of a thread
    selects the device of its calls. The release of the last reference to a primary context destroys
    the context with its memory, streams and kernels.

    Args:
        fail_at: number of the failing call, from 1 on; releases are not counted and never fail.
        sms: the number of SMs of a GPU, each with room for one CTA.
        memory: bytes of each GPU.
        version: CUDA version.
        capability: the compute capability.
        devices: the number of GPUs.

    Attributes:
        prefix: the prefix of the vendor's functions.
        contexts: the number of handles that an open context counts for.
        device_type: DLPack's type of the GPUs.
        backend, arch: the target of programs that run on the GPUs.
        shared_memory: bytes of shared memory of a CTA.
        starts_together: True if all CTAs of a launch begin at once.
        devices: the GPUs.
        occupied: True if foreign kernels occupy all SMs of all GPUs. A memset also waits while
            kernels of this driver occupy all SMs.
        foreign: names of functions that wait for a foreign kernel on a non-blocking stream, while
            launches do not wait: all of :data:`WAITS_FOR_ALL`, or some of them.
        busy: the number of SMs that foreign kernels occupy, which only a launch discovers. They
            delay CTAs of a launch that is not cooperative.
        crashes: True if the next kernel fails. Every later call on its device then fails, too, and
            no handle is released before the context.
        assembles: the image that NVIDIA's driver returns for any PTX; None refuses PTX.
        mps: True if kernels of several processes run on a GPU at the same time.
        calls: names of the calls so far.
        operations: the same calls, under the names of CUDA for both vendors.
        launched: the streams of the launches so far.
        foreign_accesses: accesses of kernels to memory that their GPU cannot access.
    """

    prefix = "cu"
    contexts = 1
    device_type = CUDA
    backend = "cuda"
    arch = "sm_90a"
    shared_memory = 232448
    starts_together = True

    CUdevice_attribute = Attribute
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUstreamCaptureMode = CaptureMode
    CUstreamCaptureStatus = SimpleNamespace(CU_STREAM_CAPTURE_STATUS_NONE=0)
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_COOPERATIVE=2)
    CUjit_option = SimpleNamespace(CU_JIT_ERROR_LOG_BUFFER=5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES=6)

    class CUlaunchAttribute:
        """An attribute of a launch."""

        def __init__(self) -> None:
            self.value = SimpleNamespace(cooperative=0)

    class CUlaunchConfig(SimpleNamespace):
        """The configuration of a launch: all but the kernel and its parameters."""

    def __init__(
        self,
        fail_at: int = -1,
        sms: int = 132,
        memory: int = 1 << 30,
        version: int = 12080,
        capability: tuple[int, int] = (9, 0),
        devices: int = 1,
    ) -> None:
        self.devices = [Device(ordinal, memory) for ordinal in range(devices)]
        super().__init__(self.devices)
        self.fail_at = fail_at
        self.sms = sms
        self.version = version
        self.capability = capability
        self.assembles: bytes | None = None
        self.busy = 0
        self.mps = False
        self.foreign: frozenset[str] = frozenset()
        self.crashes = False
        self.calls: list[str] = []
        self.operations: list[str] = []
        self.launched: list[int] = []
        self.foreign_accesses: list[str] = []
        self._contexts = Contexts(self.devices)
        # The number of handles of virtual memory, which belong to the process.
        self._held_by_process = 0
        self._advancing = False
        # Reentrant: memory may be released within a call.
        self._lock = threading.RLock()

    # -- for tests ---------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """The number of handles that are not released: contexts, streams, events, modules,
        allocations, and reserved, created and mapped virtual memory."""
        return self._held_by_process + sum(device.held for device in self.devices)

    @property
    def running(self) -> int:
        """The number of launches that are queued or run."""
        return sum(device.running for device in self.devices)

    @property
    def occupied(self) -> bool:
        """True if foreign kernels occupy all SMs of all GPUs."""
        return all(device.occupied for device in self.devices)

    @occupied.setter
    def occupied(self, value: bool) -> None:
        for device in self.devices:
            device.occupied = value

    @property
    def memory(self) -> int:
        """Bytes of each GPU."""
        return self.devices[0].memory

    @memory.setter
    def memory(self, nbytes: int) -> None:
        for device in self.devices:
            device.memory = nbytes

    def keep_context(self) -> None:
        """Retains the context of the first GPU, as another library does."""
        self.cuDevicePrimaryCtxRetain(0)

    def pattern(self, operation: str) -> str:
        """Returns a regular expression for the vendor's names of a function of CUDA."""
        return operation

    def error(self, name: str = "") -> str:
        """Returns the vendor's name of an error, such as ``OUT_OF_MEMORY``, or their prefix."""
        return f"CUDA_ERROR_{name}"

    def new_stream(self) -> int:
        """Returns a stream that belongs to the caller, which `held` does not count."""
        return self._new_stream(self._current())

    @contextmanager
    def on_device(self, ordinal: int) -> Generator[None]:
        """Makes a GPU current in this thread in a block."""
        self._contexts.stack.append(self.devices[ordinal].context)
        try:
            yield
        finally:
            self._contexts.stack.pop()

    def delay(self, stream: int, operation: Operation) -> None:
        """Queues work on a stream: a function that returns True when it is done."""
        self._stream(stream).queue.append(operation)

    def advance(self) -> None:
        """Continues the work of all streams, as every call of a function does."""
        with self._exclusive():
            self._advance()

    def synchronize(self, stream: int) -> None:
        """Waits for all work of a stream."""
        while self._cuStreamSynchronize(stream) is AGAIN:
            self.advance()
            time.sleep(0)

    # -- calls -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        return self._make_call(name, name)

    def _make_call(self, name: str, shown: str) -> Callable[..., tuple[Any, ...]]:
        """Returns a function of NVIDIA's driver, which `calls` has under the name `shown`."""
        function = getattr(self, f"_{name}", self._succeed)

        def call(*arguments: Any) -> tuple[Any, ...]:
            with self._exclusive():
                self._advance()
                code = self._refuse(name, shown, arguments)
            if code:
                return (code, None)
            while True:
                with self._exclusive():
                    self._advance()
                    result: Any = AGAIN if name in self.foreign else function(*arguments)
                    if result is not AGAIN:
                        return self._answer(name, arguments, result)
                time.sleep(0)

        return call

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """Holds the lock in a block, without garbage collection.

        A finalizer could wait for another thread that needs the lock.
        """
        with self._lock:
            collects = gc.isenabled()
            gc.disable()
            try:
                yield
            finally:
                if collects:
                    gc.enable()

    def _refuse(self, name: str, shown: str, arguments: tuple[Any, ...]) -> int:
        """Returns the error of a call that fails before it has an effect, or zero."""
        device = self._contexts.device
        if device is None and name not in WITHOUT_CONTEXT and not self._contexts.stack:
            return INVALID_CONTEXT
        # Queries that answer "not ready" are not counted: their number varies between runs.
        if code := self._invalidate_captures(name) or self._not_ready(name, arguments):
            return code
        if not self._never_fails(name, arguments):
            self.calls.append(shown)
            self.operations.append(name)
            if len(self.calls) == self.fail_at:
                return OUT_OF_MEMORY
        of_context = name not in OF_THE_PROCESS | OF_THE_THREAD
        if device is not None and device.broken and of_context:
            return ILLEGAL_ADDRESS
        return 0

    def _never_fails(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Returns True for calls by which ark releases handles, which are not counted."""
        del arguments
        return name in RELEASE | WITHIN_RELEASES

    def _answer(self, name: str, arguments: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
        answer = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (0, result)
        if not answer[0] and (change := (name in TAKE) - (name in RELEASE)):
            self._count(name, arguments, change)
        self._advance()
        return answer

    def _count(self, name: str, arguments: tuple[Any, ...], change: int) -> None:
        if name in VIRTUAL_MEMORY:
            self._held_by_process += change
        elif name.startswith("cuDevicePrimaryCtx"):
            device: int = arguments[0]
            self.devices[device].held += change
        else:
            self._current().held += change

    @property
    def _is_advancing(self) -> bool:
        return self._advancing

    def _advance(self) -> None:
        # An operation of a stream may release memory, which calls this method again.
        if self._advancing:
            return
        self._advancing = True
        try:
            for stream in self._all_streams():
                stream.advance()
        finally:
            self._advancing = False

    def cuGetErrorName(self, code: int) -> tuple[int, bytes]:
        """Returns the name of an error."""
        return 0, f"CUDA_ERROR_{ERRORS.get(code, ERRORS[INVALID_VALUE])[0]}".encode()

    def cuGetErrorString(self, code: int) -> tuple[int, bytes]:
        """Returns the description of an error."""
        return 0, ERRORS.get(code, ERRORS[INVALID_VALUE])[1].encode()

    def _succeed(self, *arguments: Any) -> int:
        del arguments
        return 1

    # -- devices and contexts ----------------------------------------------------------------

    def _current(self) -> Device:
        """Returns the device of the current context; without a context, the first device."""
        return self._contexts.device or self.devices[0]

    def _cuDeviceGetCount(self) -> int:
        return len(self.devices)

    def _cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        if ordinal not in range(len(self.devices)):
            return INVALID_DEVICE, 0
        return 0, self.devices[ordinal].ordinal

    def _cuDeviceGetAttribute(self, key: Attribute, device: int) -> int:
        del device
        return {
            Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: self.sms,
            Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: self.capability[0],
            Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: self.capability[1],
            Attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: self.shared_memory,
            Attribute.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: 1,
            Attribute.CU_DEVICE_ATTRIBUTE_MPS_ENABLED: int(self.mps),
        }[key]

    def _cuDeviceGetName(self, length: int, device: int) -> bytes:
        return self.devices[device].name.encode().ljust(length, b"\0")

    def _cuDeviceTotalMem(self, device: int) -> int:
        return self.devices[device].memory

    def _cuDeviceGetUuid_v2(self, device: int) -> SimpleNamespace:
        # Equal in all processes, which see the same GPUs.
        return SimpleNamespace(bytes=f"stand-in {device:07}".encode())

    def _cuDevicePrimaryCtxRetain(self, device: int) -> str:
        self.devices[device].retained += 1
        return self.devices[device].context

    def _cuDevicePrimaryCtxRelease(self, ordinal: int) -> None:
        """Destroys the context and its contents at the last reference."""
        device = self.devices[ordinal]
        device.retained -= 1
        if device.retained:
            return
        if device.broken:
            device.broken = False
            device.held = 1  # the context, which this call releases
        self._drop_memory(device)
        self._drop_streams(device)
        device.running = device.lanes = 0

    def _cuCtxSetCurrent(self, context: object) -> None:
        self._contexts.stack[-1:] = [context]

    def _cuCtxGetDevice(self) -> int:
        return self._current().ordinal

    def _cuCtxPushCurrent(self, context: object) -> None:
        self._contexts.stack.append(context)

    def _cuCtxPopCurrent(self) -> object:
        return self._contexts.stack.pop()

    def _cuDriverGetVersion(self) -> int:
        return self.version

    # -- modules and launches ----------------------------------------------------------------

    def _cuModuleLoadData(self, image: bytes) -> Image:
        return Image(memoryview(image), "fake")

    def _cuModuleLoadDataEx(
        self, ptx: bytes, count: int, options: list[int], values: list[Any]
    ) -> tuple[int, Image | None]:
        given = dict(zip(options[:count], values, strict=True))
        assert ptx.endswith(b"\0")
        if self.assembles is None:
            assert given[self.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES] >= len(_JIT_LOG)
            # cuda-python takes only an object with a buffer.
            log = given[self.CUjit_option.CU_JIT_ERROR_LOG_BUFFER]
            assert isinstance(log, bytearray)
            log[: len(_JIT_LOG)] = _JIT_LOG
            return INVALID_PTX, None
        return 0, Image(memoryview(self.assembles), "fake")

    def _cuModuleGetFunction(self, module: Image, name: bytes) -> Any:
        function = module.function(name.decode())
        # A module belongs to the context in which it was loaded.
        function.device = self._current()
        return function

    def _cuLaunchKernelEx(
        self, config: Any, function: Any, parameters: int, extra: int
    ) -> tuple[int]:
        del extra
        cooperative = any(
            attribute.id == 2 and attribute.value.cooperative
            for attribute in config.attrs[: config.numAttrs]
        )
        if config.gridDimX > self.sms or not cooperative:
            return (INVALID_VALUE,)
        if config.gridDimX > self.sms - self.busy:
            return (TOO_MANY_CTAS,)
        return self._start(function, config.gridDimX, config.hStream, parameters)

    def _start(self, function: Any, lanes: int, stream: int, parameters: int) -> tuple[int]:
        device = self._current()
        if not (device is self._stream(stream).device is function.device):
            return (INVALID_HANDLE,)
        if self.crashes:
            self.crashes, device.broken = False, True
            return (0,)
        self.launched.append(stream)
        # NVIDIA's driver reads the parameters during the call: an array of addresses, here of one.
        argument = ctypes.c_uint64.from_address(parameters).value
        context = ctypes.c_uint64.from_address(argument).value
        return self._give(stream, lambda: self._launch(device, lanes, function, context))

    def _all_sms_taken(self, device: Device) -> bool:
        return device.occupied or device.lanes >= self.sms

    def _launch(self, device: Device, lanes: int, function: Any, context: int) -> Operation:
        threads: list[threading.Thread] = []
        waiting: list[threading.Thread] = []
        device.running += 1

        def run_lane(lane: int) -> None:
            fields = ArkContext.from_address(context)
            # As in GpuKernel.mlir; the functions of the stand-in are those of the target cpu.
            late = ctypes.c_uint64.from_address(fields.report).value == abi.Abort.HANG
            code = function(context, lane)
            if late and code:
                code = abi.LATE
            codes = fields.codes
            ctypes.c_int32.from_address(codes + 4 * lane).value = code

        def run() -> bool:
            if not threads and (device.occupied or (device.serial and device.lanes)):
                return False
            if not threads:
                if not self._check_accesses(device, context):
                    device.running -= 1
                    return True
                threads.extend(
                    threading.Thread(target=run_lane, args=(lane,), daemon=True)
                    for lane in range(lanes)
                )
                waiting.extend(threads)
                device.lanes += lanes
            alive = sum(thread.is_alive() for thread in threads)
            while waiting and (self.starts_together or alive < self.sms - self.busy):
                waiting.pop(0).start()
                alive += 1
            if alive:
                return False
            device.running -= 1
            device.lanes -= lanes
            return True

        return run

    def _check_accesses(self, device: Device, context: int) -> bool:
        """Returns True if a kernel may access all of its memory; otherwise its context is lost.

        A context that is already lost also returns False.
        """
        if len(self.devices) > 1 and not device.broken:
            found = find_foreign(self, device, context)
            self.foreign_accesses += found
            device.broken = bool(found)
        return not device.broken
