"""The timeline page: one complete file, safe for any content, and quick to make."""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import drawn_by_browser, needs_browser

from ark_mlir.bundle import Bundle, Opcode, Task
from ark_mlir.errors import InvalidUsageError
from ark_mlir.runtime.diagnosis.trace import read_trace, write_trace
from ark_mlir.show import timeline, write_timeline
from ark_mlir.show.estimate import estimate_timeline
from ark_mlir.show.kinds import KINDS, kind_of
from ark_mlir.testing.toy import ToyProgram, add_program, run, signal, wait


def bundle_of(program: ToyProgram) -> Bundle:
    return Bundle.from_parts(*program.parts())


def page_of(bundle: Bundle, folder: Path, **options: Any) -> str:
    write_timeline(bundle, folder / "timeline.html", **options)
    return (folder / "timeline.html").read_text()


def script(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def unpacked(text: str, dtype: str, columns: int) -> np.ndarray[Any, Any]:
    data = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(data, dtype).reshape(-1, columns)


def test_the_page_holds_the_schedule(tmp_path: Path) -> None:
    bundle = bundle_of(add_program())
    page = page_of(bundle, tmp_path)
    data, meta = script(page, "data"), script(page, "meta")
    assert np.array_equal(unpacked(data["instructions"], "<i4", 4), bundle.tables.instructions)
    assert np.array_equal(unpacked(data["predicted"], "<f8", 2), bundle.tables.timeline)
    assert data["traced"] == ""
    assert meta["lanes"] == [[0, 0, 6], [1, 6, 12]]
    assert [task["name"] for task in meta["tasks"]] == ["first", "second"]
    assert [task["at"] for task in meta["tasks"]] == ["net.py:7", "net.py:8"]
    assert [item["name"] for item in meta["semaphores"]] == ["done", "again"]
    assert ["predicted", "12 µs"] in meta["figures"]


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    """The page must open without a network, from any folder."""
    page = page_of(bundle_of(add_program()), tmp_path)

    class Links(HTMLParser):
        found: list[tuple[str, str | None]] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found += [pair for pair in attrs if pair[0] in ("src", "href", "data", "action")]

    parser = Links()
    parser.feed(page)
    assert parser.found == []
    assert not re.search(r"https?://|@import|url\(", page)
    assert "{{" not in page


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", "{{js}}", "<!--", "'\"&<b>", "\\u003c", "λ→µ"]
)
def test_names_are_only_names(tmp_path: Path, name: str) -> None:
    """A name in a bundle must not become markup or script."""
    program = ToyProgram(sms=1, name=name)
    task = program.task("nothing", name=name, ops=[name], location=name)
    program.semaphore(1, name)
    program.lane(0, [run(task, 0, 1)])
    page = page_of(bundle_of(program), tmp_path)
    meta = script(page, "meta")
    assert (meta["program"], meta["tasks"][0]["name"]) == (name, name)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 3


def test_equal_schedules_give_equal_pages(tmp_path: Path) -> None:
    assert page_of(bundle_of(add_program()), tmp_path) == page_of(
        bundle_of(add_program()), tmp_path
    )


def test_a_schedule_without_a_prediction(tmp_path: Path) -> None:
    """The page shows the items in order: an item that waits begins after the item it waits for."""
    program = ToyProgram()
    first, second = program.task("nothing", 4, name="a"), program.task("nothing", 1, name="b")
    done = program.semaphore(1)
    program.lane(0, [run(first, 0, 4), signal(done)])
    program.lane(1, [wait(done, 1), run(second, 0, 1)])
    manifest, sections = program.parts()
    sections["timeline"] = bytes(len(sections["timeline"]))
    bundle = Bundle.from_parts(manifest, sections)
    page = page_of(bundle, tmp_path)
    (_, work), (signalled, _), (waited, waiting), (begin, _) = unpacked(
        script(page, "data")["predicted"], "<f8", 2
    ).tolist()
    assert work > 0
    assert (waited, waiting) == (0, work)
    assert signalled == begin == work
    assert ["predicted", "none: scale is of work"] in script(page, "meta")["figures"]


def test_an_estimate_ends_with_a_cycle() -> None:
    program = ToyProgram()
    task = program.task("nothing", 2)
    s, r = program.semaphore(1), program.semaphore(1)
    program.lane(0, [run(task, 0, 1), wait(s, 1), signal(r)])
    program.lane(1, [wait(r, 1), signal(s), run(task, 1, 2)])
    times = estimate_timeline(bundle_of(program))
    assert (times[:, 1] > 0).tolist() == [True, False, False, False, False, False]


def test_a_trace_beside_the_prediction(tmp_path: Path) -> None:
    bundle = bundle_of(add_program())
    times = np.cumsum(np.arange(24)).reshape(12, 2) * 1000 + 5_000_000_000
    write_trace(tmp_path / "trace.json", bundle, times)
    assert np.array_equal(read_trace(tmp_path / "trace.json", bundle), times - times[0, 0])
    page = page_of(bundle, tmp_path, trace=tmp_path / "trace.json")
    whole = (times[-1, 1] - times[0, 0]) / 1000
    assert ["traced", f"{whole:.4g} µs"] in script(page, "meta")["figures"]
    traced = unpacked(script(page, "data")["traced"], "<f8", 2)
    assert np.array_equal(traced[:, 0], times[:, 0] - times[0, 0])
    assert np.array_equal(traced[:, 1], times[:, 1] - times[:, 0])


# {0} is the lane, {1} the start in us, {2} the duration in us.
_EVENT = '{{"ph": "X", "tid": {0}, "ts": {1}, "dur": {2}}}'


def trace_of(*events: str) -> str:
    return f'{{"traceEvents": [{", ".join(events)}]}}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not valid JSON"),
        ("[]", "expected an object, got an array"),
        ("{}", "key 'traceEvents' is missing"),
        ('{"traceEvents": 3}', "traceEvents: expected an array, got 3"),
        (trace_of(), r"traceEvents: lane 0 has 0 instructions; this lane of 'toy' has 6"),
        (trace_of("null"), r"traceEvents\[0\]: expected an object, got null"),
        (trace_of("{}"), r"traceEvents\[0\]: key 'ph' is missing"),
        (trace_of('{"ph": []}'), r"traceEvents\[0\]\.ph: expected a string"),
        (trace_of('{"ph": "M"}', '{"ph": "X"}'), r"traceEvents\[1\]: key 'tid' is missing"),
        (trace_of(_EVENT.format(-1, 0, 1)), r"traceEvents\[0\]\.tid: -1 is not in \[0, \d+\]"),
        (trace_of(_EVENT.format(99, 0, 1)), r"traceEvents\[0\]\.tid: 99 is not in \[0, \d+\]"),
        (trace_of(_EVENT.format("0.5", 0, 1)), r"tid: expected an integer, got 0\.5"),
        (trace_of(_EVENT.format("true", 0, 1)), r"tid: expected an integer, got a boolean"),
        (trace_of(_EVENT.format(0, '"0"', 1)), r"ts: expected a number, got a string"),
        (trace_of(_EVENT.format(0, "1e999", 1)), "not valid JSON: .1e999. is out of the range"),
        (trace_of(_EVENT.format(0, "NaN", 1)), "not valid JSON: NaN is not a number"),
        (trace_of(_EVENT.format(0, "1e30", 1)), r"ts: 1e\+30 is too large for a time in us"),
        (trace_of(_EVENT.format(0, 0, 1 << 62)), rf"dur: {1 << 62} is too large for a time in us"),
        (trace_of(_EVENT.format(0, 0, -1)), r"dur: -1 is less than 0"),
        (
            trace_of(*[_EVENT.format(0, 0, 1)] * 12),
            r"traceEvents\[6\]: lane 0 has too many instructions; this lane of 'toy' has 6",
        ),
    ],
)
def test_an_invalid_trace_raises(tmp_path: Path, text: str, problem: str) -> None:
    path, bundle = tmp_path / "trace.json", bundle_of(add_program())
    path.write_text(text)
    with pytest.raises(InvalidUsageError, match=problem) as caught:
        read_trace(path, bundle)
    assert str(caught.value).startswith(f"{path}: trace: ")
    with pytest.raises(InvalidUsageError, match=problem):
        page_of(bundle, tmp_path, trace=path)


def test_a_missing_trace_raises(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsageError, match=r"missing\.json: cannot be read"):
        page_of(bundle_of(add_program()), tmp_path, trace=tmp_path / "missing.json")


def large(lanes: int, items: int) -> Bundle:
    program = ToyProgram(sms=lanes)
    half = items // 2
    tasks = [program.task("nothing", lanes, name=f"layer{k}.matmul") for k in range(half)]
    semaphores = [program.semaphore(1) for _ in range(lanes)]
    for lane in range(lanes):
        work = [signal(semaphores[lane])]
        for task in tasks:
            work += [run(task, lane, lane + 1), wait(semaphores[lane], 1)]
        program.lane(lane, work[:-1])
    return bundle_of(program)


def test_a_large_schedule(tmp_path: Path) -> None:
    """132 lanes of 2000 items take seconds of processor time, and give a file that can be
    mailed."""
    bundle = large(132, 2000)
    assert len(bundle.tables.instructions) == 132 * 2000
    start = time.process_time()
    page = page_of(bundle, tmp_path)
    assert time.process_time() - start < 10
    assert len(page) < 12_000_000


@pytest.mark.parametrize(
    ("ops", "name", "kind"),
    [
        (["ark.matmul", "ark.add", "ark.gelu"], "mlp", "matmul"),
        (["ark.add", "ark.layernorm"], "x", "normalise"),
        (["attention"], "x", "attention"),
        (["encoder.layer.0/matmul_3"], "x", "matmul"),
        (["ark.reduce_sum"], "x", "reduce"),
        (["ark.all_reduce", "ark.matmul"], "x", "communicate"),
        (["ark.embedding"], "x", "index"),
        (["ark.transpose"], "x", "move"),
        ([], "softmax_2", "normalise"),
        ([], "?", "other"),
    ],
)
def test_kinds(ops: list[str], name: str, kind: str) -> None:
    task = Task(name, 0, 1, (1,), tuple(ops), "", 0, 0)
    assert KINDS[kind_of(task)].name == kind


@needs_browser
def test_a_browser_draws_it(tmp_path: Path) -> None:
    """The script runs to its end, and its figures are on the page."""
    page_of(bundle_of(add_program()), tmp_path)
    drawn = drawn_by_browser(tmp_path / "timeline.html")
    assert 'data-ready="yes"' in drawn
    assert "elementwise" in drawn
    assert "waiting" in drawn


# Notes the texts on the canvas with their left and right ends, and the width of the canvas.
NOTES_TEXTS = """<script>
const fillText = CanvasRenderingContext2D.prototype.fillText, texts = {};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const wide = this.measureText(text).width, left = this.textAlign === "right" ? x - wide : x;
  texts[text] = [left, left + wide, this.canvas.clientWidth];
  document.body.dataset.texts = JSON.stringify(texts);
  fillText.call(this, text, x, y);
};
</script>"""


@needs_browser
def test_the_shares_of_the_legend_and_the_labels_of_the_axis(tmp_path: Path) -> None:
    bundle = bundle_of(add_program())
    # The last tick is at the right edge.
    times = np.zeros((12, 2), np.int64)
    runs = np.flatnonzero(bundle.tables.instructions[:, 0] == Opcode.RUN)
    times[runs[0]] = 0, 20_000
    times[runs[-1]] = 50_000, 30_000
    page = page_of(bundle, tmp_path, simulated=times)
    (tmp_path / "timeline.html").write_text(page.replace("<body>", "<body>" + NOTES_TEXTS))
    drawn = drawn_by_browser(tmp_path / "timeline.html")
    legend = drawn[drawn.index('id="legend"') : drawn.index('id="modes"')]
    shares = [float(share) for share in re.findall(r">([\d.]+) %<", legend)]
    assert ">idle<" in legend
    assert shares[-1] > 10
    assert round(sum(shares), 1) == 100
    found = re.search(r'data-texts="([^"]*)"', drawn)
    assert found
    left, right, width = json.loads(found[1].replace("&quot;", '"'))["80 µs"]
    assert 0 <= left < right <= width


def test_figures_are_of_the_trace_if_there_is_one(tmp_path: Path) -> None:
    """Half of the traced time is work; the prediction says something else."""
    bundle = bundle_of(add_program())
    opcodes = bundle.tables.instructions[:, 0]
    ends = np.where(opcodes == 0, 20, 10).cumsum() * 1000
    times = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) + 10**9
    write_trace(tmp_path / "trace.json", bundle, times)
    plain = dict(script(page_of(bundle, tmp_path), "meta")["figures"])
    traced = dict(
        script(page_of(bundle, tmp_path, trace=tmp_path / "trace.json"), "meta")["figures"]
    )
    work = 20 * int((opcodes == 0).sum())
    assert traced["busy, traced"] == f"{100 * work / (2 * ends[-1] / 1000):.1f} %"
    assert "busy" in plain
    assert "busy" not in traced
    assert "predicted" in traced


def test_threads_of_a_processor_are_no_sms(tmp_path: Path) -> None:
    meta = script(page_of(bundle_of(add_program()), tmp_path), "meta")
    assert meta["unit"] == "thread"
    assert ["threads / lanes", "2 / 2"] in meta["figures"]


def test_a_timeline_in_a_notebook(tmp_path: Path) -> None:
    """The page is inside of a frame, so that its script cannot reach the notebook."""
    bundle = bundle_of(add_program())
    shown = timeline(bundle)
    assert shown.page == page_of(bundle, tmp_path)
    attributes: dict[str, str | None] = {}

    class Frame(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag == "iframe"
            attributes.update(attrs)

    Frame().feed(shown._repr_html_())
    assert attributes["srcdoc"] == shown.page
    assert attributes["sandbox"] == "allow-scripts"


@needs_browser
def test_small_kinds_have_a_percentage(tmp_path: Path) -> None:
    """A kind that takes less than 0.1 % of the time has a figure, and names are complete."""
    program = ToyProgram(sms=1)
    long = program.task("nothing", 1, name="model.layers.0.mlp.gate_and_up", ops=["ark.matmul"])
    short = program.task("nothing", 1, name="softmax", ops=["ark.softmax"])
    program.lane(0, [run(long, 0, 1), run(short, 0, 1)])
    manifest, sections = program.parts()
    sections["timeline"] = np.array([[0, 10**7], [10**7, 1]], "<i8").tobytes()
    page_of(Bundle.from_parts(manifest, sections), tmp_path)
    drawn = drawn_by_browser(tmp_path / "timeline.html")
    assert "&lt; 0.1 %" in drawn
    assert '<span class="label">model.layers.0.mlp.gate_and_up</span>' in drawn
    assert "a thread of the processor" in drawn


def pipeline() -> Bundle:
    """Returns a schedule with a forward and a backward task of microbatch 3, and another task."""
    program = ToyProgram(sms=1)
    tasks = [program.task("nothing", 1, name=name) for name in ("ahead", "back", "sum")]
    program.lane(0, [run(task, 0, 1) for task in tasks])
    manifest, sections = program.parts()
    manifest["tasks"][0]["unit"] = [1, 3, 0]
    manifest["tasks"][1]["unit"] = [1, 3, 1]
    return Bundle.from_parts(manifest, sections)


def test_microbatches_of_a_pipeline(tmp_path: Path) -> None:
    tasks = script(page_of(pipeline(), tmp_path), "meta")["tasks"]
    numbers = {"stage": 1, "microbatch": 3}
    assert [task.get("unit") for task in tasks] == [
        {"label": "F3", **numbers, "backward": False},
        {"label": "B3", **numbers, "backward": True},
        None,
    ]


def test_the_bubble_of_a_pipeline(tmp_path: Path) -> None:
    """The only rank works for 50 of 60 traced µs."""
    bundle, other = pipeline(), bundle_of(add_program())
    times = np.array([[0, 10], [20, 30], [30, 60]]) * 1000 + 10**9
    write_trace(tmp_path / "trace.json", bundle, times)
    plain = dict(script(page_of(bundle, tmp_path), "meta")["figures"])
    traced = dict(
        script(page_of(bundle, tmp_path, trace=tmp_path / "trace.json"), "meta")["figures"]
    )
    assert "bubble" in plain
    assert traced["bubble, traced"] == "16.7 %"
    assert "bubble" not in dict(script(page_of(other, tmp_path), "meta")["figures"])


@needs_browser
def test_a_browser_draws_a_pipeline(tmp_path: Path) -> None:
    """The button that selects colours is visible only if the schedule has microbatches."""
    for bundle, hidden in ((pipeline(), ""), (bundle_of(add_program()), ' hidden=""')):
        page_of(bundle, tmp_path)
        drawn = drawn_by_browser(tmp_path / "timeline.html")
        assert 'data-ready="yes"' in drawn
        assert re.search(rf'<button id="units"[^>]*aria-pressed="true"{hidden}>', drawn)
