"""The cuda backend: which NVIDIA GPU is present."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from ..errors import UnsupportedError
from .backend import Backend
from .gpu import Gpu
from .target import Target, resolve

# Architectures with features of their own, which code has to ask for by this name.
_SPECIFIC = {(9, 0): "sm_90a", (10, 0): "sm_100a"}


def _detect() -> Target:
    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise UnsupportedError(
            "target 'cuda' asks for the GPU present, and cuda-python is not installed; "
            "name an architecture, such as cuda:sm_90a"
        ) from None
    try:
        _call(driver.cuInit(0))
        device = _call(driver.cuDeviceGet(0))
        attribute = driver.CUdevice_attribute
        major, minor, sms = (
            int(_call(driver.cuDeviceGetAttribute(getattr(attribute, name), device)))
            for name in (
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
                "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
            )
        )
    except RuntimeError as error:
        raise UnsupportedError(
            f"target 'cuda' asks for the GPU present, and there is none ({error}); "
            "name an architecture, such as cuda:sm_90a"
        ) from None
    return replace(resolve(f"cuda:{_SPECIFIC.get((major, minor), f'sm_{major}{minor}')}"), sms=sms)


def _call(result: tuple[Any, ...]) -> Any:
    code = result[0]
    if int(code):
        raise RuntimeError(getattr(code, "name", str(code)))
    return result[1] if len(result) > 1 else None


def make_backend() -> Backend:
    """The backend."""
    return Gpu("cuda", _detect)
