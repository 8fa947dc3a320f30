"""Element types: ark's names, and their numpy, MLIR and torch counterparts.

    >>> from ark_mlir.dtypes import as_dtype
    >>> as_dtype("float32") is as_dtype("fp32")
    True

numpy and ml_dtypes are imported on first use, which keeps the import of this module cheap.
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from .errors import InvalidUsageError

if TYPE_CHECKING:
    import numpy as np

    from .typing import DTypeLike

__all__ = [
    "ALL",
    "DType",
    "as_dtype",
    "bf16",
    "bool_",
    "fp8_e4m3",
    "fp8_e5m2",
    "fp16",
    "fp32",
    "from_mlir",
    "from_numpy",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint32",
]


@dataclass(frozen=True, repr=False, eq=False)
class DType:
    """An element type. Each type is one object, so that ``is`` compares types.

    Attributes:
        name: ark's name, such as ``bf16``.
        mlir: the MLIR spelling, such as ``bf16`` or ``ui8``.
        kind: ``float``, ``int``, ``uint`` or ``bool``.
        itemsize: bytes of one element in memory.
        numpy_name: the name in numpy or ml_dtypes.
        digits: bits of a float's significand, including the implicit leading bit; 0 for other
            types.

    Example:
        >>> ark.bf16, ark.bf16.itemsize, ark.bf16.mlir, ark.bf16.kind
        (ark.bf16, 2, 'bf16', 'float')
    """

    name: str
    mlir: str
    kind: Literal["float", "int", "uint", "bool"]
    itemsize: int
    numpy_name: str
    digits: int = 0

    def __repr__(self) -> str:
        return f"ark.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)

    @property
    def is_float(self) -> builtins.bool:
        """Returns True if the type is a floating-point type."""
        return self.kind == "float"

    @property
    def is_integer(self) -> builtins.bool:
        """Returns True if the type is a signed or unsigned integer (bool is neither)."""
        return self.kind in ("int", "uint")

    @property
    def unit_roundoff(self) -> float:
        """Returns the largest relative error of rounding to a float type, 0.0 for other types."""
        return 2.0**-self.digits if self.is_float else 0.0

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """Returns the numpy dtype; bf16 and the 8-bit floats have a dtype of ml_dtypes."""
        import numpy as np

        if self.numpy_name in _ML_DTYPES:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.numpy_name))
        return np.dtype(self.numpy_name)

    @cached_property
    def integer_range(self) -> tuple[int, int]:
        """Returns the least and the greatest value of an integer type or bool."""
        if self.kind == "bool":
            return 0, 1
        bits = 8 * self.itemsize
        return (
            (0, 2**bits - 1) if self.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )


_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")

fp32 = DType("fp32", "f32", "float", 4, "float32", 24)
fp16 = DType("fp16", "f16", "float", 2, "float16", 11)
bf16 = DType("bf16", "bf16", "float", 2, "bfloat16", 8)
fp8_e4m3 = DType("fp8_e4m3", "f8E4M3FN", "float", 1, "float8_e4m3fn", 4)
fp8_e5m2 = DType("fp8_e5m2", "f8E5M2", "float", 1, "float8_e5m2", 3)
int8 = DType("int8", "i8", "int", 1, "int8")
uint8 = DType("uint8", "ui8", "uint", 1, "uint8")
int32 = DType("int32", "i32", "int", 4, "int32")
uint32 = DType("uint32", "ui32", "uint", 4, "uint32")
int64 = DType("int64", "i64", "int", 8, "int64")
bool_ = DType("bool", "i1", "bool", 1, "bool")

ALL: tuple[DType, ...] = (
    fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, uint8, int32, uint32, int64, bool_
)  # fmt: skip

_BY_MLIR = {dtype.mlir: dtype for dtype in ALL}
_BY_NUMPY = {dtype.numpy_name: dtype for dtype in ALL}
_BY_NAME = {dtype.name: dtype for dtype in ALL}


def as_dtype(value: DTypeLike | str) -> DType:
    """Returns the element type that `value` names.

    `value` is an ark dtype, a name (``"bf16"``, ``"bfloat16"``, ``"f32"``), a numpy dtype or
    scalar type, Python's ``bool``, or a torch dtype. Raises InvalidUsageError on any other value.

    Example:
        >>> as_dtype("bfloat16"), as_dtype(np.int32), as_dtype(ark.fp16)
        (ark.bf16, ark.int32, ark.fp16)
    """
    if isinstance(value, DType):
        return value
    if value is builtins.bool:
        return bool_
    name = _dtype_name(value)
    for table in (_BY_NAME, _BY_NUMPY, _BY_MLIR):
        if name in table:
            return table[name]
    known = ", ".join(_BY_NAME)
    raise InvalidUsageError(f"unknown dtype {value!r}; known are {known}")


def _dtype_name(value: object) -> str:
    text = str(value)
    if isinstance(value, str) or text.startswith("torch."):
        return text.removeprefix("torch.")
    # Python's float and int have no single element type, so they are not accepted.
    if value is float or value is int or value is None:
        return ""
    import numpy as np

    try:
        return np.dtype(value).name  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return ""


def from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """Returns the element type of the numpy type `dtype`, or None if ark lacks it (float64).

    Example:
        >>> from_numpy(np.dtype("float32")), from_numpy(np.dtype("float64"))
        (ark.fp32, None)
    """
    return _BY_NUMPY.get(dtype.name)


def from_mlir(text: str) -> DType:
    """Returns the element type whose MLIR spelling is `text`.

    Raises InvalidUsageError if no element type of ark has that spelling.

    Example:
        >>> from_mlir("ui8"), from_mlir("f32")
        (ark.uint8, ark.fp32)
    """
    if text not in _BY_MLIR:
        raise InvalidUsageError(f"{text} is not an element type of ark")
    return _BY_MLIR[text]
