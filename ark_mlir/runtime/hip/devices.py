"""The driver for the GPUs that a program runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..gpu.driver import GpuDriver
from ..gpu.world import open_devices
from .api import HipApi

if TYPE_CHECKING:
    from ..drivers.interface import Driver


def make_driver(devices: Sequence[int] | None = None, library: Any = None) -> Driver:
    """Returns the driver for GPUs with these numbers of HIP, or for the first GPU.

    Args:
        devices: the number of each rank's GPU; one number runs all ranks on one GPU.
        library: hip-python; tests pass a substitute.

    Raises UnsupportedError if this machine has no such GPU.
    """
    if devices is None:
        return GpuDriver(HipApi(library))
    return open_devices(lambda ordinal: HipApi(library, ordinal), devices)
