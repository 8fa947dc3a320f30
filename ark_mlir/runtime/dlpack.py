"""DLPack in both directions, for the element types that numpy itself cannot pass.

numpy refuses bfloat16 and the 8-bit floats here, and those are what models are made of. So the
record behind a capsule is read (import) or relabelled (export) directly; who owns the memory,
and when it goes, stays with the capsule's maker.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import dtypes
from ..errors import InvalidUsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..dtypes import DType

_CPU_DEVICES = (1, 3, 11, 13)  # plain, and pinned or managed memory of CUDA and ROCm
_DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 14: "oneapi"}

_CODES: dict[tuple[int, int], DType] = {
    (0, 8): dtypes.int8,
    (0, 32): dtypes.int32,
    (0, 64): dtypes.int64,
    (1, 8): dtypes.uint8,
    (1, 32): dtypes.uint32,
    (2, 16): dtypes.fp16,
    (2, 32): dtypes.fp32,
    (4, 16): dtypes.bf16,
    (6, 8): dtypes.bool_,
    (10, 8): dtypes.fp8_e4m3,
    (12, 8): dtypes.fp8_e5m2,
}
_EXPORT_CODES = {dtype: code for (code, _), dtype in _CODES.items()}
_CODE_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid.restype = ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer.restype = ctypes.c_void_p


def import_dlpack(value: Any, name: str) -> NDArray[Any]:
    """A numpy array over the memory of `value`, which has ``__dlpack__``; nothing is copied.

    Raises InvalidUsageError, which calls the value `name`, when it lies on a device, needs a
    gradient, or has an element type that ark has not.
    """
    try:
        device, _ = value.__dlpack_device__()
        capsule = _export(value) if device in _CPU_DEVICES else None
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidUsageError(f"{name} cannot be passed through DLPack: {error}") from None
    if capsule is None:
        where = _DEVICES.get(int(device), f"device type {int(device)}")
        raise InvalidUsageError(f"{name} lies on {where}; pass it in host memory")
    tensor, read_only = _record(capsule, name)
    return _Holder(capsule, tensor, read_only, name).array()


def _export(value: Any) -> Any:
    # torch passes the memory of a lazy negation on as if it were the values.
    if hasattr(value, "resolve_neg"):
        value = value.resolve_neg()
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:  # made before version 1 of the protocol
        return value.__dlpack__()


def _record(capsule: Any, name: str) -> tuple[_Tensor, bool]:
    if _is_valid(capsule, b"dltensor_versioned"):
        address = _pointer(capsule, b"dltensor_versioned")
        record = _Versioned.from_address(cast("int", address))
        if record.major != 1:
            raise InvalidUsageError(f"{name} comes in version {record.major} of DLPack, not 1")
        return record.tensor, bool(record.flags & _READ_ONLY)
    if _is_valid(capsule, b"dltensor"):
        return _Tensor.from_address(cast("int", _pointer(capsule, b"dltensor"))), False
    raise InvalidUsageError(f"{name}: __dlpack__ returned no DLPack capsule")


class _Holder:
    """Keeps the capsule, and so its memory, as long as an array over it lives.

    The capsule is not marked as consumed: its own destructor then frees it, on whatever
    terms its maker has.
    """

    def __init__(self, capsule: Any, tensor: _Tensor, read_only: bool, name: str) -> None:
        self._capsule = capsule
        self._dtype = _CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
        if self._dtype is None:
            kind = f"{_CODE_NAMES.get(tensor.code, f'type {tensor.code}-')}{tensor.bits}"
            known = ", ".join(dtype.name for dtype in dtypes.ALL)
            raise InvalidUsageError(f"{name} has elements of {kind}; ark has {known}")
        size = self._dtype.itemsize
        shape: tuple[int, ...] = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        if not tensor.data and 0 not in shape:
            raise InvalidUsageError(f"{name} has no memory; is it a fake tensor?")
        self._shape = shape
        strides = None
        if tensor.strides:
            strides = tuple(tensor.strides[axis] * size for axis in range(tensor.ndim))
        # numpy's own names have no bfloat16, so the memory passes as opaque elements.
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": f"|V{size}",
            "strides": strides,
            "data": ((tensor.data or 0) + tensor.byte_offset, read_only),
        }

    def array(self) -> NDArray[Any]:
        dtype = cast("DType", self._dtype).numpy
        if 0 in self._shape:
            return np.empty(self._shape, dtype)
        return reinterpret(np.asarray(self), dtype)


def reinterpret(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same memory with elements of another type of equal size."""
    return cast("Any", array).view(dtype)


class Exporter:
    """An array as any DLPack consumer takes it: ``torch.from_dlpack(Exporter(array))``."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._dtype = dtypes.from_numpy(array.dtype)
        # An unsigned integer of equal size travels in its place, and gets its label on the way.
        bits = np.dtype(f"u{array.dtype.itemsize}")
        self._array = array if self._plain else reinterpret(array, bits)

    @property
    def _plain(self) -> bool:
        return self._dtype not in (dtypes.bf16, dtypes.fp8_e4m3, dtypes.fp8_e5m2)

    def __dlpack__(self, **arguments: Any) -> Any:
        capsule = self._array.__dlpack__(**arguments)
        if not self._plain:
            tensor, _ = _record(capsule, "array")
            tensor.code = _EXPORT_CODES[cast("DType", self._dtype)]
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
