"""Error codes, enumerations and groups of functions of NVIDIA's driver."""

from __future__ import annotations

from enum import IntEnum

INVALID_VALUE = 1
OUT_OF_MEMORY = 2
INVALID_DEVICE = 101
INVALID_CONTEXT = 201
NO_BINARY_FOR_GPU = 209
INVALID_PTX = 218
INVALID_HANDLE = 400
NOT_READY = 600
ILLEGAL_ADDRESS = 700
TOO_MANY_CTAS = 720
NOT_PERMITTED = 800
NOT_SUPPORTED = 801
CAPTURE_UNSUPPORTED = 900
CAPTURE_INVALIDATED = 901
CAPTURE_IMPLICIT = 906
ERRORS = {
    INVALID_VALUE: ("INVALID_VALUE", "invalid argument"),
    OUT_OF_MEMORY: ("OUT_OF_MEMORY", "out of memory"),
    INVALID_DEVICE: ("INVALID_DEVICE", "invalid device ordinal"),
    INVALID_CONTEXT: ("INVALID_CONTEXT", "invalid device context"),
    INVALID_PTX: ("INVALID_PTX", "a PTX JIT compilation failed"),
    INVALID_HANDLE: ("INVALID_HANDLE", "invalid resource handle"),
    ILLEGAL_ADDRESS: ("ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    TOO_MANY_CTAS: ("COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    NOT_PERMITTED: ("NOT_PERMITTED", "operation not permitted"),
    NOT_SUPPORTED: ("NOT_SUPPORTED", "operation not supported"),
}
# Functions that release a handle. Such functions never fail in the stand-in, unless their context
# is lost.
RELEASE = {
    "cuDevicePrimaryCtxRelease", "cuEventDestroy", "cuMemAddressFree", "cuMemFree",
    "cuIpcCloseMemHandle", "cuMemFreeHost", "cuMemRelease", "cuMemUnmap", "cuModuleUnload",
    "cuStreamDestroy",
}  # fmt: skip
TAKE = {
    "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuIpcOpenMemHandle", "cuMemAddressReserve",
    "cuMemAlloc",
    "cuMemCreate", "cuMemHostAlloc", "cuMemImportFromShareableHandle", "cuMemMap",
    "cuMemRetainAllocationHandle", "cuModuleLoadData", "cuModuleLoadDataEx", "cuStreamCreate",
}  # fmt: skip
# Virtual memory belongs to the process and not to a context.
VIRTUAL_MEMORY = {
    "cuMemAddressFree", "cuMemAddressReserve", "cuMemCreate", "cuMemExportToShareableHandle",
    "cuMemGetAllocationGranularity", "cuMemImportFromShareableHandle", "cuMemMap",
    "cuMemRelease", "cuMemRetainAllocationHandle", "cuMemSetAccess", "cuMemUnmap",
}  # fmt: skip
# Functions that work after a kernel has failed; the others belong to the kernel's context.
OF_THE_PROCESS = VIRTUAL_MEMORY | {
    "cuDeviceCanAccessPeer", "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetCount",
    "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuDeviceTotalMem",
    "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRetain", "cuInit",
}  # fmt: skip
# Functions that need no current context in the calling thread.
WITHOUT_CONTEXT = OF_THE_PROCESS | {
    "cuCtxGetDevice", "cuCtxPopCurrent", "cuCtxPushCurrent", "cuCtxSetCurrent",
    "cuDriverGetVersion",
}  # fmt: skip
# Functions that change only the calling thread. Such functions work after the loss of its context.
OF_THE_THREAD = {
    "cuCtxGetDevice", "cuCtxPopCurrent", "cuCtxPushCurrent", "cuCtxSetCurrent",
    "cuDriverGetVersion", "cuThreadExchangeStreamCaptureMode",
}  # fmt: skip
# Functions that ark calls to release a handle, which never fail either.
WITHIN_RELEASES = {
    "cuCtxGetDevice", "cuCtxPopCurrent", "cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode",
}  # fmt: skip
# While a stream is captured, these end its capture, unless the calling thread's mode is relaxed.
UNSAFE_IN_CAPTURE = {
    "cuEventQuery", "cuMemAlloc", "cuMemFree", "cuMemFreeHost", "cuMemHostAlloc",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload", "cuStreamQuery",
    "cuStreamSynchronize",
}  # fmt: skip
# Functions that may wait for all kernels of the device.
WAITS_FOR_ALL = frozenset({
    "cuMemAlloc", "cuMemFree", "cuMemFreeHost", "cuMemHostAlloc", "cuModuleGetFunction",
    "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload",
})  # fmt: skip
# Both handles of the default stream of the current device. Streams of callers synchronise with it.
DEFAULT_STREAMS = (0, 1)


class Attribute(IntEnum):
    """``CUdevice_attribute``."""

    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110
    CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133


class CaptureMode(IntEnum):
    """``CUstreamCaptureMode``."""

    CU_STREAM_CAPTURE_MODE_GLOBAL = 0
    CU_STREAM_CAPTURE_MODE_RELAXED = 2
