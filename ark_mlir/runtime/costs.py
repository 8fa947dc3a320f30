"""Measured costs of tasks: from a trace to what the scheduler ``profile`` reads.

>>> costs = Costs.read("trace.json")                            # doctest: +SKIP
>>> costs.write("costs.json")                                   # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..bundle.writer import replacing
from ..errors import InvalidUsageError
from ..paths import as_path

_FORMAT = 1


@dataclass(frozen=True)
class TaskCost:
    """What one task took.

    Attributes:
        vctas: how many vCTAs the task had; the cost is of no use to a task cut otherwise.
        ns: one vCTA, in ns: the median over the runs of all tasks of its kind.
    """

    vctas: int
    ns: float


@dataclass(frozen=True)
class Costs:
    """What the tasks of one program took, by name.

    Attributes:
        program: its name.
        tasks: the cost of each task.
    """

    program: str
    tasks: Mapping[str, TaskCost]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Costs:
        """Costs from a file of :meth:`write`, or measured ones from a trace of a run.

        Args:
            path: what ``run(trace=…)``, `ark profile` or `write` wrote.

        Raises:
            InvalidUsageError: the file cannot be read or is neither of the two.
        """
        where = str(as_path(path, "the costs to read"))
        try:
            content: Any = json.loads(Path(where).read_bytes())
            if "traceEvents" in content:
                return _from_trace(content)
            return _from_json(content)
        except OSError as error:
            raise InvalidUsageError(f"cannot be read: {error.strerror}", location=where) from None
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError):
            raise InvalidUsageError(
                "is neither a trace of a run nor a file of costs", location=where
            ) from None

    @classmethod
    def median(cls, several: Sequence[Costs]) -> Costs:
        """The median of several measurements of one program, task by task."""
        first = several[0]
        return cls(
            first.program,
            {
                name: TaskCost(cost.vctas, statistics.median(c.tasks[name].ns for c in several))
                for name, cost in first.tasks.items()
            },
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the costs as JSON; raises OSError where the file cannot be written."""
        content = {
            "format": _FORMAT,
            "program": self.program,
            "tasks": {
                name: {"vctas": cost.vctas, "ns": cost.ns} for name, cost in self.tasks.items()
            },
        }
        with replacing(as_path(path, "the costs to write")) as file:
            file.write(json.dumps(content, indent=1).encode() + b"\n")


def _from_json(content: Any) -> Costs:
    if content["format"] != _FORMAT:
        raise ValueError(content["format"])
    tasks = cast("dict[str, dict[str, Any]]", content["tasks"])
    return Costs(
        str(content["program"]),
        {name: _checked(int(cost["vctas"]), float(cost["ns"])) for name, cost in tasks.items()},
    )


def _checked(vctas: int, ns: float) -> TaskCost:
    if vctas < 1 or not 0 <= ns < float("inf"):
        raise ValueError(vctas, ns)
    return TaskCost(vctas, ns)


def _from_trace(content: Any) -> Costs:
    """One vCTA of a kind takes the median over all runs of tasks of that kind.

    The median, since on a busy machine some runs take long for reasons of their own. Each run
    counts as often as it has vCTAs.
    """
    samples: dict[str, list[float]] = defaultdict(list)
    kind_of: dict[str, str] = {}
    vctas: dict[str, int] = defaultdict(int)
    for event in content["traceEvents"]:
        if event["ph"] != "X" or event["cat"] != "run":
            continue
        name, arguments = str(event["name"]), event["args"]
        begin, end = json.loads(arguments["vctas"].replace(")", "]"))
        count = end - begin
        if count <= 0:
            continue
        kind_of[name] = arguments["kind"]
        vctas[name] += count
        samples[arguments["kind"]] += [1000 * event["dur"] / count] * count
    median = {kind: statistics.median(values) for kind, values in samples.items()}
    return Costs(
        str(content["otherData"]["program"]),
        {name: _checked(vctas[name], round(median[kind], 1)) for name, kind in kind_of.items()},
    )
