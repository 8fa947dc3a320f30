"""The interface to external schedulers: export of the scheduling problem, import of a solution.

The compiler exports the problem. A solver assigns a lane and a start to each vCTA. The solution
becomes an ``ark.schedule``, which the following stages verify like any other.
"""

# The generated builders of ops have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import ir
from ..dialects import ark
from .stages import quoted, run_passes
from .tasks import programs_of, tasks_of


@dataclass(frozen=True)
class Lane:
    """A range of warps of one SM, and optionally a range of its shared memory in bytes."""

    sm: int
    warps: tuple[int, int]
    shared_memory: tuple[int, int] | None


@dataclass(frozen=True)
class ProblemTask:
    """A task: the lanes ``[begin, end)`` that may run it, and the time of each vCTA in ns."""

    name: str
    lanes: tuple[int, int]
    ns: tuple[float, ...]


@dataclass(frozen=True)
class Need:
    """A vCTA of a task, and the vCTAs of one producer that must precede it."""

    task: int
    vcta: int
    producer: int
    vctas: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """A program to schedule.

    Attributes:
        sms: number of SMs of the target.
        lanes: all lanes.
        tasks: all tasks, in program order.
        needs: dependences, one for each vCTA and producer.
        handoff: entry k - 1 is the time in ns from the last of k producing lanes to a consumer in
            another lane.
    """

    sms: int
    lanes: tuple[Lane, ...]
    tasks: tuple[ProblemTask, ...]
    needs: tuple[Need, ...]
    handoff: tuple[float, ...]


@dataclass(frozen=True)
class Step:
    """The lane of a vCTA, and its start in ns.

    Consecutive vCTAs of a task may form one work item if `alike` is the same and not None.
    """

    task: int
    vcta: int
    lane: int
    start: float
    alike: int | None = None


def export_problem(module: ir.Operation, max_vctas: int) -> Problem:
    """Returns the scheduling problem of a module at the stage ``memory``.

    Raises CompileError if the program has more than `max_vctas` vCTAs, or a pin that cannot be
    satisfied.
    """
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        path = Path(folder) / "problem.json"
        options = f"file={quoted(str(path))} max-vctas={max_vctas}"
        run_passes(
            module,
            f"ark.program(ark-export-scheduling-problem{{{options}}})",
            "scheduling",
        )
        return _read(json.loads(path.read_bytes()))


def _read(content: Mapping[str, Any]) -> Problem:
    return Problem(
        content["sms"],
        tuple(
            Lane(lane["sm"], _pair(lane["warps"]), _pair(lane.get("shared_memory")))
            for lane in content["lanes"]
        ),
        tuple(
            ProblemTask(task["name"], _pair(task["lanes"]), tuple(task["ns"]))
            for task in content["tasks"]
        ),
        tuple(
            Need(need["task"], need["vcta"], need["producer"], tuple(need["vctas"]))
            for need in content["needs"]
        ),
        tuple(content["handoff"]),
    )


def _pair(value: Any) -> Any:
    return None if value is None else (value[0], value[1])


def insert_schedule(
    module: ir.Operation, problem: Problem, scheduler: str, steps: Sequence[Step]
) -> None:
    """Inserts the schedule that `steps` describes into the program of a module.

    Consecutive interchangeable vCTAs form one work item. Any other vCTA forms a separate work item:
    it then waits only for its producers, and its consumers wait only for it.
    """
    program = next(programs_of(module))
    terminator = list(program.regions[0].blocks[0])[-1]
    locations = {
        ir.StringAttr(task.attributes["name"]).value: task.location for task in tasks_of(module)
    }
    with module.context, program.location, ir.InsertionPoint(terminator):
        schedule = ark.ScheduleOp(scheduler, problem.sms)
        with ir.InsertionPoint(schedule.body.blocks.append()):
            for number, lane in enumerate(problem.lanes):
                lane_steps = sorted((s for s in steps if s.lane == number), key=lambda s: s.start)
                if lane_steps:
                    _insert_lane(lane, problem, lane_steps, locations)


def _insert_lane(
    lane: Lane, problem: Problem, steps: Sequence[Step], locations: Mapping[str, ir.Location]
) -> None:
    op = ark.LaneOp(
        [lane.sm, lane.sm + 1],
        list(lane.warps),
        shared_memory=None if lane.shared_memory is None else list(lane.shared_memory),
    )
    with ir.InsertionPoint(op.body.blocks.append()):
        for begin, end, task in _merge_steps(steps):
            name = problem.tasks[task].name
            bounds = [ir.AffineConstantExpr.get(bound) for bound in (begin, end)]
            ark.RunOp(
                name, ir.AffineMapAttr.get(ir.AffineMap.get(1, 0, bounds)), loc=locations[name]
            )


def _merge_steps(steps: Sequence[Step]) -> list[tuple[int, int, int]]:
    """Returns the work items of a lane as (begin, end, task), in order."""
    items: list[tuple[int, int, int]] = []
    last: int | None = None
    for step in steps:
        is_alike = step.alike is not None and step.alike == last
        if is_alike and items[-1][1:] == (step.vcta, step.task):
            items[-1] = (items[-1][0], step.vcta + 1, step.task)
        else:
            items.append((step.vcta, step.vcta + 1, step.task))
        last = step.alike
    return items
