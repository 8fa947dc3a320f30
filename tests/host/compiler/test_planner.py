"""Pins of ark.planner determine tiles, lanes and waits; a pin that cannot be met is one error."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import check, export_schedule

Pick = Callable[[str], str]

SCHEDULERS = ("list", "round-robin")


def sms_of(bundle: Bundle, task: str) -> set[int]:
    rows = bundle.tables.instructions
    return {
        sm
        for sm, first, last in bundle.tables.lanes.tolist()
        for code, subject, begin, end in rows[first:last].tolist()
        if code == Opcode.RUN and begin < end and bundle.manifest.tasks[subject].name == task
    }


def grid_of(bundle: Bundle, task: str) -> tuple[int, ...]:
    return next(tuple(t.grid) for t in bundle.manifest.tasks if t.name == task)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_sms_and_tiles(scheduler: str, pick_target: Pick) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (64, 64))
        with ark.planner(sms=(1, 3), tile=(16, 32)):
            y = ark.matmul(x, x, name="pinned")
        ark.output("y", ark.softmax(y, name="free"))
    exe = ark.compile(program, target=pick_target("cpu:4"), scheduler=scheduler)
    assert grid_of(exe.bundle, "pinned") == (4, 2)
    assert sms_of(exe.bundle, "pinned") == {1, 2}
    assert sms_of(exe.bundle, "free") - {1, 2}
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    expected = ark.reference.run(program, {"x": x})["y"]
    np.testing.assert_allclose(exe.run(x=x)["y"], expected, rtol=1e-3, atol=1e-4)


def test_blocks_nest_and_end() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (32, 32))
        with ark.planner(sms=(0, 2), tile=(8, 32)):
            a = ark.softmax(x, name="outer")
            with ark.planner(sms=(1, 2), tile=16):
                b = ark.matmul(a, x, name="inner")
            c = ark.softmax(b, name="again")
        ark.output("y", ark.softmax(c, name="outside"))
    bundle = ark.compile(program, target="cpu:4").bundle
    assert grid_of(bundle, "outer") == (4,)
    assert grid_of(bundle, "inner") == (32, 2)
    assert grid_of(bundle, "again") == (4,)
    assert sms_of(bundle, "inner") == {1}
    assert sms_of(bundle, "outer") <= {0, 1}
    assert sms_of(bundle, "again") <= {0, 1}


def test_an_op_outside_of_the_block_is_not_pinned() -> None:
    """The epilogue of a matmul is fused with it, unless the epilogue's plan would pin the
    matmul."""
    with ark.Program("p") as program:
        x = ark.input("x", (64, 64))
        y = ark.matmul(x, x, name="product")
        with ark.planner(sms=(0, 1)):
            z = ark.relu(y, name="pinned")
        ark.output("z", z)
    bundle = ark.compile(program, target="cpu:2").bundle
    assert sms_of(bundle, "product") == {0, 1}
    assert sms_of(bundle, "pinned") == {0}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_without_sync_consecutive_ops_stay_on_their_sms(scheduler: str) -> None:
    """Rows of the softmax depend on the same rows of the layernorm, so that no lane waits."""

    def waits(sync: bool | None) -> int:
        with ark.Program("p") as program:
            x = ark.input("x", (48, 64))
            other = ark.input("other", (5, 64))
            # Another task, so that SMs become free at different times.
            ark.output("o", ark.softmax(other, name="beside"))
            with ark.planner(tile=(4, 64), sync=sync):
                y = ark.layernorm(x, name="first")
                y = ark.softmax(y, name="second")
                y = ark.layernorm(y, name="third")
            ark.output("y", y)
        return check(program, "cpu:5", ark.CompileOptions(scheduler=scheduler)).waits

    assert waits(sync=False) == 0


def test_without_sync_dependences_between_sms_are_kept(pick_target: Pick) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (32, 32))
        with ark.planner(sync=False, tile=(4, 32)):
            y = ark.softmax(ark.matmul(ark.softmax(x), ark.softmax(x * 2)))
        ark.output("y", y)
    exe = ark.compile(program, target=pick_target("cpu:4"))
    x = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    expected = ark.reference.run(program, {"x": x})["y"]
    np.testing.assert_allclose(exe.run(x=x)["y"], expected, rtol=1e-4, atol=1e-5)


# -- constraints that cannot be met ----------------------------------------------------------------

Build = Callable[[ark.Tensor], ark.Tensor]


@pytest.mark.parametrize(
    ("plan", "op", "message"),
    [
        ({"sms": (2, 9)}, ark.exp, "pins sms to [2, 9), and the target has 4 SMs"),
        ({"warps": (0, 64)}, ark.exp, "pins warps to [0, 64), and the target has 8 warps"),
        ({"shared_memory": 2**40}, ark.exp, "and the target has 262144 bytes"),
        ({"tile": (4, 4, 4)}, ark.exp, "for a result of type"),
        ({"tile": (8, 16)}, ark.softmax, "tile extent 16 in dimension 1"),
        ({"shared_memory": (0, 1)}, ark.softmax, "bytes of shared memory, and its lane has 1"),
    ],
)
def test_a_constraint_that_cannot_be_met(plan: dict[str, Any], op: Build, message: str) -> None:
    """The error names the line of the op."""
    with ark.Program("p") as program:
        x = ark.input("x", (32, 32))
        with ark.planner(**plan):
            y = op(x); line = inspect.currentframe().f_lineno  # fmt: skip  # type: ignore[union-attr]  # noqa: E702
        ark.output("y", y)
    with pytest.raises(ark.CompileError) as caught:
        ark.compile(program, target="cpu:4")
    assert message in str(caught.value)
    assert re.match(rf".*test_planner\.py:{line}: ", str(caught.value))


def test_plans_that_clash_name_both_ops() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (8, 8))
        with ark.planner(warps=(0, 4)):
            y = ark.softmax(x, name="one")
        with ark.planner(warps=(2, 6)):
            y = ark.softmax(y, name="two")
        ark.output("y", y)
    with pytest.raises(ark.CompileError, match="share warps") as caught:
        ark.compile(program, target="cpu:2")
    numbers = re.findall(r"test_planner\.py:(\d+)", str(caught.value))
    assert len(numbers) == 2
    assert int(numbers[0]) - int(numbers[1]) == 2


def test_the_exported_text_shows_the_plan(tmp_path: Path) -> None:
    with ark.Program("p") as program, ark.planner(sms=(1, 2), warps=(0, 2)):
        ark.output("y", ark.exp(ark.input("x", (8,)), name="e"))
    text = export_schedule(program, "cpu:2")
    assert "ark.lane sms = [1, 2] warps = [0, 2] {" in text
