"""A launch of many iterations ends when the program stops it, on all lanes alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from counting import counter

import ark_mlir as ark

Pick = Callable[[str], str]

LIMITS = [1, 2, 3, 7, 100]


def compiled(program: ark.Program, target: str, **options: Any) -> ark.Executable:
    """Compiles the program such that all lanes take part."""
    spread = {"tile": {"total": (1, 16)}, "scheduler": "round-robin"}
    return ark.compile(program, target, **spread, **options)


def completed(executable: ark.Executable) -> int:
    driver = driver_of(executable)
    return driver.epoch


@pytest.mark.parametrize("lanes", [1, 2, 5])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_launch_ends_early(lanes: int, shape: tuple[int, ...], pick_target: Pick) -> None:
    with compiled(counter(shape=shape), pick_target(f"cpu:{lanes}")) as executable:
        total = 0
        for limit in LIMITS:
            result = executable.run(limit=np.full(shape, total + limit, np.int32), iterations=200)
            total += limit
            assert executable.states["count"] == total
            # Semaphores continue to count: a launch that ended early has no effect on later ones.
            assert completed(executable) == total
            assert (executable.states["total"] == total).all()
            assert (result["y"] == 16 * total).all()


def test_the_number_of_iterations_is_an_upper_bound(pick_target: Pick) -> None:
    with compiled(counter(), pick_target("cpu:2")) as executable:
        executable.run(limit=10, iterations=4)
        assert executable.states["count"] == 4
        assert executable.states["done"] == 0
        executable.run(limit=10, iterations=1000)
        assert executable.states["count"] == 10
        # The previous value of the flag does not matter.
        assert executable.states["done"] == 1
        executable.run(limit=10, iterations=1000)
        assert executable.states["count"] == 11


def test_many_lanes_decide_alike(pick_target: Pick) -> None:
    """An idle lane may check the state late or early; all lanes must end after the same
    iteration."""
    with compiled(counter(rows=2), pick_target("cpu:8")) as executable:
        for total in range(3, 900, 3):
            executable.run(limit=total, iterations=100)
            assert executable.states["count"] == total


def test_the_interpreter_agrees() -> None:
    program = counter()
    evaluation = ark.reference.evaluate(program, {"limit": 5}, iterations=100)
    assert evaluation.states["count"] == 5
    assert (evaluation.outputs["y"] == 80).all()
    _, states = ark.reference.run(
        program, {"limit": 5}, evaluation.states, iterations=3, return_states=True
    )
    assert states["count"] == 6
    with pytest.raises(ark.InvalidUsageError, match="cannot interpret 0 iterations"):
        ark.reference.evaluate(program, {"limit": 5}, iterations=0)


def test_the_trace_is_that_of_the_last_iteration(tmp_path: Path) -> None:
    with compiled(counter(), "cpu:2", trace=True) as executable:
        executable.run(limit=3, iterations=50, trace=tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = [event["name"] for event in events if event["ph"] == "X"]
    assert names.count("stop done") == 1
    assert all(event["ts"] >= 0 for event in events if event["ph"] == "X")
    assert len({event["ts"] for event in events if event["ph"] == "X"}) > 3


def test_an_invalid_flag_raises() -> None:
    with ark.Program("bad"):
        x = ark.input("x", (1,), ark.int32)
        wide = ark.state("wide", (2,), ark.int32)
        real = ark.state("real", (1,), ark.fp32)
        for flag in (x, wide, real):
            with pytest.raises(ark.InvalidUsageError, match="flag must be an int32 state"):
                ark.stop_when(flag)
        first, second = (ark.state(name, (1,), ark.int32) for name in "ab")
        ark.update(first, x, (0,))
        ark.stop_when(first)
        ark.stop_when(first)
        with pytest.raises(ark.InvalidUsageError, match="state 'a' ends the launch already"):
            ark.stop_when(second)


def test_a_flag_without_an_update_raises() -> None:
    def build() -> None:
        with ark.Program("bad"):
            flag = ark.state("a", (1,), ark.int32)
            ark.output("y", ark.input("x", (1,), ark.int32))
            ark.stop_when(flag)

    with pytest.raises(ark.InvalidUsageError, match="but the program never updates it"):
        build()


def test_states_can_be_shared(pick_target: Pick) -> None:
    with ark.Program("other") as other:
        count = ark.state("count", (), ark.int32)
        ark.update(count, count * 10, ())
    owner = ark.compile(counter(), pick_target("cpu:2"))
    guest = ark.compile(other, pick_target("cpu:1"))
    assert guest.share_states(owner) is guest
    owner.run(limit=4, iterations=9)
    guest.run()
    assert owner.states["count"] == guest.states["count"] == 40
    with pytest.raises(ark.InvalidUsageError, match="it has no state 'done'"):
        owner.share_states(guest)
    owner.close()
    with pytest.raises(ark.InvalidUsageError, match="'counter', whose states 'other' shares"):
        guest.run()
    guest.close()


def test_states_of_another_shape_cannot_be_shared() -> None:
    owner, guest = ark.compile(counter(shape=(1,)), "cpu:1"), ark.compile(counter(rows=4), "cpu:1")
    with pytest.raises(ark.InvalidUsageError) as caught:
        guest.share_states(owner)
    assert "its state 'count' is int32 [1], not int32 []" in str(caught.value)
    assert "its state 'total' is fp32 [8, 16], not fp32 [4, 16]" in str(caught.value)
    guest.run(limit=1)
    assert guest.states["count"] == 1
