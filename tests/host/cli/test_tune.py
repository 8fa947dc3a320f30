"""``ark tune`` derives a schedule from measured costs of tasks, in one step and in two."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import Opcode, read_bundle
from ark_mlir.cli.main import main
from ark_mlir.cli.tune import describe
from ark_mlir.tuning.costs import Costs, TaskCost

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Runs ``ark`` in a folder with ``mlp.mlir``; returns status, output and errors."""
    monkeypatch.chdir(tmp_path)
    with ark.Program("mlp") as program:
        x = ark.input("x", (16, 32))
        w = ark.parameter("w", (64, 32))
        h = ark.gelu(ark.matmul(x, w, transpose_other=True, name="up"))
        ark.output("y", ark.softmax(h, name="rows"))
    Path("mlp.mlir").write_text(program.mlir)

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        return main([str(argument) for argument in arguments]), *capsys.readouterr()

    return run


def test_in_one_step(command: Command) -> None:
    arguments = ("--target", "cpu:2", "--runs", 2, "--record", "costs.json", "-o", "mlp.arkbin")
    status, out, err = command("tune", "mlp.mlir", *arguments)
    assert (status, err) == (0, "")
    tried = ("default", "list", "round-robin", "rounds", "profile 1", "profile 2")
    gains = dict(re.findall(r"^(.+): \S+ \S+ a run, (gain [+-][\d.]+%)$", out, re.MULTILINE))
    assert tuple(gains) == tried
    (kept,) = re.findall(r"^kept: (.+), (gain .+)$", out, re.MULTILINE)
    assert gains[kept[0]] == kept[1]
    assert "2 lanes: speed " in out
    assert ": 1 task, " in out
    assert ", alone " in out
    assert not read_bundle("mlp.arkbin").manifest.traced
    costs = Costs.read("costs.json")
    assert all(cost.alone_ns and cost.ns and cost.kind for cost in costs.tasks.values())
    with ark.load("mlp.arkbin") as exe:
        w = np.ones((64, 32), np.float32)
        y = exe.bind({"w": w}).run(x=np.ones((16, 32), np.float32))["y"]
    np.testing.assert_allclose(y, np.full((16, 64), 1 / 64), rtol=1e-5)


def test_in_two_steps(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles, measures on a machine without the compiler, and compiles again."""
    compiled = ("compile", "mlp.mlir", "--target", "cpu:2")
    assert command(*compiled, "--trace", "-o", "mlp.arkbin")[0] == 0
    assert command(*compiled, "--trace", "--set", "scheduler=alone", "-o", "alone.arkbin")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr("ark_mlir.cli.tune.import_compiler", lambda: pytest.fail("asked to compile"))
        arguments = ("--alone", "alone.arkbin", "--record", "costs.json", "--runs", 2)
        status, out, err = command("tune", "mlp.arkbin", *arguments)
    assert (status, err) == (0, "")
    assert ", alone " in out
    done = command(*compiled, "--profile", "costs.json", "-o", "tuned.arkbin", "--dump-dir", ".")
    assert done[0] == 0
    assert 'ark.schedule "profile"' in Path("04-scheduling.mlir").read_text()


def test_alone_runs_all_tasks_on_one_lane(command: Command) -> None:
    settings = ("--set", "scheduler=alone", "-o", "alone.arkbin")
    assert command("compile", "mlp.mlir", "--target", "cpu:4", *settings)[0] == 0
    bundle = read_bundle("alone.arkbin")
    assert len(bundle.tables.lanes) == 1
    runs = bundle.tables.instructions[bundle.tables.instructions[:, 0] == Opcode.RUN]
    assert runs[:, 1].tolist() == list(range(len(bundle.manifest.tasks)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mlp.arkbin",), "a bundle can be measured but not tuned: use --record"),
        (("mlp.arkbin", "--record", "c", "-o", "o"), "a bundle can be measured but not tuned"),
        (("mlp.arkbin", "--record", "c"), "compiled with trace=True"),
        (("mlp.mlir", "--alone", "mlp.arkbin"), "--alone can be used only with a bundle"),
        (("mlp.mlir", "--set", "scheduler=list"), "tune sets the option 'scheduler' itself"),
        (("mlp.py",), "mlp.py: is a Python program, which the compiler does not run"),
        (("other.mlir",), "other.mlir: no such file or folder"),
    ],
)
def test_invalid_arguments_raise(
    command: Command, arguments: tuple[str, ...], message: str
) -> None:
    assert command("compile", "mlp.mlir", "--target", "cpu:2", "-o", "mlp.arkbin")[0] == 0
    Path("mlp.py").touch()
    status, _, err = command("tune", *arguments)
    assert status == 1
    assert message in err


# -- costs -----------------------------------------------------------------------------------------


def run_event(lane: int, kind: str, begin: int, end: int, microseconds: float) -> dict[str, Any]:
    arguments = {"vctas": f"[{begin}, {end})", "kind": kind}
    name = f"task of {kind}"
    return {
        "ph": "X", "cat": "run", "tid": lane, "name": name, "dur": microseconds, "args": arguments,
    }  # fmt: skip


def costs_of(events: list[dict[str, Any]], folder: Path) -> Costs:
    trace = folder / "trace.json"
    trace.write_text(json.dumps({"traceEvents": events, "otherData": {"program": "p"}}))
    return Costs.read(trace)


def test_lanes_are_compared_by_tasks_that_several_of_them_run(tmp_path: Path) -> None:
    """Each vCTA takes half as long on lane 2 as on the others. A task that is on one lane only is
    not compared.
    """
    events = [run_event(lane, "stream", 4 * lane, 4 * lane + 4, 8.0) for lane in (0, 1, 3)]
    events += [run_event(2, "stream", 8, 12, 4.0), run_event(0, "small", 0, 1, 100.0)]
    costs = costs_of(events, tmp_path)
    assert costs.lanes == (1.0, 1.0, 2.0, 1.0)
    assert costs.tasks["task of stream"] == TaskCost(16, 2000.0, "stream")
    text = describe(costs)
    assert "4 lanes: speed 1.00 to 2.00 of the median; faster by over 5%: 1, slower: 0" in text


def test_lanes_that_share_nothing_are_not_compared(tmp_path: Path) -> None:
    idle = {"ph": "X", "cat": "wait", "tid": 3, "name": "wait", "dur": 1.0, "args": {}}
    assert costs_of([run_event(0, "small", 0, 1, 1.0), idle], tmp_path).lanes == ()


def test_costs_of_two_programs_do_not_mix() -> None:
    ours, others = (Costs("p", {name: TaskCost(1, 1.0)}) for name in ("a", "b"))
    with pytest.raises(ark.InvalidUsageError, match="measured alone, are not those of 'p'"):
        ours.beside(others)


def test_a_cost_file_keeps_all_measurements(tmp_path: Path) -> None:
    costs = Costs("p", {"a": TaskCost(2, 3.0, "kind", 1.5), "b": TaskCost(1, 0.0)}, (1.0, 0.5))
    costs.write(tmp_path / "costs.json")
    assert Costs.read(tmp_path / "costs.json") == costs


@pytest.mark.parametrize(
    ("alone", "message"),
    [
        (-1.0, "tasks.a.alone_ns: -1.0 is less than 0"),
        (float("nan"), "NaN is not a number"),
        ("soon", "tasks.a.alone_ns: expected a number, got a string"),
    ],
)
def test_invalid_figures_in_a_file_raise(tmp_path: Path, alone: object, message: str) -> None:
    task = {"vctas": 1, "ns": 1.0, "alone_ns": alone}
    content = {"format": 1, "program": "p", "tasks": {"a": task}}
    (tmp_path / "costs.json").write_text(json.dumps(content))
    with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
        Costs.read(tmp_path / "costs.json")
