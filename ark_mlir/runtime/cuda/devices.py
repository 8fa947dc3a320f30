"""The driver for the GPUs that a program runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..gpu.driver import GpuDriver
from ..gpu.world import open_devices
from .api import CudaApi

if TYPE_CHECKING:
    from ..drivers.interface import Driver


def make_driver(devices: Sequence[int] | None = None) -> Driver:
    """Returns the driver for GPUs with these CUDA ordinals, or for the first GPU.

    Raises UnsupportedError if this machine has no such GPU.
    """
    if devices is None:
        return GpuDriver(CudaApi())
    return open_devices(lambda ordinal: CudaApi(ordinal=ordinal), devices)
