"""Options of a generation, as arrays for the inputs of its programs."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import math

import numpy as np

from ..errors import InvalidUsageError
from .config import as_count
from .weights import Arrays

__all__ = ["MAX_ENDS", "sampling_inputs"]

# Maximum number of end-of-text tokens.
MAX_ENDS = 8


def sampling_inputs(temperature: object, top_k: object, top_p: object, seed: object) -> Arrays:
    """Returns arrays for the inputs that :func:`.sampling.draw` adds; raises InvalidUsageError if
    a value is invalid."""
    share = _number(top_p, "top_p")
    if not 0 < share <= 1:
        raise InvalidUsageError(f"top_p must be above 0 and at most 1, not {top_p!r}")
    return {
        "temperature": np.array(_number(temperature, "temperature"), np.float32),
        "top_p": np.array(share, np.float32),
        "top_k": np.array(_bounded(top_k, "top_k", 31), np.int32),
        "seed": np.array(_bounded(seed, "seed", 63), np.int64),
    }


def _number(value: object, label: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidUsageError(f"{label} must be a number, not {value!r}")
    if not (math.isfinite(value) and value >= 0):
        raise InvalidUsageError(f"{label} must be finite and not negative, not {value!r}")
    return float(value)


def _bounded(value: object, label: str, bits: int) -> int:
    number = as_count(value, label, 0)
    if number >= 1 << bits:
        raise InvalidUsageError(f"{label} must be below 2^{bits}, not {number}")
    return number
