"""The cuda driver on a stand-in for CUDA: results, and every way in which it can fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interrupts import interrupt_runs

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.testing.fake_cuda import FakeCuda
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program, run, signal, wait

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)


def executable(
    cuda: FakeCuda,
    kernel: bytes,
    program: ToyProgram | None = None,
    arch: str = "sm_90a",
    shared_memory: int = 232448,
) -> Executable:
    manifest, sections = (program or add_program()).parts(kernel)
    target = {"backend": "cuda", "arch": arch, "warps": 16, "shared_memory": shared_memory}
    manifest["target"].update(target)
    manifest["options"]["clears_queued"] = True
    drivers = {"cuda": lambda: GpuDriver(CudaApi(cuda))}
    return Executable.from_parts(manifest, sections, drivers)


def session(cuda: FakeCuda, kernel: bytes, x: Array) -> list[Array]:
    with executable(cuda, kernel) as exe:
        exe.bind({"w": W})
        return [exe.run(x=x)["y"], exe.run(x=2 * x, iterations=3)["y"]]


def test_runs(kernel: bytes, x: Array) -> None:
    cuda = FakeCuda()
    first, second = session(cuda, kernel, x)
    np.testing.assert_array_equal(first, x.ravel() + W + 0.5)
    np.testing.assert_array_equal(second, 2 * x.ravel() + W + 0.5)
    assert cuda.held == 0


def test_the_kth_call_fails(kernel: bytes, x: Array) -> None:
    """For every k, the error is typed and names the call, no handle leaks, and the next run is
    right.
    """
    good = FakeCuda()
    session(good, kernel, x)
    for k, name in enumerate(good.calls, start=1):
        cuda = FakeCuda(fail_at=k)
        with pytest.raises((ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: CUDA_"):
            session(cuda, kernel, x)
        assert cuda.held == 0, name
        session(cuda, kernel, x)
        assert cuda.held == 0


def test_a_failed_run_leaves_a_usable_executable(kernel: bytes, x: Array) -> None:
    cuda = FakeCuda()
    with executable(cuda, kernel) as exe:
        exe.bind({"w": W}).run(x=x)
        before = len(cuda.calls)
        exe.run(x=x)
        calls = len(cuda.calls) - before
        for k in range(1, calls + 1):
            cuda.fail_at = len(cuda.calls) + k
            with pytest.raises(ark.DeviceError):
                exe.run(x=x)
            np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


@pytest.mark.parametrize("is_resident", [False, True])
def test_an_interrupt_at_each_point_of_a_run_leaves_a_usable_executable(
    kernel: bytes, is_resident: bool
) -> None:
    """The kernel has ended when the interrupt leaves the run, so that states can be reset."""
    cuda = FakeCuda()
    with executable(cuda, kernel, counting_program()) as exe:

        def count_twice(runs: Any) -> None:
            runs.reset()
            runs.run(iterations=2)
            assert exe.states["n"] == 2

        interrupts = interrupt_runs(
            exe, is_resident, lambda runs: runs.run(), count_twice, atomic="fake_cuda"
        )
        assert interrupts > 100
    assert (cuda.held, cuda.running) == (0, 0)


def test_a_hang_is_named(kernel: bytes) -> None:
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    count = program.task("count", 1, [(state, 0)], "counter", location="net.py:3")
    missing = program.semaphore(2, "missing")
    # With one lane, the lane has always seen its own signal.
    program.lane(0, [run(count, 0, 1), signal(missing), wait(missing, 2)])
    with (
        ark.knobs.scope(ARK_TIMEOUT="0.2"),
        executable(FakeCuda(), kernel, program) as exe,
        pytest.raises(ark.HangError, match="saw 1, expected 2"),
    ):
        exe.run()


def test_the_error_of_a_hang_is_complete(kernel: bytes, x: Array) -> None:
    """The error names task, op, line of Python, semaphore, seen and expected value, and the missing
    producer; then the process launches again."""
    program = ToyProgram(sms=2)
    maker = program.task("nothing", 1, name="maker", location="net.py:3", ops=["ark.matmul"])
    reader = program.task("nothing", 1, name="reader", location="net.py:4", ops=["ark.gelu"])
    done = program.semaphore(1, "done")
    program.lane(0, [run(maker, 0, 1), signal(done)])
    program.lane(1, [wait(done, 2), run(reader, 0, 1)])
    cuda = FakeCuda()
    with (
        ark.knobs.scope(ARK_TIMEOUT="0.2"),
        executable(cuda, kernel, program) as exe,
        pytest.raises(ark.HangError) as caught,
    ):
        exe.run()
    error = caught.value
    assert (error.location, error.op) == ("net.py:4", "ark.gelu")
    for part in (
        "task 'reader' vCTAs [0, 1)", "waited more than 0.2 s", "semaphore 'done'",
        "saw 1, expected 2", "produced by lane 0 (SM 0), task 'maker' vCTAs [0, 1) at net.py:3",
    ):  # fmt: skip
        assert part in str(error)
    session(cuda, kernel, x)
    assert cuda.held == 0


def test_a_gpu_of_another_architecture(kernel: bytes) -> None:
    with pytest.raises(ark.UnsupportedError, match="for sm_100a; this GPU is sm_90"):
        executable(FakeCuda(), kernel, arch="sm_100a").prepare()
    with pytest.raises(ark.UnsupportedError, match="for sm_80; this GPU is sm_90"):
        executable(FakeCuda(), kernel, arch="sm_80").prepare()
    executable(FakeCuda(), kernel, arch="sm_90").prepare().close()


def ptx_executable(cuda: FakeCuda, kernel: bytes, arch: str = "sm_90a", ptx: str = "8.6") -> Any:
    """The toy kernel as PTX, which the stand-in assembles to the toy kernel."""
    cuda.assembles = kernel
    text = f"// made by LLVM\n.version {ptx}\n.target {arch}\n".encode()
    return executable(cuda, text, arch=arch)


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
    """The error contains the messages of the driver's assembler."""
    cuda = FakeCuda()
    exe = ptx_executable(cuda, kernel)
    cuda.assembles = None
    with pytest.raises(
        ark.DeviceError, match="cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX"
    ) as caught:
        exe.prepare()
    assert caught.value.notes == ("ptxas fatal   : Unresolved extern function '__nv_sinf'",)
    assert cuda.held == 0
    session(cuda, kernel, x)


@pytest.mark.parametrize(
    ("ptx", "version", "needed"),
    [("8.6", 12040, r"12\.7 or later \(565\)"), ("8.7", 12070, r"12\.8 or later \(570\)")],
)
def test_a_driver_that_is_too_old_for_the_ptx(
    kernel: bytes, ptx: str, version: int, needed: str
) -> None:
    cuda = FakeCuda(version=version)
    message = f"holds PTX {ptx}, which needs a driver for CUDA {needed}; the driver of this machine"
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
        executable(cuda, b"nonsense").prepare()
    assert cuda.held == 0


def test_more_lanes_than_fit_on_the_gpu(kernel: bytes) -> None:
    cuda = FakeCuda(sms=1)
    with pytest.raises(ark.UnsupportedError, match="has 2 lanes; this GPU holds 1"):
        executable(cuda, kernel).prepare()
    assert cuda.held == 0


def test_more_shared_memory_than_a_cta_has(kernel: bytes) -> None:
    cuda = FakeCuda()
    with pytest.raises(ark.UnsupportedError, match="needs 232449 bytes of shared memory"):
        executable(cuda, kernel, shared_memory=232449).prepare()
    assert cuda.held == 0


def test_too_little_memory(kernel: bytes, x: Array) -> None:
    """Memory is missing for the program itself, and later for its parameters: nothing leaks, or
    everything still works."""
    cuda = FakeCuda(memory=1024)
    with pytest.raises(ark.DeviceError, match="cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"):
        executable(cuda, kernel).prepare()
    assert cuda.held == 0
    cuda = FakeCuda()
    with executable(cuda, kernel) as exe:
        exe.prepare()
        cuda.memory = 0
        with pytest.raises(ark.DeviceError, match="cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"):
            exe.bind({"w": W})
        cuda.memory = 1 << 30
        np.testing.assert_array_equal(exe.bind({"w": W}).run(x=x)["y"], x.ravel() + W + 0.5)
    assert cuda.held == 0


def test_a_gpu_that_others_keep_busy(kernel: bytes, x: Array) -> None:
    """All CTAs must fit on the GPU at once, which the driver may notice only at the launch."""
    cuda = FakeCuda(sms=2)
    with executable(cuda, kernel) as exe:
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
        with executable(cuda, kernel) as exe:
            exe.bind({"w": W}).run(x=x)
            cuda.crashes = True
            for _ in range(2):
                with pytest.raises(ark.DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
                    exe.run(x=x)
            raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="the caller's own"):
        use_it()
    assert cuda.held == 0
    session(cuda, kernel, x)
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
    with executable(cuda, kernel) as exe:
        exe.bind({"w": W})
        with pytest.raises(kind, match=match):
            exe.run(x=x)
    assert cuda.held == 0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.driver", None)
    with pytest.raises(ark.UnsupportedError, match="needs the package cuda-python"):
        CudaApi()
