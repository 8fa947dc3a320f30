"""Injected hangs: each run times out, its error names the cause, and the next run works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of, runner_of, storage_of

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import driver as cpu
from ark_mlir.runtime.diagnosis.hang import LaneHangError
from ark_mlir.testing.toy import ToyProgram, add_program, barrier, run, signal, wait

Make = Callable[..., Executable]


Hang = Callable[..., Any]


@pytest.fixture
def hang(expire: Callable[..., None]) -> Hang:
    """``hang(executable, counters)`` returns the error of a run that hangs with these counters."""

    def caught_in(executable: Executable, counters: list[int], **inputs: Any) -> Any:
        driver = driver_of(executable)
        expire(executable, lambda: kernel_of(driver).counters.tolist() == counters)
        with pytest.raises(ark.HangError) as caught:
            executable.run(**inputs)
        return caught.value

    return caught_in


def begun(executable: Executable) -> Callable[[], bool]:
    """Returns True once the endless task has begun."""
    return lambda: executable.peek("flag") == 2


def release(executable: Executable) -> None:
    """Ends the endless task."""
    memory = storage_of(executable).states.memories["flag"]
    memory.write(np.dtype(np.int32), (), 1)


def two_tasks() -> tuple[ToyProgram, int, int]:
    program = ToyProgram()
    producer = program.task("nothing", 1, name="producer", location="net.py:3", ops=["ark.matmul"])
    consumer = program.task("nothing", 1, name="consumer", location="net.py:4", ops=["ark.gelu"])
    return program, producer, consumer


def test_a_cycle(make: Make, hang: Hang) -> None:
    program, a, b = two_tasks()
    first, second = program.semaphore(1, "first"), program.semaphore(1, "second")
    program.lane(0, [wait(second, 1), run(a, 0, 1), signal(first)])
    program.lane(1, [wait(first, 1), run(b, 0, 1), signal(second)])
    error = hang(make(program), [0, 0])
    assert error.diagnosis.cycle
    assert {link.item.lane for link in error.diagnosis.chain} == {0, 1}
    assert len(error.diagnosis.blocked) == 2
    text = str(error)
    for word in ("a cycle of waits", "net.py:3", "net.py:4", "'first'", "'second'"):
        assert word in text


def test_a_wait_for_one_too_many(make: Make, hang: Hang) -> None:
    program, a, b = two_tasks()
    done = program.semaphore(1, "done")
    program.lane(0, [run(a, 0, 1), signal(done)])
    program.lane(1, [wait(done, 2), run(b, 0, 1)])
    error = hang(make(program), [1])
    assert str(error).startswith(
        "net.py:4: ark.gelu: lane 1 (SM 1), task 'consumer' vCTAs [0, 1) waited more than 100 s "
        "for semaphore 'done': saw 1, expected 2"
    )
    assert "waits for 2 arrivals at 'done' in each iteration, and the schedule has 1" in str(error)
    assert "produced by lane 0 (SM 0), task 'producer' vCTAs [0, 1) at net.py:3" in str(error)
    assert (error.location, error.op) == ("net.py:4", "ark.gelu")


def test_the_time_that_the_user_sets_passes(make: Make) -> None:
    """The timeout ends the run here, possibly late, so that the progress of other lanes varies."""
    program, a, b = two_tasks()
    done = program.semaphore(1, "done")
    program.lane(0, [run(a, 0, 1)])
    program.lane(1, [wait(done, 1), run(b, 0, 1)])
    with knobs.scope(ARK_TIMEOUT="0.2"), pytest.raises(ark.HangError) as caught:
        make(program).run()
    assert "waited more than 0.2 s" in str(caught.value)
    assert "the schedule has 0" in str(caught.value)


def test_a_lost_signal(make: Make, hang: Hang) -> None:
    """The counter is overwritten, as by a kernel that writes where it should not."""
    program, a, b = two_tasks()
    done = program.semaphore(1, "done")
    program.lane(0, [run(a, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(b, 0, 1)])
    executable = make(program)
    executable.run()
    driver = driver_of(executable)
    kernel_of(driver).counters[0] -= np.uint64(1)
    error = hang(executable, [1])
    assert "it was lost, or" in str(error) or "one was lost, or" in str(error)
    executable.run()


def test_a_slow_producer_is_the_root(make: Make, expire: Callable[..., None]) -> None:
    """A lane that hangs inside a task is the cause, whichever lane reports the hang."""
    program, a, b = two_tasks()
    flag = program.buffer("flag", "state", "int32", [])
    stuck = program.task("endless", 1, [(flag, 0)], name="stuck", location="net.py:9")
    done, after = program.semaphore(1, "done"), program.semaphore(1, "after")
    program.lane(0, [run(stuck, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(a, 0, 1), signal(after)])
    program.lane(0, [wait(after, 1), run(b, 0, 1)])
    executable = make(program)
    driver = driver_of(executable)

    def release_when_reported() -> None:
        while not kernel_of(driver).report[0]:
            time.sleep(0.001)
        release(executable)

    expire(executable, begun(executable))
    threading.Thread(target=release_when_reported, daemon=True).start()
    with pytest.raises(LaneHangError) as caught:
        executable.run()
    assert "task 'stuck' vCTAs [0, 1) at net.py:9 had not ended" in str(caught.value)
    assert not caught.value.diagnosis.cycle


def test_a_hang_in_a_later_iteration(make: Make, hang: Hang) -> None:
    """Counters then count several iterations; the diagnosis uses the present one."""
    program, a, b = two_tasks()
    done = program.semaphore(1, "done")
    program.lane(0, [run(a, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(b, 0, 1)])
    executable = make(program)
    executable.run(iterations=5)
    driver = driver_of(executable)
    kernel_of(driver).counters[0] -= np.uint64(1)
    error = hang(executable, [7], iterations=3)
    assert error.diagnosis.waiter.iteration == 7
    assert error.diagnosis.waiter.expected == 8


def test_a_barrier_that_one_lane_skips(make: Make, hang: Hang) -> None:
    program, a, b = two_tasks()
    gate = program.semaphore(3, "gate")
    program.lane(0, [run(a, 0, 1), barrier(gate, 3)])
    program.lane(1, [run(b, 0, 1), barrier(gate, 3)])
    error = hang(make(program), [2])
    assert "saw 2, expected 3" in str(error)
    assert len(error.diagnosis.blocked) == 2


def test_many_lanes_are_summed_up(make: Make, hang: Hang) -> None:
    lanes = 40
    program = ToyProgram(sms=lanes)
    task = program.task("nothing", lanes)
    gate = program.semaphore(lanes + 1, "gate")
    for lane in range(lanes):
        program.lane(lane, [barrier(gate, lanes + 1), run(task, lane, lane + 1)])
    error = hang(make(program), [lanes])
    assert "and 23 more lanes" in str(error)
    assert len(str(error).splitlines()) < 50


def test_after_a_hang_everything_works(make: Make, x: Any, expire: Callable[..., None]) -> None:
    """A hundred hangs in one process, each followed by a run with the right result."""
    executable = make(add_program()).bind({"w": np.ones(128, np.float32)})
    driver = driver_of(executable)
    for _ in range(100):
        executable.run(x=x)
        kernel_of(driver).counters[0] -= np.uint64(1)
        expire(executable)
        with pytest.raises(ark.HangError):
            executable.run(x=x)
        assert np.array_equal(executable.run(x=x)["y"], np.arange(128) + 1.5)


def test_a_lane_that_never_ends_is_a_device_error(
    make: Make, expire: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane cannot be stopped; the program can run again after the lane has ended."""
    program, a, _ = two_tasks()
    flag = program.buffer("flag", "state", "int32", [])
    stuck = program.task("endless", 1, [(flag, 0)], name="stuck")
    done = program.semaphore(1)
    consumer = 1
    program.lane(0, [run(stuck, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(a, 0, 1), run(consumer, 0, 1)])
    executable = make(program)
    expire(executable, begun(executable))
    with monkeypatch.context() as hasty:
        hasty.setattr(cpu, "GRACE_SECONDS", 0.1)
        for _ in range(2):
            with pytest.raises(ark.DeviceError, match=r"did not end within 0\.1 s"):
                executable.run()
    release(executable)
    executable.run()


def test_closing_while_a_lane_never_ends(
    make: Make, expire: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that the lane may still access must outlive the executable."""
    monkeypatch.setattr(cpu, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(cpu, "INTERRUPT_GRACE_SECONDS", 0.1)
    program, a, b = two_tasks()
    flag = program.buffer("flag", "state", "int32", [])
    stuck = program.task("endless", 1, [(flag, 0)])
    done = program.semaphore(1)
    program.lane(0, [run(stuck, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(a, 0, 1), run(b, 0, 1)])
    executable = make(program)
    memory = storage_of(executable).states.memories["flag"]
    expire(executable, begun(executable))
    with pytest.raises(ark.DeviceError, match="did not end within"):
        executable.run()
    executable.close()
    time.sleep(0.1)
    memory.write(np.dtype(np.int32), (), 1)


def test_the_default_grows_with_the_program(make: Make) -> None:
    """A wait may last as long as all other work; 10 s would be too short for a large model."""
    program = ToyProgram(sms=1)
    program.lane(0, [run(program.task("nothing"), 0, 1)])
    short, long = make(program), make(program)
    statistics: Any = long.bundle.manifest.statistics
    statistics["predicted_ns"] = 2_000_000_000
    with knobs.scope(ARK_TIMEOUT=None):
        assert runner_of(short).timeout.nanoseconds() == 10_000_000_000
        assert runner_of(long).timeout.nanoseconds() >= 100_000_000_000
    with knobs.scope(ARK_TIMEOUT="0.2"):
        assert runner_of(short).timeout.nanoseconds() == 200_000_000
