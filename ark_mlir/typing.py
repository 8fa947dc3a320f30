"""Types of the arguments of public functions, for annotations in users' programs.

>>> def cube(n: int, dtype: ark.typing.DTypeLike) -> ark.Tensor:
...     return ark.zeros((n, n, n), dtype)

A type checker rejects arguments of other types. At run time, the functions raise
:class:`ark_mlir.InvalidUsageError` on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from .dtypes import DType

if TYPE_CHECKING:
    from . import ir
    from .frontend import GridIndex, Program, Tensor

__all__ = [
    "Array",
    "Arrays",
    "ArraysLike",
    "Axes",
    "Collectives",
    "Cpu",
    "CudaArray",
    "CudaStream",
    "DLPackArray",
    "DTypeLike",
    "DTypeName",
    "HostInput",
    "HostInputs",
    "Index",
    "Inputs",
    "Network",
    "Number",
    "NumberArray",
    "Offsets",
    "Operand",
    "Path",
    "Pooling",
    "Reduction",
    "Scheduler",
    "Shape",
    "Source",
    "Sources",
    "Stream",
    "TileBody",
    "TokenRow",
    "TokenRows",
    "TorchDType",
]

# -- building programs ---------------------------------------------------------------------------

Number: TypeAlias = bool | int | float | np.generic
"""A Python or numpy number."""

# The levels are written out: a recursive type would accept str, which is a sequence of str.
_Row: TypeAlias = Sequence[Number] | npt.NDArray[Any]
_Matrix: TypeAlias = Sequence[_Row]
_Cube: TypeAlias = Sequence[_Matrix]
NumberArray: TypeAlias = Number | _Row | _Matrix | _Cube | Sequence[_Cube]
"""Numbers: one, a numpy array, or lists nested up to four deep."""

Operand: TypeAlias = Union["Tensor", Number, npt.NDArray[Any]]
"""An operand of a binary op: a tensor, a number, or a numpy array."""

Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
"""Integers, one per dimension: extents, bounds, steps, a permutation. A single integer is a list
with this integer."""

Axes: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
"""One dimension or several; negative numbers count from the end."""

_Entry: TypeAlias = SupportsIndex | slice | EllipsisType | None
Index: TypeAlias = _Entry | tuple[_Entry, ...]
"""An index of a tensor: numpy's basic indexing by static integers, slices, ``...`` and None."""

DTypeName: TypeAlias = Literal[
    "fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2",
    "int8", "uint8", "int32", "uint32", "int64", "bool",
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "f32", "f16", "f8E4M3FN", "f8E5M2", "i8", "ui8", "i32", "ui32", "i64", "i1",
]  # fmt: skip
"""A name of an element type: ark's, numpy's (with ml_dtypes) or MLIR's."""


class TorchDType(Protocol):
    """A ``torch.dtype``.

    Example:
        >>> def bytes_of(count: int, dtype: ark.typing.TorchDType) -> int:
        ...     return count * ark.dtypes.as_dtype(dtype).itemsize
    """

    @property
    def is_floating_point(self) -> bool:
        """Returns True for a floating-point type."""
        ...

    @property
    def is_signed(self) -> bool:
        """Returns True for a type with negative values."""
        ...


DTypeLike: TypeAlias = (
    DType | DTypeName | np.dtype[Any] | type[np.generic] | type[bool] | TorchDType
)
"""An element type: ark's, a name, or a dtype of numpy, ml_dtypes or torch."""

Reduction: TypeAlias = Literal["sum", "max", "min"]
"""The operation of a reduction over ranks."""

Offsets: TypeAlias = Callable[..., Union["GridIndex", int, Iterable[Union["GridIndex", int]]]]
"""The offsets of a region, as a function of the grid's indices."""

TileBody: TypeAlias = str | Callable[..., "Tensor"]
"""The body of a custom op: MLIR text, or a function of tiles."""

# -- compiling -----------------------------------------------------------------------------------

Path: TypeAlias = str | os.PathLike[str]
"""A path of a file or folder."""

Source: TypeAlias = Union["Program", "ir.Module", str, os.PathLike[str]]
"""A source for the compiler: a program, a module, MLIR text, or the path of an ``.mlir`` file."""

Scheduler: TypeAlias = Literal[
    "auto", "list", "round-robin", "rounds", "overlap", "profile", "alone", "cp-sat"
]
"""A name of a scheduler; :class:`ark_mlir.CompileOptions` describes them."""

Collectives: TypeAlias = Literal["auto", "one-shot", "two-shot", "ring"]
"""A name of an algorithm for collectives."""

Network: TypeAlias = Literal["nccl", "mscclpp"]
"""The library that copies between NVLink domains."""

Cpu: TypeAlias = Literal["host", "baseline", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
"""The instruction set of the cpu target: ``host`` for that of this machine, ``baseline`` for that
of all machines of the architecture, or a level of x86-64."""

# -- running -------------------------------------------------------------------------------------


class DLPackArray(Protocol):
    """An array of any framework that implements DLPack, such as a ``torch.Tensor``.

    Example:
        >>> array: ark.typing.DLPackArray = np.zeros((4, 64), np.float32)
    """

    def __dlpack__(self) -> Any:
        """Returns a capsule of a ``DLManagedTensor``."""
        ...

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the device's type and number."""
        ...


class CudaArray(Protocol):
    """An array on a GPU that implements the CUDA array interface.

    Example:
        >>> class Frame:
        ...     @property
        ...     def __cuda_array_interface__(self) -> dict[str, object]:
        ...         return {"shape": (4,), "typestr": "<f4", "data": (4096, True), "version": 3}
        >>> array: ark.typing.CudaArray = Frame()
    """

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """Returns the dictionary of shape, type and address."""
        ...


class CudaStream(Protocol):
    """A stream that implements ``__cuda_stream__``, such as one of cuda.core.

    Example:
        >>> class Queue:
        ...     def __cuda_stream__(self) -> tuple[int, int]:
        ...         return 0, 4096  # version and handle
        >>> stream: ark.typing.CudaStream = Queue()
    """

    def __cuda_stream__(self) -> tuple[int, int]:
        """Returns the protocol's version and the stream's handle."""
        ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


class _CupyStream(Protocol):
    @property
    def ptr(self) -> int: ...


Stream: TypeAlias = int | CudaStream | _TorchStream | _CupyStream
"""A stream of a GPU: its handle, or an object of torch, cupy or cuda.core."""

Array: TypeAlias = npt.NDArray[Any] | np.generic | DLPackArray | CudaArray
"""An array to bind: an array of numpy, of a framework with DLPack, or on a GPU."""

HostInput: TypeAlias = npt.NDArray[Any] | np.generic | int
"""An array or number of numpy to bind to an input; an int is a run-time scalar."""

HostInputs: TypeAlias = Mapping[str, HostInput]
"""Arrays and numbers of numpy by the names of inputs."""

Inputs: TypeAlias = Mapping[str, Array | int]
"""Inputs by name; an int is a run-time scalar."""

Arrays: TypeAlias = Mapping[str, Array]
"""Arrays by name, of parameters, states or outputs."""

Sources: TypeAlias = Arrays | Path | Sequence[Arrays | Path]
"""Sources of parameters: arrays by name, the path of a ``.safetensors`` file, or a list of such
sources."""

ArraysLike: TypeAlias = Mapping[str, npt.ArrayLike]
"""Arrays by name for the interpreter: values that ``numpy.asarray`` accepts."""

# -- models --------------------------------------------------------------------------------------

Pooling: TypeAlias = Literal["mean", "cls", "pooler", "none"]
"""The way in which an encoder combines the tokens' vectors into one vector."""

TokenRow: TypeAlias = Sequence[int] | npt.NDArray[Any] | DLPackArray
"""Integers of one prompt, such as its token ids."""

TokenRows: TypeAlias = Sequence[TokenRow] | npt.NDArray[Any] | DLPackArray
"""Integers of several prompts: a matrix, or rows of any lengths."""
