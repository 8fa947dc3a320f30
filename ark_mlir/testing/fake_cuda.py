"""A stand-in for ``cuda.bindings.driver``: memory of the host, lanes as threads.

What is loaded as a module is a shared object for the cpu target, so that launches compute.
Any call can be made to fail, and what was taken and not given back is counted.
"""

from __future__ import annotations

import ctypes
import threading
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ..runtime.abi import ArkContext
from ..runtime.image import Image

_OUT_OF_MEMORY = 2
_INVALID_VALUE = 1
_NOT_READY = 600
_GIVE_BACK = {
    "cuDevicePrimaryCtxRelease", "cuMemFree", "cuModuleUnload", "cuStreamDestroy",
}  # fmt: skip
_TAKE = {"cuDevicePrimaryCtxRetain", "cuMemAlloc", "cuModuleLoadData", "cuStreamCreate"}


class _Attribute(IntEnum):
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


class FakeCuda:
    """One GPU of compute capability 9.0.

    Args:
        fail_at: which call fails, counted from 1; those that give something back never do.
        sms: how many CTAs fit.

    Attributes:
        calls: names of the calls so far.
        held: how many contexts, streams, modules and allocations are taken and not given back.
    """

    CUdevice_attribute = _Attribute
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)

    def __init__(self, fail_at: int = -1, sms: int = 132) -> None:
        self.fail_at = fail_at
        self.sms = sms
        self.calls: list[str] = []
        self.held = 0
        self._memory: dict[int, Any] = {}
        self._lanes: list[threading.Thread] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(self, f"_{name}", self._nothing)

        def call(*arguments: Any) -> tuple[Any, ...]:
            # How often a waiting host asks is no property of a run.
            if name == "cuStreamQuery" and any(lane.is_alive() for lane in self._lanes):
                return (_NOT_READY,)
            if name not in _GIVE_BACK:
                self.calls.append(name)
                if len(self.calls) == self.fail_at:
                    return (_OUT_OF_MEMORY, None)
            result: Any = function(*arguments)
            self.held += (name in _TAKE) - (name in _GIVE_BACK)
            return cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (0, result)

        return call

    def cuGetErrorName(self, code: int) -> tuple[int, bytes]:
        """The name of an error."""
        return 0, {2: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(code, b"CUDA_ERROR_INVALID_VALUE")

    def cuGetErrorString(self, code: int) -> tuple[int, bytes]:
        """What it means."""
        return 0, {2: b"out of memory"}.get(code, b"invalid argument")

    def _nothing(self, *arguments: Any) -> int:
        del arguments
        return 1

    def _cuDeviceGetAttribute(self, key: _Attribute, device: int) -> int:
        del device
        return {
            _Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: self.sms,
            _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 9,
            _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 0,
            _Attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: 232448,
        }[key]

    def _cuMemAlloc(self, nbytes: int) -> int:
        block = np.full(nbytes, 0xFF, np.uint8)
        self._memory[block.ctypes.data] = block
        return block.ctypes.data

    def _cuMemFree(self, address: int) -> None:
        del self._memory[address]

    def _cuMemsetD8(self, address: int, byte: int, nbytes: int) -> None:
        ctypes.memset(address, byte, nbytes)

    def _cuMemcpyHtoD(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def _cuMemcpyDtoH(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def _cuMemcpyHtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> None:
        del stream
        ctypes.memmove(target, source, nbytes)

    def _cuModuleLoadData(self, image: bytes) -> Image:
        return Image(memoryview(image), "fake")

    def _cuModuleGetFunction(self, module: Image, name: bytes) -> Any:
        return module.function(name.decode())

    def _cuLaunchCooperativeKernel(self, function: Any, lanes: int, *rest: Any) -> tuple[int]:
        (address,), _ = rest[-1]
        if lanes > self.sms:
            return (_INVALID_VALUE,)
        codes = ArkContext.from_address(address).codes

        def walk(lane: int) -> None:
            code = function(address, lane)
            ctypes.c_int32.from_address(codes + 4 * lane).value = code

        self._lanes = [threading.Thread(target=walk, args=(lane,)) for lane in range(lanes)]
        for lane in self._lanes:
            lane.start()
        return (0,)
