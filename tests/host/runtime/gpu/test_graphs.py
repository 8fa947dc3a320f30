"""Runs in a CUDA graph, and the calls of NVIDIA's driver in a run, on a stand-in for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_api, fake_executable
from ark_mlir.testing.toy import (
    ToyProgram,
    add_program,
    gather_program,
    run,
    signal,
    wait,
)

Array = np.ndarray[Any, Any]
W = np.arange(128, dtype=np.float32)


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield executable.prepare().bind({"w": W})
    assert cuda.held == 0


def test_replays_use_the_values_that_the_arrays_then_have(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    given, y, stream = OnDevice(x), OnDevice(np.zeros(128, np.float32)), cuda.new_stream()
    cuda.begin_capture(stream)
    assert exe.run(x=given, out={"y": y}, stream=stream)["y"] is y
    replay = cuda.end_capture(stream)
    assert not y.array.any(), "the capture itself computes nothing"
    for scale in range(1, 6):
        given.array[...] = scale * x
        replay(0)
        cuda.synchronize(0)
        np.testing.assert_array_equal(y.array, scale * x.ravel() + W + 0.5)
        # Ordinary runs between replays use separate semaphores.
        np.testing.assert_array_equal(exe.run(x=x, iterations=3)["y"], x.ravel() + W + 0.5)
    exe.check()


def test_nothing_is_allocated_in_a_capture(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    given, y, stream = OnDevice(x), OnDevice(np.zeros(128, np.float32)), cuda.new_stream()
    cuda.begin_capture(stream)
    before = len(cuda.calls)
    exe.run(x=given, out={"y": y}, stream=stream)
    cuda.end_capture(stream)
    calls = [name for name in cuda.operations[before:] if name != "cuCtxSetCurrent"]
    if cuda.backend == "cuda":
        reset = ["cuMemcpyHtoDAsync", "cuStreamSynchronize", "cuMemcpyDtoDAsync"]
    else:
        reset = ["cuMemcpyHtoDAsync", "cuMemsetD8Async"]
    assert calls == ["cuStreamIsCapturing", *reset, "cuLaunchKernelEx"]


def test_a_run_comes_before_each_capture(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    given, stream = OnDevice(x), cuda.new_stream()
    results = [OnDevice(np.zeros(128, np.float32)) for _ in range(3)]
    replays: list[Any] = []
    for y in results:
        cuda.begin_capture(stream)
        exe.run(x=given, out={"y": y}, stream=stream)
        with pytest.raises(ark.InvalidUsageError, match="run it once outside of a graph"):
            exe.run(x=given, out={"y": y}, stream=stream)
        replays.append(cuda.end_capture(stream))
        exe.run(x=x)
    for replay in (*replays, *reversed(replays)):
        replay(stream)
    cuda.synchronize(stream)
    for y in results:
        np.testing.assert_array_equal(y.array, x.ravel() + W + 0.5)
    exe.check(stream)


def test_arrays_of_the_host_cannot_be_captured(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    given, y, stream = OnDevice(x), OnDevice(np.zeros(128, np.float32)), cuda.new_stream()
    cuda.begin_capture(stream)
    with pytest.raises(ark.InvalidUsageError, match="input 'x' lies in host memory"):
        exe.run(x=x, out={"y": y}, stream=stream)
    with pytest.raises(ark.InvalidUsageError, match="output 'y' has no array on the device"):
        exe.run(x=given, stream=stream)
    # The capture survives both errors.
    exe.run(x=given, out={"y": y}, stream=stream)
    cuda.end_capture(stream)(stream)
    cuda.synchronize(stream)
    np.testing.assert_array_equal(y.array, x.ravel() + W + 0.5)


def test_scalars_are_frozen_or_read_from_the_device(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=1)
    n = program.buffer("n", "scalar", "int32", [], max=9)
    y = program.buffer("y", "output", "int32", [3])
    program.lane(0, [run(program.task("fill", 3, [(y, 0), (n, 0)]), 0, 3)])
    stream = cuda.new_stream()
    frozen, fresh = OnDevice(np.zeros(3, np.int32)), OnDevice(np.zeros(3, np.int32))
    number = OnDevice(np.full((), 2, np.int32))
    with fake_executable(cuda, kernel, program) as exe:
        exe.prepare()
        cuda.begin_capture(stream)
        exe.run(n=4, out={"y": frozen}, stream=stream)
        first = cuda.end_capture(stream)
        assert exe.run(n=9)["y"].tolist() == [9, 9, 9]
        cuda.begin_capture(stream)
        exe.run(n=number, out={"y": fresh}, stream=stream)
        second = cuda.end_capture(stream)
        for value in (3, 5):
            number.array[...] = value
            first(stream)
            second(stream)
            cuda.synchronize(stream)
            assert frozen.array.tolist() == [4, 4, 4]
            assert fresh.array.tolist() == [value] * 3


def test_a_hang_of_a_replay_is_read_afterwards(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    count = program.task("count", 1, [(state, 0)], "counter", location="net.py:3")
    missing = program.semaphore(2, "missing")
    # With one lane, the lane has always seen its own signal.
    program.lane(0, [run(count, 0, 1), signal(missing), wait(missing, 2)])
    stream = cuda.new_stream()
    with ark.knobs.scope(ARK_TIMEOUT="0.2"), fake_executable(cuda, kernel, program) as exe:
        exe.prepare()
        cuda.begin_capture(stream)
        exe.run(stream=stream)
        replay = cuda.end_capture(stream)
        exe.check(stream)
        for _ in range(2):
            replay(stream)
            with pytest.raises(ark.HangError, match="saw 1, expected 2"):
                exe.check(stream)


def test_bad_data_of_a_replay_is_read_afterwards(cuda: FakeCuda, kernel: bytes) -> None:
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    index, row = OnDevice(np.zeros(1, np.int32)), OnDevice(np.zeros((1, 16), np.float32))
    stream = cuda.new_stream()
    with fake_executable(cuda, kernel, gather_program()) as exe:
        exe.bind({"table": weight})
        cuda.begin_capture(stream)
        exe.run(ids=index, out={"y": row}, stream=stream)
        replay = cuda.end_capture(stream)
        for good in (3, 7):
            index.array[...] = 8
            replay(stream)
            with pytest.raises(ark.InvalidUsageError, match="index 8 is out of range"):
                exe.check(stream)
            index.array[...] = good
            replay(stream)
            exe.check(stream)
            np.testing.assert_array_equal(row.array[0], weight[good])


def test_a_traced_run_cannot_be_captured(cuda: FakeCuda, kernel: bytes, x: Array) -> None:
    manifest, sections = add_program().parts(kernel, trace=True)
    manifest["target"].update(backend=cuda.backend, arch=cuda.arch)
    drivers = {cuda.backend: lambda: GpuDriver(fake_api(cuda))}
    stream, y = cuda.new_stream(), OnDevice(np.zeros(128, np.float32))
    with Executable.from_parts(manifest, sections, drivers) as exe:
        exe.bind({"w": W})
        cuda.begin_capture(stream)
        with pytest.raises(ark.InvalidUsageError, match="cannot be traced"):
            exe.run(x=OnDevice(x), out={"y": y}, stream=stream, trace="trace.json")
        cuda.end_capture(stream)


def test_the_kth_call_of_a_capture_fails(vendor: type[FakeCuda], kernel: bytes, x: Array) -> None:
    """The k-th call fails, for every k from load to check: a typed error, and no handle leaks."""

    def session(cuda: FakeCuda) -> None:
        stream, y = cuda.new_stream(), OnDevice(np.zeros(128, np.float32))
        with fake_executable(cuda, kernel, add_program()) as exe:
            exe.bind({"w": OnDevice(W)})
            cuda.begin_capture(stream)
            try:
                exe.run(x=OnDevice(x), out={"y": y}, stream=stream)
            finally:
                replay = cuda.end_capture(stream)
            replay(stream)
            exe.check(stream)
            exe.run(x=x)

    good = vendor()
    session(good)
    assert good.held == 0
    for k, name in enumerate(good.calls, start=1):
        cuda = vendor(fail_at=k)
        with pytest.raises(
            (ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: {cuda.error()}"
        ):
            session(cuda)
        assert cuda.held == 0, name


def test_a_run_that_cannot_allocate_the_next_capture_keeps_no_memory(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """Each run after a capture tries again: no attempt may keep a part of the memory."""
    stream, y = cuda.new_stream(), OnDevice(np.zeros(128, np.float32))
    cuda.begin_capture(stream)
    exe.run(x=OnDevice(x), out={"y": y}, stream=stream)
    cuda.end_capture(stream)
    before, held = cuda.held, list[int]()
    for k in range(1, 100):
        cuda.fail_at = len(cuda.calls) + k
        try:
            exe.run(x=x)
        except ark.DeviceError:
            held.append(cuda.held)
        else:
            break
    cuda.fail_at = -1
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)
    assert held.count(before) > 5
    assert set(held) == {before, cuda.held}


def test_driver_calls_of_a_run(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    """A run makes one copy to the device, one launch, one copy back, one event and one wait,
    without allocations or table uploads, for arrays of the host and of the device."""
    given, y = OnDevice(x), OnDevice(np.zeros(128, np.float32))
    exe.run(x=x)
    expected = ["cuMemcpyHtoDAsync", "cuLaunchKernelEx", "cuMemcpyDtoHAsync", "cuEventRecord"]
    for arguments in ({"x": x}, {"x": given, "out": {"y": y}}):
        before = len(cuda.calls)
        exe.run(**arguments)  # type: ignore[arg-type]
        work = [name for name in cuda.operations[before:] if name != "cuCtxSetCurrent"]
        assert work == [*expected, "cuEventQuery"]
