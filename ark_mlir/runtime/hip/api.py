"""The HIP API: AMD's part of :mod:`ark_mlir.runtime.gpu.api`."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError, UnsupportedError
from ...units import counted
from ..arrays.streams import ROCM, loaded_torch
from ..drivers.abi import HIP_WARP_SIZE
from ..gpu.api import GpuApi, Launcher, Names, format_uuid
from .image import HipImage
from .library import architecture_of, check_one_hip, find_library, plain_message, text_of
from .records import UNCACHED, AccessDesc, AllocationProp, Location

if TYPE_CHECKING:
    from ...bundle import Bundle

_NULL_STREAM = 0
_HOST_MALLOC_MAPPED = 2
_HOST_MALLOC_COHERENT = 1 << 30
_DEVICE_MALLOC_FINEGRAINED = 1
_DEVICE_MALLOC_UNCACHED = 3
_IPC_LAZY_PEER_ACCESS = 1
_CAPTURE_MODE_RELAXED = 2
_ROCM = "install ROCm 6.0 or later, and check that rocminfo lists the GPU"
# The version of HIP from which on it imports the number of a file.
_TAKES_FILES = 70100000
# The option with the number of processes whose queues run at once, and the values with which
# processes take turns. By default, the number is that of the address spaces of compute queues.
_PROCESSES = Path("/sys/module/amdgpu/parameters/hws_max_conc_proc")
_ONE_PROCESS = (0, 1)
# Errors of HIP for a kind of memory that it does not have.
_NO_SUCH_MEMORY = ("hipErrorInvalidValue", "hipErrorNotSupported")


class HipApi(GpuApi):
    """The HIP API on one device.

    HIP has one context for each device, which nobody creates or releases.

    Args:
        library: hip-python, or a stand-in.
        ordinal: HIP's number of the device.

    Raises UnsupportedError if hip-python, ROCm or a GPU is missing, or if PyTorch uses another HIP
    library than hip-python.
    """

    names = Names(
        allocate="hipMalloc",
        allocate_coherent="hipExtMallocWithFlags",
        free="hipFree",
        allocate_host="hipHostMalloc",
        free_host="hipHostFree",
        to_device="hipMemcpyHtoDAsync",
        to_host="hipMemcpyDtoHAsync",
        within_device="hipMemcpyDtoDAsync",
        set_bytes="hipMemsetD8Async",
        create_stream="hipStreamCreateWithFlags",
        destroy_stream="hipStreamDestroy",
        query_stream="hipStreamQuery",
        await_stream="hipStreamSynchronize",
        follow_event="hipStreamWaitEvent",
        is_capturing="hipStreamIsCapturing",
        create_event="hipEventCreateWithFlags",
        destroy_event="hipEventDestroy",
        query_event="hipEventQuery",
        record_event="hipEventRecord",
        load_module="hipModuleLoadData",
        unload_module="hipModuleUnload",
        find_function="hipModuleGetFunction",
        occupancy="hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
        reserve_addresses="hipMemAddressReserve",
        free_addresses="hipMemAddressFree",
        create_memory="hipMemCreate",
        release_memory="hipMemRelease",
        map_memory="hipMemMap",
        unmap_memory="hipMemUnmap",
        lend="hipIpcGetMemHandle",
        close_borrowed="hipIpcCloseMemHandle",
    )
    vendor = "AMD"
    library = "HIP"
    device_type = ROCM
    warp_size = HIP_WARP_SIZE
    process_setting = "load the kernel module amdgpu without its option hws_max_conc_proc"
    host_flags = _HOST_MALLOC_MAPPED | _HOST_MALLOC_COHERENT
    coherent_flags = (_DEVICE_MALLOC_FINEGRAINED,)
    is_coherent = False
    default_stream = _NULL_STREAM

    def __init__(self, library: Any = None, ordinal: int = 0) -> None:
        super().__init__(find_library() if library is None else library, ordinal)
        try:
            self.call("hipInit", 0)
            count = self.device_count
            if not count:
                raise DeviceError("this machine has none")
        except DeviceError as error:
            raise UnsupportedError(
                f"a program for hip needs a GPU of AMD: {error.message}", notes=[_ROCM]
            ) from None
        if ordinal >= count:
            raise UnsupportedError(
                f"there is no GPU {ordinal}: this process sees {counted(count, 'GPU')}"
            )
        if (torch := loaded_torch(ROCM)) is not None:
            check_one_hip(torch)

    def call(self, name: str, *arguments: object) -> Any:
        """See :meth:`GpuApi.call`."""
        try:
            result = getattr(self.driver, name)(*arguments)
        except RuntimeError as error:
            # hip-python finds the library, and the functions of the library, at the first call.
            if "dlsym" in str(error):
                raise UnsupportedError(
                    f"ROCm of this machine is too old: {plain_message(error)}", notes=[_ROCM]
                ) from None
            raise DeviceError(f"{name} failed: {plain_message(error)}") from None
        except ValueError as error:  # the enumeration of hip-python lacks the error of the library
            raise DeviceError(f"{name} failed: {error}") from None
        if result[0]:
            self.check(name, result)
        return result[1] if len(result) > 1 else None

    def check(self, name: str, result: tuple[Any, ...]) -> None:
        """See :meth:`GpuApi.check`."""
        code = result[0]
        if int(code):
            self._forget_error()
            raise DeviceError(f"{name} failed: {code.name}")

    def _forget_error(self) -> None:
        """Clears the error of this thread, which other libraries would report as their own."""
        self.driver.hipGetLastError()

    def attribute(self, name: str) -> int:
        """Returns an attribute of the device; `name` lacks the prefix ``hipDeviceAttribute``."""
        key = getattr(self.driver.hipDeviceAttribute_t, f"hipDeviceAttribute{name}")
        return int(self.call("hipDeviceGetAttribute", key, self.ordinal))

    @property
    def multiprocessors(self) -> int:
        """See :meth:`GpuApi.multiprocessors`: the number of CUs."""
        return self.attribute("MultiprocessorCount")

    @property
    def architecture(self) -> str:
        """The architecture of the device, such as ``gfx942``, without its features."""
        return architecture_of(self.call("hipGetDeviceProperties", self.ordinal))

    def ordinal_of(self, address: int) -> int | None:
        """See :meth:`GpuApi.ordinal_of`."""
        key = self.driver.hipPointer_attribute.HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        ordinal = (ctypes.c_int * 1)()
        (code, *_) = self.driver.hipPointerGetAttribute(ordinal, key, address)
        if int(code):
            self._forget_error()
            return None
        return int(ordinal[0])

    # -- the device --------------------------------------------------------------------------

    def open(self) -> None:
        """See :meth:`GpuApi.open`."""
        self.enter()

    def enter(self) -> None:
        """See :meth:`GpuApi.enter`."""
        self.call("hipSetDevice", self.ordinal)

    @contextmanager
    def within(self) -> Generator[None]:
        """See :meth:`GpuApi.within`."""
        before = int(self.call("hipGetDevice"))
        if before != self.ordinal:
            self.enter()
        try:
            mode = self.call("hipThreadExchangeStreamCaptureMode", _CAPTURE_MODE_RELAXED)
            try:
                yield
            finally:
                self.call("hipThreadExchangeStreamCaptureMode", mode)
        finally:
            if before != self.ordinal:
                self.call("hipSetDevice", before)

    # -- kernels -----------------------------------------------------------------------------

    def load_image(self, bundle: Bundle) -> HipImage:
        """See :meth:`GpuApi.load_image`: loads a code object."""
        return HipImage(self, bundle)

    def take_shared_memory(self, function: Any, bundle: Bundle) -> int:
        """See :meth:`GpuApi.take_shared_memory`: the code object states the kernel's LDS."""
        del function
        most = self.attribute("MaxSharedMemoryPerBlock")
        self.check_shared_memory(bundle, most, "LDS", "workgroup")
        return 0

    def make_launcher(
        self, function: Any, lanes: int, threads: int, shared_memory: int, stream: int
    ) -> Launcher:
        """See :meth:`GpuApi.make_launcher`: an ordinary launch.

        HIP puts cooperative launches on the queue with which it copies memory. A persistent kernel
        there would block the copies that end it (docs/rationale.md).
        """

        def launch(parameters: int) -> None:
            self.call(
                "hipModuleLaunchKernel", function, lanes, 1, 1, threads, 1, 1, shared_memory,
                stream, parameters, None,
            )  # fmt: skip

        return launch

    # -- several GPUs ----------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """See :meth:`GpuApi.kind`, such as ``AMD Instinct MI300X (gfx942)``."""
        properties = self.call("hipGetDeviceProperties", self.ordinal)
        return f"{text_of(properties.name)} ({architecture_of(properties)})"

    @property
    def device_count(self) -> int:
        """See :meth:`GpuApi.device_count`."""
        return int(self.call("hipGetDeviceCount"))

    @property
    def version(self) -> int:
        """See :meth:`GpuApi.version`."""
        return int(self.call("hipRuntimeGetVersion"))

    @property
    def runs_processes_at_once(self) -> bool:
        """See :meth:`GpuApi.runs_processes_at_once`.

        The scheduler of an AMD GPU runs queues of several processes at once, unless an option of
        the kernel module limits it to one process (docs/rationale.md).
        """
        limit = _read_limit_of_processes()
        return limit is None or limit not in _ONE_PROCESS

    def uuid_of(self, ordinal: int) -> str:
        """See :meth:`GpuApi.uuid_of`."""
        return format_uuid(bytes(self.call("hipDeviceGetUuid", ordinal).bytes))

    def can_access(self, ordinal: int) -> bool:
        """See :meth:`GpuApi.can_access`."""
        return bool(self.call("hipDeviceCanAccessPeer", self.ordinal, ordinal))

    # -- memory that several GPUs map ------------------------------------------------------

    def memory_properties(self, *, shared: bool = False, rdma: bool = False) -> AllocationProp:
        """See :meth:`GpuApi.memory_properties`.

        The memory is not cached: a GPU keeps other memory of its own in its L2, where stores of
        other GPUs do not arrive before the kernel ends (docs/rationale.md).
        """
        properties = AllocationProp(type=UNCACHED, location=Location.of_device(self.ordinal))
        if shared:
            properties.handle_types = int(self._file_descriptor())
        properties.flags.rdma = rdma
        return properties

    def create_memory(self, nbytes: int, properties: Any) -> Any:
        """See :meth:`GpuApi.create_memory`."""
        with _explained():
            return super().create_memory(nbytes, properties)

    def page_of(self, properties: Any) -> int:
        """See :meth:`GpuApi.page_of`."""
        flags = self.driver.hipMemAllocationGranularity_flags
        minimum = flags.hipMemAllocationGranularityMinimum
        with _explained():
            return int(self.call("hipMemGetAllocationGranularity", properties, minimum))

    def grant_access(self, address: int, nbytes: int, ordinals: Sequence[int]) -> None:
        """See :meth:`GpuApi.grant_access`."""
        entries = (AccessDesc * len(ordinals))(*map(AccessDesc.of_device, ordinals))
        self.call("hipMemSetAccess", address, nbytes, entries, len(entries))

    def export_memory(self, handle: Any) -> int:
        """See :meth:`GpuApi.export_memory`."""
        file = (ctypes.c_int * 1)()
        self.call("hipMemExportToShareableHandle", file, handle, self._file_descriptor(), 0)
        return int(file[0])

    def import_memory(self, file: int) -> Any:
        """See :meth:`GpuApi.import_memory`.

        Raises UnsupportedError before ROCm 7.1, which takes the address of the number instead.
        """
        version = self.version
        if version < _TAKES_FILES:
            raise UnsupportedError(
                "HIP maps memory of other processes by file descriptors from ROCm 7.1 on; this is "
                f"HIP {version // 10**7}.{version // 10**5 % 100}",
                notes=["install ROCm 7.1 or later"],
            )
        return self.call("hipMemImportFromShareableHandle", file, self._file_descriptor())

    def allocate_lent(self, nbytes: int) -> int:
        """See :meth:`GpuApi.allocate_lent`: the memory is not cached, as other shared memory."""
        name, release = self.names.allocate_coherent, self.names.free
        return int(self.take(name, release, nbytes, _DEVICE_MALLOC_UNCACHED))

    def borrow(self, handle: bytes) -> int:
        """See :meth:`GpuApi.borrow`."""
        # A record of hip-python has no setter, and its functions take memory as well.
        record = (ctypes.c_ubyte * len(handle)).from_buffer_copy(handle)
        return int(self.call("hipIpcOpenMemHandle", record, _IPC_LAZY_PEER_ACCESS))

    def _file_descriptor(self) -> Any:
        return self.driver.hipMemAllocationHandleType.hipMemHandleTypePosixFileDescriptor


def _read_limit_of_processes() -> int | None:
    """Returns the number of processes that may run on a GPU at once, None if it is not known.

    A container may hide the options of the kernel's modules.
    """
    try:
        return int(_PROCESSES.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


@contextmanager
def _explained() -> Generator[None]:
    """Raises UnsupportedError with the remedy if HIP does not know uncached memory in a block."""
    try:
        yield
    except DeviceError as error:
        if not error.message.endswith(_NO_SUCH_MEMORY):
            raise
        raise UnsupportedError(
            f"ROCm of this machine has no uncached memory that GPUs share: {error.message}",
            notes=["install a later ROCm, or compile with devices=[0] to share one GPU"],
        ) from None
