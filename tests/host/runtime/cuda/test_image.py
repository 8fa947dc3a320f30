"""Cubins and PTX for this GPU and for others, on a stand-in for CUDA."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.gpu import backlog
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import add_program

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)
LIMIT = 0.2


def executable(kernel: bytes, arch: str) -> Executable:
    return fake_executable(FakeCuda(), kernel, add_program(), target={"arch": arch})


def test_a_gpu_of_another_architecture(kernel: bytes) -> None:
    with pytest.raises(ark.UnsupportedError, match="for sm_100a; this GPU is sm_90"):
        executable(kernel, "sm_100a").prepare()
    with pytest.raises(ark.UnsupportedError, match="for sm_80; this GPU is sm_90"):
        executable(kernel, "sm_80").prepare()
    executable(kernel, "sm_90").prepare().close()


def ptx_executable(cuda: FakeCuda, kernel: bytes, arch: str = "sm_90a", ptx: str = "8.6") -> Any:
    """The toy kernel as PTX, which the stand-in assembles to the toy kernel."""
    cuda.assembles = kernel
    text = f"// made by LLVM\n.version {ptx}\n.target {arch}\n".encode()
    return fake_executable(cuda, text, add_program(), target={"arch": arch})


def test_the_driver_assembles_ptx(kernel: bytes, x: Array) -> None:
    cuda = FakeCuda()
    with ptx_executable(cuda, kernel) as exe:
        np.testing.assert_array_equal(exe.bind({"w": W}).run(x=x)["y"], x.ravel() + W + 0.5)
    assert "cuModuleLoadDataEx" in cuda.calls
    assert "cuModuleLoadData" not in cuda.calls
    assert cuda.held == 0


def test_the_kth_call_of_a_load_of_ptx_fails(kernel: bytes) -> None:
    good = FakeCuda()
    with ptx_executable(good, kernel) as exe:
        exe.prepare()
        calls = list(good.calls)
    for k, name in enumerate(calls, start=1):
        cuda = FakeCuda(fail_at=k)
        with pytest.raises((ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: CUDA_"):
            ptx_executable(cuda, kernel).prepare()
        assert cuda.held == 0, name
        ptx_executable(cuda, kernel).prepare().close()
        assert cuda.held == 0


def test_ptx_that_the_driver_refuses(kernel: bytes, x: Array) -> None:
    """The error contains the messages of the assembler of NVIDIA's driver."""
    cuda = FakeCuda()
    exe = ptx_executable(cuda, kernel)
    cuda.assembles = None
    with pytest.raises(
        ark.DeviceError, match="cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX"
    ) as caught:
        exe.prepare()
    assert caught.value.notes == ("ptxas fatal   : Unresolved extern function '__nv_sinf'",)
    assert cuda.held == 0
    exe = fake_executable(cuda, kernel, add_program())
    np.testing.assert_array_equal(exe.bind({"w": W}).run(x=x)["y"], x.ravel() + W + 0.5)
    exe.close()


@pytest.mark.parametrize(
    ("ptx", "version", "needed"),
    [("8.6", 12040, r"12\.7 or later \(565\)"), ("8.7", 12070, r"12\.8 or later \(570\)")],
)
def test_a_driver_that_is_too_old_for_the_ptx(
    kernel: bytes, ptx: str, version: int, needed: str
) -> None:
    cuda = FakeCuda(version=version)
    message = f"holds PTX {ptx}, which needs NVIDIA's driver for CUDA {needed}; NVIDIA's driver"
    with pytest.raises(ark.UnsupportedError, match=message):
        ptx_executable(cuda, kernel, ptx=ptx).prepare()
    assert cuda.held == 0
    ptx_executable(FakeCuda(version=12080), kernel, ptx=ptx).prepare().close()


def test_ptx_for_another_architecture(kernel: bytes) -> None:
    """PTX runs on later GPUs, unless it is architecture-specific."""
    for arch in ("sm_80", "sm_89", "sm_90"):
        ptx_executable(FakeCuda(), kernel, arch, "8.0").prepare().close()
    for arch in ("sm_100", "sm_100a", "sm_80a"):
        with pytest.raises(ark.UnsupportedError, match=f"for {arch}; this GPU is sm_90"):
            ptx_executable(FakeCuda(), kernel, arch, "8.0").prepare()


def test_neither_a_cubin_nor_ptx(kernel: bytes) -> None:
    cuda = FakeCuda()
    with pytest.raises(ark.BundleError, match="section kernel: is neither a cubin nor PTX"):
        fake_executable(cuda, b"nonsense", add_program()).prepare()
    assert cuda.held == 0


def test_assembling_has_a_longer_limit(kernel: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assembling PTX may take longer than other calls."""
    monkeypatch.setattr(backlog, "LIMIT_SECONDS", LIMIT)
    cuda = FakeCuda()
    exe = ptx_executable(cuda, kernel, ptx="8.0")
    cuda.foreign = frozenset({"cuModuleLoadDataEx"})
    threading.Timer(3 * LIMIT, lambda: setattr(cuda, "foreign", frozenset())).start()
    exe.prepare().close()
    monkeypatch.setattr("ark_mlir.runtime.cuda.image._ASSEMBLING_SECONDS", LIMIT)
    exe = ptx_executable(cuda, kernel, ptx="8.0")
    cuda.foreign = frozenset({"cuModuleLoadDataEx"})
    with pytest.raises(ark.BusyError, match="cuModuleLoadDataEx has not returned"):
        exe.prepare()
    cuda.foreign = frozenset()
    end = time.monotonic() + 5
    while cuda.held and time.monotonic() < end:
        time.sleep(0.001)
    assert cuda.held == 0
