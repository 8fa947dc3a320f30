"""The API of NVIDIA's driver: NVIDIA's part of :mod:`ark_mlir.runtime.gpu.api`."""

from __future__ import annotations

import importlib
import os
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import BusyError, DeviceError, UnsupportedError
from ...units import counted
from ..arrays.streams import CUDA
from ..drivers.abi import CUDA_WARP_SIZE
from ..gpu.api import GpuApi, Launcher, Names, format_uuid
from .image import CudaImage

if TYPE_CHECKING:
    from ...bundle import Bundle

_INVALID_DEVICE = 101
# The handle of the legacy default stream.
_LEGACY_STREAM = 1
_DEVICEMAP = 2


class CudaApi(GpuApi):
    """The API of NVIDIA's driver on one device, and the device's primary context.

    Args:
        driver: the module ``cuda.bindings.driver``, or a stand-in.
        ordinal: the CUDA ordinal of the device.

    Raises UnsupportedError if the package or a GPU is missing.
    """

    names = Names(
        allocate="cuMemAlloc",
        allocate_coherent="cuMemAlloc",
        free="cuMemFree",
        allocate_host="cuMemHostAlloc",
        free_host="cuMemFreeHost",
        to_device="cuMemcpyHtoDAsync",
        to_host="cuMemcpyDtoHAsync",
        within_device="cuMemcpyDtoDAsync",
        set_bytes="cuMemsetD8Async",
        create_stream="cuStreamCreate",
        destroy_stream="cuStreamDestroy",
        query_stream="cuStreamQuery",
        await_stream="cuStreamSynchronize",
        follow_event="cuStreamWaitEvent",
        is_capturing="cuStreamIsCapturing",
        create_event="cuEventCreate",
        destroy_event="cuEventDestroy",
        query_event="cuEventQuery",
        record_event="cuEventRecord",
        load_module="cuModuleLoadData",
        unload_module="cuModuleUnload",
        find_function="cuModuleGetFunction",
        occupancy="cuOccupancyMaxActiveBlocksPerMultiprocessor",
        reserve_addresses="cuMemAddressReserve",
        free_addresses="cuMemAddressFree",
        create_memory="cuMemCreate",
        release_memory="cuMemRelease",
        map_memory="cuMemMap",
        unmap_memory="cuMemUnmap",
        lend="cuIpcGetMemHandle",
        close_borrowed="cuIpcCloseMemHandle",
    )
    vendor = "NVIDIA"
    library = "CUDA"
    device_type = CUDA
    warp_size = CUDA_WARP_SIZE
    process_setting = "start MPS (nvidia-cuda-mps-control -d)"
    host_flags = _DEVICEMAP
    default_stream = _LEGACY_STREAM

    def __init__(self, driver: Any = None, ordinal: int = 0) -> None:
        super().__init__(import_driver() if driver is None else driver, ordinal)
        self._context: Any = None
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
        """See :meth:`GpuApi.call`."""
        try:
            result = getattr(self.driver, name)(*arguments)
        except RuntimeError as error:
            if "not found" not in str(error):
                raise DeviceError(f"{name} failed: {error}") from None
            # The package has the function; NVIDIA's driver lacks it.
            raise UnsupportedError(f"NVIDIA's driver is too old: {error}") from None
        if result[0]:
            _check(self.driver, name, result, DeviceError)
        return result[1] if len(result) > 1 else None

    def check(self, name: str, result: tuple[Any, ...]) -> None:
        """See :meth:`GpuApi.check`."""
        _check(self.driver, name, result, DeviceError)

    def attribute(self, name: str) -> int:
        """Returns an attribute of the device; `name` lacks the prefix ``CU_DEVICE_ATTRIBUTE_``."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    @property
    def multiprocessors(self) -> int:
        """See :meth:`GpuApi.multiprocessors`: the number of SMs."""
        return self.attribute("MULTIPROCESSOR_COUNT")

    def ordinal_of(self, address: int) -> int | None:
        """See :meth:`GpuApi.ordinal_of`."""
        key = self.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        result = self.driver.cuPointerGetAttribute(key, address)
        return None if int(result[0]) else int(result[1])

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
        """See :meth:`GpuApi.within`: makes the context current."""
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

    # -- kernels -----------------------------------------------------------------------------

    def load_image(self, bundle: Bundle) -> CudaImage:
        """See :meth:`GpuApi.load_image`: loads a cubin, or PTX that NVIDIA's driver assembles."""
        return CudaImage(self, bundle)

    def take_shared_memory(self, function: Any, bundle: Bundle) -> int:
        """See :meth:`GpuApi.take_shared_memory`.

        The rest of an SM's memory serves as its L1 cache.
        """
        most = self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        wanted = self.check_shared_memory(bundle, most, "shared memory", "CTA")
        key = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.call("cuFuncSetAttribute", function, key, wanted)
        return wanted

    def make_launcher(
        self, function: Any, lanes: int, threads: int, shared_memory: int, stream: int
    ) -> Launcher:
        """See :meth:`GpuApi.make_launcher`: a cooperative launch, which begins all CTAs at once."""
        attribute = self.driver.CUlaunchAttribute()
        attribute.id = self.driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        config = self.driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = lanes, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
        config.sharedMemBytes = shared_memory
        config.hStream = stream
        config.attrs = [attribute]
        config.numAttrs = 1

        def launch(parameters: int) -> None:
            try:
                self.call("cuLaunchKernelEx", config, function, parameters, 0)
            except DeviceError as error:
                # The occupancy query at load does not count resources that other kernels occupy.
                if "COOPERATIVE_LAUNCH_TOO_LARGE" not in error.message:
                    raise
                note = (
                    f"all {lanes} CTAs of the program must be on the GPU at once, and other "
                    "work on the GPU leaves too few SMs"
                )
                raise BusyError(error.message, notes=[note]) from None

        return launch

    # -- several GPUs ----------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """See :meth:`GpuApi.kind`, such as ``NVIDIA H200 (sm_90)``."""
        name = bytes(self.call("cuDeviceGetName", 128, self.device)).split(b"\0")[0].decode()
        major = self.attribute("COMPUTE_CAPABILITY_MAJOR")
        minor = self.attribute("COMPUTE_CAPABILITY_MINOR")
        return f"{name} (sm_{major}{minor})"

    @property
    def device_count(self) -> int:
        """See :meth:`GpuApi.device_count`."""
        return int(self.call("cuDeviceGetCount"))

    @property
    def version(self) -> int:
        """See :meth:`GpuApi.version`."""
        return int(self.call("cuDriverGetVersion"))

    @property
    def runs_processes_at_once(self) -> bool:
        """See :meth:`GpuApi.runs_processes_at_once`: with MPS."""
        known = hasattr(self.driver.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_MPS_ENABLED")
        return known and bool(self.attribute("MPS_ENABLED"))

    def uuid_of(self, ordinal: int) -> str:
        """See :meth:`GpuApi.uuid_of`."""
        # Instances of a partitioned GPU (MIG) have different UUIDs by cuDeviceGetUuid_v2. Later
        # packages have only cuDeviceGetUuid, which distinguishes them as well.
        has_second = hasattr(self.driver, "cuDeviceGetUuid_v2")
        device = self.call("cuDeviceGet", ordinal)
        uuid = self.call("cuDeviceGetUuid_v2" if has_second else "cuDeviceGetUuid", device)
        return format_uuid(bytes(uuid.bytes))

    def can_access(self, ordinal: int) -> bool:
        """See :meth:`GpuApi.can_access`."""
        other = self.call("cuDeviceGet", ordinal)
        return bool(self.call("cuDeviceCanAccessPeer", self.device, other))

    # -- memory that several GPUs map ------------------------------------------------------

    def memory_properties(self, *, shared: bool = False, rdma: bool = False) -> Any:
        """See :meth:`GpuApi.memory_properties`."""
        properties = self.driver.CUmemAllocationProp()
        properties.type = self.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location = self._location(self.ordinal)
        if shared:
            properties.requestedHandleTypes = self._file_descriptor()
        if rdma and self.attribute("GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED"):
            properties.allocFlags.gpuDirectRDMACapable = 1
        return properties

    def page_of(self, properties: Any) -> int:
        """See :meth:`GpuApi.page_of`."""
        flags = self.driver.CUmemAllocationGranularity_flags
        minimum = flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        return int(self.call("cuMemGetAllocationGranularity", properties, minimum))

    def grant_access(self, address: int, nbytes: int, ordinals: Sequence[int]) -> None:
        """See :meth:`GpuApi.grant_access`."""
        entries: list[Any] = []
        for ordinal in ordinals:
            entry = self.driver.CUmemAccessDesc()
            entry.location = self._location(ordinal)
            entry.flags = self.driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            entries.append(entry)
        self.call("cuMemSetAccess", address, nbytes, entries, len(entries))

    def export_memory(self, handle: Any) -> int:
        """See :meth:`GpuApi.export_memory`."""
        return int(self.call("cuMemExportToShareableHandle", handle, self._file_descriptor(), 0))

    def import_memory(self, file: int) -> Any:
        """See :meth:`GpuApi.import_memory`."""
        return self.call("cuMemImportFromShareableHandle", file, self._file_descriptor())

    def allocate_lent(self, nbytes: int) -> int:
        """See :meth:`GpuApi.allocate_lent`."""
        return int(self.take("cuMemAlloc", "cuMemFree", nbytes))

    def borrow(self, handle: bytes) -> int:
        """See :meth:`GpuApi.borrow`."""
        record = self.driver.CUipcMemHandle()
        record.reserved = handle
        lazily = self.driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        return int(self.call("cuIpcOpenMemHandle", record, lazily))

    def _file_descriptor(self) -> Any:
        kinds = self.driver.CUmemAllocationHandleType
        return kinds.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

    def _location(self, ordinal: int) -> Any:
        location = self.driver.CUmemLocation()
        location.type = self.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = ordinal
        return location


def count_devices() -> int:
    """Returns the number of GPUs that this process sees.

    Raises UnsupportedError if the package or a GPU is missing.
    """
    driver = import_driver()
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


def import_driver() -> Any:
    """Returns the module ``cuda.bindings.driver``; tests put a stand-in in place of this function.

    Raises UnsupportedError if cuda-python is not installed.
    """
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise UnsupportedError(
            "a program for cuda needs the package cuda-python to run: "
            "pip install 'ark-mlir[cuda12]' or 'ark-mlir[cuda13]', as the driver of the GPU"
        ) from None
