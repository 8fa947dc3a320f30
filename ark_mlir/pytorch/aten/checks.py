"""Limits of the work of an op, and conditions on data that only a run can check."""

from __future__ import annotations

import math

from ... import frontend as ark
from ...frontend.ops.scattering import in_range
from .table import unsupported

__all__ = ["check_size", "required"]

_MAX_COMPARISONS = 1 << 22


def check_size(*extents: int) -> None:
    """Raises UnsupportedError if the product of extents, a number of comparisons, is too large."""
    if math.prod(extents) > _MAX_COMPARISONS:
        raise unsupported(
            f"{math.prod(extents)} comparisons of positions; the limit is {_MAX_COMPARISONS}"
        )


def required(x: ark.Tensor, condition: ark.Tensor, name: str) -> ark.Tensor:
    """Returns the integers `x`; a run raises DataRangeError if a condition is false.

    Args:
        condition: bools that broadcast to the shape of `x`.
        name: the condition in words, which is the name of the task in the error.
    """
    # The only index of a table of one zero is 0, which is added to `x`.
    return x + in_range(ark.cast(ark.logical_not(condition), x.dtype), 1, name)
