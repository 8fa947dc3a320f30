"""Runs a bundle with hip-python, whose library is ``hip_stand_in.c``.

Usage: ``python run_on_hip_stand_in.py <bundle>``. The library's folder is in LD_LIBRARY_PATH, which
the loader reads once, at the start of a process.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.runtime.arrays.streams import ROCM
from ark_mlir.testing.fake_gpu import OnDevice


def main(path: str) -> None:
    """Runs the program ``y = x + w + 0.5`` in each way, and checks that nothing is held."""
    OnDevice.device_type = ROCM
    x, w = np.arange(128, dtype=np.float32).reshape(8, 16), np.ones(128, np.float32)
    expected = x.ravel() + 1.5
    with ark.load(path) as exe:
        exe.bind({"w": w})
        check(exe.run(x=x)["y"], expected)
        check(exe.run(x=2 * x, iterations=3)["y"], 2 * x.ravel() + 1.5)
        y = OnDevice(np.zeros(128, np.float32))
        exe.run(x=OnDevice(x), out={"y": y}, stream=0)
        check(y.array, expected)
        made = exe.run(x=OnDevice(x))["y"]
        assert made.__dlpack_device__() == (ROCM, 0)
        check(np.asarray(OfHost(made)), expected)
        with exe.resident() as resident:
            for scale in range(3):
                check(resident.run(x=scale * x)["y"], scale * x.ravel() + 1.5)
        check(exe.run(x=x)["y"], expected)
    del made
    gc.collect()
    library: Any = ctypes.CDLL("libamdhip64.so")
    assert ctypes.c_long.in_dll(library, "live_handles").value == 0
    assert library.hipGetLastError() == 0
    print("all right")


def check(result: Any, expected: Any) -> None:
    """Raises AssertionError if two arrays differ."""
    np.testing.assert_array_equal(result, expected)


class OfHost:
    """An array of the stand-in's device, which is memory of the host."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__cuda_array_interface__


if __name__ == "__main__":
    main(sys.argv[1])
