"""A model of runs on a GPU for each rank: begin, last barrier, stop, abort and reset.

The model follows `ark_mlir/runtime/gpu/world.py` for the host, `linked_semaphore.py` for the two
levels of a barrier, and `GpuKernel.mlir`, `GpuSemaphores.mlir` and `GpuPeerRanks.mlir` for the
lanes. Each step is one access to a shared word. One run may fail: any of its waits may time out, or
the host gives up. A wait of another run ends only when the arrivals come. Each mistake changes one
step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple


class Mistake(Enum):
    """A mistake that can be planted."""

    CLEAR_WHILE_RUNNING = auto()
    CLEAR_BEFORE_OWN_LAUNCH = auto()
    KEEP_COUNTERS = auto()
    KEEP_STOP_WORD = auto()
    KEEP_EPOCH = auto()
    REPEAT_EPOCH = auto()
    NO_FIRST_LEVEL = auto()
    NO_SECOND_LEVEL = auto()
    STOP_OWN_GPU = auto()
    STOP_AFTER_BARRIER = auto()
    STOP_OF_EARLIER_LAUNCH = auto()
    ABORT_OWN_GPU = auto()
    BEGIN_ALONE = auto()
    BEGIN_BY_FLAG = auto()
    KEEP_BEGUN = auto()


class Lane(NamedTuple):
    """A lane: its next step, and the iteration of its launch, from 1 on."""

    step: str = "off"
    iteration: int = 0


class Gpu(NamedTuple):
    """The words of a GPU, and its lanes.

    Attributes:
        first: the counter of a barrier's first level.
        second: the counter of its second level.
        stop: the last iteration, counted from the first launch on.
        abort: True if the launch has to end.
        epoch: the iterations before this launch.
        begun: for each GPU, the first iteration of its last launch, counted from one.
        run: the run of the last launch.
    """

    lanes: tuple[Lane, ...]
    first: int = 0
    second: int = 0
    stop: int = 0
    abort: bool = False
    epoch: int = 0
    begun: tuple[int, ...] = ()
    run: int = 0

    @property
    def has_ended(self) -> bool:
        """True if no lane executes anything."""
        return all(lane.step in ("off", "ended", "failed") for lane in self.lanes)


class State(NamedTuple):
    """All GPUs and the host, whose next step is `host`."""

    gpus: tuple[Gpu, ...]
    host: str = "begin"
    run: int = 1
    epoch: int = 0
    dirty: bool = False
    problem: str = ""

    def with_gpu(self, number: int, **changes: object) -> State:
        """Returns the state with other words of a GPU."""
        gpus = list(self.gpus)
        gpus[number] = gpus[number]._replace(**changes)  # type: ignore[arg-type]
        return self._replace(gpus=tuple(gpus))

    def with_lane(self, gpu: int, number: int, step: str, iteration: int | None = None) -> State:
        """Returns the state with a lane at another step."""
        lanes = list(self.gpus[gpu].lanes)
        before = lanes[number].iteration
        lanes[number] = Lane(step, before if iteration is None else iteration)
        return self.with_gpu(gpu, lanes=tuple(lanes))


class Launches:
    """The model.

    Args:
        runs: the number of runs.
        iterations: the number of iterations of each run.
        stops: for a run, the iteration in which lane 0 of GPU 1 stops the launch.
        fails: the run that may fail; 0 for none.
        gives_up: True if the host may give up the run that may fail.
        mistake: a mistake, if any.
        lanes: the number of lanes of each GPU. Lane 0 of a GPU speaks for it in a barrier.
    """

    def __init__(
        self,
        runs: int = 2,
        iterations: int = 2,
        stops: Mapping[int, int] | None = None,
        fails: int = 0,
        gives_up: bool = True,
        mistake: Mistake | None = None,
        lanes: tuple[int, ...] = (2, 1),
    ) -> None:
        self.runs, self.iterations = runs, iterations
        self.stops = stops or {}
        self.fails, self.gives_up = fails, gives_up
        self.mistake = mistake
        self.lanes, self.gpus = lanes, range(len(lanes))
        nobody = (0,) * len(lanes)
        self.initial = State(tuple(Gpu((Lane(),) * count, begun=nobody) for count in lanes))

    def is_end(self, state: State) -> bool:
        """Returns True after the last run."""
        return state.host == "done"

    def find_problem(self, state: State) -> str:
        """Returns the violated property of a state, or an empty string."""
        return state.problem

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yields each possible step and the state after it."""
        for after in self._host(state):
            yield f"host: {state.host}", after
        for gpu in self.gpus:
            for number, lane in enumerate(state.gpus[gpu].lanes):
                for after in self._lane(state, gpu, number, lane):
                    yield f"GPU {gpu} lane {number}: {lane.step} {lane.iteration}", after

    # -- the host ------------------------------------------------------------------------------

    def _host(self, state: State) -> Iterator[State]:
        step, _, which = state.host.partition(" ")
        gpu = int(which or 0)
        if step == "begin":
            yield state._replace(host=self._after_begin(state))
        elif step == "await":
            if state.gpus[gpu].has_ended or self.mistake == Mistake.CLEAR_WHILE_RUNNING:
                yield self._next(state, "await", gpu, "clear 0")
        elif step == "clear":
            cleared = self._clear(state, gpu)
            if self.mistake == Mistake.CLEAR_BEFORE_OWN_LAUNCH:
                yield cleared._replace(host=f"launch {gpu}")
            else:
                yield self._next(cleared, "clear", gpu, "launch 0")
        elif step == "launch":
            yield self._launch(state, gpu)
        elif step == "wait":
            if state.gpus[gpu].has_ended:
                yield self._collect(state, gpu)
            elif self.gives_up and state.run == self.fails:
                yield self._give_up(state)

    def _after_begin(self, state: State) -> str:
        if state.run > self.runs:
            return "done"
        return "await 0" if state.dirty else "launch 0"

    def _next(self, state: State, step: str, gpu: int, then: str) -> State:
        return state._replace(host=f"{step} {gpu + 1}" if gpu + 1 in self.gpus else then)

    def _clear(self, state: State, gpu: int) -> State:
        words: dict[str, object] = {
            "first": 0,
            "second": 0,
            "stop": 0,
            "begun": (0,) * len(self.gpus),
        }
        if self.mistake == Mistake.KEEP_COUNTERS:
            del words["first"], words["second"]
        if self.mistake == Mistake.KEEP_STOP_WORD:
            del words["stop"]
        if self.mistake == Mistake.KEEP_BEGUN:
            del words["begun"]
        state = state.with_gpu(gpu, **words)
        return state if self.mistake == Mistake.KEEP_EPOCH else state._replace(epoch=0)

    def _launch(self, state: State, gpu: int) -> State:
        lanes = (Lane("greet 0", 1), *(Lane("begin", 1),) * (self.lanes[gpu] - 1))
        was_dirty = state.dirty
        state = state.with_gpu(gpu, lanes=lanes, abort=False, epoch=state.epoch, run=state.run)
        last = gpu + 1 not in self.gpus
        if self.mistake == Mistake.CLEAR_BEFORE_OWN_LAUNCH and was_dirty and not last:
            return state._replace(host=f"clear {gpu + 1}")
        state = state._replace(dirty=state.dirty and not last)
        return self._next(state, "launch", gpu, "wait 0")

    def _collect(self, state: State, gpu: int) -> State:
        lanes = [lane for each in state.gpus[: gpu + 1] for lane in each.lanes]
        failed = any(lane.step == "failed" for lane in lanes)
        if gpu + 1 in self.gpus:
            if failed and self.mistake != Mistake.ABORT_OWN_GPU:
                state = state.with_gpu(gpu + 1, abort=True)
            return state._replace(host=f"wait {gpu + 1}", dirty=failed)
        ends = {lane.iteration for lane in lanes}
        state = state._replace(host="begin", dirty=failed)
        if failed:
            return state._replace(run=state.run + 1)
        if ends != {self.stops.get(state.run, self.iterations)}:
            return state._replace(problem=f"lanes end after the iterations {sorted(ends)}")
        state = state._replace(run=state.run + 1)
        done = 0 if self.mistake == Mistake.REPEAT_EPOCH else ends.pop()
        return state._replace(epoch=state.epoch + done)

    def _give_up(self, state: State) -> State:
        for gpu in self.gpus:
            state = state.with_gpu(gpu, abort=True)
        return state._replace(host="begin", run=state.run + 1, dirty=True)

    # -- lanes ---------------------------------------------------------------------------------

    def _lane(self, state: State, gpu: int, number: int, lane: Lane) -> Iterator[State]:
        step, _, which = lane.step.partition(" ")
        own = state.gpus[gpu]
        count = own.epoch + lane.iteration
        if step == "greet":
            other = int(which)
            begun = list(state.gpus[other].begun)
            begun[gpu] = 1 if self.mistake == Mistake.BEGIN_BY_FLAG else count
            then = f"greet {other + 1}" if other + 1 in self.gpus else "begin"
            yield state.with_gpu(other, begun=tuple(begun)).with_lane(gpu, number, then)
        elif step == "begin":
            yield from self._begin(state, gpu, number)
        elif step == "work":
            yield state.with_lane(gpu, number, self._after_work(state, gpu, number, lane))
        elif step == "stop":
            other = int(which)
            after = state
            if other == gpu or self.mistake != Mistake.STOP_OWN_GPU:
                after = state.with_gpu(other, stop=count)
            late = self.mistake == Mistake.STOP_AFTER_BARRIER
            then = f"stop {other + 1}" if other + 1 in self.gpus else "look" if late else "arrive"
            yield after.with_lane(gpu, number, then)
        elif step == "arrive":
            waits = self.mistake != Mistake.NO_FIRST_LEVEL
            then = "gather" if waits else "tell 0" if number == 0 else "meet"
            yield state.with_gpu(gpu, first=own.first + 1).with_lane(gpu, number, then)
        elif step == "gather":
            then = "tell 0" if number == 0 else "meet"
            yield from self._wait(state, gpu, number, own.first >= count * self.lanes[gpu], then)
        elif step == "tell":
            other = int(which)
            then = f"tell {other + 1}" if other + 1 in self.gpus else "meet"
            if other != gpu:
                state = state.with_gpu(other, second=state.gpus[other].second + 1)
            yield state.with_lane(gpu, number, then)
        elif step == "meet":
            needed = 0 if self.mistake == Mistake.NO_SECOND_LEVEL else count * (len(self.gpus) - 1)
            met = own.second >= needed
            late = self.mistake == Mistake.STOP_AFTER_BARRIER and self._stops(
                state, gpu, number, lane
            )
            yield from self._wait(state, gpu, number, met, "stop 0" if late else "look")
        elif step == "look":
            yield self._look(state, gpu, number, lane)

    def _begin(self, state: State, gpu: int, number: int) -> Iterator[State]:
        own = state.gpus[gpu]
        needed = 1 if self.mistake == Mistake.BEGIN_BY_FLAG else own.epoch + 1
        all_begun = all(word >= needed for word in own.begun)
        if all_begun or self.mistake == Mistake.BEGIN_ALONE:
            after = state.with_lane(gpu, number, "work")
            late = [other for other in self.gpus if state.gpus[other].run != own.run]
            if late:
                after = after._replace(problem=f"GPU {gpu} begins before GPU {late[0]}")
            yield after
        elif own.abort:
            yield state.with_lane(gpu, number, "failed")
        elif self._may_time_out(state, gpu):
            yield state.with_gpu(gpu, abort=True).with_lane(gpu, number, "failed")

    def _stops(self, state: State, gpu: int, number: int, lane: Lane) -> bool:
        return (gpu, number) == (1, 0) and lane.iteration == self.stops.get(state.run)

    def _after_work(self, state: State, gpu: int, number: int, lane: Lane) -> str:
        in_time = self.mistake != Mistake.STOP_AFTER_BARRIER
        return "stop 0" if in_time and self._stops(state, gpu, number, lane) else "arrive"

    def _wait(
        self, state: State, gpu: int, number: int, arrived: bool, then: str
    ) -> Iterator[State]:
        if arrived:
            after = state.with_lane(gpu, number, then)
            if then in ("look", "stop 0") and (problem := self._find_missing(state, gpu, number)):
                after = after._replace(problem=problem)
            yield after
            return
        if state.gpus[gpu].abort:
            yield state.with_lane(gpu, number, "failed")
        elif self._may_time_out(state, gpu):
            yield state.with_gpu(gpu, abort=True).with_lane(gpu, number, "failed")

    def _may_time_out(self, state: State, gpu: int) -> bool:
        """Returns True if a wait may time out. After the host has passed a failure on, waits end
        without a timeout.
        """
        is_told = state.host == f"wait {gpu}" and state.dirty
        return state.run == self.fails and not is_told

    def _find_missing(self, state: State, gpu: int, number: int) -> str:
        """Returns the lanes that have not arrived at the barrier that a lane passes, or an empty
        string.
        """
        iteration = state.gpus[gpu].lanes[number].iteration
        before = ("off", "greet", "begin", "work", "stop", "arrive")
        for other in self.gpus:
            for lane_number, lane in enumerate(state.gpus[other].lanes):
                if lane.iteration < iteration or (
                    lane.iteration == iteration and lane.step.partition(" ")[0] in before
                ):
                    return f"GPU {gpu} passes a barrier without lane {lane_number} of GPU {other}"
        return ""

    def _look(self, state: State, gpu: int, number: int, lane: Lane) -> State:
        own = state.gpus[gpu]
        last = own.stop - own.epoch
        if self.mistake == Mistake.STOP_OF_EARLIER_LAUNCH:
            last = own.stop
        is_last = lane.iteration == self.iterations or 0 < last <= lane.iteration
        if is_last:
            return state.with_lane(gpu, number, "ended")
        return state.with_lane(gpu, number, "work", lane.iteration + 1)
