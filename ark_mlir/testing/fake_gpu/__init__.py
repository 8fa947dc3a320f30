"""Stand-ins for ``cuda.bindings.driver`` and hip-python: memory of the host, lanes as threads.

A module that the stand-in loads is a shared object for the cpu target, so that launches compute.
Streams keep the order of their work, and continue with each call of a function of NVIDIA's driver.
A test can make any call fail, and can read the number of handles that were not released. Both
stand-ins have the same GPUs; `hip` has only the names, arguments and errors of HIP.
"""

from .cuda import FakeCuda
from .hip import FakeHip
from .names import WAITS_FOR_ALL
from .programs import OnDevice, fake_api, fake_executable, fake_world
from .streams import Operation

__all__ = [
    "WAITS_FOR_ALL",
    "FakeCuda",
    "FakeHip",
    "OnDevice",
    "Operation",
    "fake_api",
    "fake_executable",
    "fake_world",
]
