"""Programs run repeatedly with the arrays that they were given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import ToyProgram, add_program, run, signal, wait

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]


def test_result(add: Executable, x: Array) -> None:
    assert np.array_equal(add.run(x=x)["y"], np.arange(128) + 1.5)


def test_runs_do_not_disturb_each_other(add: Executable, x: Array) -> None:
    first = add.run(x=x)["y"]
    second = add.run(x=2 * x)["y"]
    assert np.array_equal(first, np.arange(128) + 1.5)
    assert np.array_equal(second, 2 * np.arange(128) + 1.5)


def test_many_launches_with_iterations(make: Make) -> None:
    """Semaphores are never reset: every launch continues to count where the last one ended."""
    program = ToyProgram()
    state = program.buffer("n", "state", "int64", [2])
    first, second = (program.task("count", 1, [(state, 8 * index)]) for index in range(2))
    done = program.semaphore(1)
    program.lane(0, [run(first, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(second, 0, 1)])
    executable = make(program)
    total = 0
    for iterations in (1, 1, 7, 100, 3, 1):
        executable.run(iterations=iterations)
        total += iterations
        assert executable.states["n"].tolist() == [total, total]
    for _ in range(300):
        executable.run()
    assert executable.states["n"].tolist() == [total + 300] * 2


@pytest.mark.parametrize("epoch", [2**31 - 3, 2**32 - 3, 2**62, 2**63 - 2, 2**64 - 3])
def test_epochs_pass_every_boundary(add: Executable, x: Array, epoch: int) -> None:
    """Counters keep working when they pass 31, 32, 63 or 64 bits."""
    driver = driver_of(add)
    driver.epoch = epoch
    counters = kernel_of(driver).counters
    counters[:] = np.array([epoch * 2 % 2**64] * len(counters), np.uint64)
    for _ in range(6):
        assert np.array_equal(add.run(x=x)["y"], np.arange(128) + 1.5)
    add.run(x=x, iterations=5)


def test_states_live_on_and_reset(make: Make) -> None:
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "int64", [], init=40)
    program.lane(0, [run(program.task("count", 1, [(state, 0)]), 0, 1)])
    executable = make(program)
    executable.run(iterations=2)
    snapshot = executable.states["n"]
    assert snapshot == 42
    executable.run()
    assert (snapshot, executable.states["n"]) == (42, 43)
    executable.reset()
    assert executable.states["n"] == 40
    executable.bind({"n": np.array(7)})
    executable.run()
    assert executable.states["n"] == 8
    executable.reset()
    assert executable.states["n"] == 7
    assert list(executable.states) == ["n"]


@pytest.mark.parametrize("value", [5, np.int32(5), np.array(5, np.int32), np.array([5], np.int64)])
def test_scalars(make: Make, value: object) -> None:
    program = ToyProgram(sms=1)
    scalar = program.buffer("n", "scalar", "int32", [], max=7)
    y = program.buffer("y", "output", "int32", [4])
    program.lane(0, [run(program.task("fill", 4, [(y, 0), (scalar, 0)]), 0, 4)])
    assert make(program).run(n=value)["y"].tolist() == [5] * 4


@pytest.mark.parametrize("value", [8, -1, 2**40, 1.0, True, "5", np.zeros(2, np.int32), None])
def test_scalars_out_of_range(make: Make, value: object) -> None:
    program = ToyProgram(sms=1)
    scalar = program.buffer("n", "scalar", "int32", [], max=7)
    y = program.buffer("y", "output", "int32", [4])
    program.lane(0, [run(program.task("fill", 4, [(y, 0), (scalar, 0)]), 0, 4)])
    with pytest.raises(ark.InvalidUsageError, match="scalar 'n'"):
        make(program).run(n=value)


def test_an_index_out_of_range_is_an_error_that_names_the_op(make: Make) -> None:
    program = ToyProgram(sms=1)
    ids = program.buffer("ids", "input", "int32", [4])
    table = program.buffer("table", "parameter", "fp32", [8, 16])
    y = program.buffer("y", "output", "fp32", [4, 16])
    task = program.task(
        "gather", 4, [(y, 0), (ids, 0), (table, 0)], ops=["ark.embedding"], location="bert.py:12"
    )
    program.lane(0, [run(task, 0, 4)])
    weight = np.arange(128, dtype=np.float32).reshape(8, 16)
    executable = make(program).bind({"table": weight})
    good = np.array([7, 0, 1, 1], np.int32)
    assert np.array_equal(executable.run(ids=good)["y"], weight[good])
    for bad in (8, -1, 31000):
        ids_with_bad = np.array([1, bad, 2, 2], np.int32)
        with pytest.raises(ark.InvalidUsageError) as caught:
            executable.run(ids=ids_with_bad)
        text = f"bert.py:12: ark.embedding: index {bad} is out of range [0, 8)"
        assert str(caught.value) == text
        assert isinstance(caught.value, ark.DeviceError)
        assert np.array_equal(executable.run(ids=good)["y"], weight[good])


def test_more_lanes_than_cores(make: Make) -> None:
    """Every lane waits for every other lane, so all must run concurrently."""
    lanes = 96
    program = ToyProgram(sms=lanes)
    y = program.buffer("y", "output", "int32", [lanes])
    scalar = program.buffer("n", "scalar", "int32", [])
    task = program.task("fill", lanes, [(y, 0), (scalar, 0)])
    done = program.semaphore(lanes)
    for lane in range(lanes):
        program.lane(lane, [run(task, lane, lane + 1), signal(done), wait(done, lanes)])
    executable = make(program)
    for value in range(3):
        assert executable.run(n=value, iterations=3)["y"].tolist() == [value] * lanes


def test_runs_of_three_threads_exclude_each_other(
    add: Executable, x: Array, in_threads: Callable[..., None]
) -> None:
    def work(scale: int) -> None:
        for _ in range(50):
            y = add.run(x=scale * x)["y"]
            assert np.array_equal(y, scale * np.arange(128) + 1.5)

    in_threads(*(partial(work, scale) for scale in (1, 2, 3)))


def test_a_child_process_can_go_on(kernel: bytes) -> None:
    """A fork copies the executable but none of its threads."""
    script = """
import os, numpy as np
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import add_program, compile_kernel
x = np.ones((8, 16), np.float32)
add = Executable.from_parts(*add_program().parts(compile_kernel())).bind({"w": x.reshape(-1)})
add.run(x=x)
child = os.fork()
assert (add.run(x=x)["y"] == 2.5).all()
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (add.run(x=x)["y"] == 2.5).all()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_trace(make: Make, x: Array, tmp_path: Path) -> None:
    executable = make(add_program(), trace=True).bind({"w": np.ones(128, np.float32)})
    path = tmp_path / "trace.perfetto"
    executable.run(x=x, trace=path, iterations=3)
    trace = json.loads(path.read_text())
    assert trace["otherData"] == {"program": "toy", "iteration": 3, "iterations": 3}
    events = trace["traceEvents"]
    labels = [e["args"]["labels"] for e in events if e["name"] == "process_labels"]
    assert labels == ["iteration 3 of 3"] * 2
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 12
    assert {event["name"] for event in slices} >= {"first", "second", "wait done", "barrier again"}
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in slices)
    assert {event["args"].get("location") for event in slices} >= {"net.py:7", "net.py:8"}
    # The threads of an SM are its lanes; the order of a lane is that of its instructions.
    for lane in (0, 1):
        mine = [event for event in slices if event["tid"] == lane]
        assert [e["ts"] for e in mine] == sorted(e["ts"] for e in mine)
        assert {e["pid"] for e in mine} == {lane}


def test_trace_needs_a_traced_program(add: Executable, x: Array, tmp_path: Path) -> None:
    with pytest.raises(ark.InvalidUsageError, match="compiled with trace=True"):
        add.run(x=x, trace=tmp_path / "trace.perfetto")
    assert not list(tmp_path.iterdir())


def test_save_load_run(add: Executable, x: Array, tmp_path: Path) -> None:
    add.save(tmp_path / "a.arkbin")
    with ark.load(tmp_path / "a.arkbin") as loaded:
        loaded.bind({"w": np.full(128, 2, np.float32)})
        assert np.array_equal(loaded.run(x=x)["y"], np.arange(128) + 2.5)
        loaded.save(tmp_path / "b.arkbin")
    assert (tmp_path / "a.arkbin").read_bytes() == (tmp_path / "b.arkbin").read_bytes()


def test_report(add: Executable) -> None:
    report = add.report()
    assert (report.tasks, report.vctas, report.waits, report.barriers) == (2, 16, 2, 2)
    assert (report.arena_bytes, report.parameter_bytes, report.lanes) == (512, 512, 2)
    assert report.predicted_ns == 12_000
    text = str(report)
    for word in ("tasks", "vCTAs", "waits", "barriers", "arena", "parameters", "kernel", "12 µs"):
        assert word in text
    assert report.task_ops == ((("ark.add",), 2),)
    assert text.endswith("2 x ark.add")
    json.dumps(report.as_dict())


@pytest.mark.parametrize("iterations", [0, -1, True, 2**60, 1.5])
def test_iterations(add: Executable, x: Array, iterations: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match="iterations"):
        add.run(x=x, iterations=iterations)


def test_closing(add: Executable, x: Array, lane_threads: Callable[[], int]) -> None:
    add.run(x=x)
    assert lane_threads() == 2
    add.close()
    add.close()
    for call in (lambda: add.run(x=x), add.reset, lambda: add.bind({})):
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            call()
    assert lane_threads() == 0


def test_an_executable_that_is_dropped_ends_its_threads(
    kernel: bytes, lane_threads: Callable[[], int]
) -> None:
    for _ in range(20):
        executable = Executable.from_parts(*add_program().parts(kernel))
        executable.bind({"w": np.ones(128, np.float32)})
        executable.run(x=np.zeros((8, 16), np.float32))
    del executable
    deadline = time.monotonic() + 100
    while lane_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert lane_threads() == 0


def test_kernels_do_not_leak_files(kernel: bytes) -> None:
    """The loader's files must be closed with the executables, or a long process runs out of file
    descriptors."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        with Executable.from_parts(*add_program().parts(kernel)):
            pass
    assert len(os.listdir("/proc/self/fd")) <= before + 1
