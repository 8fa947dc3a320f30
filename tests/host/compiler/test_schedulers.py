"""Schedulers that users choose: measured costs, and schedules proven to be the shortest."""

from __future__ import annotations

import json
import logging
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import cp_sat
from ark_mlir.compiler.lowering import choose_target, lower
from ark_mlir.compiler.source import load_module
from ark_mlir.compiler.stages import predict_with
from ark_mlir.progress import Progress
from ark_mlir.targets import backend_of
from ark_mlir.tuning.costs import Costs, TaskCost

Array = np.ndarray[Any, Any]


def independent(count: int) -> ark.Program:
    """Returns `count` independent tasks of one vCTA each."""
    with ark.Program("independent") as program:
        for index in range(count):
            x = ark.input(f"x{index}", (4, 8))
            ark.output(f"y{index}", ark.exp(x, name=f"task{index}"))
    return program


def costs_of(*ns: float) -> Costs:
    return Costs("independent", {f"task{i}": TaskCost(1, value) for i, value in enumerate(ns)})


def placement(bundle: Bundle) -> dict[int, list[str]]:
    """Returns the tasks of every SM, in order."""
    rows = bundle.tables.instructions.tolist()
    result: dict[int, list[str]] = defaultdict(list)
    for sm, first, last in bundle.tables.lanes.tolist():
        for code, task, begin, end in rows[first:last]:
            if code == Opcode.RUN and begin < end:
                result[sm].append(bundle.manifest.tasks[task].name)
    return result


def check_run(exe: ark.Executable, program: ark.Program) -> None:
    random = np.random.default_rng(0)
    inputs = {b.name: random.standard_normal(b.shape).astype(np.float32) for b in exe.inputs}
    parameters = {
        b.name: random.standard_normal(b.shape).astype(np.float32) for b in exe.parameters
    }
    results = exe.bind(parameters).run(inputs)
    expected = ark.reference.run(program, {**inputs, **parameters})
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-4, atol=1e-5)


def mlp(tile: tuple[int, int] | None = (32, 64)) -> ark.Program:
    with ark.Program("mlp") as program, ark.planner(tile=tile):
        x = ark.input("x", (32, 64))
        w = ark.parameter("w", (128, 64))
        v = ark.parameter("v", (64, 128))
        h = ark.gelu(ark.matmul(x, w, transpose_other=True, name="up"))
        ark.output("y", ark.softmax(ark.matmul(h, v, transpose_other=True, name="down")))
    return program


# -- profile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_task_measured_to_be_slow_gets_an_sm_of_its_own(slow: int) -> None:
    costs = costs_of(*(9000.0 if index == slow else 3000.0 for index in range(3)))
    exe = ark.compile(independent(3), target="cpu:2", profile=costs)
    alone = sorted(placement(exe.bundle).values(), key=len)[0]
    assert alone == [f"task{slow}"]
    assert exe.report().predicted_ns >= 9000


def test_from_a_trace_to_a_schedule(tmp_path: Path) -> None:
    """Runs with a trace, compiles with it, and compiles again with the costs in the file."""
    program = mlp()
    traced = ark.compile(program, target="cpu:2", trace=True)
    traced.bind({b.name: np.ones(b.shape, np.float32) for b in traced.parameters})
    trace = tmp_path / "trace.json"
    traced.run(x=np.ones((32, 64), np.float32), trace=trace)
    costs = Costs.read(trace)
    assert {name: cost.vctas for name, cost in costs.tasks.items()} == {
        task.name: task.vctas for task in traced.bundle.manifest.tasks
    }
    assert all(cost.ns > 0 for cost in costs.tasks.values())

    costs.write(tmp_path / "costs.json")
    assert Costs.read(tmp_path / "costs.json") == costs
    schedules: list[str] = []
    for profile in (trace, tmp_path / "costs.json", costs):
        exe = ark.compile(
            program, target="cpu:2", scheduler="profile", profile=profile, dump_dir=tmp_path
        )
        schedules.append((tmp_path / "04-scheduling.mlir").read_text())
        check_run(exe, program)
    assert schedules[0] == schedules[1] == schedules[2]
    assert 'ark.schedule "profile"' in schedules[0]
    assert schedules[0].count("ark.measured_ns") == len(costs.tasks)
    # The measured times are also the predicted ones: the critical path has at least one vCTA of
    # each.
    assert exe.report().predicted_ns > 0.99 * sum(cost.ns for cost in costs.tasks.values())


def test_tasks_of_one_kind_share_their_measurements(tmp_path: Path) -> None:
    exe = ark.compile(independent(4), target="cpu:1", trace=True)
    inputs = {f"x{index}": np.ones((4, 8), np.float32) for index in range(4)}
    exe.run(inputs, trace=tmp_path / "t.json")
    measured = Costs.read(tmp_path / "t.json").tasks
    assert len(measured) == 4
    assert len({cost.ns for cost in measured.values()}) == 1


def test_tasks_without_a_measurement_are_predicted_in_proportion(tmp_path: Path) -> None:
    program = independent(2)
    ark.compile(program, target="cpu:1", profile=costs_of(5000.0), dump_dir=tmp_path)
    text = (tmp_path / "04-scheduling.mlir").read_text()
    assert "predicted_ns = 10000" in text


def test_the_median_of_several_measurements_counts() -> None:
    several = [costs_of(ns, 10.0 * ns) for ns in (5.0, 1.0, 3.0)]
    assert Costs.median(several) == costs_of(3.0, 30.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "costs: not valid JSON"),
        ("[]", "costs: expected an object"),
        ("{}", "costs: key 'format' is missing"),
        ('{"format": 2, "program": "p", "tasks": {}}', "costs: format: 2 is not in"),
        (
            '{"format": 1, "program": "p", "tasks": {"a": {"vctas": 0, "ns": 1}}}',
            "costs: tasks.a.vctas: 0 is less than 1",
        ),
        ('{"format": 1, "program": "p", "tasks": [1]}', "costs: tasks: expected an object"),
        ('{"traceEvents": [{"ph": "X"}]}', r"costs: traceEvents\[0\]: key 'tid' is missing"),
        ('{"traceEvents": []}', "costs: key 'otherData' is missing"),
    ],
)
def test_invalid_cost_files_raise(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(ark.InvalidUsageError, match=f"costs.json: {message}"):
        ark.compile(independent(1), target="cpu:1", profile=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "/nowhere/costs.json"}, "/nowhere/costs.json: cannot be read"),
        ({"profile": 3}, "expected a trace, a file of costs, or costs"),
        ({"scheduler": "profile"}, "needs profile="),
        (
            {"scheduler": "fastest"},
            "expected one of auto, list, profile, round-robin, rounds, overlap, alone, cp-sat",
        ),
        (
            {"profile": Costs("other", {"fc": TaskCost(1, 1.0)})},
            "program 'other', which has no",
        ),
    ],
)
def test_invalid_profiles_raise(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.compile(independent(1), target="cpu:1", **options)


def test_a_task_with_other_tiles_is_named_with_its_line() -> None:
    program = independent(1)
    wrong = Costs("independent", {"task0": TaskCost(7, 100.0)})
    with pytest.raises(ark.InvalidUsageError, match="with 7 vCTAs but now has 1") as caught:
        ark.compile(program, target="cpu:1", profile=wrong)
    assert "test_schedulers.py:" in str(caught.value)


def test_a_scheduled_module_takes_no_profile(tmp_path: Path) -> None:
    ark.compile(independent(1), target="cpu:1", dump_dir=tmp_path)
    with pytest.raises(ark.InvalidUsageError, match="has a schedule already"):
        ark.compile(tmp_path / "04-scheduling.mlir", profile=costs_of(1.0))


# -- cp-sat --------------------------------------------------------------------------------------


@pytest.fixture
def ortools() -> None:
    pytest.importorskip("ortools", reason="OR-tools is not installed")


@pytest.mark.usefixtures("ortools")
def test_a_known_optimum_that_list_misses(tmp_path: Path) -> None:
    """Costs 3 + 3 and 2 + 2 + 2: longest-first puts 3 + 2 on one SM and needs 7."""
    program, costs = independent(5), costs_of(3000, 3000, 2000, 2000, 2000)
    lengths: dict[str, str] = {}
    for scheduler in ("list", "cp-sat"):
        exe = ark.compile(
            program, target="cpu:2", scheduler=scheduler, profile=costs, dump_dir=tmp_path
        )
        check_run(exe, program)
        text = (tmp_path / "04-scheduling.mlir").read_text()
        lengths[scheduler] = text.split("predicted_ns = ")[1].split()[0]
    assert lengths == {"list": "7000", "cp-sat": "6000"}
    assert sorted(map(sorted, placement(exe.bundle).values())) == [
        ["task0", "task1"],
        ["task2", "task3", "task4"],
    ]


def solve(program: ark.Program, target: str) -> tuple[float, int, int]:
    """Returns the solver's length, the compiler's prediction for its schedule, and that for
    `list`."""
    module = load_module(program)
    machine = choose_target(module, target)
    progress = Progress("solving")
    options = ark.CompileOptions()
    lower(module, machine, backend_of("cpu"), options, "memory", progress)
    by_list = predict_with(module, "list")
    found = cp_sat.schedule_exactly(module, progress)
    return found, predict_with(module, "list"), by_list


def branches() -> ark.Program:
    """A diamond of unequal sides, one of which has dependences between single vCTAs."""
    with ark.Program("branches") as program:
        x = ark.input("x", (16, 32))
        w = ark.parameter("w", (32, 64))
        with ark.planner(tile=(8, 64)):
            left = ark.matmul(x, w, name="left")
        left = ark.softmax(left, name="soft")
        right = ark.reduce_sum(x, axis=1, name="right")
        ark.output("y", ark.mul(left, right))
    return program


@pytest.mark.usefixtures("ortools")
@pytest.mark.parametrize("make", [mlp, branches])
@pytest.mark.parametrize("target", ["cpu:1", "cpu:3"])
def test_solver_and_compiler_agree_on_the_length(make: Any, target: str) -> None:
    """The compiler's simulation of the solver's schedule takes as long as the solver states."""
    found, predicted, by_list = solve(make(), target)
    assert abs(found - predicted) <= 1 + 0.1 * 128
    assert predicted <= by_list + 1


@pytest.mark.usefixtures("ortools")
@pytest.mark.parametrize("make", [mlp, branches])
def test_solved_schedules_run(make: Any) -> None:
    program = make()
    exe = ark.compile(program, target="cpu:3", scheduler="cp-sat")
    check_run(exe, program)


@pytest.mark.usefixtures("ortools")
def test_an_incomplete_search_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cp_sat, "_EFFORT", 0.3)
    program = mlp(tile=None)
    with caplog.at_level(logging.WARNING, "ark.compiler"):
        exe = ark.compile(program, target="cpu:4", scheduler="cp-sat")
    assert "cp-sat: not proven: at most" in caplog.text
    check_run(exe, program)


@pytest.mark.usefixtures("ortools")
def test_pins_hold_for_the_solver() -> None:
    with ark.Program("pins") as program:
        x = ark.input("x", (8, 8))
        with ark.planner(sms=(1, 2), warps=(0, 2)):
            pinned = ark.softmax(x, name="pinned")
        ark.output("y", ark.matmul(pinned, x, name="free"))
    exe = ark.compile(program, target="cpu:2", scheduler="cp-sat")
    check_run(exe, program)
    sm_of = {task: sm for sm, tasks in placement(exe.bundle).items() for task in tasks}
    assert sm_of["pinned"] == 1


@pytest.mark.usefixtures("ortools")
def test_graphs_that_are_too_large_raise() -> None:
    with ark.Program("large") as program, ark.planner(tile=(1, 1)):
        ark.output("y", ark.exp(ark.input("x", (16, 16))))
    with pytest.raises(ark.CompileError, match=r"has 256 vCTAs, too many .* at most 128"):
        ark.compile(program, target="cpu:2", scheduler="cp-sat")


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    for name in [name for name in sys.modules if name.startswith("ortools.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ark.UnsupportedError, match=r"pip install 'ark-mlir\[cp-sat\]'"):
        cp_sat.schedule_exactly(load_module(independent(1)), Progress("solving"))


def test_costs_are_json(tmp_path: Path) -> None:
    costs_of(1.5).write(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == {
        "format": 1,
        "program": "independent",
        "tasks": {"task0": {"vctas": 1, "ns": 1.5}},
    }
