"""The driver for GPUs on stand-ins: results, and every way in which the driver can fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interrupts import interrupt_runs

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program, run, signal, wait

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)


def executable(cuda: FakeCuda, kernel: bytes, program: ToyProgram | None = None) -> Executable:
    target = {"shared_memory": cuda.shared_memory}
    return fake_executable(cuda, kernel, program or add_program(), target=target)


def session(cuda: FakeCuda, kernel: bytes, x: Array) -> list[Array]:
    with executable(cuda, kernel) as exe:
        exe.bind({"w": W})
        return [exe.run(x=x)["y"], exe.run(x=2 * x, iterations=3)["y"]]


def test_runs(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    cuda = vendor()
    first, second = session(cuda, kernel, x)
    np.testing.assert_array_equal(first, x.ravel() + W + 0.5)
    np.testing.assert_array_equal(second, 2 * x.ravel() + W + 0.5)
    assert cuda.held == 0


def test_the_kth_call_fails(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """For every k, the error is typed and names the call, no handle leaks, and the next run is
    right.
    """
    good = vendor()
    session(good, kernel, x)
    for k, name in enumerate(good.calls, start=1):
        cuda = vendor(fail_at=k)
        with pytest.raises(
            (ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: {cuda.error()}"
        ):
            session(cuda, kernel, x)
        assert cuda.held == 0, name
        session(cuda, kernel, x)
        assert cuda.held == 0


def test_a_failed_run_leaves_a_usable_executable(
    vendor: type[FakeCuda], kernel: bytes, x: Array
) -> None:
    cuda = vendor()
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
    vendor: type[FakeCuda], kernel: bytes, is_resident: bool
) -> None:
    """The kernel has ended when the interrupt leaves the run, so that states can be reset."""
    cuda = vendor()
    with executable(cuda, kernel, counting_program()) as exe:

        def count_twice(runs: Any) -> None:
            runs.reset()
            runs.run(iterations=2)
            assert exe.states["n"] == 2

        interrupts = interrupt_runs(
            exe, is_resident, lambda runs: runs.run(), count_twice, atomic="fake_gpu"
        )
        assert interrupts > 100
    assert (cuda.held, cuda.running) == (0, 0)


def test_a_hang_is_named(vendor: type[FakeCuda], kernel: bytes) -> None:
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    count = program.task("count", 1, [(state, 0)], "counter", location="net.py:3")
    missing = program.semaphore(2, "missing")
    # With one lane, the lane has always seen its own signal.
    program.lane(0, [run(count, 0, 1), signal(missing), wait(missing, 2)])
    with (
        ark.knobs.scope(ARK_TIMEOUT="0.2"),
        executable(vendor(), kernel, program) as exe,
        pytest.raises(ark.HangError, match="saw 1, expected 2"),
    ):
        exe.run()


def test_the_error_of_a_hang_is_complete(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """The error names task, op, line of Python, semaphore, seen and expected value, and the missing
    producer; then the process launches again."""
    program = ToyProgram(sms=2)
    maker = program.task("nothing", 1, name="maker", location="net.py:3", ops=["ark.matmul"])
    reader = program.task("nothing", 1, name="reader", location="net.py:4", ops=["ark.gelu"])
    done = program.semaphore(1, "done")
    program.lane(0, [run(maker, 0, 1), signal(done)])
    program.lane(1, [wait(done, 2), run(reader, 0, 1)])
    cuda = vendor()
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


def test_more_lanes_than_fit_on_the_gpu(vendor: type[FakeCuda], kernel: bytes) -> None:
    cuda = vendor(sms=1)
    with pytest.raises(ark.UnsupportedError, match="has 2 lanes; this GPU holds 1"):
        executable(cuda, kernel).prepare()
    assert cuda.held == 0


def test_more_shared_memory_than_a_cta_has(vendor: type[FakeCuda], kernel: bytes) -> None:
    """The note of the error names the target for which the program has to be compiled."""
    cuda = vendor()
    wanted, most = cuda.shared_memory + 1, cuda.shared_memory
    exe = fake_executable(cuda, kernel, add_program(), target={"shared_memory": wanted})
    with pytest.raises(ark.UnsupportedError, match=f"needs {wanted} bytes of") as caught:
        exe.prepare()
    assert caught.value.notes == (
        "compile the program for a target with less: dataclasses.replace("
        f'ark.targets.resolve("{vendor.backend}:{vendor.arch}"), shared_memory={most})',
    )
    assert cuda.held == 0


def test_too_little_memory(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """Memory is missing for the program itself, and later for its parameters: nothing leaks, or
    everything still works."""
    cuda = vendor(memory=1024)
    with pytest.raises(
        ark.DeviceError, match=f"{cuda.pattern('cuMemAlloc')} failed: {cuda.error('OUT_OF_MEMORY')}"
    ):
        executable(cuda, kernel).prepare()
    assert cuda.held == 0
    cuda = vendor()
    with executable(cuda, kernel) as exe:
        exe.prepare()
        cuda.memory = 0
        with pytest.raises(
            ark.DeviceError,
            match=f"{cuda.pattern('cuMemAlloc')} failed: {cuda.error('OUT_OF_MEMORY')}",
        ):
            exe.bind({"w": W})
        cuda.memory = 1 << 30
        np.testing.assert_array_equal(exe.bind({"w": W}).run(x=x)["y"], x.ravel() + W + 0.5)
    assert cuda.held == 0
