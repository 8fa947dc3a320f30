"""Explicit-state exploration of a protocol: all interleavings of its steps, breadth first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


class ViolationError(Exception):
    """A state that the protocol must not reach.

    Attributes:
        problem: the violated property.
        trace: the names of the fewest steps that lead to the state.
    """

    def __init__(self, problem: str, trace: list[str]) -> None:
        super().__init__(f"{problem} after: {', '.join(trace)}")
        self.problem = problem
        self.trace = trace


def explore(
    initial: State,
    steps: Callable[[State], Iterable[tuple[str, State]]],
    is_end: Callable[[State], bool],
    find_problem: Callable[[State], str],
) -> int:
    """Visits each reachable state, and returns the number of states.

    Args:
        initial: the first state.
        steps: yields the name of each possible step and the state after it.
        is_end: returns True for a state in which the protocol may rest.
        find_problem: returns the violated property of a state, or an empty string.

    Raises:
        ViolationError: a state has a problem, or has no step and is not an end.
    """
    origins: dict[State, tuple[str, State] | None] = {initial: None}
    queue = deque([initial])
    while queue:
        state = queue.popleft()
        if problem := find_problem(state):
            raise ViolationError(problem, _trace(origins, state))
        is_stuck = True
        for name, after in steps(state):
            is_stuck = False
            if after not in origins:
                origins[after] = (name, state)
                queue.append(after)
        if is_stuck and not is_end(state):
            raise ViolationError("deadlock", _trace(origins, state))
    return len(origins)


def _trace(origins: dict[State, tuple[str, State] | None], state: State) -> list[str]:
    names: list[str] = []
    while (origin := origins[state]) is not None:
        names.append(origin[0])
        state = origin[1]
    return names[::-1]
