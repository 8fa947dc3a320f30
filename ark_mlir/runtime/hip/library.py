"""The functions of hip-python that the runtime calls, with equal arguments in all its versions."""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import UnsupportedError

__all__ = [
    "ENUMERATIONS", "FUNCTIONS", "INSTALL", "HipLibrary", "architecture_of", "check_one_hip",
    "find_library", "import_hip", "plain_message", "text_of",
]  # fmt: skip

# The command that installs hip-python.
INSTALL = "pip install 'ark-mlir[hip]'"
# The functions that the runtime calls, with the number of their arguments in hip-python.
FUNCTIONS = {
    "hipDeviceCanAccessPeer": 2,
    "hipDeviceGetAttribute": 2,
    "hipDeviceGetUuid": 1,
    "hipEventCreateWithFlags": 1,
    "hipEventDestroy": 1,
    "hipEventQuery": 1,
    "hipEventRecord": 2,
    "hipExtMallocWithFlags": 2,
    "hipFree": 1,
    "hipGetDevice": 0,
    "hipGetDeviceCount": 0,
    "hipGetLastError": 0,
    "hipHostFree": 1,
    "hipHostMalloc": 2,
    "hipInit": 1,
    "hipIpcCloseMemHandle": 1,
    "hipIpcGetMemHandle": 1,
    "hipIpcOpenMemHandle": 2,
    "hipMalloc": 1,
    "hipMemAddressFree": 2,
    "hipMemAddressReserve": 4,
    "hipMemCreate": 3,
    "hipMemExportToShareableHandle": 4,
    "hipMemGetAllocationGranularity": 2,
    "hipMemImportFromShareableHandle": 2,
    "hipMemMap": 5,
    "hipMemRelease": 1,
    "hipMemSetAccess": 4,
    "hipMemUnmap": 2,
    "hipMemcpyDtoDAsync": 4,
    "hipMemcpyDtoHAsync": 4,
    "hipMemcpyHtoDAsync": 4,
    "hipMemsetD8Async": 4,
    "hipModuleGetFunction": 2,
    "hipModuleLaunchKernel": 11,
    "hipModuleLoadData": 1,
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor": 3,
    "hipModuleUnload": 1,
    "hipPointerGetAttribute": 3,
    "hipRuntimeGetVersion": 0,
    "hipSetDevice": 1,
    "hipStreamCreateWithFlags": 1,
    "hipStreamDestroy": 1,
    "hipStreamIsCapturing": 1,
    "hipStreamQuery": 1,
    "hipStreamSynchronize": 1,
    "hipStreamWaitEvent": 3,
}
# Members of enumerations that the runtime uses.
ENUMERATIONS = {
    "hipDeviceAttribute_t": (
        "hipDeviceAttributeMaxSharedMemoryPerBlock",
        "hipDeviceAttributeMultiprocessorCount",
    ),
    "hipMemAllocationGranularity_flags": ("hipMemAllocationGranularityMinimum",),
    "hipMemAllocationHandleType": ("hipMemHandleTypePosixFileDescriptor",),
    "hipPointer_attribute": ("HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL",),
}
_MAPS = Path("/proc/self/maps")  # the files that this process has mapped
# A file that was replaced, as by an upgrade, is marked.
_HIP_LIBRARY = re.compile(r"(/.*/libamdhip64\.so[\w.]*)(?: \(deleted\))?$")
# The module with the C functions until version 7, and from version 10 on.
_C_MODULES = ("chip", "cyhip")


class HipLibrary:
    """The module ``hip.hip`` with two functions whose arguments differ between its versions.

    Args:
        module: the module.

    Raises UnsupportedError if the module lacks a function or an enumeration.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        missing = [name for name in FUNCTIONS if not hasattr(module, name)]
        for enumeration, members in ENUMERATIONS.items():
            known = getattr(module, enumeration, None)
            missing += [name for name in members if not hasattr(known, name)]
        if missing:
            raise UnsupportedError(
                f"the installed hip-python is too old: it has no {missing[0]}", notes=[INSTALL]
            )
        self._exchange: Callable[[Any], int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def hipGetDeviceProperties(self, ordinal: int) -> tuple[Any, Any]:
        """Returns the error and the properties of a device.

        Until version 7 the caller passes the record for the properties.
        """
        try:
            return self._module.hipGetDeviceProperties(ordinal)
        except TypeError:
            properties = self._module.hipDeviceProp_t()
            (code,) = self._module.hipGetDeviceProperties(properties, ordinal)
            return code, properties

    def hipThreadExchangeStreamCaptureMode(self, mode: int) -> tuple[Any, int]:
        """Sets the capture mode of this thread; returns the error and the mode before.

        The function of hip-python has no argument and passes an undefined mode to HIP. So this
        method calls the C function that the module exports for other extension modules.
        """
        if self._exchange is None:
            self._exchange = _find_c_function(self._module, "hipThreadExchangeStreamCaptureMode")
        value = ctypes.c_int(mode)
        code = self._exchange(ctypes.byref(value))
        return self._module.hipError_t(code), value.value


def _find_c_function(module: Any, name: str) -> Callable[[Any], int]:
    """Returns a C function with one pointer as its argument, which hip-python exports as a capsule.

    A Python exception that the function sets is raised: the library may lack the function.
    """
    package = module.__name__.rpartition(".")[0]
    for candidate in _C_MODULES:
        try:
            functions = importlib.import_module(f"{package}.{candidate}").__pyx_capi__
        except ImportError:
            continue
        if name not in functions:
            break
        capsule = functions[name]
        get_name = ctypes.pythonapi.PyCapsule_GetName
        get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        get_pointer.restype = ctypes.c_void_p
        get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        return prototype(get_pointer(capsule, get_name(capsule)))
    raise UnsupportedError(f"the installed hip-python has no C function {name}", notes=[INSTALL])


def import_hip() -> Any:
    """Returns the module ``hip`` of the package ``hip``; raises ImportError if there is none.

    The module is a part of the package until version 7, and a module of another package later.
    """
    package = importlib.import_module("hip")
    return getattr(package, "hip", None) or importlib.import_module("hip.hip")


def architecture_of(properties: Any) -> str:
    """Returns the architecture in the properties of a device, such as ``gfx942``.

    The name in the properties has features, too.
    """
    return text_of(properties.gcnArchName).split(":", 1)[0]


def plain_message(error: Exception) -> str:
    """Returns the message of hip-python's error, in which names of files are bytes literals."""
    return re.sub(r"(?<!\w)'?b'([^']*)''?", r"\1", str(error))


def text_of(name: str | bytes) -> str:
    """Returns a name in the properties of a device, which has bytes until version 7."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def check_one_hip(torch: Any) -> None:
    """Raises UnsupportedError if this process has loaded another HIP library than PyTorch's.

    Wheels of PyTorch have a copy of the library, and hip-python may find that of ROCm. A stream or
    an address of one library is unknown to the other, which may end the process.

    Args:
        torch: the module torch, built for ROCm.

    Nothing is checked on a system that does not list the files of a process.
    """
    if not _MAPS.exists():
        return
    lines = _MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    paths = sorted({found[1] for line in lines if (found := _HIP_LIBRARY.search(line))})
    if len(paths) < 2:
        return
    own = Path(torch.__file__).parent
    note = "import torch before ark, so that hip-python loads the library of PyTorch"
    if any(Path(path).is_relative_to(own) for path in paths):
        note += f": set ROCM_PATH={own}, and uninstall rocm_sdk, which hip-python prefers"
    raise UnsupportedError(
        f"this process has two HIP libraries, {' and '.join(paths)}, and tensors of PyTorch belong "
        "to one of them",
        notes=[note],
    )


# One object per module: devices belong to the same library if their objects are identical.
_libraries: dict[Any, HipLibrary] = {}


def find_library() -> HipLibrary:
    """Returns hip-python; raises UnsupportedError if it is not installed or too old."""
    try:
        module = import_hip()
    except ImportError:
        raise UnsupportedError(
            "a program for hip needs the package hip-python to run", notes=[INSTALL]
        ) from None
    if module not in _libraries:
        _libraries[module] = HipLibrary(module)
    return _libraries[module]
