"""Several lanes on one SM run two tasks concurrently, each on its own warps."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of

import ark_mlir as ark
from ark_mlir.bundle import Opcode
from ark_mlir.compiler import check, export_schedule
from ark_mlir.runtime import Executable
from ark_mlir.runtime.diagnosis.trace import read_trace

Array = np.ndarray[Any, Any]


def ping_pong(rounds: int) -> ark.Program:
    """A chain of tasks that alternate between two lanes of SM 0."""
    with ark.Program("pingpong") as program:
        x = ark.input("x", (8, 8))
        for index in range(rounds):
            warps, memory = ((0, 4), (0, 4096)) if index % 2 == 0 else ((4, 8), (4096, 8192))
            with ark.planner(sms=(0, 1), warps=warps, shared_memory=memory):
                x = ark.softmax(x, name=f"step{index}")
        ark.output("y", x)
    return program


def test_lanes_of_one_sm_run_at_once() -> None:
    """Two lanes wait for each other alternately, so the run ends only if both run concurrently."""
    program = ping_pong(6)
    exe = ark.compile(program, target="cpu:1")
    assert exe.bundle.tables.lanes[:, 0].tolist() == [0, 0]
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    expected = ark.reference.run(program, {"x": x})["y"]
    for iterations in (1, 5):
        np.testing.assert_allclose(exe.run(x=x, iterations=iterations)["y"], expected, rtol=1e-5)
    waits = exe.bundle.tables.instructions[:, 0] == Opcode.WAIT
    assert waits.sum() == 5


def test_one_lane_after_the_other_would_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control of the test above: if lanes do not run concurrently, the run raises HangError."""
    exe = ark.compile(ping_pong(6), target="cpu:1").prepare()
    driver = driver_of(exe)
    entry, first_ended = kernel_of(driver).entry, []

    def in_turn(context: int, lane: int) -> int:
        if lane == 1 and not first_ended:
            return 0  # the signal never comes while the other lane runs
        code = entry(context, lane)
        first_ended.append(lane)
        return code

    kernel_of(driver).entry = in_turn
    monkeypatch.setenv("ARK_TIMEOUT", "0.3")
    with pytest.raises(ark.HangError, match=r"step1|step2"):
        exe.run(x=np.zeros((8, 8), np.float32))


def side_by_side() -> ark.Program:
    """Two independent tasks, one on each half of every SM.

    Each task computes for a tenth of a second: many time slices, should the lanes share one core.
    """
    with ark.Program("halves") as program:
        for name, warps in (("left", (0, 4)), ("right", (4, 8))):
            x = ark.input(f"{name}_x", (512, 2048))
            w = ark.parameter(f"{name}_w", (2048, 2048))
            with ark.planner(warps=warps):
                ark.output(f"{name}_y", ark.matmul(x, w, name=name))
    return program


def arrays_of(exe: Executable) -> dict[str, Array]:
    random = np.random.default_rng(0)
    return {
        b.name: random.standard_normal(b.shape).astype(np.float32)
        for b in (*exe.inputs, *exe.parameters)
    }


def meet_first(exe: Executable) -> None:
    """Makes lanes wait for each other before they enter the kernel, so that thread start times do
    not matter."""
    driver = driver_of(exe.prepare())
    entry, all_there = kernel_of(driver).entry, threading.Barrier(len(exe.bundle.tables.lanes))

    def together(context: int, lane: int) -> int:
        all_there.wait(100)
        return entry(context, lane)

    kernel_of(driver).entry = together


def overlap(exe: Executable, arrays: dict[str, Array], trace: Path) -> float:
    """Returns the seconds during which both runs were active in the last run of a program."""
    exe.run({b.name: arrays[b.name] for b in exe.inputs}, trace=trace)
    times = read_trace(trace, exe.bundle)
    runs = times[exe.bundle.tables.instructions[:, 0] == Opcode.RUN]
    assert len(runs) == 2
    return float(runs[:, 1].min() - runs[:, 0].max())


def test_two_tasks_overlap_in_time_on_one_sm(tmp_path: Path) -> None:
    with ark.compile(side_by_side(), target="cpu:1", trace=True) as exe:
        assert exe.bundle.tables.lanes[:, 0].tolist() == [0, 0]
        arrays = arrays_of(exe)
        exe.bind({b.name: arrays[b.name] for b in exe.parameters})
        meet_first(exe)
        # If the lanes share a core, one of them may be preempted, but not every time.
        assert any(overlap(exe, arrays, tmp_path / "t.json") > 0 for _ in range(5))
        results = exe.run({b.name: arrays[b.name] for b in exe.inputs})
    for name in ("left", "right"):
        x, w = (arrays[f"{name}_{part}"].astype(np.float64) for part in "xw")
        bound = len(w) * np.finfo(np.float32).eps * (np.abs(x) @ np.abs(w))
        assert (np.abs(results[f"{name}_y"] - x @ w) <= bound).all()


def test_tasks_that_follow_each_other_do_not_overlap(tmp_path: Path) -> None:
    """Control of the test above: dependent tasks show no overlap."""
    with ark.compile(ping_pong(2), target="cpu:1", trace=True) as exe:
        arrays = arrays_of(exe)
        meet_first(exe)
        assert overlap(exe, arrays, tmp_path / "t.json") <= 0


def test_tasks_without_a_pin_take_the_remaining_warps(tmp_path: Path) -> None:
    with ark.Program("rest") as program:
        x = ark.input("x", (8, 8))
        with ark.planner(warps=(2, 4), shared_memory=(0, 4096)):
            y = ark.softmax(x, name="pinned")
        ark.output("y", ark.matmul(x, x, name="free"))
        ark.output("z", y)
    text = export_schedule(program, "cpu:1")
    assert "ark.lane sms = [0, 1] warps = [2, 4] shared_memory = [0, 4096] {" in text
    assert "ark.lane sms = [0, 1] warps = [4, 8] shared_memory = [4096, 262144] {" in text
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    results = ark.compile(text).run(x=x)
    np.testing.assert_allclose(results["y"], x @ x, rtol=1e-4, atol=1e-5)


def test_the_proof_takes_lanes_of_one_sm_for_concurrent() -> None:
    """Without the wait for the other half of the SM the proof finds a race."""
    lines = export_schedule(ping_pong(2), "cpu:1").splitlines()
    wait = next(i for i, line in enumerate(lines) if line.lstrip().startswith("ark.wait"))
    del lines[wait]
    with pytest.raises(
        ark.VerificationError, match=r"RAW hazard: vCTA 0 of 'step1' on SM 0 .*SM 0"
    ):
        check("\n".join(lines))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "warps = [4, 8] shared_memory = [4096, 8192]",
            "warps = [3, 8] shared_memory = [4096, 8192]",
        ),
        (
            "warps = [4, 8] shared_memory = [4096, 8192]",
            "warps = [4, 8] shared_memory = [4000, 8192]",
        ),
    ],
)
def test_lanes_that_share_warps_or_memory_are_refused(old: str, new: str) -> None:
    text = export_schedule(ping_pong(2), "cpu:1")
    assert old in text
    with pytest.raises(ark.CompileError, match="shares warps or shared memory of an SM"):
        check(text.replace(old, new))
