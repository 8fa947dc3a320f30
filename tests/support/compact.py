"""Compact storage of expected values and their error bounds."""

from __future__ import annotations

from typing import Any

import numpy as np


def compact(value: Any, bound: Any) -> tuple[Any, Any]:
    """Stores expected values and bounds in half the bytes or less. Values are rounded to fp32, and
    the rounding error is added to the bound; bounds keep eight bits, rounded up."""
    if value.dtype == np.float64:
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = value.astype(np.float32)
            moved = np.abs(narrow - value)
        if not (np.isinf(narrow) & np.isfinite(value)).any():
            value, bound = narrow, bound + np.where(np.isfinite(moved), moved, 0.0)
    with np.errstate(over="ignore"):
        short = np.asarray(bound, np.float32)
    short = np.asarray(np.where(short < bound, np.nextafter(short, np.float32(np.inf)), short))
    words = (short.view(np.uint32).astype(np.uint64) + 0xFFFF) & 0xFFFF0000
    return value, np.asarray(words.astype(np.uint32)).view(np.float32)
