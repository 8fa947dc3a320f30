"""Sliding windows over the last dimensions of a tensor, for convolutions and pools.

A window's elements are strided slices of the padded tensor, which are views: element `i` of all
windows along a dimension is one slice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import frontend as ark
from ...frontend.ops.window_axes import Windows, elements, fitted, padded, spaced
from .table import unsupported
from .values import Operand, tensor

__all__ = [
    "Windows", "as_many", "check_floats", "elements", "fitted", "images_of", "padded", "spaced",
]  # fmt: skip


def as_many(value: int | Sequence[int] | None, rank: int, default: int = 1) -> tuple[int, ...]:
    """Returns a number for each of `rank` dimensions, as torch reads its lists.

    One number applies to all dimensions, and an empty list or None means `default`.
    """
    listed = [value] if isinstance(value, int) else list(value or ())
    if not listed:
        return (default,) * rank
    return tuple(listed) * rank if len(listed) == 1 else tuple(listed)


def images_of(x: Operand, rank: int) -> ark.Tensor:
    """Returns `x` with a batch dimension before its channels and `rank` spatial dimensions."""
    value = tensor(x)
    return value if value.ndim == rank + 2 else ark.unsqueeze(value, 0)


def check_floats(x: ark.Tensor, op: str) -> None:
    """Raises UnsupportedError if the elements are not floats."""
    if not x.dtype.is_float:
        raise unsupported(f"{op} of {x.dtype}")
