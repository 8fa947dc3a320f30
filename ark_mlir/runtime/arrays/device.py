"""Arrays on a device, whether they come from torch, DLPack or the CUDA array interface."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ... import dtypes
from ...errors import InvalidUsageError
from .dlpack import DeviceExporter, describe_dlpack, is_dense
from .streams import CUDA, HOST_DEVICES, RunStream, device_name, torch_of

if TYPE_CHECKING:
    from ...bundle import Buffer
    from ...dtypes import DType

# The number of CUDA's legacy default stream in DLPack and in the array interface, which forbid
# zero.
_LEGACY_STREAM = 1


class DeviceArray:
    """An array on a device.

    Attributes:
        address: the address of the first element.
        dtype: the element type.
        shape: the extents.
        dense: True if the array is row-major without gaps.
        owner: the object that keeps the memory alive.
    """

    __slots__ = ("address", "dense", "dtype", "owner", "shape")

    def __init__(
        self,
        address: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        dense: bool,
        owner: object,
    ) -> None:
        self.address = address
        self.dtype = dtype
        self.shape = shape
        self.dense = dense
        self.owner = owner

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


def usable_tensor(value: Any, buffer: Buffer, run_stream: RunStream) -> DeviceArray | None:
    """Returns the description of a torch tensor that a kernel can use as a buffer in place.

    Returns None if the value needs the full checks.

    The function is the fast path of decoders, which pass tensors for every token.
    """
    torch = run_stream.torch
    if (
        torch is None
        or not isinstance(value, torch.Tensor)
        or not value.is_cuda
        or value.get_device() != run_stream.device[1]
        or value.dtype is not (_TENSOR_DTYPES or _tensor_dtypes(torch)).get(buffer.dtype)
        or value.shape != buffer.shape
        or not value.is_contiguous()
        or value.requires_grad
        or value.is_neg()
    ):
        return None
    address = _address_of_tensor(value)
    if not address or address % buffer.alignment:
        return None
    if run_stream.torch_stream is None:
        run_stream.follow_torch()
    return DeviceArray(address, buffer.dtype.numpy, buffer.shape, True, value)


def receive_device(value: Any, name: str, run_stream: RunStream) -> DeviceArray | None:
    """Returns the description of an array on the device of `run_stream`.

    Returns None if the value is on the host. Adds the producer's stream to `run_stream`. Raises
    InvalidUsageError, in which `name` stands for the array, if the array is on another device,
    its framework does not export it, or ark does not have its element type.
    """
    torch = run_stream.torch
    if torch is not None and isinstance(value, torch.Tensor) and value.is_cuda:
        _check_device((run_stream.device[0], value.get_device()), name, run_stream)
        return _describe_tensor(torch, value, name, run_stream)
    device = _device_of(value, run_stream)
    if device is None or device[0] in HOST_DEVICES:
        return None
    _check_device(device, name, run_stream)
    if not hasattr(value, "__dlpack__"):
        return _describe_interface(value, name, run_stream)
    stream = run_stream.stream
    if stream == 0 and run_stream.device[0] == CUDA:
        stream = _LEGACY_STREAM
    address, dtype, shape, dense, owner = describe_dlpack(value, name, stream)
    return DeviceArray(address, dtype.numpy, shape, dense, owner)


def _device_of(value: Any, run_stream: RunStream) -> tuple[int, int] | None:
    """Returns DLPack's type and number of an array's device, or None for an array of the host."""
    if isinstance(value, (np.ndarray, np.generic, int)):
        return None
    try:
        if hasattr(value, "__dlpack_device__"):
            kind, number = value.__dlpack_device__()
            return int(kind), int(number)
        if isinstance(record := getattr(value, "__cuda_array_interface__", None), dict):
            known = int(getattr(getattr(value, "device", None), "id", 0))
            ordinal = _locate(cast("Mapping[str, Any]", record), run_stream)
            # Libraries for ROCm have the array interface of CUDA, too.
            kind = CUDA if run_stream.on_host else run_stream.device[0]
            return kind, known if ordinal is None else ordinal
    except (BufferError, RuntimeError, TypeError, ValueError):
        pass  # the import raises the same error later, with the array's name
    return None


def _check_device(device: tuple[int, int], name: str, run_stream: RunStream) -> None:
    if device != run_stream.device:
        actual, expected = device_name(device), device_name(run_stream.device)
        raise InvalidUsageError(f"{name} is on {actual}; {run_stream.user} runs on {expected}")


def _locate(record: Mapping[str, Any], run_stream: RunStream) -> int | None:
    """Returns the number of the GPU whose memory has the address of an array interface.

    Returns None if the record is malformed or no GPU has the address. The interface does not name
    the GPU.
    """
    data = record.get("data")
    pointer = cast("Any", data[0]) if isinstance(data, tuple) and data else None
    return run_stream.locate(pointer) if isinstance(pointer, int) else None


def _describe_tensor(torch: Any, tensor: Any, name: str, run_stream: RunStream) -> DeviceArray:
    dtype = _dtype_of_tensor(torch, tensor.dtype)
    if dtype is None:
        raise InvalidUsageError(f"{name} has elements of {tensor.dtype}; ark has {_known()}")
    if tensor.requires_grad:
        raise InvalidUsageError(f"{name} requires a gradient, which ark does not compute")
    # The memory of a lazily negated tensor holds the values before the negation.
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    address = _address_of_tensor(tensor)
    shape = tuple(tensor.shape)
    if not address and 0 not in shape:
        raise InvalidUsageError(f"{name} has no memory; is it a fake tensor?")
    run_stream.follow_torch()
    return DeviceArray(address, dtype.numpy, shape, tensor.is_contiguous(), tensor)


def _address_of_tensor(tensor: Any) -> int:
    """Returns the address of a tensor's first element, or zero for a tensor without memory.

    Some tensors of torch without memory raise RuntimeError.
    """
    try:
        return tensor.data_ptr()
    except RuntimeError:
        return 0


_TENSOR_DTYPES: dict[DType, object] = {}


def _tensor_dtypes(torch: Any) -> dict[DType, object]:
    """Returns the torch dtypes by ark dtype; old versions of torch lack some of them."""
    if not _TENSOR_DTYPES:
        known = {dtype: getattr(torch, dtype.numpy_name, None) for dtype in dtypes.ALL}
        _TENSOR_DTYPES.update({dtype: name for dtype, name in known.items() if name is not None})
    return _TENSOR_DTYPES


def _dtype_of_tensor(torch: Any, dtype: object) -> DType | None:
    return next((ours for ours, name in _tensor_dtypes(torch).items() if name is dtype), None)


def _known() -> str:
    return ", ".join(dtype.name for dtype in dtypes.ALL)


def _describe_interface(value: Any, name: str, run_stream: RunStream) -> DeviceArray:
    """Returns the description of an array with the CUDA array interface.

    Adds the stream of the array, which version 3 of the interface names, to the producers of
    `run_stream`.
    """
    try:
        record: Mapping[str, Any] = value.__cuda_array_interface__
        dtype = dtypes.from_numpy(np.dtype(record["typestr"]))
        if dtype is None or np.dtype(record["typestr"]) != dtype.numpy:
            raise InvalidUsageError(
                f"{name} has elements of {record['typestr']}; ark has {_known()}"
            )
        shape = tuple(int(extent) for extent in record["shape"])
        dense = is_dense(shape, record.get("strides"), dtype.itemsize)
        address = int(record["data"][0] or 0)
        producer = record.get("stream")
    except (KeyError, TypeError, IndexError) as error:
        raise InvalidUsageError(
            f"{name} has a malformed __cuda_array_interface__: {error!r}"
        ) from None
    if producer is not None:
        run_stream.producers.add(0 if producer == _LEGACY_STREAM else int(producer))
    return DeviceArray(address, dtype.numpy, shape, dense, value)


class Results:
    """The destination of a run's outputs: arrays of the caller, or new arrays on device or host.

    Args:
        out: checked arrays to write to, by name.
        given: the objects from which the arrays in `out` were made, as the caller passed them.
        likes: the first input of each rank on the device of the rank, if there is one. New outputs
            of the rank are arrays of the framework of this input.
    """

    def __init__(
        self,
        out: Mapping[str, Any] | None = None,
        given: Mapping[str, object] | None = None,
        likes: Mapping[int, object] | None = None,
    ) -> None:
        self.out = out or {}
        self.given = given or {}
        self._likes: Mapping[int, Any] = likes or {}

    def on_device(self, buffer: Buffer) -> bool:
        """Returns True if a new output is on the device."""
        return bool(self._likes) and buffer.rank in self._likes

    def capturable(self, buffer: Buffer) -> bool:
        """Returns True if an output can be allocated during a graph capture.

        Only torch supports such allocations.
        """
        return torch_of(self._likes.get(buffer.rank)) is not None

    def make(
        self, buffer: Buffer, run_stream: RunStream, allocate: Callable[[], Any]
    ) -> tuple[Any, DeviceArray]:
        """Allocates an output on the device; returns it for the caller and for the kernel.

        Args:
            buffer: the output.
            run_stream: the device.
            allocate: allocates memory of the driver, which is used for frameworks except torch.
        """
        like = self._likes[buffer.rank]
        torch = torch_of(like)
        if torch is not None:
            dtype = getattr(torch, buffer.dtype.numpy_name)
            tensor = torch.empty(buffer.shape, dtype=dtype, device=like.device)
            address = tensor.data_ptr()
            return tensor, DeviceArray(address, buffer.dtype.numpy, buffer.shape, True, tensor)
        memory = allocate()
        array = DeviceArray(memory.address, buffer.dtype.numpy, buffer.shape, True, memory)
        exported = DeviceExporter(
            array.address, buffer.dtype, buffer.shape, run_stream.device, memory
        )
        return _import(exported, like), array


def _import(exported: DeviceExporter, like: Any) -> Any:
    """Returns the array in the library of `like`.

    Returns the exporter itself if the library has no `from_dlpack`.
    """
    library = cast("Any", sys.modules.get(type(like).__module__.partition(".")[0]))
    from_dlpack = getattr(library, "from_dlpack", None)
    return exported if from_dlpack is None else from_dlpack(exported)
