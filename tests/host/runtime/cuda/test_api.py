"""Errors that only CUDA and cuda-python have, on a stand-in for CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import add_program

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)


def test_a_gpu_that_others_keep_busy(kernel: bytes, x: Array) -> None:
    """All CTAs must fit on the GPU at once, which NVIDIA's driver may notice at the launch."""
    cuda = FakeCuda(sms=2)
    with fake_executable(cuda, kernel, add_program()) as exe:
        exe.bind({"w": W}).run(x=x)
        cuda.busy = 1
        with pytest.raises(ark.BusyError, match="CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE") as info:
            exe.run(x=x)
        assert "all 2 CTAs of the program must be on the GPU at once" in str(info.value)
        cuda.busy = 0
        np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)
    assert cuda.held == 0


def test_a_kernel_that_fails(kernel: bytes, x: Array) -> None:
    """The context is lost: this run and every later one raise the reason. After `close`, the
    same process can load the program again."""
    cuda = FakeCuda()

    def use_it() -> None:
        with fake_executable(cuda, kernel, add_program()) as exe:
            exe.bind({"w": W}).run(x=x)
            cuda.crashes = True
            for _ in range(2):
                with pytest.raises(ark.DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
                    exe.run(x=x)
            raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="the caller's own"):
        use_it()
    assert cuda.held == 0
    with fake_executable(cuda, kernel, add_program()) as exe:
        np.testing.assert_array_equal(exe.bind({"w": W}).run(x=x)["y"], x.ravel() + W + 0.5)
    assert cuda.held == 0


def test_no_gpu_in_the_machine() -> None:
    """The library is installed, but finds no device."""

    class NoDevice(FakeCuda):
        def cuInit(self, flags: int) -> Any:
            return (100,)

        def cuGetErrorName(self, code: int) -> tuple[int, bytes]:
            return 0, b"CUDA_ERROR_NO_DEVICE"

    with pytest.raises(ark.UnsupportedError, match="cuInit failed: CUDA_ERROR_NO_DEVICE"):
        CudaApi(NoDevice())


def test_without_a_driver() -> None:
    """The package raises its own errors if the library is missing or lacks a function."""

    class NoLibrary(FakeCuda):
        def cuInit(self, flags: int) -> Any:
            raise RuntimeError("libcuda.so.1 cannot be found")

    with pytest.raises(ark.UnsupportedError, match=r"needs a GPU of NVIDIA: libcuda\.so\.1"):
        CudaApi(NoLibrary())


@pytest.mark.parametrize(
    ("says", "kind", "match"),
    [
        (
            'Function "cuLaunchKernelEx" not found',
            ark.UnsupportedError,
            "too old.*cuLaunchKernelEx",
        ),
        ("out of handles", ark.DeviceError, r"^\S*cuLaunchKernelEx failed: out of handles"),
    ],
    ids=["a driver that is too old", "anything else"],
)
def test_errors_of_the_package(
    kernel: bytes, x: Array, says: str, kind: type[ark.ArkError], match: str
) -> None:
    class Raises(FakeCuda):
        def cuLaunchKernelEx(self, *arguments: Any) -> Any:
            raise RuntimeError(says)

    cuda = Raises()
    with fake_executable(cuda, kernel, add_program()) as exe:
        exe.bind({"w": W})
        with pytest.raises(kind, match=match):
            exe.run(x=x)
    assert cuda.held == 0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.driver", None)
    with pytest.raises(ark.UnsupportedError, match="needs the package cuda-python"):
        CudaApi()
