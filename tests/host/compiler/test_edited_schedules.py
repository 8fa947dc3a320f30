"""A schedule is exported as text, edited by hand, proven and compiled again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.cli.main import main
from ark_mlir.compiler import check, export_schedule

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def program() -> ark.Program:
    with ark.Program("mlp") as program:
        x = ark.input("x", (32, 64))
        w = ark.parameter("w", (256, 64))
        v = ark.parameter("v", (64, 256))
        h = ark.gelu(ark.matmul(x, w, transpose_other=True, name="up"))
        h = ark.matmul(h, v, transpose_other=True, name="down")
        ark.output("y", ark.softmax(h, name="scores"))
    return program


@pytest.fixture(scope="module")
def text(program: ark.Program) -> str:
    return export_schedule(program, "cpu:4")


@pytest.fixture(scope="module")
def runs(program: ark.Program) -> str:
    return export_schedule(program, "cpu:4", synchronized=False)


def edited(text: str, edit: Callable[[list[str]], None]) -> str:
    lines = text.splitlines()
    edit(lines)
    return "\n".join(lines) + "\n"


def first(lines: list[str], start: str) -> int:
    return next(i for i, line in enumerate(lines) if line.lstrip().startswith(start))


def check_run(exe: ark.Executable, program: ark.Program) -> None:
    random = np.random.default_rng(0)
    arrays = {
        name: random.standard_normal(shape).astype(np.float32)
        for name, shape in {"x": (32, 64), "w": (256, 64), "v": (64, 256)}.items()
    }
    y = exe.bind({"w": arrays["w"], "v": arrays["v"]}).run(x=arrays["x"])["y"]
    expected = ark.reference.run(program, arrays)["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_the_text_has_comments(text: str) -> None:
    lines = text.splitlines()
    number = int(re.search(r"begins at line (\d+)", lines[0])[1])  # type: ignore[index]
    assert lines[number - 1].lstrip().startswith('ark.schedule "list" sms = 4 {')
    run = lines[first(lines, 'ark.run "up"')]
    assert re.search(
        r"// at 0 ns, [\d.]+ µs; matmul\+gelu, 16 vCTAs in all, .*schedules.py:\d+$", run
    )
    wait = lines[first(lines, "ark.wait @up")]
    assert wait.endswith("until all of up that it needs is done")
    assert lines[first(lines, "ark.semaphore @up")].endswith("// up, for down")


def test_the_unchanged_text_compiles_and_runs(
    program: ark.Program, text: str, runs: str, tmp_path: Path
) -> None:
    for name, content in (("whole", text), ("runs", runs)):
        path = tmp_path / f"{name}.mlir"
        path.write_text(content)
        check_run(ark.compile(path), program)


def test_exporting_twice_gives_the_same_text(text: str) -> None:
    again = export_schedule(text)
    assert again.splitlines()[0] == text.splitlines()[0]
    schedules = [t[t.index("ark.schedule") : t.index("ark.return")] for t in (again, text)]
    assert schedules[0] == schedules[1]


def test_without_synchronisation_the_compiler_inserts_it(program: ark.Program, text: str) -> None:
    def strip(lines: list[str]) -> None:
        lines[:] = [
            line for line in lines
            if not re.match(r"\s*ark\.(semaphore|wait|signal|barrier)\b", line)
        ]  # fmt: skip

    assert check(edited(text, strip)).waits == check(text).waits
    check_run(ark.compile(edited(text, strip)), program)


def test_a_move_to_one_sm_is_honoured(program: ark.Program, runs: str) -> None:
    """The edit moves all of `scores` to the first lane, on SM 0."""

    def move(lines: list[str]) -> None:
        lines[:] = [line for line in lines if not line.lstrip().startswith('ark.run "scores"')]
        begin = first(lines, "ark.lane")
        assert "sms = [0, 4]" in lines[begin]
        lines[begin] = lines[begin].replace("[0, 4]", "[0, 1]")
        end = next(i for i in range(begin, len(lines)) if lines[i].strip() == "}")
        second = [lines[begin].replace("[0, 1]", "[1, 4]", 1), *lines[begin + 1 : end + 1]]
        lines[end:end] = ['        ark.run "scores" [0, 8]']
        lines[end + 2 : end + 2] = second

    moved = edited(runs, move)
    exe = ark.compile(moved)
    check_run(exe, program)
    rows, tasks = exe.bundle.tables.instructions, exe.bundle.manifest.tasks
    mine = [row for row in rows.tolist() if row[0] == 0 and tasks[row[1]].name == "scores"]
    assert [row[2:] for row in mine] == [[0, 8]]


def test_the_error_of_a_missing_wait_names_both_lines(text: str, tmp_path: Path) -> None:
    """The error names the line of the text, and the Python lines that made the tasks."""
    path = tmp_path / "schedule.mlir"

    def remove(lines: list[str]) -> None:
        del lines[first(lines, "ark.wait @up")]

    path.write_text(edited(text, remove))
    line = first(path.read_text().splitlines(), 'ark.run "down"') + 1
    with pytest.raises(ark.VerificationError) as caught:
        ark.compile(path)
    message = str(caught.value)
    assert f"schedule.mlir:{line}: ark.run: RAW hazard: vCTA 0 of 'down' on SM 0" in message
    assert "without waiting for vCTA 4 of 'up' on SM 1" in message
    numbers = re.findall(r"note: .*test_edited_schedules\.py:(\d+): operand", message)
    assert len(numbers) == 2
    assert int(numbers[1]) - int(numbers[0]) == 1


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (
            r"arrivals = 2  // up, for down",
            "arrivals = 3",
            "declares 3 arrivals and is signalled 2",
        ),
        (r"ark\.signal @up\.1 .*\n", "", "declares 2 arrivals and is signalled 0"),
        (r'ark\.run "up" \[d0 \* 4, d0 \* 4 \+ 4\]', 'ark.run "up" [0, 4]', "again"),
        (r'ark\.run "down" .*\n', "", "never runs vCTA"),
        (r"warps = \[0, \d\]", "warps = [0, 999]", "the target has"),
        (r"@end arrivals = 4", "@end arrivals = 3", "declares 3 arrivals"),
    ],
)
def test_invalid_edits_raise(text: str, pattern: str, replacement: str, message: str) -> None:
    broken, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    with pytest.raises(ark.CompileError, match=message):
        ark.compile(broken)


def test_a_cycle_of_waits_is_named(text: str) -> None:
    def swap(lines: list[str]) -> None:
        for begin in [i for i, line in enumerate(lines) if "ark.lane " in line]:
            signal = next(i for i in range(begin, len(lines)) if "ark.signal" in lines[i])
            lines[signal], lines[signal + 1] = lines[signal + 1], lines[signal]

    with pytest.raises(ark.VerificationError, match="never ends"):
        ark.compile(edited(text, swap))


def test_runs_in_an_impossible_order_raise(runs: str) -> None:
    def swap(lines: list[str]) -> None:
        up = first(lines, 'ark.run "up"')
        lines[up], lines[up + 1] = lines[up + 1], lines[up]

    with pytest.raises(ark.VerificationError, match="can never run: the order of the lanes"):
        ark.compile(edited(runs, swap))


def test_pins_hold_for_edited_schedules() -> None:
    with ark.Program("pinned") as program:
        x = ark.input("x", (8, 8))
        with ark.planner(sms=(0, 1)):
            ark.output("y", ark.exp(x, name="e"))
    text = export_schedule(program, "cpu:2")
    with pytest.raises(ark.VerificationError, match=r"runs on SM 1, and the plan pins sms to \[0"):
        ark.compile(text.replace("sms = [0, 1]", "sms = [1, 2]"))


def test_editing_by_the_command(
    program: ark.Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, schedule = tmp_path / "mlp.mlir", tmp_path / "schedule.mlir"
    source.write_text(program.mlir)
    assert main(["schedule", str(source), "-o", str(schedule), "--target", "cpu:4"]) == 0
    assert "ark check schedule.mlir" in schedule.read_text()
    assert main(["check", str(schedule)]) == 0
    assert "proven" in capsys.readouterr().out
    assert main(["compile", str(schedule), "-o", str(tmp_path / "m.arkbin")]) == 0
    check_run(ark.load(tmp_path / "m.arkbin"), program)
    assert main(["schedule", str(source), "-o", str(schedule), "--runs-only"]) == 0
    assert "ark.wait" not in schedule.read_text().split("ark.schedule")[1]
    assert main(["schedule", str(source), "-o", str(tmp_path / "no" / "x.mlir")]) == 1
    assert main(["schedule", str(tmp_path / "none.mlir"), "-o", str(schedule)]) == 1


def test_locations_are_at_the_end() -> None:
    """Nothing stands between the header and the program, and errors still name Python lines."""
    with ark.Program('a "name"') as program:
        x = ark.input('in "put"', (8, 64))
        h = ark.exp(ark.matmul(x, ark.parameter("w", (64, 64))), name='odd "\\\\" name')
        ark.output("y", ark.softmax(h))
    text = ark.compiler.export_schedule(program, "cpu:2")
    lines = text.splitlines()
    end = max(number for number, line in enumerate(lines) if line.startswith("}"))
    assert [line for line in lines[:end] if re.match(r"#(loc|arg)\d*\b", line)] == []
    assert [line for line in lines[end + 1 :] if not re.match(r"#(loc|arg)\d* = loc\(", line)] == []
    assert ark.compiler.check(text)
    waits = [number for number, line in enumerate(lines) if line.lstrip().startswith("ark.wait")]
    del lines[waits[0]]
    with pytest.raises(ark.CompileError, match=Path(__file__).name):
        ark.compiler.check("\n".join(lines))
