"""Names of ops are the same in reports, traces, errors and schedules, for programs from Python and
from text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.cli.main import main


class Layer(ark.Module):
    """A module, whose path precedes the names of its ops."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (8, 8), ark.fp32)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.relu(ark.matmul(x, self.weight, name="up"))


def build() -> ark.Program:
    with ark.Program("named") as program:
        x = ark.input("x", (4, 8), ark.fp32)
        layers = ark.ModuleList([Layer(), Layer()])
        for layer in layers:
            x = layer(x)
        row = ark.gather(x, ark.input("i", (2,), ark.int32), 0, name="picked rows")
        ark.output("y", ark.greater(ark.softmax(row, name='odd "name"'), 0.1))
        ark.output("z", ark.reduce_sum(row))
    return program


def sources(folder: Path) -> dict[str, Any]:
    """Returns the program, its text, and a file with the text."""
    program = build()
    path = folder / "named.mlir"
    path.write_text(program.mlir)
    return {"python": program, "text": program.mlir, "file": path}


def facts(source: Any, folder: Path) -> dict[str, Any]:
    """Returns everything in a bundle that depends on names."""
    trace = folder / "trace.json"
    with ark.compile(source, target="cpu:2", trace=True) as executable:
        executable.bind({n: np.ones((8, 8), np.float32) for n in build().parameters})
        executable.run(x=np.ones((4, 8), np.float32), i=np.zeros(2, np.int32), trace=trace)
        manifest = executable.bundle.manifest
        report = str(executable.report())
    events = json.loads(trace.read_text())["traceEvents"]
    return {
        "tasks": [(task.name, task.ops) for task in manifest.tasks],
        "report": re.sub(r"(?m)^.*(kernel|compiled|predicted).*\n", "", report),
        "trace": sorted({event["name"] for event in events}),
        "semaphores": [semaphore.name for semaphore in manifest.semaphores],
    }


def test_tasks_reports_and_traces_have_the_names(tmp_path: Path) -> None:
    of = {kind: facts(source, tmp_path) for kind, source in sources(tmp_path).items()}
    names = [part for name, _ in of["python"]["tasks"] for part in name.split("+")]
    assert {"0.up", "1.up", "picked rows", 'odd "name"', "reduce_sum"} <= {*names}
    assert of["text"] == of["file"] == of["python"]


def test_text_of_text_is_the_same(tmp_path: Path) -> None:
    text = build().mlir
    with ir.Context():
        assert str(ir.Module.parse(text)) == text


def test_errors_have_the_name_and_the_line_of_the_text(tmp_path: Path) -> None:
    inputs = {"x": np.ones((4, 8), np.float32), "i": np.array([0, 7], np.int32)}
    messages = {}
    for kind, source in sources(tmp_path).items():
        with ark.compile(source, target="cpu:2") as executable:
            executable.bind({n: np.ones((8, 8), np.float32) for n in build().parameters})
            with pytest.raises(ark.ArkError) as caught:
                executable.run(inputs)
        messages[kind] = str(caught.value)
    assert re.match(rf"{tmp_path}/named\.mlir:\d+: ", messages["file"])
    assert messages["python"].startswith(f"{__file__}:")
    said = {message.partition(": ")[2] for message in messages.values()}
    assert len(said) == 1
    assert "index 7 is out of range" in said.pop()


def test_the_command_line_prints_the_same_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = sources(tmp_path)["python"]
    exported = ark.compiler.export_schedule(program, target="cpu:2")
    text, schedule = str(tmp_path / "named.mlir"), tmp_path / "schedule.mlir"
    assert main(["schedule", text, "--target", "cpu:2", "-o", str(schedule)]) == 0
    of_text = schedule.read_text()
    runs = re.compile(r'ark\.run ("(?:[^"\\]|\\.)*")')
    assert runs.findall(of_text) == runs.findall(exported)
    assert '"0.up"' in runs.findall(of_text)
    page = tmp_path / "page.html"
    assert main(["show", text, "-o", str(page)]) == 0
    assert "picked rows" in page.read_text()


def test_an_edited_name_is_used(tmp_path: Path) -> None:
    text = build().mlir.replace('ark.name = "picked rows"', 'ark.name = "edited"')
    with ark.compile(text, target="cpu:2") as executable:
        names = [task.name for task in executable.bundle.manifest.tasks]
    assert "edited" in "+".join(names).split("+")
