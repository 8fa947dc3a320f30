"""A profile has the measured times of tasks, by task and by op, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime import Executable, Profile, TaskProfile
from ark_mlir.runtime.diagnosis.profile import make_profile
from ark_mlir.runtime.diagnosis.report import make_report
from ark_mlir.testing.toy import ToyProgram, add_program, run, signal, wait

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]


def cells(text: str) -> list[list[str]]:
    """Returns the cells of all tables in HTML."""
    rows: list[list[str]] = []

    class Tables(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag == "tr":
                rows.append([])
            elif tag in ("td", "th"):
                rows[-1].append("")

        def handle_data(self, data: str) -> None:
            if rows and rows[-1]:
                rows[-1][-1] += data

    Tables().feed(text)
    return rows


@pytest.fixture
def profile() -> Profile:
    """Two lanes, with times that were made up: task a takes 30 + 10, b takes 20, c takes 5 ns."""
    program = ToyProgram()
    a = program.task("nothing", 2, name="a", ops=["matmul"], location="net.py:3")
    b = program.task("nothing", 1, name="<b>", ops=["add"])
    c = program.task("nothing", 1, name="c", ops=["add"])
    done = program.semaphore(1)
    program.lane(0, [run(a, 0, 1), signal(done), run(c, 0, 1)])
    program.lane(1, [run(a, 1, 2), wait(done, 1), run(b, 0, 1)])
    bundle = Bundle.from_parts(*program.parts())
    slow = np.array([[0, 30], [30, 30], [30, 35], [0, 10], [10, 30], [30, 50]], np.int64)
    return make_profile(bundle, [100 * slow, slow, slow + 1000])


def test_times_are_medians_over_the_runs(profile: Profile) -> None:
    assert [(task.name, task.ns, task.span_ns) for task in profile.tasks] == [
        ("a", 40, 30), ("<b>", 20, 20), ("c", 5, 5)
    ]  # fmt: skip
    assert (profile.total_ns, profile.waiting_ns, profile.lanes) == (50, 20, 2)
    assert profile.busy == pytest.approx(0.65)
    assert [(group.name, group.tasks, group.ns) for group in profile.by_op()] == [
        ("matmul", 1, 40), ("add", 2, 25)
    ]  # fmt: skip


def test_text_and_html_have_the_same_rows(profile: Profile) -> None:
    text = str(profile)
    assert text.startswith(
        "toy: 50 ns per iteration (median of 3 runs), 2 lanes: 65.0% busy, 20.0%"
    )
    rows = cells(profile._repr_html_())
    assert rows[1][:3] == ["a", "40.0%", "40 ns"]
    assert rows[1][-1] == "net.py:3"
    assert rows[2][0] == "<b>"  # a name is only a name
    assert [row[0] for row in rows[4:]] == ["task", "matmul", "2 x add"]
    lines = [line.split() for line in text.splitlines()]
    assert [line[:3] for line in lines if line[0] == "a"] == [["a", "40.0%", "40"]]


def test_lines_of_fused_tasks_are_short() -> None:
    program = ToyProgram()
    name, ops = "+".join(f"op_{i}" for i in range(40)), ["mul", "add"] * 40
    task = program.task("nothing", 1, name=name, ops=ops)
    program.lane(0, [run(task, 0, 1)])
    bundle = Bundle.from_parts(*program.parts())
    profile = make_profile(bundle, [np.array([[0, 30]], np.int64)])
    assert profile.by_op()[0].name == "mul ×40, add ×40"
    text = str(profile)
    assert max(map(len, text.splitlines())) < 200
    assert name not in text
    assert name[:71] in text
    assert "1 x mul ×40, add ×40" in str(make_report(bundle))


def test_a_run_is_measured(make: Make, x: Array) -> None:
    executable = make(add_program(), trace=True).bind({"w": np.ones(128, np.float32)})
    profile = executable.profile(x, runs=2)
    assert {task.name for task in profile.tasks} == {"first", "second"}
    assert profile.runs == 2
    assert all(task.ns > 0 for task in profile.tasks)
    assert 0 < profile.busy <= 1


def test_refusals(make: Make, add: Executable, x: Array) -> None:
    with pytest.raises(ark.InvalidUsageError, match="compiled with trace=True"):
        add.profile(x)
    traced = make(add_program(), trace=True)
    with pytest.raises(ark.InvalidUsageError, match="runs is 0"):
        traced.profile(x, runs=0)


def test_reports_are_html_in_notebooks(add: Executable) -> None:
    report = add.report()
    rows = cells(report._repr_html_())
    assert [row[0] for row in rows][:3] == ["target", "schedule", "tasks"]
    for name, text in rows[:-1]:
        assert f"  {name} " in str(report)
        assert text in str(report)
    assert "2 × ark.add" in report._repr_html_()


# -- rooflines -------------------------------------------------------------------------------------


@pytest.fixture
def computing() -> Profile:
    """A product of 800 operations and 20 bytes in 10 ns, a sum of 10 and 40 in 20 ns, a copy."""
    tasks = (
        TaskProfile("a", ("matmul",), "", 1, 1, 30.0, 0.0, 10.0, 800, 20),
        TaskProfile("b", ("<add>",), "", 1, 1, 20.0, 0.0, 20.0, 10, 40),
        TaskProfile("c", ("copy",), "", 1, 1, 10.0, 0.0, 5.0, 0, 40),
    )
    return Profile("net", 1, 2, 50.0, 0.0, tasks)


def test_points_of_a_roofline(computing: Profile) -> None:
    plot = computing.roofline(peak_gflops=100, peak_gbytes=4)
    assert plot.ridge == 25
    assert [(p.name, p.intensity, p.gflops, p.roof) for p in plot.points] == [
        ("matmul", 40, 80, 100), ("<add>", 0.25, 0.5, 1)
    ]  # fmt: skip
    assert [point.share for point in plot.points] == [pytest.approx(1 / 2), pytest.approx(1 / 3)]
    assert plot.left_out == ("copy",)
    assert str(plot).splitlines()[0] == (
        "net: 100 GFLOP/s, 4 GB/s, equal at 25 FLOP/byte; not shown: copy"
    )
    assert [line.split()[-1] for line in str(plot).splitlines()[2:]] == ["arithmetic", "memory"]


def test_limits_that_are_not_given_are_measured(computing: Profile) -> None:
    plot = computing.roofline()
    assert (plot.peak_gflops, plot.peak_gbytes, plot.given) == (80, 2, (False, False))
    assert "80 GFLOP/s (highest measured), 2 GB/s (highest measured)" in str(plot)
    assert computing.roofline(peak_gbytes=9).given == (False, True)


def test_the_plot_of_a_roofline(computing: Profile, tmp_path: Path) -> None:
    plot = computing.roofline(peak_gflops=100, peak_gbytes=4)
    root = ElementTree.fromstring(plot.svg)
    space = "{http://www.w3.org/2000/svg}"
    circles = [
        tuple(float(circle.attrib[key]) for key in ("cx", "cy", "r"))
        for circle in root.iter(f"{space}circle")
    ]
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    assert all(0 < x < width and 0 < y < height for x, y, _ in circles)
    (product, total) = circles
    assert product[0] > total[0], "more operations per byte are on the right"
    assert product[1] < total[1], "faster is above"
    assert (product[2] / total[2]) ** 2 == pytest.approx(3 / 2, rel=0.05), "areas are shares"
    hints = [title.text or "" for title in root.iter(f"{space}title")]
    assert "2: <add>, 33.3% of the time, 0.5 GFLOP/s, 50% of the roof" in hints
    # The two lines of the roof meet at the ridge, and a point on it lies on both.
    thick = [line.attrib for line in root.iter(f"{space}line") if "stroke-width" in line.attrib]
    assert [(line["x2"], line["y2"]) for line in thick[:1]] == [
        (line["x1"], line["y1"]) for line in thick[1:]
    ]
    shown = plot._repr_html_()
    assert [row[1] for row in cells(shown)[1:]] == ["matmul", "<add>"]
    plot.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text() == plot.svg


def test_refusals_of_a_roofline(computing: Profile) -> None:
    for wrong in (0, -1, math.nan, math.inf):
        with pytest.raises(ark.InvalidUsageError, match="peak_gflops must be a number above 0"):
            computing.roofline(peak_gflops=wrong)
