"""The measured times of a program's tasks, as a table for people and for notebooks."""

from __future__ import annotations

import html
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...bundle import Opcode
from ...units import counted, duration, listed
from .roofline import Roofline, make_roofline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle

# `str` lists at most this number of tasks, and states the number of the others.
_ROWS = 30
# A table has at most this number of characters of a name.
_NAME_WIDTH = 72


@dataclass(frozen=True)
class TaskProfile:
    """The measured times of one task, or of all tasks with the same ops.

    Attributes:
        name: the name of the task; for several tasks, their ops.
        ops: the ops of the task.
        location: the Python line of the task as ``file:line``; empty for several tasks.
        tasks: the number of tasks.
        vctas: the number of vCTAs.
        ns: time in ns that all lanes together spend in the task, in one iteration.
        predicted_ns: the compiler's prediction of `ns`; 0 if the compiler predicted no times.
        span_ns: time in ns from the first begin to the last end; for several tasks, the sum.
        flops, bytes: floating-point operations, and bytes of memory traffic, as declared.
    """

    name: str
    ops: tuple[str, ...]
    location: str
    tasks: int
    vctas: int
    ns: float
    predicted_ns: float
    span_ns: float
    flops: int
    bytes: int


@dataclass(frozen=True)
class Profile:
    """Measured times of a program; ``str()`` returns a table, and notebooks show the table as HTML.

    Attributes:
        program: the name of the program.
        runs: the number of runs; all times are medians over them.
        lanes: the number of lanes.
        total_ns: time in ns of an iteration, from the first begin to the last end.
        waiting_ns: time in ns that all lanes together spend in waits and barriers.
        tasks: the tasks, sorted by decreasing time.

    Example:
        >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
        ...     profile = traced.profile(x=x)
        >>> profile.program, len(profile.tasks)
        ('mlp', 1)
    """

    program: str
    runs: int
    lanes: int
    total_ns: float
    waiting_ns: float
    tasks: tuple[TaskProfile, ...]

    @property
    def busy(self) -> float:
        """Returns the share of the time of all lanes in which they compute."""
        whole = self.lanes * self.total_ns
        return sum(task.ns for task in self.tasks) / whole if whole else 0.0

    def by_op(self) -> tuple[TaskProfile, ...]:
        """Returns the times of tasks with the same ops, sorted by decreasing time.

        Example:
            >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
            ...     traced.profile(x).by_op()[0].name
            'matmul, gelu'
        """
        groups: dict[tuple[str, ...], list[TaskProfile]] = {}
        for task in self.tasks:
            groups.setdefault(task.ops, []).append(task)
        return _sorted(_sum(ops, tasks) for ops, tasks in groups.items())

    def roofline(
        self, peak_gflops: float | None = None, peak_gbytes: float | None = None
    ) -> Roofline:
        """Returns the measured speeds of tasks beside the limits of the machine, as a plot.

        Args:
            peak_gflops: the limit of the arithmetic units, in 10^9 operations per second; by
                default the highest speed in this profile.
            peak_gbytes: the limit of the memory, in 10^9 bytes per second; by default the highest
                traffic in this profile.

        Raises InvalidUsageError if a limit is not above 0, or no task has floating-point operations
        and memory traffic.

        Example:
            >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
            ...     print(traced.profile(x=x).roofline(peak_gflops=500, peak_gbytes=40))
            mlp: 500 GFLOP/s, 40 GB/s, equal at 12.5 FLOP/byte
            ...
        """
        return make_roofline(self.program, self.by_op(), peak_gflops, peak_gbytes)

    def __str__(self) -> str:
        rows = _rows(self.tasks, self.lanes * self.total_ns)
        text = [self._title(), *_text(_HEAD, rows[:_ROWS])]
        if len(rows) > _ROWS:
            text.append(f"  and {counted(len(rows) - _ROWS, 'task')} more")
        return "\n".join([*text, "by ops", *_text(_HEAD, self._rows_by_op())])

    def _repr_html_(self) -> str:
        rows = _rows(self.tasks, self.lanes * self.total_ns)
        return (
            f"<p>{html.escape(self._title())}</p>{_html(_HEAD, rows)}"
            f"<p>by ops</p>{_html(_HEAD, self._rows_by_op())}"
        )

    def _rows_by_op(self) -> list[tuple[str, ...]]:
        return _rows(self.by_op(), self.lanes * self.total_ns)

    def _title(self) -> str:
        whole = self.lanes * self.total_ns
        waiting = self.waiting_ns / whole if whole else 0.0
        return (
            f"{self.program}: {duration(self.total_ns)} per iteration (median of "
            f"{counted(self.runs, 'run')}), {counted(self.lanes, 'lane')}: {self.busy:.1%} busy, "
            f"{waiting:.1%} waiting"
        )


def _shortened(name: str) -> str:
    """Returns a name for a table: the first characters of a long one, such as of fused tasks."""
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"


_HEAD = ("task", "share", "time", "predicted", "span", "vCTAs", "GFLOP/s", "GB/s", "line")


def _rows(tasks: Iterable[TaskProfile], whole: float) -> list[tuple[str, ...]]:
    return [
        (
            _shortened(task.name if task.tasks == 1 else f"{task.tasks} x {task.name}"),
            f"{task.ns / whole:.1%}" if whole else "",
            duration(task.ns),
            duration(task.predicted_ns) if task.predicted_ns else "",
            duration(task.span_ns),
            f"{task.vctas:,}",
            f"{task.flops / task.span_ns:.3g}" if task.span_ns else "",
            f"{task.bytes / task.span_ns:.3g}" if task.span_ns else "",
            task.location,
        )
        for task in tasks
    ]


def _text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a table; all columns but the first and the last are right-aligned."""
    table = [head, *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(head))]
    ends = (0, len(head) - 1)
    return [
        "  "
        + "  ".join(
            text.ljust(width) if k in ends else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def make_profile(bundle: Bundle, traces: Sequence[NDArray[np.int64]]) -> Profile:
    """Returns the profile of a program from traces of runs.

    Args:
        bundle: the program.
        traces: for each run, int64 ``[I, 2]``: begin and end of each instruction in ns.
    """
    instructions = bundle.tables.instructions
    opcodes, subjects = instructions[:, 0], instructions[:, 1]
    runs = opcodes == Opcode.RUN
    waits = np.isin(opcodes, (Opcode.WAIT, Opcode.BARRIER))

    def median(of: Callable[[NDArray[np.int64]], float]) -> float:
        return statistics.median(of(trace) for trace in traces)

    def total(mask: NDArray[np.bool_]) -> float:
        return median(lambda trace: float((trace[mask, 1] - trace[mask, 0]).sum()))

    def span(mask: NDArray[np.bool_]) -> float:
        return median(lambda trace: float(trace[mask, 1].max() - trace[mask, 0].min()))

    tasks: list[TaskProfile] = []
    for number, task in enumerate(bundle.manifest.tasks):
        mask = runs & (subjects == number)
        if not mask.any():  # a task without vCTAs
            continue
        predicted = float(bundle.tables.timeline[mask, 1].sum())
        tasks.append(
            TaskProfile(
                task.name, task.ops, task.location, 1, task.vctas, total(mask), predicted,
                span(mask), task.flops, task.bytes,
            )
        )  # fmt: skip
    whole = np.ones(len(instructions), np.bool_)
    return Profile(
        bundle.manifest.program,
        len(traces),
        len(bundle.tables.lanes),
        span(whole) if len(instructions) else 0.0,
        total(waits),
        _sorted(tasks),
    )


def _sum(ops: tuple[str, ...], tasks: Sequence[TaskProfile]) -> TaskProfile:
    return TaskProfile(
        listed(ops) or "no ops named",
        ops,
        "",
        len(tasks),
        sum(task.vctas for task in tasks),
        sum(task.ns for task in tasks),
        sum(task.predicted_ns for task in tasks),
        sum(task.span_ns for task in tasks),
        sum(task.flops for task in tasks),
        sum(task.bytes for task in tasks),
    )


def _sorted(tasks: Iterable[TaskProfile]) -> tuple[TaskProfile, ...]:
    return tuple(sorted(tasks, key=lambda task: -task.ns))
