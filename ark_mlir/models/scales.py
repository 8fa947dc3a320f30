"""Checks of the scales of quantized weights."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from .weights import find_file

__all__ = ["check_scales"]


def check_scales(scales: NDArray[Any], name: str, where: str) -> None:
    """Raises InvalidUsageError if a scale is zero, infinite or NaN.

    Args:
        scales: the scales of one layer, of any shape and float type.
        name: the name of their tensor, for the message.
        where: the folder of the files, for the message.

    Example:
        >>> check_scales(np.array([[0.5, 0.25]]), "a.scales", "folder")
    """
    wrong = ~np.isfinite(scales) | (scales == 0)
    if not wrong.any():
        return
    first = np.unravel_index(int(wrong.argmax()), scales.shape)
    raise InvalidUsageError(
        f"tensor {name!r} has the scale {float(scales[first])} at {[int(i) for i in first]}, and "
        f"{int(wrong.sum())} of its {scales.size} scales are zero, infinite or NaN; the file is "
        "damaged, or its quantization failed: download it or quantize the model again",
        location=find_file(where, name),
    )
