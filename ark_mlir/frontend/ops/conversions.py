"""Changes of the dtype or the shape of a tensor that add no op if nothing changes."""

from __future__ import annotations

from ...dtypes import DType, fp32
from ..tensor import Tensor
from .elementwise import cast
from .views import reshape

__all__ = ["converted", "shaped", "wide"]


def converted(x: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """Returns `x` in a dtype; `x` itself if it has the dtype."""
    return x if x.dtype is dtype else cast(x, dtype, name)


def wide(x: Tensor) -> Tensor:
    """Returns floats of less than 4 bytes in fp32, in which several rounded steps lose less.

    Other tensors are returned themselves: integers wrap in their own type.
    """
    return cast(x, fp32) if x.dtype.is_float and x.dtype.itemsize < 4 else x


def shaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Returns `x` under another shape; `x` itself if it has the shape."""
    return x if x.shape == shape else reshape(x, shape)
