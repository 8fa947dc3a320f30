"""Runs bundles with hip-python, whose library is ``hip_stand_in.c``.

Usage: ``python run_on_hip_stand_in.py <bundle> <bundle of two ranks>``. The library's folder is in
LD_LIBRARY_PATH, which the loader reads once, at the start of a process.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.runtime.arrays.streams import ROCM
from ark_mlir.runtime.gpu.legacy_ipc import BorrowedBlock, LentBlock
from ark_mlir.runtime.gpu.peers import ExportedPart, MappedParts, page_size
from ark_mlir.runtime.hip.api import HipApi
from ark_mlir.testing.fake_gpu import OnDevice


def main(path: str, of_ranks: str) -> None:
    """Runs both programs, and checks that nothing is held."""
    OnDevice.device_type = ROCM
    run_one(path)
    run_ranks(of_ranks)
    share_part()
    gc.collect()
    library: Any = ctypes.CDLL("libamdhip64.so")
    assert ctypes.c_long.in_dll(library, "live_handles").value == 0
    assert library.hipGetLastError() == 0
    print("all right")


def run_ranks(path: str) -> None:
    """Runs `ring_program` on two GPUs: each rank gets ``x + w + 0.5`` of the other one."""
    x = [np.full(128, rank + 10, np.float32) for rank in range(2)]
    w = [np.full(128, 2 * rank, np.float32) for rank in range(2)]
    with ark.load(path, devices=[0, 1]) as world:
        assert isinstance(world, ark.World)
        world.bind([{"w": each} for each in w])
        for iterations in (1, 3):
            outputs = world.run([{"x": each} for each in x], iterations=iterations)
            for rank, output in enumerate(outputs):
                check(output["y"], x[1 - rank] + w[1 - rank] + 0.5)


def share_part() -> None:
    """Maps a part of a file descriptor, as another process does, beside an own part."""
    api = HipApi()
    api.open()
    page = page_size(api)
    exported, own = ExportedPart(api, page), ExportedPart(api, page)
    file = exported.export()
    parts = MappedParts(api, own, [file, None], page)
    os.close(file)
    array = np.ctypeslib.as_array((ctypes.c_uint8 * (2 * page)).from_address(parts.address))
    array[:] = 7
    assert array.sum() == 14 * page
    parts.free()
    exported.release()
    own.release()
    assert api.uuid_of(0) != api.uuid_of(1)
    lent = LentBlock(api, page)
    borrowed = BorrowedBlock(api, lent.handle(), lent.offset)
    assert borrowed.address == lent.address
    borrowed.close()
    lent.free()


def run_one(path: str) -> None:
    """Runs the program ``y = x + w + 0.5`` in each way."""
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


def check(result: Any, expected: Any) -> None:
    """Raises AssertionError if two arrays differ."""
    np.testing.assert_array_equal(result, expected)


class OfHost:
    """An array of the stand-in's device, which is memory of the host."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__cuda_array_interface__


if __name__ == "__main__":
    main(*sys.argv[1:])
