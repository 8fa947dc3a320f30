"""Schedules that are cyclic or broken by hand give an error that names both sides.

Each schedule is given to the Python API and, if a command takes it, to the command line: exit
status 1, one message on stderr, no traceback.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.targets import resolve

Refused = Callable[..., str]
Locate = Callable[[str], str]
Edit = Callable[[str], str]


def make_mlp() -> ark.Program:
    """Three tasks, each of which reads results of several vCTAs of the previous one."""
    with ark.Program("mlp") as made:
        x = ark.input("x", (32, 64), ark.fp32)
        w1 = ark.parameter("w1", (256, 64), ark.fp32)
        w2 = ark.parameter("w2", (64, 256), ark.fp32)
        h = ark.matmul(x, w1, transpose_other=True, name="up")  # up
        h = ark.matmul(ark.gelu(h), w2, transpose_other=True, name="down")  # down
        ark.output("y", ark.softmax(h, name="scores"))  # scores
    return made


@pytest.fixture(scope="module")
def schedule(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the program at the stage `synchronization`, on four SMs."""
    folder = tmp_path_factory.mktemp("dump")
    ark.compile(make_mlp(), target="cpu:4", dump_dir=folder)
    return (folder / "05-synchronization.mlir").read_text(encoding="utf-8")


def edit(pattern: str, replacement: str = "", count: int = 1) -> Edit:
    """Replaces whole lines; fails the test if a pattern is not found."""

    def apply(text: str) -> str:
        result, found = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
        assert found, f"{pattern} is not in the schedule"
        return result

    return apply


def both(first: Edit, second: Edit) -> Edit:
    return lambda text: second(first(text))


# The edit and the expected error; `{up}` and so on stand for locations.
BROKEN: dict[str, tuple[Edit, list[str]]] = {
    "wait removed": (
        edit(r"^ *ark\.wait @up loc.*\n"),
        ["{down}: ark.run: RAW hazard: vCTA", "of 'down'", "of 'up'", "{up}: operand 2 of 'up'"],
    ),
    "last wait removed": (
        edit(r"^ *ark\.wait @down loc.*\n"),
        ["{scores}: ark.run: RAW hazard", "of 'scores'", "{down}: operand 2 of 'down'"],
    ),
    "signal removed": (
        edit(r"^ *ark\.signal @up loc.*\n"),
        ["{up}: ark.semaphore: declares 2 arrivals and is signalled 0 times"],
    ),
    "more arrivals than signals": (
        edit(r"@up arrivals = 2", "@up arrivals = 3"),
        ["{up}: ark.semaphore: declares 3 arrivals and is signalled 2 times"],
    ),
    "barrier removed": (
        edit(r"^ *ark\.barrier @end.*\n"),
        ["ark.semaphore: declares 4 arrivals and is signalled 2 times"],
    ),
    "run before its wait": (
        edit(r"^( *ark\.wait @up loc.*\n)( *ark\.run \"down\".*\n)", r"\2\1"),
        ["{down}: ark.run: RAW hazard"],
    ),
    "runs in the wrong order": (
        edit(r"^( *ark\.run \"up\".*\n)((?:.*\n){2})( *ark\.run \"down\".*\n)", r"\3\2\1"),
        ["{down}: ark.run: RAW hazard", "before vCTA", "{up}: operand 2 of 'up'"],
    ),
    "wait before its own signal": (
        edit(r"^( *ark\.signal @up loc.*\n)( *ark\.wait @up loc.*\n)", r"\2\1"),
        ["{down}: ark.wait: never ends (deadlock)", "{up}: SM 2 signals '@up' after"],
    ),
    "lanes that wait for each other": (
        both(
            edit(r"(lane sms = \[0, 2\].*\n)", r"\1        ark.wait @down\n"),
            edit(r"(lane sms = \[2, 4\].*\n)", r"\1        ark.wait @down.1\n"),
        ),
        ["ark.wait: never ends (deadlock)", "SM 0 waits for '@down'", "SM 2 waits for '@down.1'"],
    ),
    "run removed": (
        edit(r"^ *ark\.run \"up\".*\n"),
        ["ark.schedule: never runs vCTA 0 of 'up'", "{up}: the task"],
    ),
    "run twice": (
        edit(r"^( *ark\.run \"scores\".*\n)", r"\1\1"),
        ["{scores}: ark.run: runs vCTA 0 of 'scores' again"],
    ),
    "run out of range": (
        edit(r"\"up\" \[d0 \* 4, d0 \* 4 \+ 4\]", '"up" [d0 * 4 - 9, d0 * 4 + 4]'),
        ["{up}: ark.run: range [-9, 4] on SM 0 leaves the 16 vCTAs of 'up'"],
    ),
    "unknown task": (
        edit(r"ark\.run \"up\"", 'ark.run "zork"'),
        ["{up}: ark.run: names unknown task 'zork'"],
    ),
    "unknown semaphore": (
        edit(r"ark\.wait @up ", "ark.wait @zork "),
        ["{down}: ark.wait: names unknown semaphore '@zork'"],
    ),
    "lanes that overlap": (
        edit(r"lane sms = \[0, 2\]", "lane sms = [0, 3]"),
        ["ark.lane: shares warps or shared memory of an SM with another lane"],
    ),
    "more SMs than there are": (
        edit(r"lane sms = \[2, 4\]", "lane sms = [2, 40]"),
        ["ark.lane: names SM 39, but the schedule has sms = 4"],
    ),
    "region that lies": (
        edit(r"\(d0 \* 4, 0\)", "(0, 0)"),
        ["{scores}: ark.run: RAW hazard"],
    ),
    "body that leaves its tile": (
        edit(
            r"^( *)linalg\.fill ins\(%(\w+) : f32\) outs\(%(\w+) : "
            r"(memref<.*?, strided<.*?>>)\).*\n",
            r"\g<0>\1%far = memref.reinterpret_cast %\3 to offset: [100000000], sizes: [1], "
            r"strides: [1] : \4 to memref<1xf32, strided<[1], offset: 100000000>>\n",
        ),
        ["may address elements that 'memref<"],
    ),
    "cut in the middle": (lambda text: text[: len(text) // 2], ["broken.mlir:"]),
}


def test_the_unchanged_schedule_is_proven(schedule: str) -> None:
    result = ark.compiler.check(schedule)
    assert (result.tasks, result.lanes, result.target.sms) == (3, 4, 4)
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    weights = {"w1": np.ones((256, 64), np.float32), "w2": np.eye(64, 256, dtype=np.float32)}
    executable = ark.compile(schedule).bind(weights)
    report = executable.report()
    assert (result.waits, result.signals, result.barriers) == (
        report.waits,
        report.signals,
        report.barriers,
    )
    got = executable.run(x=x)["y"]
    expected = ark.reference.run(make_mlp(), {"x": x, **weights})["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_schedules_raise(name: str, schedule: str, tmp_path: Path, locate: Locate) -> None:
    change, messages = BROKEN[name]
    path = tmp_path / "broken.mlir"
    path.write_text(change(schedule), encoding="utf-8")
    for use in (ark.compile, ark.compiler.check):
        with pytest.raises(ark.CompileError) as caught:
            use(path)
        assert_says(str(caught.value), messages, locate)


@pytest.mark.parametrize(
    "name", ["wait removed", "signal removed", "lanes that wait for each other", "run removed"]
)
def test_broken_schedules_on_the_command_line(
    name: str, schedule: str, refused: Refused, locate: Locate
) -> None:
    change, messages = BROKEN[name]
    Path("broken.mlir").write_text(change(schedule), encoding="utf-8")
    assert_says(refused("check", "broken.mlir"), messages, locate)
    assert_says(refused("compile", "broken.mlir", "-o", "o.arkbin"), messages, locate)
    assert not Path("o.arkbin").exists()


def assert_says(error: str, messages: list[str], locate: Locate) -> None:
    locates = {name: locate(name) for name in ("up", "down", "scores")}
    for message in messages:
        assert message.format(**locates) in error


@pytest.mark.parametrize("stage", ["kernel", "target"])
def test_a_wrong_schedule_at_a_later_stage_is_not_called_proven(
    stage: str, schedule: str, refused: Refused
) -> None:
    """The text of a wrong schedule claims a stage after the proof."""
    lie = edit(r'ark\.stage = "synchronization"', f'ark.stage = "{stage}"')
    text = BROKEN["wait removed"][0](lie(schedule))
    with pytest.raises(ark.InvalidUsageError, match=f"is at the stage '{stage}'"):
        ark.compiler.check(text)
    Path("lie.mlir").write_text(text, encoding="utf-8")
    assert f"is at the stage '{stage}'" in refused("check", "lie.mlir")
    with pytest.raises(ark.ArkError):
        ark.compile(text)


@pytest.mark.parametrize("stage", ["memory", "scheduling", "synchronization"])
def test_bodies_are_checked_at_every_stage_with_buffers(stage: str, schedule: str) -> None:
    """No stage after ``memory`` checks the bodies of a module that enters there."""
    enter = edit(r'ark\.stage = "synchronization"', f'ark.stage = "{stage}"')
    ark.compiler.check(enter(schedule))
    text = BROKEN["body that leaves its tile"][0](enter(schedule))
    for use in (ark.compile, ark.compiler.check):
        with pytest.raises(ark.VerificationError, match="may address elements that"):
            use(text)


# -- sizes beyond all bounds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(edit(r'task "up" grid \[2, 8\]', 'task "up" grid [-1, 8]'), id="negative"),
        pytest.param(
            edit(r'task "up" grid \[2, 8\]', f'task "up" grid [{2**63 - 1}, 8]'), id="huge"
        ),
    ],
)
def test_invalid_grids_raise(
    change: Edit, schedule: str, compile_with_little_memory: Refused, locate: Locate
) -> None:
    assert locate("up") in compile_with_little_memory(change(schedule))


def test_a_target_of_too_many_sms_raises(compile_with_little_memory: Refused) -> None:
    made = make_mlp().module.operation.get_asm(enable_debug_info=True)
    huge = re.sub(r"sms = \d+", f"sms = {2**63 - 1}", resolve("cpu:4").mlir)
    text = str(made).replace("module {", f"module attributes {{ark.target = {huge}}} {{", 1)
    assert huge in text
    assert "sms" in compile_with_little_memory(text)
