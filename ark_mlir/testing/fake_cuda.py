"""A stand-in for ``cuda.bindings.driver``: memory of the host, lanes as threads.

What is loaded as a module is a shared object for the cpu target, so that launches compute.
Streams keep the order of what they are given; they go on when somebody asks the driver something.
Any call can be made to fail, and what was taken and not given back is counted.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import IntEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..runtime import Executable
from ..runtime.abi import ArkContext
from ..runtime.arrays.dlpack import Exporter
from ..runtime.cpu.image import Image
from ..runtime.cuda.api import CudaApi
from ..runtime.cuda.driver import CudaDriver
from .toy import ToyProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INVALID_VALUE = 1
_OUT_OF_MEMORY = 2
_INVALID_CONTEXT = 201
_INVALID_PTX = 218
_ILLEGAL_ADDRESS = 700
_TOO_MANY_CTAS = 720
_ERRORS = {
    _INVALID_VALUE: ("INVALID_VALUE", "invalid argument"),
    _OUT_OF_MEMORY: ("OUT_OF_MEMORY", "out of memory"),
    _INVALID_CONTEXT: ("INVALID_CONTEXT", "invalid device context"),
    _INVALID_PTX: ("INVALID_PTX", "a PTX JIT compilation failed"),
    _ILLEGAL_ADDRESS: ("ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    _TOO_MANY_CTAS: ("COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
}
_JIT_LOG = b"ptxas fatal   : Unresolved extern function '__nv_sinf'"
_NOT_READY = 600
# Both handles of the default stream. Streams of callers synchronise with it.
_DEFAULT_STREAMS = (0, 1)
_CAPTURE_UNSUPPORTED = 900
_CAPTURE_INVALIDATED = 901
_CAPTURE_IMPLICIT = 906
_GIVE_BACK = {
    "cuDevicePrimaryCtxRelease", "cuEventDestroy", "cuMemFree", "cuMemFreeHost", "cuModuleUnload",
    "cuStreamDestroy",
}  # fmt: skip
_TAKE = {
    "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuMemAlloc", "cuMemHostAlloc",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuStreamCreate",
}  # fmt: skip
# What works where a kernel has failed: the others belong to its context.
_OF_THE_PROCESS = {
    "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxRetain", "cuInit",
}  # fmt: skip
# Driver functions that need no current context in the calling thread.
_WITHOUT_CONTEXT = _OF_THE_PROCESS | {
    "cuCtxPopCurrent", "cuCtxPushCurrent", "cuCtxSetCurrent", "cuDriverGetVersion",
}  # fmt: skip
# Parts of giving something back, which never fail either.
_GIVE_BACK_WITHIN = {"cuCtxPopCurrent", "cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode"}
# While a stream is captured, these end its capture, unless the calling thread's mode is relaxed.
_UNSAFE = {
    "cuEventQuery", "cuMemAlloc", "cuMemFree", "cuMemFreeHost", "cuMemHostAlloc",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload", "cuStreamQuery",
    "cuStreamSynchronize",
}  # fmt: skip
# Functions that may wait for all kernels of the device.
WAITS_FOR_ALL = frozenset({
    "cuMemAlloc", "cuMemFree", "cuMemFreeHost", "cuMemHostAlloc", "cuModuleGetFunction",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload",
})  # fmt: skip

# Does its work, or says that it has to be tried again.
Operation = Callable[[], bool]
# A function of the driver that waits, and lets other threads call in the meantime.
_AGAIN = object()


class _Attribute(IntEnum):
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


class _CaptureMode(IntEnum):
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0
    CU_STREAM_CAPTURE_MODE_RELAXED = 2


class _Event:
    """The last record of it, which has happened or not."""

    def __init__(self) -> None:
        self.pending = 0


class _Stream:
    def __init__(self) -> None:
        self.queue: deque[Operation] = deque()
        # What a graph is made of, while one is captured.
        self.graph: list[Callable[[], Operation]] | None = None
        self.invalidated = False

    def advance(self) -> None:
        while self.queue and self.queue[0]():
            self.queue.popleft()


def _default_streams() -> dict[int, _Stream]:
    return dict.fromkeys(_DEFAULT_STREAMS, _Stream())


class FakeCuda:
    """One GPU. Threads may call it at once.

    A call that needs a context fails in a thread that has none. With the last reference to the
    primary context goes all that is in it.

    Args:
        fail_at: which call fails, counted from 1; those that give something back never do.
        sms: how many CTAs fit.
        memory: bytes that there are.
        version: of the CUDA that the driver is for.
        capability: the compute capability.

    Attributes:
        occupied: whether a kernel of others has all SMs, so that launches and what zeroes memory
            wait for its end. What zeroes memory also waits while own kernels have all SMs.
        foreign: names of functions that wait, since a kernel of others runs on a non-blocking
            stream, beside which launches go on: all of :data:`WAITS_FOR_ALL`, or some of them.
        busy: how many SMs others keep, of which the driver says nothing before a launch.
        crashes: whether the next kernel fails. From then on every call does, and nothing is given
            back, until the context is.
        assembles: what the driver makes of PTX; None where it makes nothing of it.
        calls: names of the calls so far.
        held: how many contexts, streams, events, modules and allocations are taken and not given
            back.
        launched: the streams of the launches so far.
        running: how many launches were given to a stream and have not ended.
        waits: pairs of streams, the first of which was made to wait for the second.
    """

    CUdevice_attribute = _Attribute
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUstreamCaptureMode = _CaptureMode
    CUstreamCaptureStatus = SimpleNamespace(CU_STREAM_CAPTURE_STATUS_NONE=0)
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_COOPERATIVE=2)
    CUjit_option = SimpleNamespace(CU_JIT_ERROR_LOG_BUFFER=5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES=6)
    CU_MEMHOSTALLOC_DEVICEMAP = 2

    def __init__(
        self,
        fail_at: int = -1,
        sms: int = 132,
        memory: int = 1 << 30,
        version: int = 12080,
        capability: tuple[int, int] = (9, 0),
    ) -> None:
        self.fail_at = fail_at
        self.sms = sms
        self.memory = memory
        self.version = version
        self.capability = capability
        self.assembles: bytes | None = None
        self.busy = 0
        self.occupied = False
        self.foreign: frozenset[str] = frozenset()
        self.crashes = False
        self._broken = False
        self.calls: list[str] = []
        self.held = 0
        self.launched: list[int] = []
        self.waits: list[tuple[int, int]] = []
        self._memory: dict[int, Any] = {}
        self._streams: dict[int, _Stream] = _default_streams()
        self._recorders: dict[int, int] = {}
        self.running = 0
        self._lanes = 0
        self._handles = itertools.count(1000)
        self._retained = 0
        self._current = threading.local()
        self._advancing = False
        # Reentrant: memory may be given back within a call.
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(self, f"_{name}", self._nothing)

        def call(*arguments: Any) -> tuple[Any, ...]:
            with self._alone():
                self._advance()
                code = self._refuse(name, arguments)
            if code:
                return (code, None)
            while True:
                with self._alone():
                    self._advance()
                    result: Any = _AGAIN if name in self.foreign else function(*arguments)
                    if result is not _AGAIN:
                        return self._answer(name, result)
                time.sleep(0)

        return call

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Holds the lock, without garbage collection: a finalizer waits for another thread, which
        needs the lock."""
        with self._lock:
            collects = gc.isenabled()
            gc.disable()
            try:
                yield
            finally:
                if collects:
                    gc.enable()

    def _refuse(self, name: str, arguments: tuple[Any, ...]) -> int:
        """The error of a call that does nothing, or zero."""
        if name not in _WITHOUT_CONTEXT and not self._contexts:
            return _INVALID_CONTEXT
        if name in _UNSAFE and self._capture_mode != _CaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED:
            captured = [stream for stream in self._all() if stream.graph is not None]
            for stream in captured:
                stream.invalidated = True
            if captured:
                return _CAPTURE_UNSUPPORTED
        # How often a waiting host asks is no property of a run.
        if name == "cuEventQuery" and arguments[0].pending:
            return _NOT_READY
        if name == "cuStreamQuery" and self._streams[arguments[0]].queue:
            return _NOT_READY
        if name not in _GIVE_BACK | _GIVE_BACK_WITHIN:
            self.calls.append(name)
            if len(self.calls) == self.fail_at:
                return _OUT_OF_MEMORY
        if self._broken and name not in _OF_THE_PROCESS:
            return _ILLEGAL_ADDRESS
        return 0

    def _answer(self, name: str, result: Any) -> tuple[Any, ...]:
        answer = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (0, result)
        if not answer[0]:
            self.held += (name in _TAKE) - (name in _GIVE_BACK)
        self._advance()
        return answer

    @property
    def _contexts(self) -> list[object]:
        """The contexts of this thread; the last one is current."""
        stack: list[object] | None = getattr(self._current, "stack", None)
        if stack is None:
            stack = self._current.stack = []
        return stack

    @property
    def _capture_mode(self) -> int:
        """The capture mode of this thread."""
        default = _CaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        return getattr(self._current, "capture_mode", default)

    def _all(self) -> list[_Stream]:
        return list(self._streams.values())

    def _advance(self) -> None:
        # Memory may be let go of in the midst of it.
        if self._advancing:
            return
        self._advancing = True
        try:
            for stream in self._all():
                stream.advance()
        finally:
            self._advancing = False

    # -- for tests ---------------------------------------------------------------------------

    def new_stream(self) -> int:
        """A stream of the caller's; not counted in `held`."""
        handle = next(self._handles)
        self._streams[handle] = _Stream()
        return handle

    def delay(self, stream: int, operation: Operation) -> None:
        """Queues work on a stream: a function that returns True when it is done."""
        self._streams[stream].queue.append(operation)

    def begin_capture(self, stream: int) -> None:
        """Begins to capture a stream in a graph."""
        self._streams[stream].graph = []

    def end_capture(self, stream: int) -> Callable[[int], None]:
        """Returns the graph as a function that gives it to a stream; raises RuntimeError where a
        call has invalidated the capture."""
        captured = self._streams[stream]
        nodes, invalidated = captured.graph, captured.invalidated
        assert nodes is not None
        captured.graph, captured.invalidated = None, False
        if invalidated:
            raise RuntimeError(f"error {_CAPTURE_INVALIDATED}: a call has ended the capture")

        def replay(target: int) -> None:
            for node in nodes:
                self._streams[target].queue.append(node())
            self._advance()

        return replay

    def synchronize(self, stream: int) -> None:
        """Waits for all that a stream was given."""
        while self._cuStreamSynchronize(stream) is _AGAIN:
            with self._alone():
                self._advance()
            time.sleep(0)

    # -- the driver's functions --------------------------------------------------------------

    def cuGetErrorName(self, code: int) -> tuple[int, bytes]:
        """The name of an error."""
        return 0, f"CUDA_ERROR_{_ERRORS.get(code, _ERRORS[_INVALID_VALUE])[0]}".encode()

    def cuGetErrorString(self, code: int) -> tuple[int, bytes]:
        """Returns the description of an error."""
        return 0, _ERRORS.get(code, _ERRORS[_INVALID_VALUE])[1].encode()

    class CUlaunchAttribute:
        """An attribute of a launch."""

        def __init__(self) -> None:
            self.value = SimpleNamespace(cooperative=0)

    class CUlaunchConfig(SimpleNamespace):
        """A launch but for the kernel and its parameters."""

    def _nothing(self, *arguments: Any) -> int:
        del arguments
        return 1

    def _cuDeviceGetAttribute(self, key: _Attribute, device: int) -> int:
        del device
        return {
            _Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: self.sms,
            _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: self.capability[0],
            _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: self.capability[1],
            _Attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: 232448,
        }[key]

    def _cuDevicePrimaryCtxRetain(self, device: int) -> str:
        self._retained += 1
        return f"context of {device}"

    def _cuDevicePrimaryCtxRelease(self, device: int) -> None:
        """With the last reference to the context goes all that is in it."""
        del device
        self._retained -= 1
        if self._retained:
            return
        if self._broken:
            self._broken = False
            self.held = 1  # the context, which is given back
        self._memory.clear()
        self._streams = _default_streams()
        self.running = self._lanes = 0

    def _cuCtxSetCurrent(self, context: object) -> None:
        self._contexts[-1:] = [context]

    def _cuCtxPushCurrent(self, context: object) -> None:
        self._contexts.append(context)

    def _cuCtxPopCurrent(self) -> object:
        return self._contexts.pop()

    def _cuThreadExchangeStreamCaptureMode(self, mode: int) -> int:
        before, self._current.capture_mode = self._capture_mode, mode
        return before

    def _cuMemAlloc(self, nbytes: int) -> tuple[int, int | None]:
        if nbytes + sum(block.nbytes for block in self._memory.values()) > self.memory:
            return _OUT_OF_MEMORY, None
        return 0, self._take_memory(nbytes)

    def _take_memory(self, nbytes: int) -> int:
        block = np.full(nbytes + 256, 0xFF, np.uint8)
        address = block.ctypes.data + -block.ctypes.data % 256
        self._memory[address] = block
        return address

    def _cuMemHostAlloc(self, nbytes: int, flags: int) -> tuple[int, int | None]:
        del flags
        return 0, self._take_memory(nbytes)

    def _cuMemFree(self, address: int) -> object:
        # As the driver does, waits for whatever may use the memory.
        if (self.running or self.occupied) and not self._advancing:
            return _AGAIN
        if address not in self._memory:
            return (_INVALID_VALUE,)
        # Whoever uses it after that is to see it.
        self._memory.pop(address).fill(0xFF)
        return None

    _cuMemFreeHost = _cuMemFree

    # -- streams and events ------------------------------------------------------------------

    def _cuStreamCreate(self, flags: int) -> int:
        del flags
        return self.new_stream()

    def _cuStreamDestroy(self, stream: int) -> None:
        del self._streams[stream]

    def _cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
        if stream in _DEFAULT_STREAMS and any(other.graph is not None for other in self._all()):
            return _CAPTURE_IMPLICIT, 0
        return 0, int(self._streams[stream].graph is not None)

    def _cuStreamSynchronize(self, stream: int) -> object:
        return _AGAIN if self._streams[stream].queue else None

    def _give(self, stream: int, make: Callable[[], Operation]) -> tuple[int]:
        """Work for a stream: done in its turn, or at every replay of the graph that is captured."""
        target = self._streams[stream]
        if target.graph is not None:
            target.graph.append(make)
        elif stream in _DEFAULT_STREAMS and any(other.graph is not None for other in self._all()):
            for other in self._all():
                other.invalidated = other.graph is not None
            return (_CAPTURE_IMPLICIT,)
        else:
            target.queue.append(make())
        return (0,)

    def _do(self, stream: int, work: Callable[[], object]) -> tuple[int]:
        def operation() -> bool:
            work()
            return True

        return self._give(stream, lambda: operation)

    def _cuEventCreate(self, flags: int) -> _Event:
        del flags
        return _Event()

    def _cuEventRecord(self, event: _Event, stream: int) -> tuple[int]:
        event.pending += 1
        self._recorders[id(event)] = stream

        def happen() -> bool:
            # The kernel of others is on the default stream.
            if stream in _DEFAULT_STREAMS and self.occupied:
                return False
            event.pending -= 1
            return True

        return self._give(stream, lambda: happen)

    def _cuStreamWaitEvent(self, stream: int, event: _Event, flags: int) -> tuple[int]:
        del flags
        self.waits.append((stream, self._recorders[id(event)]))
        return self._give(stream, lambda: lambda: not event.pending)

    def _cuEventQuery(self, event: _Event) -> None:
        pass

    # -- copies and launches -----------------------------------------------------------------

    def _cuMemsetD8Async(self, address: int, byte: int, nbytes: int, stream: int) -> tuple[int]:
        def operation() -> bool:
            blocked = self.occupied or self._lanes >= self.sms
            if not blocked:
                ctypes.memset(address, byte, nbytes)
            return not blocked

        return self._give(stream, lambda: operation)

    def _cuMemcpyHtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        if not any(self._lies_in(source, block) for block in self._memory.values()):
            # Memory that is not pinned is read before the call returns.
            copy = ctypes.string_at(source, nbytes)
            return self._do(stream, lambda: ctypes.memmove(target, copy, nbytes))
        return self._do(stream, lambda: ctypes.memmove(target, source, nbytes))

    def _cuMemcpyDtoHAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        return self._do(stream, lambda: ctypes.memmove(target, source, nbytes))

    def _lies_in(self, address: int, block: Any) -> bool:
        return 0 <= address - block.ctypes.data < block.nbytes

    def _cuModuleLoadData(self, image: bytes) -> Image:
        return Image(memoryview(image), "fake")

    def _cuModuleLoadDataEx(
        self, ptx: bytes, count: int, options: list[int], values: list[Any]
    ) -> tuple[int, Image | None]:
        given = dict(zip(options[:count], values, strict=True))
        assert ptx.endswith(b"\0")
        if self.assembles is None:
            assert given[self.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES] >= len(_JIT_LOG)
            # The package takes nothing else: an object that it finds the memory of.
            log = given[self.CUjit_option.CU_JIT_ERROR_LOG_BUFFER]
            assert isinstance(log, bytearray)
            log[: len(_JIT_LOG)] = _JIT_LOG
            return _INVALID_PTX, None
        return 0, Image(memoryview(self.assembles), "fake")

    def _cuDriverGetVersion(self) -> int:
        return self.version

    def _cuModuleGetFunction(self, module: Image, name: bytes) -> Any:
        return module.function(name.decode())

    def _cuLaunchKernelEx(
        self, config: Any, function: Any, parameters: int, extra: int
    ) -> tuple[int]:
        del extra
        cooperative = any(
            attribute.id == 2 and attribute.value.cooperative
            for attribute in config.attrs[: config.numAttrs]
        )
        if config.gridDimX > self.sms or not cooperative:
            return (_INVALID_VALUE,)
        if config.gridDimX > self.sms - self.busy:
            return (_TOO_MANY_CTAS,)
        if self.crashes:
            self.crashes, self._broken = False, True
            return (0,)
        self.launched.append(config.hStream)
        # Parameters are read at the call: an array of addresses, here of one.
        argument = ctypes.c_uint64.from_address(parameters).value
        context = ctypes.c_uint64.from_address(argument).value
        return self._give(config.hStream, lambda: self._launch(config.gridDimX, function, context))

    def _launch(self, lanes: int, function: Any, context: int) -> Operation:
        threads: list[threading.Thread] = []
        self.running += 1

        def walk(lane: int) -> None:
            code = function(context, lane)
            codes = ArkContext.from_address(context).codes
            ctypes.c_int32.from_address(codes + 4 * lane).value = code

        def run() -> bool:
            if not threads and self.occupied:
                return False
            if not threads:
                threads.extend(
                    threading.Thread(target=walk, args=(lane,), daemon=True)
                    for lane in range(lanes)
                )
                for thread in threads:
                    thread.start()
                self._lanes += lanes
            if any(thread.is_alive() for thread in threads):
                return False
            self.running -= 1
            self._lanes -= lanes
            return True

        return run


class OnDevice:
    """A copy of an array on the stand-in's device, which DLPack can read."""

    def __init__(self, array: NDArray[Any]) -> None:
        block = np.zeros(array.nbytes + 256, np.uint8)
        start = -block.ctypes.data % 256
        self.array: NDArray[Any] = np.ndarray(array.shape, array.dtype, block.data, start)
        self.array[...] = array

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        del stream
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def fake_executable(
    cuda: FakeCuda, kernel: bytes, program: ToyProgram, alignment: int = 16, **options: Any
) -> Executable:
    """A toy program that runs on a stand-in for a GPU.

    Args:
        cuda: the stand-in.
        kernel: of :func:`~ark_mlir.testing.toy.compile_kernel`.
        program: what to run.
        alignment: bytes, of every buffer.
        options: of :meth:`~ark_mlir.testing.toy.ToyProgram.parts`.
    """
    manifest, sections = program.parts(kernel, **options)
    manifest["target"].update(backend="cuda", arch="sm_90a", warps=16, shared_memory=1024)
    manifest["options"]["clears_queued"] = True
    for buffer in manifest["buffers"]:
        buffer["alignment"] = alignment
    drivers = {"cuda": lambda: CudaDriver(CudaApi(cuda))}
    return Executable.from_parts(manifest, sections, drivers)
