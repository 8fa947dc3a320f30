"""A model of a resident kernel, which executes the lanes of two ranks on one GPU.

The model follows `ark_mlir/runtime/gpu/resident.py` for the host and `GpuResident.mlir` for the
lanes. The host rings for each run. If no ring comes for too long, lane 0 makes all lanes leave; the
next ring launches the kernel again. Each mistake changes one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

LANES = range(3)
LEAVE = -1


class Mistake(Enum):
    """A mistake that can be planted."""

    EACH_LANE_TIMES_OUT = auto()
    ANSWER_FOR_ITSELF = auto()
    SAME_RING_AGAIN = auto()
    RING_BEFORE_RECORD = auto()
    KEEP_HOST_WORDS = auto()
    KEEP_DEVICE_WORDS = auto()
    NO_LAUNCH_AFTER_LEAVING = auto()
    LEAVE_ALONE = auto()


class Lane(NamedTuple):
    """A lane: its next step, the ring that it waits for or executes, and the epoch of the run."""

    step: str = "left"
    ring: int = 1
    epoch: int = 0


class State(NamedTuple):
    """The words of a doorbell, the lanes, and the host.

    Attributes:
        rings: the word to which the host adds one for each ring.
        answered: the word of the host to which lane 0 writes the last answered ring.
        passed: the ring that lane 0 has passed on, or LEAVE.
        answers: the number of answers of all lanes.
        arrivals: the number of arrivals at the barrier that ends a run.
        record: the run whose arguments and epoch the launch record holds.
        before: the number of runs before the kernel was launched.
        exits_left: the number of times that lanes may still leave because no ring came.
    """

    lanes: tuple[Lane, ...] = (Lane(),) * len(LANES)
    rings: int = 0
    answered: int = 0
    passed: int = 0
    answers: int = 0
    arrivals: int = 0
    host: str = "begin"
    run: int = 1
    record: int = 0
    before: int = 0
    exits_left: int = 2
    problem: str = ""

    def with_lane(self, number: int, step: str, ring: int | None = None) -> State:
        """Returns the state with a lane at another step."""
        lanes = list(self.lanes)
        lanes[number] = lanes[number]._replace(step=step)
        if ring is not None:
            lanes[number] = lanes[number]._replace(ring=ring)
        return self._replace(lanes=tuple(lanes))

    @property
    def is_there(self) -> bool:
        """True if the kernel is on the GPU."""
        return any(lane.step != "left" for lane in self.lanes)


class Doorbell:
    """The model.

    Args:
        runs: the number of runs.
        mistake: a mistake, if any.
    """

    initial = State()

    def __init__(self, runs: int = 3, mistake: Mistake | None = None) -> None:
        self.runs, self.mistake = runs, mistake

    def is_end(self, state: State) -> bool:
        """Returns True after the last run, when the kernel has left or still waits."""
        return state.host == "done"

    def find_problem(self, state: State) -> str:
        """Returns the violated property of a state, or an empty string."""
        return state.problem

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yields each possible step and the state after it."""
        for after in self._host(state):
            yield f"host: {state.host}", after
        for number, lane in enumerate(state.lanes):
            for after in self._lane(state, number, lane):
                yield f"lane {number}: {lane.step} {lane.ring}", after

    # -- the host ------------------------------------------------------------------------------

    def _host(self, state: State) -> Iterator[State]:
        if state.host == "begin":
            early = self.mistake == Mistake.RING_BEFORE_RECORD and state.is_there
            yield state._replace(host="ring" if early else "record")
        elif state.host == "record":
            early = self.mistake == Mistake.RING_BEFORE_RECORD and state.is_there
            yield state._replace(record=state.run, host="join" if early else "launch")
        elif state.host == "launch":
            yield (state if state.is_there else self._launch(state))._replace(host="ring")
        elif state.host == "ring":
            early = self.mistake == Mistake.RING_BEFORE_RECORD and state.record < state.run
            yield state._replace(rings=state.rings + 1, host="record" if early else "join")
        elif state.host == "join":
            yield from self._join(state)

    def _launch(self, state: State) -> State:
        if self.mistake != Mistake.KEEP_HOST_WORDS:
            state = state._replace(rings=0, answered=0)
        if self.mistake != Mistake.KEEP_DEVICE_WORDS:
            state = state._replace(passed=0, answers=0)
        return state._replace(lanes=(Lane("await"),) * len(LANES), before=state.run - 1)

    def _join(self, state: State) -> Iterator[State]:
        if state.answered >= state.rings:
            after = state._replace(run=state.run + 1)
            if state.arrivals != state.run * len(LANES):
                after = after._replace(problem=f"run {state.run} is answered and has not ended")
            yield after._replace(host="begin" if state.run < self.runs else "done")
        elif not state.is_there and self.mistake != Mistake.NO_LAUNCH_AFTER_LEAVING:
            # The kernel left before it saw the ring.
            yield state._replace(host="launch")

    # -- lanes ---------------------------------------------------------------------------------

    def _lane(self, state: State, number: int, lane: Lane) -> Iterator[State]:
        if lane.step == "await":
            if number == 0:
                yield from self._await_host(state, lane)
            elif self.mistake == Mistake.EACH_LANE_TIMES_OUT:
                yield from self._poll_host(state, number, lane)
            else:
                yield from self._await_lane_0(state, number, lane)
        elif lane.step == "run":
            yield self._run(state, number, lane)
        elif lane.step == "meet":
            if state.arrivals >= lane.epoch * len(LANES):
                yield state.with_lane(number, "look")
        elif lane.step == "look":
            # A lane reads from the record, after the barrier, whether another iteration follows.
            yield self._check_record(state.with_lane(number, "answer"), lane)
        elif lane.step == "answer":
            then = "tell" if number == 0 else "next"
            yield state._replace(answers=state.answers + 1).with_lane(number, then)
        elif lane.step == "tell":
            alone = self.mistake == Mistake.ANSWER_FOR_ITSELF
            if alone or state.answers >= lane.ring * len(LANES):
                yield state._replace(answered=lane.ring).with_lane(number, "next")
        elif lane.step == "next":
            ring = lane.ring + (self.mistake != Mistake.SAME_RING_AGAIN)
            yield state.with_lane(number, "await", ring)

    def _run(self, state: State, number: int, lane: Lane) -> State:
        """Reads the launch record, executes the run and arrives at its last barrier."""
        lanes = list(state.lanes)
        lanes[number] = Lane("meet", lane.ring, state.record)
        after = state._replace(lanes=tuple(lanes), arrivals=state.arrivals + 1)
        return self._check_record(after, lane)

    def _check_record(self, state: State, lane: Lane) -> State:
        if state.record == state.before + lane.ring:
            return state
        return state._replace(
            problem=f"a lane executes run {state.before + lane.ring} with arguments of run "
            f"{state.record}"
        )

    def _await_host(self, state: State, lane: Lane) -> Iterator[State]:
        if state.rings >= lane.ring:
            yield state._replace(passed=lane.ring).with_lane(0, "run")
        elif state.exits_left:
            after = state._replace(exits_left=state.exits_left - 1)
            if self.mistake != Mistake.LEAVE_ALONE:
                after = after._replace(passed=LEAVE)
            yield after.with_lane(0, "left")

    def _poll_host(self, state: State, number: int, lane: Lane) -> Iterator[State]:
        if state.rings >= lane.ring:
            yield state.with_lane(number, "run")
        elif state.exits_left:
            yield state._replace(exits_left=state.exits_left - 1).with_lane(number, "left")

    def _await_lane_0(self, state: State, number: int, lane: Lane) -> Iterator[State]:
        if state.passed == LEAVE:
            yield state.with_lane(number, "left")
        elif state.passed >= lane.ring:
            yield state.with_lane(number, "run")
