"""The driver for the GPUs that a program runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UnsupportedError
from ..gpu.driver import GpuDriver
from .api import CudaApi
from .peers import USE_ONE
from .world import CudaWorldDriver

if TYPE_CHECKING:
    from ..drivers.interface import Driver


def make_driver(devices: Sequence[int] | None = None) -> Driver:
    """Returns the driver for GPUs with these CUDA ordinals, or for the first GPU.

    Raises UnsupportedError if this machine has no such GPU.
    """
    if devices is None:
        return GpuDriver(CudaApi())
    try:
        apis = [CudaApi(ordinal=number) for number in devices]
    except UnsupportedError as error:
        if len(devices) > 1:
            error.notes += (USE_ONE,)
        raise
    return GpuDriver(apis[0]) if len(apis) == 1 else CudaWorldDriver(apis)
