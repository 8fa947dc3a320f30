"""Ctrl-C: the run ends soon, and the process and the executable still work."""

from __future__ import annotations

import os
import signal as signals
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from internals import driver_of, lanes_of, storage_of
from interrupts import interrupt_runs

from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import driver as cpu
from ark_mlir.testing.toy import ToyProgram, counting_program, run

Make = Callable[..., Executable]
Interrupt = Callable[..., None]


def interrupt_after(seconds: float) -> threading.Thread:
    def send() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signals.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_a_long_run_can_be_interrupted_and_run_again(
    make: Make, napping: ToyProgram, interrupt: Interrupt
) -> None:
    executable = make(napping)
    driver = driver_of(executable)
    for _ in range(3):
        interrupt(executable, lambda: executable.peek("n") >= 2)
        with pytest.raises(KeyboardInterrupt):
            executable.run(iterations=10**9)
        assert lanes_of(driver) is None, "all lanes have ended"
        executable.reset()
        executable.run(iterations=2)
        assert executable.states["n"] == 2


def test_lanes_without_waits_end_too(make: Make, interrupt: Interrupt) -> None:
    program = ToyProgram(sms=1)
    program.lane(0, [run(program.task("nap"), 0, 1)])
    executable = make(program)
    driver = driver_of(executable)
    interrupt(executable)
    with pytest.raises(KeyboardInterrupt):
        executable.run(iterations=10**9)
    assert lanes_of(driver) is None, "all lanes have ended"
    executable.run()


def test_a_lane_that_does_not_listen_does_not_hold_ctrl_c(
    make: Make, interrupt: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ToyProgram(sms=1)
    flag = program.buffer("flag", "state", "int32", [])
    program.lane(0, [run(program.task("endless", 1, [(flag, 0)]), 0, 1)])
    executable = make(program)
    driver = driver_of(executable)
    interrupt(executable, lambda: executable.peek("flag") == 2)
    with monkeypatch.context() as hasty:
        hasty.setattr(cpu, "INTERRUPT_GRACE_SECONDS", 0.1)
        with pytest.raises(KeyboardInterrupt):
            executable.run()
    assert lanes_of(driver).running == (0,)
    memory = storage_of(executable).states.memories["flag"]
    memory.write(np.dtype(np.int32), (), 1)
    executable.run()


def interrupted_at(seconds: float, executable: Executable) -> None:
    thread = interrupt_after(seconds)
    executable.run(iterations=2)
    # The signal is sent when the thread ends, and is handled in one of the next steps.
    thread.join()
    time.sleep(1)


def test_an_interrupt_at_any_moment_leaves_a_usable_executable(
    make: Make, napping: ToyProgram
) -> None:
    """The interrupt may come between the starts of two lanes."""
    executable = make(napping)
    executable.run()
    for step in range(40):
        # The signal may come at once, so the whole block expects it.
        with pytest.raises(KeyboardInterrupt):
            interrupted_at(0.0005 * step, executable)
        executable.reset()
        executable.run(iterations=2)
        assert executable.states["n"] == 2


@pytest.mark.parametrize("is_resident", [False, True])
def test_an_interrupt_at_each_point_of_a_run_leaves_a_usable_executable(
    make: Make, is_resident: bool
) -> None:
    """No lock stays acquired, also while the traceback of the interrupt keeps all frames alive."""
    executable = make(counting_program())

    def count_twice(runs: Any) -> None:
        runs.reset()
        runs.run(iterations=2)
        assert executable.states["n"] == 2

    interrupts = interrupt_runs(executable, is_resident, lambda runs: runs.run(), count_twice)
    assert interrupts > 30
    executable.close()


def test_a_process_with_a_stuck_lane_can_exit(kernel: bytes) -> None:
    """Threads that never end must neither keep the process nor crash it at exit."""
    script = """
import threading, time, os, signal, sys
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import ToyProgram, compile_kernel, run
program = ToyProgram(sms=1)
flag = program.buffer("flag", "state", "int32", [])
program.lane(0, [run(program.task("endless", 1, [(flag, 0)]), 0, 1)])
executable = Executable.from_parts(*program.parts(compile_kernel()))
driver = executable.prepare()._runner.driver
wait = driver.wait
def interrupted():
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    return wait()
driver.wait = interrupted
try:
    executable.run()
except KeyboardInterrupt:
    print("interrupted")
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert (result.returncode, result.stdout) == (0, "interrupted\n"), result.stderr
