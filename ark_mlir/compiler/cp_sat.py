"""The scheduler ``cp-sat``, which uses the constraint solver of OR-tools, for small graphs.

The scheduler finds the shortest schedule on the compiler's cost model, or the best one within the
limit of its search, with a bound on its distance from the optimum. ``cp-sat`` is a baseline for the
quick schedulers.
"""

# OR-tools has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import itertools
import logging
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..progress import Progress
from .problem import Problem, Step, export_problem, insert_schedule
from .stages import predict_with

_LOG = logging.getLogger("ark.compiler")

NAME = "cp-sat"
# For larger programs, the solver finds no better schedule than `list`.
MAX_VCTAS = 128
# Limit of the search, in deterministic units of some seconds: all machines give the same result.
_EFFORT = 1.0
# The solver's times are integers, in tenths of a ns.
_PER_NS = 10


def schedule_exactly(module: ir.Operation, progress: Progress) -> float:
    """Adds the shortest schedule to the program of a module at the stage ``memory``.

    If the search is not complete after some seconds, the schedule is the best one found, and a
    warning gives a bound of its excess.

    Returns:
        The length of the schedule on the compiler's cost model, in ns.

    Raises:
        UnsupportedError: OR-tools is not installed, or found no schedule within the limit.
        CompileError: the program has more than 128 vCTAs, or a pin that cannot be satisfied.
    """
    solver = _import_solver()
    problem = export_problem(module, MAX_VCTAS)
    if not problem.tasks:
        return 0.0
    bound = predict_with(module, "list")
    progress.step("solving")
    steps = _solve(solver, problem, bound)
    insert_schedule(module, problem, NAME, steps)
    return max(step.start + problem.tasks[step.task].ns[step.vcta] for step in steps)


def _import_solver() -> Any:
    try:
        return importlib.import_module("ortools.sat.python.cp_model")
    except ImportError:
        raise UnsupportedError(
            f"the scheduler {NAME!r} needs OR-tools: pip install 'ark-mlir[cp-sat]'"
        ) from None


# A producer and some of its vCTAs.
_Vctas = tuple[int, tuple[int, ...]]
# Interchangeable vCTAs, by task and by a key of their common properties.
_Classes = dict[tuple[int, str], list[int]]


@dataclass(frozen=True)
class _Unit:
    """The variables of a vCTA: its start, its end, and for each lane a variable that selects it."""

    start: Any
    end: Any
    on: dict[int, Any]


def _solve(cp: Any, problem: Problem, bound_ns: int) -> list[Step]:
    model = cp.CpModel()
    horizon = _PER_NS * (bound_ns + 1)
    units = _add_units(model, problem, horizon)
    for need in problem.needs:
        _add_need(model, problem, units, need.task, need.vcta, need.producer, need.vctas)
    alike = _classes_of_equals(problem)
    for (task, _), vctas in alike.items():
        for first, second in itertools.pairwise(vctas):
            model.add(units[task, first].start <= units[task, second].start)
    _add_makespan(model, problem, units, horizon)

    solver = cp.CpSolver()
    # These settings make the result deterministic.
    solver.parameters.num_workers = 8
    solver.parameters.interleave_search = True
    solver.parameters.max_deterministic_time = _EFFORT
    started = time.perf_counter()
    status = _run(solver, model)
    _LOG.info("%s: %.3f s", NAME, time.perf_counter() - started)
    _log_search(cp, solver, status)
    return _relabel(alike, _read_steps(solver, units))


def _run(solver: Any, model: Any) -> int:
    """Solves in a thread, so that Ctrl-C raises KeyboardInterrupt instead of ending the search
    with a result."""
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, model)
        try:
            return status.result()
        except BaseException:
            solver.stop_search()
            raise


def _log_search(cp: Any, solver: Any, status: int) -> None:
    """Logs the quality of a solution; raises UnsupportedError if there is none."""
    if status == cp.OPTIMAL:
        _LOG.info("%s: %.1f ns, proven to be the shortest", NAME, solver.objective_value / _PER_NS)
    elif status == cp.FEASIBLE:
        excess = solver.objective_value / solver.best_objective_bound - 1
        _LOG.warning("%s: not proven: at most %.1f %% too long", NAME, 100 * excess)
    else:
        raise UnsupportedError(
            f"the scheduler {NAME!r} found no schedule that is as short as the one of 'list'"
        )


def _add_units(model: Any, problem: Problem, horizon: int) -> dict[tuple[int, int], _Unit]:
    units: dict[tuple[int, int], _Unit] = {}
    of_lane: dict[int, list[Any]] = defaultdict(list)
    for number, task in enumerate(problem.tasks):
        for vcta, ns in enumerate(task.ns):
            duration = round(_PER_NS * ns)
            name = f"{number}.{vcta}"
            start = model.new_int_var(0, horizon, f"start {name}")
            end = model.new_int_var(0, horizon, f"end {name}")
            on: dict[int, Any] = {}
            for lane in range(*task.lanes):
                on[lane] = model.new_bool_var(f"on {name} {lane}")
                of_lane[lane].append(
                    model.new_optional_interval_var(
                        start, duration, end, on[lane], f"{name} {lane}"
                    )
                )
            model.add_exactly_one(on.values())
            model.add(end == start + duration)
            units[number, vcta] = _Unit(start, end, on)
    for intervals in of_lane.values():
        model.add_no_overlap(intervals)
    return units


def _add_makespan(
    model: Any, problem: Problem, units: dict[tuple[int, int], _Unit], horizon: int
) -> None:
    makespan = model.new_int_var(0, horizon, "makespan")
    loads: dict[int, Any] = defaultdict(int)
    for (task, vcta), unit in units.items():
        model.add(unit.end <= makespan)
        for lane, here in unit.on.items():
            loads[lane] += here * round(_PER_NS * problem.tasks[task].ns[vcta])
    # These constraints are redundant, but give the solver good bounds.
    for load in loads.values():
        model.add(load <= makespan)
    if all(task.lanes == (0, len(problem.lanes)) for task in problem.tasks):
        # All lanes are interchangeable: an order by load breaks the symmetry.
        for first, second in itertools.pairwise(loads.values()):
            model.add(first >= second)
    model.minimize(makespan)


def _add_need(
    model: Any,
    problem: Problem,
    units: dict[tuple[int, int], _Unit],
    task: int,
    vcta: int,
    producer: int,
    vctas: tuple[int, ...],
) -> None:
    """Adds the constraint that a vCTA starts after its producers end.

    If producers run in other lanes, the vCTA also starts after the hand-off.
    """
    consumer = units[task, vcta]
    producers = [units[producer, other] for other in vctas]
    handoff = _handoff(model, problem, producers)
    for unit in producers:
        model.add(consumer.start >= unit.end)
        for lane, here in consumer.on.items():
            apart = [here] if lane not in unit.on else [here, unit.on[lane].negated()]
            model.add(consumer.start >= unit.end + handoff).only_enforce_if(apart)


def _handoff(model: Any, problem: Problem, producers: list[_Unit]) -> Any:
    """Returns the cost of the hand-off, which grows with the number of lanes that produce."""
    costs = [round(_PER_NS * ns) for ns in problem.handoff]
    reachable = sorted({lane for unit in producers for lane in unit.on})
    most = min(len(reachable), len(producers))
    if most <= 1:
        return costs[0]
    used: list[Any] = []
    for lane in reachable:
        is_used = model.new_bool_var("")
        model.add_max_equality(is_used, [unit.on[lane] for unit in producers if lane in unit.on])
        used.append(is_used)
    handoff = model.new_int_var(costs[0], costs[most - 1], "")
    count = model.new_int_var(1, most, "")
    model.add(count == sum(used))
    model.add_element(count, [0, *costs[:most]], handoff)
    return handoff


def _classes_of_equals(problem: Problem) -> _Classes:
    """Returns the classes of interchangeable vCTAs.

    The vCTAs of a class have the same time, producers and consumers.
    """
    needs: dict[tuple[int, int], list[_Vctas]] = defaultdict(list)
    needed_in: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, need in enumerate(problem.needs):
        needs[need.task, need.vcta].append((need.producer, need.vctas))
        for vcta in need.vctas:
            needed_in[need.producer, vcta].append(number)
    classes: _Classes = defaultdict(list)
    for number, task in enumerate(problem.tasks):
        for vcta, ns in enumerate(task.ns):
            key = repr((ns, needs[number, vcta], needed_in[number, vcta]))
            classes[number, key].append(vcta)
    return classes


def _read_steps(solver: Any, units: dict[tuple[int, int], _Unit]) -> list[Step]:
    return [
        Step(
            task,
            vcta,
            next(lane for lane, here in unit.on.items() if solver.boolean_value(here)),
            solver.value(unit.start) / _PER_NS,
        )
        for (task, vcta), unit in units.items()
    ]


def _relabel(alike: _Classes, steps: list[Step]) -> list[Step]:
    """Renumbers interchangeable vCTAs by lane and start.

    The vCTAs of a class in one lane then form one work item.
    """
    at = {(step.task, step.vcta): step for step in steps}
    result: list[Step] = []
    for number, ((task, _), vctas) in enumerate(alike.items()):
        ordered = sorted((at[task, vcta] for vcta in vctas), key=lambda s: (s.lane, s.start))
        result += [
            Step(task, vcta, step.lane, step.start, alike=number)
            for vcta, step in zip(vctas, ordered, strict=True)
        ]
    return result
