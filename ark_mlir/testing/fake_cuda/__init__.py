"""A stand-in for ``cuda.bindings.driver``: memory of the host, lanes as threads.

A module that the stand-in loads is a shared object for the cpu target, so that launches compute.
Streams keep the order of their work; they go on whenever a caller asks the driver something. Any
call can be made to fail, and handles that were taken and not released are counted.
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
