"""The driver for the GPU that a program runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from ..gpu.driver import GpuDriver
from .api import HipApi

if TYPE_CHECKING:
    from ..drivers.interface import Driver


def make_driver(devices: Sequence[int] | None = None, library: Any = None) -> Driver:
    """Returns the driver for the GPU with a number of HIP, or for the first GPU.

    Args:
        devices: the number of the GPU; None selects the first one.
        library: hip-python; tests pass a substitute.

    Raises UnsupportedError if this machine has no such GPU, or if there are several numbers.
    """
    numbers = [0] if devices is None else list(devices)
    if len(numbers) != 1:
        raise UnsupportedError(
            f"devices={numbers}: this version of ark runs a program for hip on one GPU",
            notes=["pass one number, such as devices=[0]"],
        )
    return GpuDriver(HipApi(library, numbers[0]))
