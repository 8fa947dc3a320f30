"""The error for bundles for hip, which this version of ark compiles but cannot run."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NoReturn

from ...errors import UnsupportedError


def make_driver(devices: Sequence[int] | None = None, hip: Any = None) -> NoReturn:
    """Raises UnsupportedError with the missing part: the package, a GPU, or the driver.

    Args:
        devices: numbers of GPUs, without effect.
        hip: the module ``hip.hip``; tests pass a substitute.
    """
    del devices
    hip = _import_hip() if hip is None else hip
    try:
        code, count = hip.hipGetDeviceCount()
    except RuntimeError as error:  # the package is installed, but ROCm is not
        raise UnsupportedError(f"a program for hip needs a GPU of AMD: {error}") from None
    if int(code) or not count:
        reason = getattr(code, "name", code) if int(code) else "this machine has none"
        raise UnsupportedError(f"a program for hip needs a GPU of AMD: {reason}")
    raise UnsupportedError("this version of ark compiles programs for hip, but cannot run them")


def _import_hip() -> Any:
    try:
        return importlib.import_module("hip.hip")
    except ImportError:
        raise UnsupportedError("a program for hip needs the package hip-python to run") from None
