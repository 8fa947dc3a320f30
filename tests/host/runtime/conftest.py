"""A real kernel for the runtime's tests, compiled from C, and programs to run with it."""

from __future__ import annotations

import gc
import os
import signal as signals
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of, run_of

from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import driver as cpu
from ark_mlir.runtime.gpu import queue as gpu_queue
from ark_mlir.testing.fake_gpu import FakeCuda
from ark_mlir.testing.toy import (
    ToyProgram,
    add_program,
    compile_kernel,
    run,
    signal,
    wait,
)

Make = Callable[..., Executable]


@pytest.fixture(autouse=True)
def _long_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives lanes a long time to end, for slow machines; tests of the limits set their own."""
    monkeypatch.setattr(cpu, "GRACE_SECONDS", 100.0)
    monkeypatch.setattr(cpu, "INTERRUPT_GRACE_SECONDS", 100.0)
    # A host that checks whether a kernel has begun makes one more call of the vendor's driver.
    monkeypatch.setattr(gpu_queue, "_LIMIT_FACTOR", 1000)
    monkeypatch.setattr(gpu_queue, "_MAX_SECONDS_BETWEEN_POLLS", 100.0)


@pytest.fixture(scope="session")
def kernel() -> bytes:
    return compile_kernel()


@pytest.fixture
def make(kernel: bytes) -> Iterator[Make]:
    """``make(program, trace=False)`` returns an executable, closed after the test."""
    made: list[Executable] = []

    def build(program: ToyProgram, **options: Any) -> Executable:
        made.append(Executable.from_parts(*program.parts(kernel, **options)).prepare())
        return made[-1]

    yield build
    for executable in made:
        executable.close()


@pytest.fixture
def add(make: Make) -> Executable:
    """``y = (x + w) + 0.5`` of fp32 ``[8, 16]``, bound to w = 1."""
    return make(add_program()).bind({"w": np.ones(128, np.float32)})


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.arange(128, dtype=np.float32).reshape(8, 16)


@pytest.fixture
def lane_threads() -> Callable[[], int]:
    """Returns the number of live threads of lanes that the test has started."""

    def lanes() -> set[threading.Thread]:
        gc.collect()
        return {thread for thread in threading.enumerate() if thread.name.startswith("ark:")}

    before = lanes()  # some of the older threads may be ending
    return lambda: len(lanes() - before)


@pytest.fixture
def cuda(vendor: type[FakeCuda]) -> FakeCuda:
    """A GPU of a vendor."""
    return vendor()


@pytest.fixture
def two(vendor: type[FakeCuda]) -> Iterator[FakeCuda]:
    """Two GPUs of a vendor; at the end, all resources must be freed, and no GPU may have accessed
    memory without permission."""
    cuda = vendor(devices=2)
    yield cuda
    gc.collect()
    assert (cuda.running, cuda.foreign_accesses) == (0, [])
    # Without contexts, nothing releases the handles of a GPU whose kernel has failed.
    if cuda.contexts or not any(device.broken for device in cuda.devices):
        assert cuda.held == 0


@pytest.fixture
def check_epochs() -> Callable[[Executable], None]:
    """Runs a `counting_program` inside and outside of a resident block and checks its counts."""

    def check(executable: Executable) -> None:
        executable.run(iterations=3)
        with executable.resident() as resident:
            for iterations in (1, 5, 2):
                resident.run(iterations=iterations)
            assert executable.states["n"] == 11
            resident.reset()
            resident.run(iterations=4)
        executable.run()
        assert executable.states["n"] == 5
        driver = driver_of(executable)
        assert driver.epoch == 16

    return check


@pytest.fixture
def napping() -> ToyProgram:
    """Each iteration takes 20 ms, has a hand-off, and adds one to the count."""
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    nap, count = program.task("nap"), program.task("count", 1, [(state, 0)])
    done = program.semaphore(1)
    program.lane(0, [run(nap, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(count, 0, 1)])
    return program


def _in_wait(executable: Executable, act: Callable[[Any], None]) -> None:
    """Calls `act` with the driver once, as soon as the next run has started its lanes."""
    driver = driver_of(executable)
    wait_for_lanes = driver.wait

    def acting() -> Any:
        driver.wait = wait_for_lanes
        act(driver)
        return wait_for_lanes()

    driver.wait = acting


@pytest.fixture
def expire() -> Callable[..., None]:
    """``expire(executable, ready)`` makes the waits of the next run time out at once.

    `ready` returns True when all lanes are at the positions that the test needs; the watchdog
    then looks at them. A fixed delay would not do: on a busy machine a lane may begin at any time.
    """

    def arrange(executable: Executable, ready: Callable[[], bool] = lambda: True) -> None:
        def run_out(driver: Any) -> None:
            while not ready() and not kernel_of(driver).report[0]:
                time.sleep(0.0005)
            run_of(driver).context.timeout_ns = 0

        _in_wait(executable, run_out)

    return arrange


@pytest.fixture
def interrupt() -> Callable[..., None]:
    """``interrupt(executable, ready)`` sends Ctrl-C in the next run, while the host waits for it.

    The signal is sent as soon as `ready` returns True, and never outside of the run.
    """

    def arrange(executable: Executable, ready: Callable[[], bool] = lambda: True) -> None:
        def send() -> None:
            while not ready():
                time.sleep(0.0005)
            time.sleep(0.05)  # usually during the wait; the run lasts until then in any case
            os.kill(os.getpid(), signals.SIGINT)

        _in_wait(executable, lambda driver: threading.Thread(target=send, daemon=True).start())

    return arrange
