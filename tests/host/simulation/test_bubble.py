"""The share of an iteration in which ranks execute no work item."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import compile_schedule
from ark_mlir.simulation import bubble, simulate


def messages(microbatch: int | None) -> Bundle:
    """Returns a schedule in which rank 0 computes, then rank 1, then rank 0 again."""
    programs: list[ark.Program] = []
    for rank in range(2):
        with (
            ark.Program("messages", rank=rank, world_size=2) as program,
            ark.planner(microbatch=microbatch),
        ):
            x = ark.input("x", (64, 64))
            if rank == 0:
                ark.send(ark.exp(x), dst=1)
                ark.output("y", ark.exp(ark.recv((64, 64), ark.fp32, src=1)))
            else:
                ark.send(ark.exp(ark.recv((64, 64), ark.fp32, src=0)), dst=0)
                ark.output("y", x + 1)
        programs.append(program)
    return compile_schedule(programs, "cpu:2")


def spans_of(bundle: Bundle, times: dict[int, list[tuple[int, int]]]) -> np.ndarray[Any, Any]:
    """Returns spans with these starts and ends of the first work items of each rank."""
    spans = np.zeros(bundle.tables.timeline.shape, np.int64)
    spans[:, 0] = 100
    per_rank = bundle.manifest.target.sms // 2
    left = {rank: list(each) for rank, each in times.items()}
    for sm, first, last in bundle.tables.lanes.tolist():
        for index in range(first, last):
            if bundle.tables.instructions[index, 0] == Opcode.RUN and left[sm // per_rank]:
                begin, end = left[sm // per_rank].pop(0)
                spans[index] = begin, end - begin
    assert not any(left.values())
    return spans


@pytest.mark.parametrize(
    ("times", "share"),
    [
        ({0: [(100, 200)], 1: [(100, 200)]}, 0.0),
        ({0: [(100, 150)], 1: [(150, 200)]}, 0.5),
        ({0: [(100, 150), (140, 180)], 1: [(150, 200)]}, 1 - (80 + 50) / 200),
        # An item within another one counts once.
        ({0: [(100, 200), (110, 120)], 1: [(190, 200)]}, 1 - (100 + 10) / 200),
        ({0: [], 1: [(100, 200)]}, 0.5),
        ({0: [], 1: []}, 0.0),
    ],
)
def test_unions_of_work_items(times: dict[int, list[tuple[int, int]]], share: float) -> None:
    bundle = messages(None)
    assert bubble(bundle, spans_of(bundle, times)) == pytest.approx(share)


def test_a_simulated_pipeline_has_a_bubble() -> None:
    """Only one rank works at a time, and hand-offs take time."""
    prediction = simulate(messages(0), "h200")
    assert prediction.bubble is not None
    assert 0.5 < prediction.bubble < 1
    assert ("bubble", f"{100 * prediction.bubble:.1f} %") in prediction.figures()


def test_a_program_without_microbatches_has_none() -> None:
    prediction = simulate(messages(None), "h200")
    assert prediction.bubble is None
    assert "bubble" not in str(prediction)
