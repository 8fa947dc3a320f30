"""Resident mode: lanes stay in the kernel between runs, and leave it in all cases at the end."""

from __future__ import annotations

import signal as signals
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of, lanes_of, run_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import (
    ToyProgram,
    add_program,
    counting_program,
    gather_program,
    run,
    signal,
    wait,
)

Make = Callable[..., Executable]
Array = np.ndarray[Any, Any]


def in_kernel(executable: Executable) -> tuple[int, ...]:
    """Returns the lanes that are in the kernel."""
    driver = driver_of(executable)
    return lanes_of(driver).running


@pytest.fixture
def entries(add: Executable) -> list[int]:
    """Returns the lanes that entered the kernel of `add`, with one entry for each time."""
    kernel = driver_of(add.prepare())
    entry, lanes = kernel_of(kernel).entry, list[int]()

    def counting(context: int, lane: int) -> int:
        lanes.append(lane)
        return entry(context, lane)

    kernel_of(kernel).entry = counting
    return lanes


def test_results(add: Executable, x: Array) -> None:
    with add.resident() as resident:
        first = resident.run(x=x)["y"]
        second = resident.run({"x": 2 * x})["y"]
        with pytest.raises(ark.InvalidUsageError, match="is resident"):
            add.run(x=x)
        with pytest.raises(ark.InvalidUsageError, match="expected fp32"):
            resident.run(x=x.astype(np.float64))
    assert np.array_equal(first, np.arange(128) + 1.5)
    assert np.array_equal(second, 2 * np.arange(128) + 1.5)
    with pytest.raises(ark.InvalidUsageError, match="no longer resident"):
        resident.run(x=x)
    assert np.array_equal(add.run(x=x)["y"], np.arange(128) + 1.5)


def test_lanes_enter_the_kernel_once(add: Executable, x: Array, entries: list[int]) -> None:
    with add.resident() as resident:
        assert entries == []
        for scale in range(100):
            y = resident.run(x=scale * x)["y"]
            assert np.array_equal(y, scale * np.arange(128) + 1.5)
            assert in_kernel(add) == (0, 1)
        assert sorted(entries) == [0, 1]
    assert in_kernel(add) == ()
    add.run(x=x)
    assert sorted(entries) == [0, 0, 1, 1]


def test_a_block_without_runs_starts_nothing(add: Executable, entries: list[int]) -> None:
    with add.resident():
        pass
    assert entries == []


def test_a_wait_for_the_doorbell_has_no_deadline(add: Executable, x: Array) -> None:
    driver = driver_of(add.prepare())
    with add.resident() as resident:
        resident.run(x=x)
        run_of(driver).context.timeout_ns = 0
        time.sleep(0.3)  # longer than the timeout, which must not end idle lanes
        assert in_kernel(add) == (0, 1)
        assert resident.run(x=x)["y"][0] == 1.5


def test_iterations_states_and_epochs(
    make: Make, check_epochs: Callable[[Executable], None]
) -> None:
    check_epochs(make(counting_program()))


def test_trace(make: Make, x: Array, tmp_path: Path) -> None:
    executable = make(add_program(), trace=True).bind({"w": np.ones(128, np.float32)})
    path = tmp_path / "trace.perfetto"
    with executable.resident() as resident:
        resident.run(x=x)
        resident.run(x=x, trace=path)
    from ark_mlir.runtime.diagnosis.trace import read_trace

    times = read_trace(path, executable.bundle)
    assert (times[:, 1] >= times[:, 0]).all()
    assert times.any()


def test_a_hang_ends_the_kernel_and_the_next_run_starts_it(
    add: Executable, x: Array, entries: list[int], expire: Callable[..., None]
) -> None:
    driver = driver_of(add)
    with add.resident() as resident:
        resident.run(x=x)
        # Two arrivals are missing: the next run waits for signals that never come.
        kernel_of(driver).counters[0] -= np.uint64(2)
        expire(add)
        with pytest.raises(ark.HangError, match="semaphore 'done'"):
            resident.run(x=x)
        assert in_kernel(add) == ()
        assert np.array_equal(resident.run(x=x)["y"], np.arange(128) + 1.5)
        assert in_kernel(add) == (0, 1)
    assert sorted(entries) == [0, 0, 1, 1]


def test_a_lane_at_the_doorbell_is_not_blamed_for_a_hang(
    make: Make, expire: Callable[..., None]
) -> None:
    """Lane 0 has finished its run when lane 1 hangs."""
    program = ToyProgram(sms=2)
    nothing = program.task("nothing")
    done = program.semaphore(1, "done")
    program.lane(0, [signal(done)])
    program.lane(1, [wait(done, 1), run(nothing, 0, 1)])
    executable = make(program)
    driver = driver_of(executable)
    with executable.resident() as resident:
        resident.run()
        kernel_of(driver).counters[0] -= np.uint64(1)
        expire(executable, lambda: kernel_of(driver).counters[0] == 1)
        with pytest.raises(ark.HangError, match="one was lost") as caught:
            resident.run()
    assert "also waiting" not in str(caught.value)


def test_bad_data_is_an_error_of_its_run_alone(make: Make) -> None:
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    executable = make(gather_program()).bind({"table": weight})
    with executable.resident() as resident:
        for good in (1, 7):
            with pytest.raises(ark.InvalidUsageError, match="index 8 is out of range"):
                resident.run(ids=np.array([8], np.int32))
            y_of_good = resident.run(ids=np.array([good], np.int32))["y"]
            assert np.array_equal(y_of_good[0], weight[good])


def test_ctrl_c_in_a_run(make: Make, napping: ToyProgram, interrupt: Callable[..., None]) -> None:
    executable = make(napping)
    with executable.resident() as resident:
        resident.run()
        interrupt(executable, lambda: executable.peek("n") >= 3)
        with pytest.raises(KeyboardInterrupt):
            resident.run(iterations=10**9)
        driver = driver_of(executable)
        assert lanes_of(driver) is None, "all lanes have ended"
        resident.reset()
        resident.run(iterations=2)
        assert executable.states["n"] == 2


def test_ctrl_c_between_runs_leaves_the_block(
    make: Make, napping: ToyProgram, lane_threads: Callable[[], int]
) -> None:
    executable = make(napping)

    def idle() -> None:
        with executable.resident() as resident:
            resident.run()
            signals.raise_signal(signals.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        idle()
    assert in_kernel(executable) == ()
    executable.run()
    executable.close()
    assert lane_threads() == 0


def test_an_exception_leaves_the_block_unchanged(add: Executable, x: Array) -> None:
    def fail() -> None:
        with add.resident() as resident:
            resident.run(x=x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert in_kernel(add) == ()
    assert add.run(x=x)["y"][0] == 1.5


def test_closing_in_the_block(add: Executable, x: Array, lane_threads: Callable[[], int]) -> None:
    with add.resident() as resident:
        resident.run(x=x)
        add.close()
        assert lane_threads() == 0
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            resident.run(x=x)


def test_dropping_the_executable_ends_its_threads(
    add: Executable, x: Array, lane_threads: Callable[[], int]
) -> None:
    block = add.resident()
    resident = block.__enter__()
    resident.run(x=x)
    assert in_kernel(add) == (0, 1)
    del block
    assert in_kernel(add) == ()
    with pytest.raises(ark.InvalidUsageError, match="no longer resident"):
        resident.run(x=x)


@pytest.mark.parametrize(
    "end", ["", "sys.exit(0)", "os.fork() or os._exit(0); os.wait()", "child()"]
)
def test_a_process_ends_while_the_kernel_stays(kernel: bytes, end: str) -> None:
    script = f"""
import os, sys, numpy as np
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import driver as cpu
from ark_mlir.testing.toy import add_program, compile_kernel
x = np.ones((8, 16), np.float32)
add = Executable.from_parts(*add_program().parts(compile_kernel())).bind({{"w": x.reshape(-1)}})
cpu.GRACE_SECONDS = cpu.INTERRUPT_GRACE_SECONDS = 1e6  # waits for lanes have no limit
block = add.resident()
resident = block.__enter__()
def child():
    if os.fork() == 0:
        assert (resident.run(x=x)["y"] == 2.5).all()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    block.__exit__(None, None, None)
assert (resident.run(x=x)["y"] == 2.5).all()
{end}
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
