"""A stand-in for ``cuda.bindings.driver``: memory of the host, lanes as threads.

A module that the stand-in loads is a shared object for the cpu target, so that launches compute.
Streams keep the order of their work, and continue with each call of a function of the driver. A
test can make any call fail, and can read the number of handles that were not released.
"""

from .driver import FakeCuda
from .names import WAITS_FOR_ALL
from .programs import OnDevice, fake_executable, fake_world
from .streams import Operation

__all__ = [
    "WAITS_FOR_ALL",
    "FakeCuda",
    "OnDevice",
    "Operation",
    "fake_executable",
    "fake_world",
]
