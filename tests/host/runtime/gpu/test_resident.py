"""Resident kernels on a stand-in for CUDA: rings, timeouts, interrupts and failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.diagnosis.trace import read_trace
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import (
    ToyProgram,
    add_program,
    counting_program,
    gather_program,
    run,
)

Array = np.ndarray[Any, Any]
W = np.arange(128, dtype=np.float32)


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield executable.prepare().bind({"w": W})
    assert cuda.held == 0
    assert cuda.running == 0


def stays(executable: Executable) -> bool:
    driver = driver_of(executable)
    return driver._resident is not None and driver._resident.is_running


def test_one_launch_for_many_runs(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    with exe.resident() as resident:
        for scale in range(50):
            y = resident.run(x=scale * x)["y"]
            np.testing.assert_array_equal(y, scale * x.ravel() + W + 0.5)
            assert stays(exe)
        assert len(cuda.launched) == 1
        with pytest.raises(ark.InvalidUsageError, match="is resident"):
            exe.run(x=x)
    assert not stays(exe)
    np.testing.assert_array_equal(exe.run(x=x, iterations=3)["y"], x.ravel() + W + 0.5)
    assert len(cuda.launched) == 2


def test_driver_calls_of_a_run_of_a_resident_kernel(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """A run makes one copy in each direction, and no allocation or call that needs an SM."""
    with exe.resident() as resident:
        resident.run(x=x)
        before = len(cuda.calls)
        resident.run(x=x)
        asked = [name for name in cuda.operations[before:] if name != "cuCtxSetCurrent"]
    assert asked == [
        "cuMemcpyHtoDAsync", "cuEventRecord", "cuEventQuery",
        "cuMemcpyDtoHAsync", "cuEventRecord", "cuEventQuery",
    ]  # fmt: skip


def test_a_block_without_runs_starts_nothing(exe: Executable, cuda: FakeCuda) -> None:
    with exe.resident():
        pass
    assert cuda.launched == []


def test_a_kernel_without_rings_ends(
    cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel without rings ends; the next run launches it again."""
    monkeypatch.setenv("ARK_TIMEOUT", "0.1")
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    with fake_executable(cuda, kernel, gather_program()) as executable:
        executable.bind({"table": weight})
        with executable.resident() as resident:
            for index in range(1, 4):
                y = resident.run(ids=np.array([index], np.int32))["y"][0]
                np.testing.assert_array_equal(y, weight[index])
                assert len(cuda.launched) == index
                while stays(executable):
                    time.sleep(0.01)


def test_rings_while_the_kernel_ends(
    cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring at any moment around the end of the kernel is answered, by this or the next launch."""
    monkeypatch.setenv("ARK_TIMEOUT", "0.005")
    pauses = np.random.default_rng(0).uniform(0.003, 0.008, 60)
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    with fake_executable(cuda, kernel, gather_program()) as executable:
        executable.bind({"table": weight})
        with executable.resident() as resident:
            for number, pause in enumerate(pauses):
                row = resident.run(ids=np.array([number % 8], np.int32))["y"][0]
                np.testing.assert_array_equal(row, weight[number % 8])
                time.sleep(pause)


def test_iterations_states_and_epochs(
    cuda: FakeCuda, kernel: bytes, check_epochs: Callable[[Executable], None]
) -> None:
    with fake_executable(cuda, kernel, counting_program()) as executable:
        check_epochs(executable)


def test_trace(cuda: FakeCuda, kernel: bytes, x: Array, tmp_path: Any) -> None:
    with fake_executable(cuda, kernel, add_program(), trace=True) as executable:
        executable.bind({"w": W})
        with executable.resident() as resident:
            resident.run(x=x)
            resident.run(x=x, trace=tmp_path / "trace.json")
        assert read_trace(tmp_path / "trace.json", executable.bundle).any()


def test_a_hang_ends_the_kernel_and_the_next_run_starts_it(
    cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_TIMEOUT", "2")  # successful runs may be slow on a busy machine
    with fake_executable(cuda, kernel, counting_program()) as executable:
        driver = driver_of(executable)
        with executable.resident() as resident:
            for _ in range(2):
                resident.run()
                # One arrival is missing: the next run waits for a signal that never comes.
                kernel_of(driver).semaphores.upload(np.zeros(8, np.uint64))
                with pytest.raises(ark.HangError, match="semaphore 'done'"):
                    resident.run()
                assert not stays(executable)
            resident.run()
            assert stays(executable)


def test_bad_data_is_an_error_of_its_run_alone(cuda: FakeCuda, kernel: bytes) -> None:
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    with fake_executable(cuda, kernel, gather_program()) as executable:
        executable.bind({"table": weight})
        with executable.resident() as resident:
            for good in (1, 7):
                with pytest.raises(ark.InvalidUsageError, match="index 8 is out of range"):
                    resident.run(ids=np.array([8], np.int32))
                row = resident.run(ids=np.array([good], np.int32))["y"][0]
                np.testing.assert_array_equal(row, weight[good])


def test_large_arrays(cuda: FakeCuda, kernel: bytes) -> None:
    rows = 40_000
    program = ToyProgram(sms=1)
    x = program.buffer("x", "input", "fp32", [rows, 16])
    y = program.buffer("y", "output", "fp32", [rows, 16])
    program.lane(0, [run(program.task("copy", rows, [(y, 0), (x, 0)]), 0, rows)])
    with fake_executable(cuda, kernel, program) as executable, executable.resident() as resident:
        resident.run(x=np.zeros((rows, 16), np.float32))
        allocations = cuda.operations.count("cuMemAlloc")
        for seed in range(3):
            array = np.random.default_rng(seed).standard_normal((rows, 16)).astype(np.float32)
            np.testing.assert_array_equal(resident.run(x=array)["y"], array)
        assert cuda.operations.count("cuMemAlloc") == allocations


def test_closing_in_the_block(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    with exe.resident() as resident:
        resident.run(x=x)
        exe.close()
        assert cuda.running == 0
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            resident.run(x=x)


def test_an_exception_leaves_the_block_unchanged(exe: Executable, x: Array) -> None:
    def fail() -> None:
        with exe.resident() as resident:
            resident.run(x=x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not stays(exe)
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_ctrl_c_in_a_run(
    cuda: FakeCuda, kernel: bytes, napping: ToyProgram, interrupt: Callable[..., None]
) -> None:
    with fake_executable(cuda, kernel, napping) as executable, executable.resident() as resident:
        resident.run()
        interrupt(executable)
        with pytest.raises(KeyboardInterrupt):
            resident.run(iterations=10**9)
        resident.reset()
        resident.run(iterations=2)
        assert executable.states["n"] == 2


def test_states_are_read_and_reset_in_a_block(cuda: FakeCuda, kernel: bytes) -> None:
    """Memory of HIP is coherent only between kernels, so that the kernel ends there before."""
    with (
        fake_executable(cuda, kernel, counting_program()) as executable,
        executable.resident() as resident,
    ):
        for _ in range(2):
            resident.run(iterations=2)
            assert executable.states["n"] == 2
            resident.reset()
        for _ in range(3):
            resident.run()
        assert len(cuda.launched) == (1 if cuda.backend == "cuda" else 3)
        assert executable.states["n"] == 3
    assert (cuda.held, cuda.running) == (0, 0)


def test_runs_after_a_block_that_failed(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """After a failure of any call from the first ring to the block's end, launches work again."""
    cuda = vendor()
    with (
        ark.knobs.scope(ARK_TIMEOUT="1"),
        fake_executable(cuda, kernel, add_program()) as executable,
    ):
        executable.bind({"w": W})

        def block() -> None:
            with executable.resident() as resident:
                resident.run(x=x)
                resident.run(x=x)

        block()
        before = len(cuda.calls)
        block()
        for k in range(1, len(cuda.calls) - before + 1):
            cuda.fail_at = len(cuda.calls) + k
            with pytest.raises(ark.DeviceError):
                block()
            np.testing.assert_array_equal(executable.run(x=2 * x)["y"], 2 * x.ravel() + W + 0.5)
    assert (cuda.held, cuda.running) == (0, 0)


def test_the_kth_call_fails(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """The k-th call fails, for every k until the block's end: a typed error, no handle leaks."""

    def session(cuda: FakeCuda) -> None:
        with fake_executable(cuda, kernel, add_program()) as executable:
            executable.bind({"w": W})
            with executable.resident() as resident:
                resident.run(x=x)
                resident.run(x=x)

    good = vendor()
    session(good)
    assert good.held == 0
    for k, name in enumerate(good.calls, start=1):
        cuda = vendor(fail_at=k)
        with (
            ark.knobs.scope(ARK_TIMEOUT="1"),
            pytest.raises(
                (ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: {cuda.error()}"
            ),
        ):
            session(cuda)
        assert (cuda.held, cuda.running) == (0, 0), name
