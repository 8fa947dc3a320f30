"""Import and export of arrays through DLPack, with the element types that NumPy does not support.

NumPy rejects bfloat16 and 8-bit floats in DLPack. This module therefore reads the record in a
capsule (import) or changes its element type (export) directly. The producer of a capsule keeps
the ownership of the memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ... import dtypes
from ...errors import InvalidUsageError
from .streams import DEVICE_NAMES, HOST_DEVICES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...dtypes import DType

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
    """Returns a NumPy array that shares the memory of `value`, which has ``__dlpack__``.

    Raises InvalidUsageError, in which `name` stands for the value, if the value is on a device,
    requires a gradient, or has an element type that ark lacks.
    """
    try:
        device, _ = value.__dlpack_device__()
        capsule = _export(value) if device in HOST_DEVICES else None
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidUsageError(f"{name} cannot be passed through DLPack: {error}") from None
    if capsule is None:
        where = DEVICE_NAMES.get(int(device), f"device type {int(device)}")
        raise InvalidUsageError(f"{name} is on {where}; pass it in host memory")
    tensor, read_only = _record(capsule, name)
    return _Holder(capsule, tensor, read_only, name).array()


def describe_dlpack(
    value: Any, name: str, stream: int | None
) -> tuple[int, DType, tuple[int, ...], bool, object]:
    """Returns address, dtype, shape, density (row-major without gaps) and owner of a device array.

    Args:
        value: an object with ``__dlpack__``.
        name: the name of the array in errors.
        stream: DLPack's number of the stream that will read the array, before which the producer
            orders its work; None for the legacy default stream.

    Raises InvalidUsageError if the framework does not export the array, or ark lacks its element
    type.
    """
    try:
        capsule = _export(value, stream=stream)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidUsageError(f"{name} cannot be passed through DLPack: {error}") from None
    tensor, _ = _record(capsule, name)
    dtype, shape = _elements(tensor, name), _shape(tensor)
    strides = [tensor.strides[axis] for axis in range(tensor.ndim)] if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    return address, dtype, shape, is_dense(shape, strides), capsule


def _export(value: Any, **arguments: Any) -> Any:
    # torch exports a lazily negated tensor without the negation.
    if hasattr(value, "resolve_neg"):
        value = value.resolve_neg()
    try:
        return value.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # the producer has a protocol before version 1
        return value.__dlpack__(**arguments)


def _record(capsule: Any, name: str) -> tuple[_Tensor, bool]:
    if _is_valid(capsule, b"dltensor_versioned"):
        address = _pointer(capsule, b"dltensor_versioned")
        record = _Versioned.from_address(cast("int", address))
        if record.major != 1:
            raise InvalidUsageError(f"{name} has version {record.major} of DLPack, not 1")
        return record.tensor, bool(record.flags & _READ_ONLY)
    if _is_valid(capsule, b"dltensor"):
        return _Tensor.from_address(cast("int", _pointer(capsule, b"dltensor"))), False
    raise InvalidUsageError(f"{name}: __dlpack__ returned no DLPack capsule")


def _elements(tensor: _Tensor, name: str) -> DType:
    dtype = _CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        kind = f"{_CODE_NAMES.get(tensor.code, f'type {tensor.code}-')}{tensor.bits}"
        known = ", ".join(dtype.name for dtype in dtypes.ALL)
        raise InvalidUsageError(f"{name} has elements of {kind}; ark has {known}")
    if not tensor.data and 0 not in _shape(tensor):
        raise InvalidUsageError(f"{name} has no memory; is it a fake tensor?")
    return dtype


def _shape(tensor: _Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape[axis] for axis in range(tensor.ndim))


def is_dense(shape: tuple[int, ...], strides: Sequence[int] | None, unit: int = 1) -> bool:
    """Returns True if strides, in units of `unit`, are those of a row-major array without gaps.

    Example:
        >>> is_dense((2, 3), (3, 1)), is_dense((2, 3), (1, 2)), is_dense((1, 3), (7, 1))
        (True, False, True)
    """
    if strides is None or 0 in shape:
        return True
    expected = unit
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != expected:
                return False
            expected *= extent
    return True


class _Holder:
    """Keeps a capsule, and thereby its memory, alive as long as an array over it.

    The capsule is not marked as consumed, so that its own destructor frees the memory.
    """

    def __init__(self, capsule: Any, tensor: _Tensor, read_only: bool, name: str) -> None:
        self._capsule = capsule
        self._dtype = _elements(tensor, name)
        size = self._dtype.itemsize
        shape = _shape(tensor)
        self._shape = shape
        strides = None
        if tensor.strides:
            strides = tuple(tensor.strides[axis] * size for axis in range(tensor.ndim))
        # NumPy has no name for bfloat16, so that the elements are opaque bytes.
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": f"|V{size}",
            "strides": strides,
            "data": ((tensor.data or 0) + tensor.byte_offset, read_only),
        }

    def array(self) -> NDArray[Any]:
        dtype = self._dtype.numpy
        if 0 in self._shape:
            return np.empty(self._shape, dtype)
        return reinterpret(np.asarray(self), dtype)


def reinterpret(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns a view of an array with another element type of equal size."""
    return cast("Any", array).view(dtype)


class Exporter:
    """A NumPy array for any consumer of DLPack: ``torch.from_dlpack(Exporter(array))``."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._dtype = dtypes.from_numpy(array.dtype)
        # NumPy exports unsigned integers of equal size; `__dlpack__` then changes their type.
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


class DeviceExporter:
    """A dense row-major array on a device, for any consumer of DLPack.

    All work on the array is complete, so that a consumer's stream need not wait.

    Args:
        address: the address of the first element.
        dtype: the element type.
        shape: the extents.
        device: DLPack's type and number of the device.
        owner: the owner of the memory, which lives as long as the last consumer's array.
    """

    def __init__(
        self,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        device: tuple[int, int],
        owner: object,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self._device = device
        self._owner = owner
        kind = {"float": "f", "int": "i", "uint": "u", "bool": "b"}[dtype.kind]
        # NumPy has no names for bfloat16 and 8-bit floats.
        plain = dtype not in (dtypes.bf16, dtypes.fp8_e4m3, dtypes.fp8_e5m2)
        size = dtype.itemsize
        record = {"version": 3, "shape": shape, "strides": None, "data": (address, False)}
        self._record = {**record, "typestr": f"<{kind if plain else 'u'}{size}"}
        self._plain = plain

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self._plain:
            raise AttributeError(f"the array interface does not support {self.dtype.name}")
        return {**self._record, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        del stream
        if copy or (dl_device is not None and tuple(dl_device) != self._device):
            raise BufferError("the array can neither be copied nor moved to another device")
        # The capsule is that of a NumPy array over the address, which the host never reads, with
        # the device changed in its record. Its deleter frees the array and thereby the owner.
        array = np.asarray(_Address(self._record, self._owner))
        known = {} if max_version is None else {"max_version": max_version}
        capsule = array.__dlpack__(**known)  # type: ignore[arg-type]
        tensor, _ = _record(capsule, "array")
        tensor.device_type, tensor.device_id = self._device
        tensor.code = _EXPORT_CODES[self.dtype]
        return capsule


class _Address:
    """A block of memory at an address, which keeps its owner alive."""

    def __init__(self, record: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = record
        self.owner = owner
