"""The stand-in for hip-python: the names, arguments and errors of HIP for the GPUs of FakeCuda."""

from __future__ import annotations

import threading
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from ...runtime.arrays.streams import ROCM
from ...runtime.cpu.image import Image
from ...runtime.hip.records import UNCACHED, AllocationProp
from .cuda import FakeCuda
from .memory import IpcFlags, PointerAttribute
from .names import INVALID_VALUE, NO_BINARY_FOR_GPU, NOT_PERMITTED, NOT_SUPPORTED, Attribute
from .virtual_memory import AllocationType

__all__ = ["FakeHip", "HipError"]


class HipError(IntEnum):
    """``hipError_t``."""

    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorOutOfMemory = 2
    hipErrorNoDevice = 100
    hipErrorInvalidDevice = 101
    hipErrorInvalidContext = 201
    hipErrorNoBinaryForGpu = 209
    hipErrorInvalidHandle = 400
    hipErrorNotReady = 600
    hipErrorIllegalAddress = 700
    hipErrorNotSupported = 801
    hipErrorStreamCaptureUnsupported = 900
    hipErrorStreamCaptureInvalidated = 901
    hipErrorStreamCaptureImplicit = 906


class HipAttribute(IntEnum):
    """``hipDeviceAttribute_t``."""

    hipDeviceAttributeMultiprocessorCount = 63
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74


class HipHandleType(IntEnum):
    """``hipMemAllocationHandleType``."""

    hipMemHandleTypePosixFileDescriptor = 1


class HipGranularity(IntEnum):
    """``hipMemAllocationGranularity_flags``."""

    hipMemAllocationGranularityMinimum = 0


_ATTRIBUTES = {
    HipAttribute.hipDeviceAttributeMultiprocessorCount: (
        Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    ),
    HipAttribute.hipDeviceAttributeMaxSharedMemoryPerBlock: (
        Attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    ),
}
# The function of CUDA that does the same with the same arguments, unless `_convert` changes them.
_FUNCTIONS = {
    "hipDeviceCanAccessPeer": "cuDeviceCanAccessPeer",
    "hipDeviceGetAttribute": "cuDeviceGetAttribute",
    "hipDeviceGetUuid": "cuDeviceGetUuid_v2",
    "hipEventCreateWithFlags": "cuEventCreate",
    "hipEventDestroy": "cuEventDestroy",
    "hipEventQuery": "cuEventQuery",
    "hipEventRecord": "cuEventRecord",
    "hipExtMallocWithFlags": "cuMemAlloc",
    "hipFree": "cuMemFree",
    "hipGetDevice": "cuCtxGetDevice",
    "hipGetDeviceCount": "cuDeviceGetCount",
    "hipGetDeviceProperties": "cuDeviceGetName",
    "hipHostFree": "cuMemFreeHost",
    "hipHostMalloc": "cuMemHostAlloc",
    "hipInit": "cuInit",
    "hipIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "hipIpcGetMemHandle": "cuIpcGetMemHandle",
    "hipIpcOpenMemHandle": "cuIpcOpenMemHandle",
    "hipMalloc": "cuMemAlloc",
    "hipMemAddressFree": "cuMemAddressFree",
    "hipMemAddressReserve": "cuMemAddressReserve",
    "hipMemCreate": "cuMemCreate",
    "hipMemExportToShareableHandle": "cuMemExportToShareableHandle",
    "hipMemGetAllocationGranularity": "cuMemGetAllocationGranularity",
    "hipMemImportFromShareableHandle": "cuMemImportFromShareableHandle",
    "hipMemMap": "cuMemMap",
    "hipMemRelease": "cuMemRelease",
    "hipMemSetAccess": "cuMemSetAccess",
    "hipMemUnmap": "cuMemUnmap",
    "hipMemcpyDtoDAsync": "cuMemcpyDtoDAsync",
    "hipMemcpyDtoHAsync": "cuMemcpyDtoHAsync",
    "hipMemcpyHtoDAsync": "cuMemcpyHtoDAsync",
    "hipMemsetD8Async": "cuMemsetD8Async",
    "hipModuleGetFunction": "cuModuleGetFunction",
    "hipModuleLaunchKernel": "cuLaunchKernelEx",
    "hipModuleLoadData": "cuModuleLoadData",
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor": (
        "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    ),
    "hipModuleUnload": "cuModuleUnload",
    "hipPointerGetAttribute": "cuPointerGetAttribute",
    "hipRuntimeGetVersion": "cuDriverGetVersion",
    "hipSetDevice": "cuCtxSetCurrent",
    "hipStreamCreateWithFlags": "cuStreamCreate",
    "hipStreamDestroy": "cuStreamDestroy",
    "hipStreamIsCapturing": "cuStreamIsCapturing",
    "hipStreamQuery": "cuStreamQuery",
    "hipStreamSynchronize": "cuStreamSynchronize",
    "hipStreamWaitEvent": "cuStreamWaitEvent",
    "hipThreadExchangeStreamCaptureMode": "cuThreadExchangeStreamCaptureMode",
}
_LDS = 65536
# The type of memory of FakeCuda for HIP's ``hipMemAllocationTypeUncached``, and of no memory.
_TYPES = {UNCACHED: AllocationType.CU_MEM_ALLOCATION_TYPE_PINNED}


class FakeHip(FakeCuda):
    """A stand-in for :class:`ark_mlir.runtime.hip.library.HipLibrary`; see :class:`FakeCuda`.

    The two differ as HIP and CUDA do. Every thread has a current device from the start. A launch
    is not cooperative: CTAs for which there is no room begin when others have ended. A failed call
    leaves an error in its thread, which :meth:`hipGetLastError` clears. Groups of functions, such
    as `foreign`, have the names of CUDA.

    Args:
        arch: the architecture, with features as HIP reports them.
        options: see :class:`FakeCuda`.

    Attributes:
        refuses_image: True if the loader refuses code objects.
        has_uncached: False if there is no uncached memory.
    """

    prefix = "hip"
    contexts = 0
    device_type = ROCM
    backend = "hip"
    arch = "gfx942"
    shared_memory = _LDS
    starts_together = False

    hipError_t = HipError
    hipDeviceAttribute_t = HipAttribute
    hipMemAllocationGranularity_flags = HipGranularity
    hipMemAllocationHandleType = HipHandleType
    hipPointer_attribute = SimpleNamespace(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)

    def __init__(
        self,
        fail_at: int = -1,
        sms: int = 132,
        arch: str = "gfx942:sramecc+:xnack-",
        version: int = 60443484,
        **options: Any,
    ) -> None:
        super().__init__(fail_at, sms, version=version, **options)
        self.refuses_image = False
        self.has_uncached = True
        self._arch = arch
        self._errors = threading.local()

    @property
    def last_error(self) -> HipError:
        """The error that the last failed call has left in this thread."""
        return getattr(self._errors, "last", HipError.hipSuccess)

    def keep_context(self) -> None:
        """See :meth:`FakeCuda.keep_context`: HIP has no contexts to retain."""

    def pattern(self, operation: str) -> str:
        """See :meth:`FakeCuda.pattern`."""
        names = [name for name, same in _FUNCTIONS.items() if same == operation]
        return f"(?:{'|'.join(names)})"

    def error(self, name: str = "") -> str:
        """See :meth:`FakeCuda.error`."""
        return f"hipError{name.title().replace('_', '')}"

    def hipGetLastError(self) -> tuple[HipError]:
        """Returns the error that a failed call has left in this thread, and clears it."""
        error, self._errors.last = self.last_error, HipError.hipSuccess
        return (error,)

    def __getattr__(self, name: str) -> Any:
        if name not in _FUNCTIONS:
            raise AttributeError(name)

        def call(*arguments: Any) -> tuple[Any, ...]:
            if not self._contexts.stack:
                self._contexts.stack.append(self.devices[0].context)
            function = self._make_call(_FUNCTIONS[name], name)
            code, *values = function(*self._convert(name, arguments))
            code = NOT_SUPPORTED if code == NOT_PERMITTED else code  # HIP has no such error
            if code and code != HipError.hipErrorNotReady:
                self._errors.last = HipError(code)
            return HipError(code), *self._convert_results(name, arguments, values)

        return call

    def _never_fails(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """See :class:`FakeCuda`. ark changes the current device to release a handle, since HIP has
        no stack of contexts."""
        changes = name == "cuCtxSetCurrent" and arguments[0] != self._current().context
        return changes or super()._never_fails(name, arguments)

    def _convert(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments of CUDA's function."""
        if name == "hipExtMallocWithFlags":
            return arguments[:1]
        if name == "hipIpcOpenMemHandle":
            return SimpleNamespace(reserved=bytes(arguments[0])), IpcFlags(arguments[1])
        if name == "hipSetDevice":
            ordinal: int = arguments[0]
            return (self.devices[ordinal].context,)
        if name == "hipDeviceGetAttribute":
            return _ATTRIBUTES[arguments[0]], arguments[1]
        if name == "hipGetDeviceProperties":
            return 256, arguments[0]
        if name == "hipPointerGetAttribute":
            return PointerAttribute(arguments[1]), arguments[2]
        if name == "hipMemCreate":
            return arguments[0], self._properties_of_memory(arguments[1]), arguments[2]
        if name == "hipMemGetAllocationGranularity":
            return self._properties_of_memory(arguments[0]), arguments[1]
        if name == "hipMemExportToShareableHandle":
            return arguments[1:]
        return arguments

    def _properties_of_memory(self, properties: AllocationProp) -> SimpleNamespace:
        """Returns the properties as CUDA's functions take them."""
        return SimpleNamespace(
            type=_TYPES.get(properties.type) if self.has_uncached else None,
            requestedHandleTypes=properties.handle_types,
            location=properties.location,
        )

    def _convert_results(
        self, name: str, arguments: tuple[Any, ...], values: list[Any]
    ) -> list[Any]:
        """Returns the results of HIP's function, apart from the error."""
        if name == "hipPointerGetAttribute":
            if values and values[0] is not None:
                arguments[0][0] = values[0]
            return []
        if name == "hipMemExportToShareableHandle":
            if values and values[0] is not None:
                arguments[0][0] = values[0]
            return []
        if name == "hipGetDeviceProperties":
            return [self._properties(arguments[0])] if values else values
        return values

    def _properties(self, ordinal: int) -> SimpleNamespace:
        device = self.devices[ordinal]
        return SimpleNamespace(
            gcnArchName=self._arch.encode(),
            multiProcessorCount=self.sms,
            name=device.name.encode(),
            totalGlobalMem=device.memory,
        )

    def _cuMemGetAllocationGranularity(self, properties: Any, option: int) -> tuple[int, int]:
        if properties.type is None:
            return INVALID_VALUE, 0
        return super()._cuMemGetAllocationGranularity(properties, option)

    def _cuLaunchKernelEx(self, *arguments: Any) -> tuple[int]:  # type: ignore[override]
        function, lanes, *_, stream, parameters, _ = arguments
        return self._start(function, lanes, stream, parameters)

    def _cuModuleLoadData(self, image: bytes) -> Any:
        if self.refuses_image:
            return NO_BINARY_FOR_GPU, None
        return Image(memoryview(image), "fake")
