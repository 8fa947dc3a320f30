"""ark.planner records pins on the ops that are built inside of its block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]


def plans(program: ark.Program) -> list[str | None]:
    block = program.module.body.operations[0].regions[0].blocks[0]
    attributes = [op.operation.attributes for op in block.operations]
    return [str(a["ark.plan"]) if "ark.plan" in a else None for a in attributes][:-1]


def test_ops_inside_carry_the_plan() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (64, 64))
        with ark.planner(sms=(0, 64), warps=8, shared_memory=[0, 65536], tile=(32, 64), sync=False):
            y = x @ x
        ark.output("y", ark.relu(y))
    first, second = plans(program)
    assert first == (
        "{shared_memory = array<i64: 0, 65536>, sms = array<i64: 0, 64>, sync = false, "
        "tile = array<i64: 32, 64>, warps = array<i64: 0, 8>}"
    )
    assert second is None


def test_inner_blocks_override_and_then_end() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (64, 64))
        with ark.planner(sms=64, tile=32):
            a = x + 1
            with ark.planner(sms=(8, 16)):
                b = a @ x
            c = b * x
        ark.output("y", c)
    texts = [p for p in plans(program) if p]
    assert [("8, 16" in t, "32" in t) for t in texts] == [
        (False, True), (False, True), (True, True), (False, True)
    ]  # fmt: skip


def test_an_exception_ends_the_plan() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (64,))
        with pytest.raises(RuntimeError), ark.planner(sms=4):
            raise RuntimeError
        ark.output("y", ark.relu(x))
    assert plans(program) == [None]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"sms": 0}, "sms must be a range"),
        ({"sms": (4, 4)}, "sms must be a range"),
        ({"sms": (-1, 4)}, "sms must be a range"),
        ({"sms": (0, 1, 2)}, "sms must be a range"),
        ({"sms": 1.5}, "planner: sms must be integers"),
        ({"warps": "8"}, "planner: warps must be integers"),
        ({"tile": (32, 0)}, "extents of a tile must be positive"),
        ({"tile": ()}, "extents of a tile must be positive"),
        ({"sync": 1}, "sync must be True or False"),
    ],
)
def test_invalid_plans_raise(refuses: Refuses, plan: Any, message: str) -> None:
    refuses(lambda: ark.planner(**plan).__enter__(), message)


def test_an_inner_range_must_lie_within_the_outer(refuses: Refuses) -> None:
    with ark.planner(sms=(4, 8)):
        refuses(lambda: ark.planner(sms=(0, 6)).__enter__(), "sms [0, 6) leaves the range [4, 8)")
