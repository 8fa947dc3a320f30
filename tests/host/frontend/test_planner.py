"""ark.planner records pins on the ops that are built inside of its block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]


def plans(program: ark.Program) -> list[str | None]:
    block = program.module.body.operations[0].regions[0].blocks[0]
    return plans_of(block.operations)[:-1]


def plans_of(operations: Iterable[Any]) -> list[str | None]:
    attributes = [op.operation.attributes for op in operations]
    return [str(a["ark.plan"]) if "ark.plan" in a else None for a in attributes]


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
        ({"backward": 1}, "backward must be True or False"),
        ({"microbatch": -1}, "planner: microbatch must be an integer from 0 on"),
        ({"microbatch": True}, "planner: microbatch must be an integer"),
        ({"stage": 0.5}, "planner: stage must be an integer"),
    ],
)
def test_invalid_plans_raise(refuses: Refuses, plan: Any, message: str) -> None:
    refuses(lambda: ark.planner(**plan).__enter__(), message)


def test_a_unit_of_a_pipeline() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4,))
        with ark.planner(stage=1), ark.planner(microbatch=2) as plan:
            y = ark.exp(x)
            with ark.planner(backward=True):
                z = ark.exp(y)
            with ark.planner(microbatch=3, backward=False):
                z = ark.exp(z)
        with ark.planner(backward=True):  # of no microbatch
            ark.output("z", ark.exp(z))
    assert (plan.stage, plan.microbatch, plan.backward) == (None, 2, None)
    assert plans(program) == [
        "{microbatch = 2 : i64, stage = 1 : i64}",
        "{backward = true, microbatch = 2 : i64, stage = 1 : i64}",
        "{microbatch = 3 : i64, stage = 1 : i64}",
        None,
    ]


def test_gradients_belong_to_the_microbatch_of_their_ops() -> None:
    """Other choices of the derivatives are those of the block around ark.gradients."""
    with ark.Program("p") as program:
        x = ark.input("x", (4, 4))
        with ark.planner(stage=1, microbatch=2, tile=(2, 2)):
            y = x @ x
        loss = ark.reduce_sum(y, keepdims=False)
        forward = len(program.operations())
        with ark.planner(sms=4):
            ark.output("slope", ark.gradients(loss, [x])[0])
        found = plans_of(program.operations()[forward:])
    units = [plan for plan in found if plan and "microbatch" in plan]
    assert set(units) == {
        "{backward = true, microbatch = 2 : i64, sms = array<i64: 0, 4>, stage = 1 : i64}"
    }
    assert len(units) >= 3  # two products, and their sum
    assert "{sms = array<i64: 0, 4>}" in found


def test_a_sum_over_microbatches_belongs_to_none() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4, 4))
        parts: list[ark.Tensor] = []
        for microbatch in range(2):
            with ark.planner(microbatch=microbatch):
                parts.append(ark.reduce_sum(ark.exp(x), keepdims=False))
        ark.output("slope", ark.gradients(parts[0] * parts[1], [x])[0])
    block = program.module.body.operations[0].regions[0].blocks[0]
    last = [op for op in block.operations if op.operation.name == "ark.add"][-1]
    assert plans_of([last]) == [None]


def test_an_inner_range_must_lie_within_the_outer(refuses: Refuses) -> None:
    with ark.planner(sms=(4, 8)):
        refuses(lambda: ark.planner(sms=(0, 6)).__enter__(), "sms [0, 6) leaves the range [4, 8)")
