"""Models of how runs of several ranks start and end, in all interleavings of their steps.

No state is a deadlock, and no barrier, stop or ring counts for another run than its own. Each
mistake that is planted in a model is found.
"""

from __future__ import annotations

from typing import Any

import doorbell_protocol
import launch_protocol
import pytest
from doorbell_protocol import Doorbell
from explorer import ViolationError, explore
from launch_protocol import Launches

# Runs without failure, with a failure of each run, and with launches that end early.
LAUNCHES: dict[str, dict[str, Any]] = {
    "no failure": {"runs": 3, "stops": {1: 1, 3: 2}, "iterations": 3},
    "first run fails": {"runs": 3, "fails": 1},
    "second run fails": {"runs": 3, "fails": 2},
    "a wait times out": {"runs": 2, "fails": 1, "gives_up": False},
    "stop, then failure": {"runs": 3, "fails": 2, "stops": {1: 1, 2: 2}, "iterations": 3},
    "failure after a stop": {"runs": 3, "fails": 1, "stops": {1: 1}},
}


def visit(model: Launches | Doorbell) -> int:
    return explore(model.initial, model.steps, model.is_end, model.find_problem)


@pytest.mark.parametrize("case", LAUNCHES)
def test_launches_on_two_gpus(case: str) -> None:
    assert visit(Launches(**LAUNCHES[case])) > 500


@pytest.mark.parametrize("case", LAUNCHES)
def test_launches_on_three_gpus(case: str) -> None:
    assert visit(Launches(**LAUNCHES[case], lanes=(1, 1, 1))) > 500


@pytest.mark.parametrize("mistake", list(launch_protocol.Mistake), ids=lambda m: m.name.lower())
def test_a_mistake_in_launches_is_found(mistake: launch_protocol.Mistake) -> None:
    problems: list[str] = []
    for case in LAUNCHES.values():
        try:
            visit(Launches(mistake=mistake, **case))
        except ViolationError as error:
            problems.append(error.problem)
    assert problems


def test_a_resident_kernel() -> None:
    assert visit(Doorbell(runs=3)) > 500


@pytest.mark.parametrize("mistake", list(doorbell_protocol.Mistake), ids=lambda m: m.name.lower())
def test_a_mistake_with_a_doorbell_is_found(mistake: doorbell_protocol.Mistake) -> None:
    with pytest.raises(ViolationError):
        visit(Doorbell(runs=3, mistake=mistake))


# -- the explorer ------------------------------------------------------------------------------


def count_to(last: int) -> Any:
    return lambda state: [("add", state + 1)] if state < last else []


def test_all_states_are_visited() -> None:
    assert explore(0, count_to(5), lambda state: state == 5, lambda state: "") == 6


def test_a_state_without_a_step_is_a_deadlock() -> None:
    with pytest.raises(ViolationError, match="deadlock after: add, add, add") as caught:
        explore(0, count_to(3), lambda state: False, lambda state: "")
    assert caught.value.trace == ["add"] * 3


def test_a_problem_has_the_shortest_trace() -> None:
    steps = {0: [("long", 1), ("short", 2)], 1: [("then", 2)], 2: []}
    with pytest.raises(ViolationError, match="two after: short"):
        explore(0, lambda n: steps[n], lambda n: True, lambda n: "two" if n == 2 else "")
