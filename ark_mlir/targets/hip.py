"""The hip backend: which AMD GPU is present."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from ..errors import UnsupportedError
from .backend import Backend
from .gpu import Gpu
from .target import Target, resolve


def _detect() -> Target:
    try:
        hip: Any = importlib.import_module("hip.hip")
    except ImportError:
        raise UnsupportedError(
            "target 'hip' asks for the GPU present, and hip-python is not installed; "
            "name an architecture, such as hip:gfx942"
        ) from None
    properties = hip.hipDeviceProp_t()
    (code,) = hip.hipGetDeviceProperties(properties, 0)
    if int(code):
        raise UnsupportedError(
            f"target 'hip' asks for the GPU present, and there is none ({code}); "
            "name an architecture, such as hip:gfx942"
        )
    arch = properties.gcnArchName.decode("ascii", "replace").split(":", 1)[0]
    return replace(resolve(f"hip:{arch}"), sms=int(properties.multiProcessorCount))


def make_backend() -> Backend:
    """The backend."""
    return Gpu("hip", _detect)
