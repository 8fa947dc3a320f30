"""``simulate``: from a compiled schedule and a topology to a prediction."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Bundle, Opcode
from ..errors import InvalidUsageError
from ..tuning.costs import Costs
from .bubble import bubble
from .engine import Outcome, Simulation
from .exchanges import Exchanges, rank_of_lanes
from .report import LinkUse, Prediction, Step
from .topology import Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..runtime import Executable


def simulate(
    program: Bundle | Executable,
    topology: Topology | str | os.PathLike[str],
    *,
    world: int | None = None,
    costs: Costs | None = None,
    measured_ns: float | None = None,
) -> Prediction:
    """Predicts the time of one iteration of a schedule on a topology.

    The schedule is that of the bundle: lanes, work items, signals, waits and task packets. Work
    items take the times that the compiler predicts, or those in `costs`. Messages between ranks
    take the links of the topology, and wait for each other there.

    Args:
        program: a bundle or an executable; rank r is on GPU r of the topology.
        topology: a topology, the path of its file, or the name of one that ark has.
        world: the number of ranks that the program must have; None accepts any number.
        costs: measured times of tasks, from `ark profile`.
        measured_ns: the measured time of an iteration, for the error of the prediction.

    Raises:
        InvalidUsageError: the file of the topology is malformed, the topology has fewer GPUs than
            the program has ranks or no path between two of them, the program does not have `world`
            ranks, or it has no predicted times.

    Example:
        >>> prediction = simulate(exe, "h200")
        >>> prediction.ranks, prediction.links
        (1, ())
    """
    bundle = program if isinstance(program, Bundle) else program.bundle
    if not isinstance(topology, Topology):
        topology = Topology.read(topology)
    _check(bundle, topology, world, measured_ns)
    durations = _durations(bundle, costs)
    exchanges = Exchanges(bundle)
    outcome = Simulation(bundle, exchanges, topology, durations).run()
    exposed = 0.0
    if bundle.manifest.ranks > 1:
        ideal = Simulation(bundle, exchanges, topology.without_delays(), durations).run()
        exposed = max(0.0, outcome.total - ideal.total)
    spans = outcome.spans
    timeline = np.rint(np.stack([spans[:, 0], spans[:, 1] - spans[:, 0]], axis=1)).astype(np.int64)
    is_pipeline = any(task.unit is not None for task in bundle.manifest.tasks)
    return Prediction(
        bundle.manifest.program,
        topology.name,
        bundle.manifest.ranks,
        outcome.total,
        exposed,
        sum(size for sends in exchanges.sends.values() for size in sends.values()),
        _links(outcome),
        _CriticalPath(bundle, outcome).steps(),
        timeline,
        measured_ns,
        bubble(bundle, timeline) if is_pipeline else None,
        _note(bundle),
    )


def _note(bundle: Bundle) -> str | None:
    """Returns how ``compile_schedule`` compiled the ranks, if it tried to compile one for all."""
    options = bundle.manifest.options
    if "merged_ranks" in options:
        return "of one rank, which stands for all ranks"
    if "separate_ranks" in options:
        return f"of each rank, since {options['separate_ranks']}"
    return None


def _check(
    bundle: Bundle, topology: Topology, world: int | None, measured_ns: float | None
) -> None:
    ranks, name = bundle.manifest.ranks, bundle.manifest.program
    if world is not None and world != ranks:
        raise InvalidUsageError(f"program {name!r} has {ranks} ranks, not {world}")
    if ranks > topology.gpus:
        raise InvalidUsageError(
            f"program {name!r} has {ranks} ranks, but topology {topology.name!r} has "
            f"{topology.gpus} GPUs"
        )
    if not bundle.tables.predicted_ns:
        raise InvalidUsageError(f"program {name!r} was compiled without predicted times")
    if measured_ns is not None and not 0 < measured_ns < float("inf"):
        raise InvalidUsageError(f"measured_ns must be a positive number, not {measured_ns}")


def _durations(bundle: Bundle, costs: Costs | None) -> NDArray[np.float64]:
    """Returns the duration of each instruction without its waits, in ns."""
    durations = bundle.tables.timeline[:, 1].astype(np.float64)
    if costs is None:
        return durations
    entries: list[list[int]] = bundle.tables.instructions.tolist()
    for index, (code, task, begin, end) in enumerate(entries):
        cost = costs.tasks.get(bundle.manifest.tasks[task].name) if code == Opcode.RUN else None
        if cost is not None:
            durations[index] = cost.ns * (end - begin)
    return durations


def _links(outcome: Outcome) -> tuple[LinkUse, ...]:
    total = outcome.total or 1.0
    return tuple(
        LinkUse(name, link.bytes, link.messages, link.busy, link.busy / total)
        for name, link in outcome.links.items()
        if link.messages
    )


class _CriticalPath:
    """The steps from the start to the end of the last instruction.

    From each instruction, the path goes back to the instruction that it waited for last, or else to
    the previous instruction of its lane.
    """

    def __init__(self, bundle: Bundle, outcome: Outcome) -> None:
        self._manifest = bundle.manifest
        self._entries: list[list[int]] = bundle.tables.instructions.tolist()
        self._spans: list[list[float]] = outcome.spans.tolist()
        self._computed: list[float] = outcome.computed.tolist()
        self._causes: list[int] = outcome.causes.tolist()
        self._lane_of: list[int] = bundle.tables.lane_of.tolist()
        self._first: list[int] = bundle.tables.lanes[:, 1].tolist()
        self._ranks = rank_of_lanes(bundle)
        self._steps: list[Step] = []

    def steps(self) -> tuple[Step, ...]:
        """Returns the steps in order of time."""
        ends = [end for _, end in self._spans]
        index = ends.index(max(ends)) if ends else -1
        after = ends[index] if ends else 0.0
        while index >= 0:
            code = self._entries[index][0]
            waits = code in (Opcode.WAIT, Opcode.BARRIER)
            back = self._back_from_wait if waits else self._back_from_work
            index, after = back(index, after)
        return tuple(self._steps[::-1])

    def _back_from_wait(self, index: int, after: float) -> tuple[int, float]:
        cause = self._causes[index]
        if cause < 0:
            return self._before(index), self._spans[index][0]
        at_barrier = self._entries[cause][0] == Opcode.BARRIER
        # A lane arrives at a barrier, and signals to another rank, at the start of the instruction.
        at_begin = at_barrier or self._rank_of(cause) != self._rank_of(index)
        sent = min(self._spans[cause][0 if at_begin else 1], after)
        self._add("hand-off", index, index, sent, after)
        return (self._before(cause) if at_barrier else cause), sent

    def _back_from_work(self, index: int, after: float) -> tuple[int, float]:
        begin, end = self._spans[index][0], min(self._spans[index][1], after)
        if self._entries[index][0] == Opcode.RUN:
            computed = self._computed[index]
            self._add("send", index, index, max(computed, begin), end)
            self._add("compute", index, index, begin, min(computed, end))
        else:
            self._add("other", index, index, begin, end)
        cause = self._causes[index]
        if cause < 0:
            return self._before(index), begin
        sent = min(self._spans[cause][1], begin)
        self._add("hand-off", cause, index, sent, begin)
        return cause, sent

    def _add(self, kind: str, named: int, index: int, start: float, end: float) -> None:
        """Adds a step on the lane of instruction `index` with the name of instruction `named`."""
        if end > start:
            lane, rank = self._lane_of[index], self._rank_of(index)
            self._steps.append(Step(kind, self._name(named), rank, lane, start, end))

    def _rank_of(self, index: int) -> int:
        return self._ranks[self._lane_of[index]]

    def _before(self, index: int) -> int:
        """Returns the instruction before one in its lane, -1 if there is none."""
        return index - 1 if index > self._first[self._lane_of[index]] else -1

    def _name(self, index: int) -> str:
        code, subject = self._entries[index][:2]
        if code in (Opcode.RUN, Opcode.PREFETCH):
            return self._manifest.tasks[subject].name
        return "stop" if code == Opcode.STOP else self._manifest.semaphores[subject].name
