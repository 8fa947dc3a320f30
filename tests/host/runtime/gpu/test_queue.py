"""Runs that are queued behind a foreign kernel, which ends in time, late or never."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from internals import driver_of
from occupied_gpus import NEVER, occupied, shorten_limits

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.gpu import driver as gpu_driver
from ark_mlir.runtime.gpu import queue as gpu_queue
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.runtime.gpu.queue import QueueWatch
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_api, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program, run

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)
FIVE = gpu_queue._LIMIT_FACTOR  # before any test changes it
BUSY = r"the kernel of 'toy' has not begun for 0\.3 s: another kernel holds SMs"


@contextmanager
def refused(cuda: FakeCuda) -> Generator[None]:
    """Launches fail in the block, and the block raises the error."""
    with (
        mock.patch.object(cuda, "_cuLaunchKernelEx", return_value=(1,)),
        pytest.raises(ark.DeviceError, match=cuda.error("INVALID_VALUE")),
    ):
        yield


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_limits(monkeypatch)


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield executable.prepare().bind({"w": W})
    assert (cuda.held, cuda.running) == (0, 0)


@pytest.fixture
def counter(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    """A state that counts iterations, on one lane."""
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "int64", [])
    program.lane(0, [run(program.task("count", 1, [(state, 0)]), 0, 1)])
    with fake_executable(cuda, kernel, program) as executable:
        yield executable.prepare()
    assert (cuda.held, cuda.running) == (0, 0)


def test_the_deadline_of_a_queued_run(
    counter: Executable, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline is five times the timeout of a wait."""
    monkeypatch.setattr(gpu_queue, "_LIMIT_FACTOR", FIVE)
    monkeypatch.setenv("ARK_TIMEOUT", "0.1")
    with occupied(cuda):
        start = time.monotonic()
        with pytest.raises(ark.BusyError, match=r"has not begun for 0\.5 s"):
            counter.run()
    assert time.monotonic() - start >= 0.5


def test_a_foreign_kernel_that_ends_in_time(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    for iterations in (1, 3):
        with occupied(cuda, 0.1):
            y = exe.run(x=x, iterations=iterations)["y"]
        np.testing.assert_array_equal(y, x.ravel() + W + 0.5)


def test_a_foreign_kernel_that_never_ends(counter: Executable, cuda: FakeCuda) -> None:
    """Each run raises BusyError in time; its queued kernel does nothing when it begins later."""
    counter.run()
    with occupied(cuda):
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(ark.BusyError, match=BUSY) as caught:
                counter.run(iterations=5)
            assert 0.3 <= time.monotonic() - start < NEVER / 2
            assert "all 1 CTAs of the program have to be on the GPU at once" in str(caught.value)
        assert counter.states["n"] == 1
        assert cuda.running == 1
    counter.run(iterations=2)
    assert counter.states["n"] == 3
    assert cuda.running == 0


def test_results_are_right_afterwards(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    """Results of the abandoned run may arrive late, and must not replace those of the next run."""
    exe.run(x=x)
    for scale in range(1, 5):
        with occupied(cuda), pytest.raises(ark.BusyError):
            exe.run(x=-x)
        np.testing.assert_array_equal(exe.run(x=scale * x)["y"], scale * x.ravel() + W + 0.5)


def test_the_next_run_waits_for_the_end(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    with occupied(cuda), pytest.raises(ark.BusyError):
        exe.run(x=x)
    with occupied(cuda, 0.1):
        np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_another_executable_of_the_process(
    exe: Executable, cuda: FakeCuda, kernel: bytes, x: Array
) -> None:
    with fake_executable(cuda, kernel, add_program()) as other:
        other.bind({"w": 2 * W})
        with occupied(cuda):
            for executable in (exe, other):
                with pytest.raises(ark.BusyError):
                    executable.run(x=x)
        np.testing.assert_array_equal(other.run(x=x)["y"], x.ravel() + 2 * W + 0.5)
        np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_counters_are_zeroed_in_the_queue(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    """The memset after a failed run waits for an SM, too, which must not hide the queued launch."""
    exe.run(x=x)
    with refused(cuda):
        exe.run(x=x)
    with occupied(cuda), pytest.raises(ark.BusyError):
        exe.run(x=x)
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_earlier_work_of_the_stream_does_not_count(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """Earlier work of the stream may take any time: the deadline counts from the launch."""
    stream = cuda.new_stream()
    end = time.monotonic() + 1
    cuda.delay(stream, lambda: time.monotonic() > end)
    np.testing.assert_array_equal(exe.run(x=x, stream=stream)["y"], x.ravel() + W + 0.5)
    again = time.monotonic() + 0.6
    cuda.delay(stream, lambda: time.monotonic() > again)
    with occupied(cuda), pytest.raises(ark.BusyError):
        exe.run(x=x, stream=stream)
    assert time.monotonic() - again > 0.3


def test_a_launch_that_failed_is_not_taken_for_a_queued_one(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """The launch record was copied to the device, but the launch failed."""
    stream = cuda.new_stream()
    with refused(cuda):
        exe.run(x=x, stream=stream)
    end = time.monotonic() + 0.8
    cuda.delay(stream, lambda: time.monotonic() > end)
    np.testing.assert_array_equal(exe.run(x=x, stream=stream)["y"], x.ravel() + W + 0.5)


def test_a_run_that_is_abandoned_before_the_stream_comes_to_it(
    counter: Executable,
    cuda: FakeCuda,
    interrupt: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The abandoned kernel does nothing when it begins, so that a wait for the stream ends."""
    monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", 0.2)
    counter.run()
    stream, done = cuda.new_stream(), threading.Event()
    cuda.delay(stream, done.is_set)
    interrupt(counter)
    with pytest.raises(ark.DeviceError, match="the kernel does not end") as caught:
        counter.run(iterations=10, stream=stream)
    assert isinstance(caught.value.__context__, KeyboardInterrupt)
    done.set()
    counter.run()
    assert counter.states["n"] == 2


def test_outputs_on_the_device_are_kept_until_the_end(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """Freeing the outputs would wait for the kernel that occupies the device."""
    given = OnDevice(x)
    with occupied(cuda):
        start = time.monotonic()
        for _ in range(2):
            with pytest.raises(ark.BusyError):
                exe.run(x=given)
            gc.collect()
        assert time.monotonic() - start < NEVER / 2
    held = cuda.held
    exe.run(x=x)
    gc.collect()
    assert cuda.held < held


def test_only_time_without_a_break_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several consecutive replays is queued for a moment."""
    now = 100.0
    record: Any = SimpleNamespace(queued=True)
    kernel: Any = SimpleNamespace(
        lanes=3, bundle=SimpleNamespace(manifest=SimpleNamespace(program="toy"))
    )
    monkeypatch.setattr(gpu_queue.time, "monotonic", lambda: now)
    watch = QueueWatch(kernel, (record,)).start(2_000_000_000)  # times LIMIT_FACTOR: 0.3 s

    def poll(steps: int, queued: Callable[[int], bool]) -> None:
        nonlocal now
        for step in range(steps):
            now += 0.1
            record.queued = queued(step)
            watch.poll()

    poll(100, lambda step: step % 3 > 0)
    with pytest.raises(ark.BusyError):
        poll(6, lambda step: True)


def test_a_kernel_that_runs_for_long_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Warnings appear after one, two and four minutes; the next launch starts the time again."""
    now, record = 100.0, SimpleNamespace(queued=False)
    kernel: Any = SimpleNamespace(
        lanes=3, bundle=SimpleNamespace(manifest=SimpleNamespace(program="toy"))
    )
    monkeypatch.setattr(gpu_queue.time, "monotonic", lambda: now)
    watch = QueueWatch(kernel, (record,)).start(10_000_000_000)

    def run_for(seconds: int) -> list[str]:
        nonlocal now
        caplog.clear()
        for _ in range(2 * seconds):
            now += 0.5
            watch.poll()
        return [record.getMessage() for record in caplog.records]

    assert run_for(59) == []
    (message,) = run_for(40)
    assert message.startswith("the kernel of 'toy' has run for 60 s. Each of its waits ends after ")
    assert [line.split(".")[0] for line in run_for(200)] == [
        "the kernel of 'toy' has run for 120 s",
        "the kernel of 'toy' has run for 240 s",
    ]
    watch.start(10_000_000_000)
    assert run_for(59) == []


def test_a_kernel_that_has_begun_has_no_limit(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=1)
    program.lane(0, [run(program.task("nap", 50), 0, 50)])
    with fake_executable(cuda, kernel, program) as executable:
        start = time.monotonic()
        executable.run()
        assert time.monotonic() - start >= 1
        with executable.resident() as resident:
            resident.run()


def test_a_bundle_that_does_not_report_its_start(cuda: FakeCuda, kernel: bytes, x: Array) -> None:
    """Old kernels do not clear the word `queued`, and would seem to be queued while they run."""
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend=cuda.backend, arch=cuda.arch, warps=16, shared_memory=1024)
    drivers = {cuda.backend: lambda: GpuDriver(fake_api(cuda))}
    with Executable.from_parts(manifest, sections, drivers) as executable:
        executable.bind({"w": W})
        with occupied(cuda, 1):
            np.testing.assert_array_equal(executable.run(x=x)["y"], x.ravel() + W + 0.5)


def test_a_run_that_begins_when_it_is_abandoned(counter: Executable, cuda: FakeCuda) -> None:
    """The error says that the amount of completed work is unknown."""
    driver = driver_of(counter)
    abort = driver.record.abort

    def begins_before() -> None:
        cuda.occupied = False
        while cuda.running:
            cuda.advance()
        abort()

    driver.record.abort = begins_before
    with occupied(cuda), pytest.raises(ark.BusyError, match="states may hold part of the run"):
        counter.run()
    counter.reset()
    driver.record.abort = abort
    counter.run()
    assert counter.states["n"] == 1


def test_ctrl_c_in_the_queue(
    exe: Executable,
    cuda: FakeCuda,
    x: Array,
    interrupt: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_queue, "_LIMIT_FACTOR", 5)
    with occupied(cuda):
        start = time.monotonic()
        interrupt(exe)
        with pytest.raises(KeyboardInterrupt):
            exe.run(x=x)
        assert time.monotonic() - start < NEVER / 4
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_the_kth_call_fails(
    vendor: type[FakeCuda], kernel: bytes, x: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The k-th call after the abandoned run fails, for every k: a typed error, then a good run."""
    monkeypatch.setattr(gpu_queue, "_POLLS", 3)
    k, left = 0, True
    while left:
        k += 1
        cuda = vendor()
        with fake_executable(cuda, kernel, add_program()) as executable:
            executable.bind({"w": W}).run(x=x)
            with occupied(cuda), monkeypatch.context() as patch:
                patch.setattr(gpu_queue, "_LIMIT_FACTOR", 0.01)
                cuda.fail_at = len(cuda.calls) + k
                with pytest.raises(ark.DeviceError):
                    executable.run(x=x)
                with pytest.raises(ark.DeviceError):
                    executable.run(x=x)
                left = len(cuda.calls) >= cuda.fail_at
            cuda.fail_at = -1
            np.testing.assert_array_equal(executable.run(x=x)["y"], x.ravel() + W + 0.5)
        assert (cuda.held, cuda.running) == (0, 0), k


# -- resident kernels, and graphs ------------------------------------------------------------------


def test_a_queued_resident_kernel(cuda: FakeCuda, kernel: bytes) -> None:
    with fake_executable(cuda, kernel, counting_program()) as executable:
        executable.run()
        with occupied(cuda), executable.resident() as resident:
            for _ in range(2):
                with pytest.raises(ark.BusyError, match=BUSY):
                    resident.run()
        executable.run(iterations=2)
        with executable.resident() as resident:
            for _ in range(3):
                resident.run()
        assert executable.states["n"] == 6
    assert (cuda.held, cuda.running) == (0, 0)


def test_a_resident_block_continues_after_the_error(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    with exe.resident() as resident:
        with occupied(cuda), pytest.raises(ark.BusyError):
            resident.run(x=x)
        for scale in range(3):
            y = resident.run(x=scale * x)["y"]
            np.testing.assert_array_equal(y, scale * x.ravel() + W + 0.5)


def test_a_queued_replay(cuda: FakeCuda, counter: Executable) -> None:
    """The caller's replay stays queued: `check` raises BusyError, and may be repeated."""
    stream = cuda.new_stream()
    cuda.begin_capture(stream)
    counter.run(stream=stream)
    replay = cuda.end_capture(stream)
    counter.check(stream)
    with occupied(cuda):
        replay(stream)
        for _ in range(2):
            with pytest.raises(ark.BusyError, match=BUSY):
                counter.check(stream)
    counter.check(stream)
    assert counter.states["n"] == 1
