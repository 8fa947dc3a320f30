"""The calling thread runs short programs of one lane; workers run all others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from internals import driver_of, lanes_of
from interrupts import interrupt_runs

import ark_mlir as ark
from ark_mlir.runtime.cpu import driver as cpu
from ark_mlir.runtime.cpu.lanes import CallingThread

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")


def compiled(target: str = "cpu:1", rows: int = 4) -> ark.Executable:
    """A program that adds its input to a state."""
    with ark.Program("sums") as program:
        x = ark.input("x", (rows, 16), ark.fp32)
        total = ark.state("total", (rows, 16), ark.fp32)
        ark.output("y", ark.update(total, ark.add(total, x), (0, 0)))
    return ark.compile(program, target=target)


def ones(rows: int = 4) -> Any:
    return np.ones((rows, 16), np.float32)


def uses_workers(executable: ark.Executable) -> bool:
    return lanes_of(driver_of(executable)) is not None


def test_a_short_program_of_one_lane_starts_no_thread() -> None:
    executable = compiled()
    before = threading.enumerate()
    for count in (1, 2, 3):
        assert (executable.run(x=ones())["y"] == count).all()
    assert threading.enumerate() == before
    assert not uses_workers(executable)


@pytest.mark.parametrize(("target", "rows"), [("cpu:2", 1 << 10), ("cpu:1", 1 << 9)])
def test_workers_run_other_programs(target: str, rows: int) -> None:
    """A program of two lanes, and one whose buffers have more than 64 KiB."""
    executable = compiled(target, rows)
    assert (executable.run(x=ones(rows))["y"] == 1).all()
    assert uses_workers(executable)


@pytest.mark.parametrize("size", [1 << 15, 1 << 18])
def test_a_thread_with_a_small_stack_runs_a_program(size: int) -> None:
    """Bodies widen 8-bit elements to fp32, in tiles on the stack. Buffers of 64 KiB fit the stack
    of a thread of Python with musl, 1 MiB; a worker runs larger ones. A process of its own runs
    this, since a stack that is too small ends the process."""
    code = f"""
import threading
import numpy as np
import ark_mlir as ark

with ark.Program("softmax") as program:
    x = ark.input("x", ({size},), ark.fp8_e4m3)
    ark.output("y", ark.cast(ark.softmax(ark.cast(x, ark.fp32), 0), ark.fp8_e4m3))
executable = ark.compile(program, target="cpu:1")

def run():
    y = executable.run(x=np.ones({size}, ark.fp8_e4m3.numpy))["y"]
    before = [thread.name for thread in threading.enumerate()]
    print(y.shape, any(name.startswith("ark:") for name in before))

threading.stack_size(1 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"({size},) {size > 1 << 15}\n"), done.stderr


def test_workers_run_many_iterations() -> None:
    """Ctrl-C would wait for the end of all iterations."""
    executable = compiled()
    executable.run(x=ones())
    executable.run(x=ones(), iterations=10**6)
    assert uses_workers(executable)
    assert (executable.run(x=ones())["y"] == 10**6 + 2).all()


def test_workers_run_a_resident_program() -> None:
    executable = compiled()
    executable.run(x=ones())
    with executable.resident() as resident:
        assert (resident.run(x=ones())["y"] == 2).all()
        assert uses_workers(executable)
    assert (executable.run(x=ones())["y"] == 3).all()


def test_a_predicted_time_of_zero_is_no_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = compiled()
    monkeypatch.setitem(executable.bundle.tables.__dict__, "predicted_ns", 0)
    executable.run(x=ones())
    assert uses_workers(executable)


def test_an_index_out_of_range_is_refused() -> None:
    """The kernel of the calling thread reports it as that of a worker."""
    with ark.Program("rows") as program:
        table = ark.input("table", (4, 8), ark.fp32)
        ark.output("y", ark.gather(table, ark.input("i", (2,), ark.int32), 0))
    executable = ark.compile(program, target="cpu:1")
    table = np.ones((4, 8), np.float32)
    with pytest.raises(ark.DataRangeError):
        executable.run(table=table, i=np.array([0, 7], np.int32))
    assert (executable.run(table=table, i=np.array([0, 3], np.int32))["y"] == 1).all()
    assert not uses_workers(executable)


def test_a_failure_of_the_lane_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = compiled()
    executable.run(x=ones())

    def fail(self: object, lane: int) -> int:
        raise OSError("no luck")

    with monkeypatch.context() as broken:
        broken.setattr(cpu.Run, "__call__", fail)
        with pytest.raises(ark.DeviceError, match="a lane failed: OSError"):
            executable.run(x=ones())
    executable.reset()
    assert (executable.run(x=ones())["y"] == 1).all()


def test_the_calling_thread_gives_the_result_of_the_lane() -> None:
    thread = CallingThread()
    thread.run(lambda lane: 5 + lane)
    assert (thread.codes, thread.idle, thread.running, thread.join(0)) == ((5,), True, (), True)


def test_a_forked_child_runs_the_program() -> None:
    executable = compiled()
    executable.run(x=ones())
    child = os.fork()
    if child == 0:
        right = (executable.run(x=ones())["y"] == 2).all()
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_interrupt_at_each_point_of_a_run_leaves_a_usable_executable() -> None:
    executable = compiled()

    def count_twice(runs: Any) -> None:
        executable.reset()
        runs.run(x=ones())
        assert (runs.run(x=ones())["y"] == 2).all()

    assert interrupt_runs(executable, False, lambda runs: runs.run(x=ones()), count_twice) > 30
    executable.close()
