"""Measured costs of tasks, from traces, in the format that the scheduler ``profile`` reads.

>>> costs = Costs.read("trace.json")
>>> costs.write("costs.json")
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..bundle.format import MAX_LANES
from ..errors import InvalidUsageError, shorten
from ..json_checks import Document, Node, parse_json
from ..paths import as_path, replacing

_FORMAT = 1
_RANGE = re.compile(r"\[(\d{1,10}), (\d{1,10})\)")
# Limit of the vCTAs of a work item in a trace: the median takes memory for each of them.
_MAX_VCTAS = 1 << 24


@dataclass(frozen=True)
class TaskCost:
    """The measured time of one task.

    Attributes:
        vctas: number of vCTAs of the task; the cost does not apply to a task with another number.
        ns: time of one vCTA in ns: the median over the work items of all tasks of the same kind.
        kind: the name of the body, which all tasks of one kind share.
        alone_ns: time of one vCTA in ns while no other task ran; None if it was not measured.
    """

    vctas: int
    ns: float
    kind: str = ""
    alone_ns: float | None = None


@dataclass(frozen=True)
class Costs:
    """The measured times of the tasks of one program, by name.

    Attributes:
        program: the name of the program.
        tasks: the cost of each task, by name.
        lanes: the relative speed of each lane; 1 is the median speed. They come from tasks that run
            on at least half of the lanes; empty without such tasks.

    Example:
        >>> costs = ark.tuning.Costs.read("trace.json")
        >>> costs.program, len(costs.tasks)
        ('mlp', 1)
    """

    program: str
    tasks: Mapping[str, TaskCost]
    lanes: tuple[float, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Costs:
        """Returns the costs in a file of :meth:`write`, or the costs of a trace of a run.

        Args:
            path: a file that ``run(trace=…)``, `ark profile` or :meth:`write` wrote.

        Raises:
            InvalidUsageError: the file cannot be read, or holds neither costs nor a trace.
        """
        where = str(as_path(path, "the costs to read"))
        try:
            text = Path(where).read_bytes()
        except OSError as error:
            raise InvalidUsageError(f"cannot be read: {error.strerror}", location=where) from None
        root = parse_json(text, Document(where, "costs", InvalidUsageError))
        return _from_trace(root) if "traceEvents" in root else _from_json(root)

    @classmethod
    def median(cls, several: Sequence[Costs]) -> Costs:
        """Returns the median cost of each task over `several` measurements of one program."""
        first = several[0]
        return cls(
            first.program,
            {
                name: replace(cost, ns=statistics.median(c.tasks[name].ns for c in several))
                for name, cost in first.tasks.items()
            },
            tuple(
                statistics.median(speeds)
                for speeds in zip(*(costs.lanes for costs in several), strict=True)
            ),
        )

    def beside(self, alone: Costs) -> Costs:
        """Returns these costs, with `alone_ns` from the measurements `alone`, without other tasks.

        Raises:
            InvalidUsageError: the tasks of `alone` have other names.

        Example:
            >>> costs = ark.tuning.Costs.read("trace.json")
            >>> costs = costs.beside(costs)
        """
        if alone.tasks.keys() != self.tasks.keys():
            raise InvalidUsageError(
                f"the tasks of {alone.program!r}, measured alone, are not those of "
                f"{self.program!r}: compile both with the same target and tiles"
            )
        tasks = {n: replace(c, alone_ns=alone.tasks[n].ns) for n, c in self.tasks.items()}
        return replace(self, tasks=tasks)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the costs as JSON to `path`; raises OSError if the file cannot be written.

        Example:
            >>> ark.tuning.Costs.read("trace.json").write("costs.json")
        """
        content = {
            "format": _FORMAT,
            "program": self.program,
            "tasks": {name: _as_json(cost) for name, cost in self.tasks.items()},
            **({"lanes": self.lanes} if self.lanes else {}),
        }
        with replacing(as_path(path, "the costs to write")) as file:
            file.write(json.dumps(content, indent=1).encode() + b"\n")


def _from_json(root: Node) -> Costs:
    root["format"].integer(_FORMAT, _FORMAT)
    tasks = root["tasks"]
    return Costs(
        root["program"].text(),
        {name: _task(tasks[name]) for name in tasks.names()},
        root["lanes"].each(Node.number) if "lanes" in root else (),
    )


def _as_json(cost: TaskCost) -> dict[str, Any]:
    return {name: value for name, value in asdict(cost).items() if value not in ("", None)}


def _task(node: Node) -> TaskCost:
    node.keys(frozenset({"vctas", "ns"}), frozenset({"kind", "alone_ns"}))
    return TaskCost(
        vctas=node["vctas"].integer(1),
        ns=node["ns"].number(0),
        kind=node["kind"].text(empty=True) if "kind" in node else "",
        alone_ns=node["alone_ns"].number(0) if "alone_ns" in node else None,
    )


def _from_trace(root: Node) -> Costs:
    """Returns the costs in a trace: for each kind, the median time of a vCTA over all work items.

    The median is robust against work items that other work on the machine delays. Each work item is
    weighted by its number of vCTAs.
    """
    samples: dict[str, list[float]] = defaultdict(list)
    kind_of: dict[str, str] = {}
    vctas: dict[str, int] = defaultdict(int)
    # The time in ns and the number of vCTAs on each lane, by kind.
    lanes: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0]))
    count_of_lanes = 0
    for event in root["traceEvents"].items():
        if event["ph"].text() != "X":
            continue
        lane = event["tid"].integer(0, MAX_LANES - 1)
        count_of_lanes = max(count_of_lanes, lane + 1)
        if event["cat"].text() != "run":
            continue
        name, arguments = event["name"].text(), event["args"]
        kind, count = arguments["kind"].text(), _count(arguments["vctas"])
        if count == 0:
            continue
        ns = 1000 * event["dur"].number(0)
        if not math.isfinite(ns):
            raise event["dur"].error(f"{event['dur'].value} is too large for a duration in us")
        kind_of[name] = kind
        vctas[name] += count
        samples[kind] += [ns / count] * count
        share = lanes[kind][lane]
        share[0] += ns
        share[1] += count
    median = {kind: statistics.median(values) for kind, values in samples.items()}
    return Costs(
        root["otherData"]["program"].text(),
        {
            name: TaskCost(vctas[name], round(median[kind], 1), kind)
            for name, kind in kind_of.items()
        },
        _speeds(lanes, count_of_lanes),
    )


def _count(node: Node) -> int:
    """Returns the number of vCTAs in a range such as ``[4, 8)``."""
    found = _RANGE.fullmatch(node.text())
    if found is None:
        raise node.error(f"{shorten(node.value)} is not a range of vCTAs, such as [4, 8)")
    begin, end = map(int, found.groups())
    if not begin <= end <= _MAX_VCTAS:
        raise node.error(f"{node.value} is not a range of at most {_MAX_VCTAS} vCTAs")
    return end - begin


def _speeds(kinds: Mapping[str, Mapping[int, Sequence[float]]], lanes: int) -> tuple[float, ...]:
    """Returns the relative speed of each lane, from the kinds that run on most lanes.

    Kinds are weighted by their time.
    """
    expected, taken = [0.0] * lanes, [0.0] * lanes
    for shares in kinds.values():
        usual = statistics.median(time / count for time, count in shares.values())
        if 2 * len(shares) < lanes or usual <= 0:
            continue
        for lane, (time, count) in shares.items():
            expected[lane] += usual * count
            taken[lane] += time
    if not any(expected):
        return ()
    return tuple(
        round(usual / time, 4) if time > 0 else 1.0
        for usual, time in zip(expected, taken, strict=True)
    )
