"""The prediction of a simulation, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..units import duration, size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_LINES = 24
_MAX_NAME = 60


@dataclass(frozen=True)
class LinkUse:
    """The traffic of one link in an iteration.

    Attributes:
        busy_ns: time for which messages occupy the link.
        utilisation: the part of the total time for which the link is busy.
    """

    name: str
    bytes: int
    messages: int
    busy_ns: float
    utilisation: float


@dataclass(frozen=True)
class Step:
    """A part of the critical path.

    Attributes:
        kind: ``compute`` for a work item, ``send`` while it waits for a link, ``hand-off`` from
            one lane to another, or ``other`` for a signal, a prefetch or a stop.
        name: the name of the task; for a hand-off, the task or semaphore that is waited for.
    """

    kind: str
    name: str
    rank: int
    lane: int
    start_ns: float
    end_ns: float

    @property
    def ns(self) -> float:
        """Returns the duration in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Prediction:
    """The predicted timeline of one iteration of a schedule.

    Attributes:
        program: name of the program.
        topology: name of the topology.
        ranks: number of ranks.
        total_ns: time of an iteration.
        exposed_ns: the time that an iteration would save if messages took no time.
        sent_bytes: bytes that ranks send to each other.
        links: the links that carry messages.
        critical_path: the steps that determine the total time, in order.
        timeline: start and duration of each instruction in ns, int64 ``[I, 2]``.
        measured_ns: the measured time, if there is one.
        bubble: of a pipeline, the share of the time in which a rank executes no work item, the mean
            over all ranks; None if no plan names a microbatch.
        note: the line `schedule` of the report: whether one rank was compiled for all, or why not;
            None if this was not tried, as by default for up to 8 ranks.

    Example:
        >>> from ark_mlir.simulation import simulate
        >>> simulate(exe, "h200").program
        'mlp'
    """

    program: str
    topology: str
    ranks: int
    total_ns: float
    exposed_ns: float
    sent_bytes: int
    links: tuple[LinkUse, ...]
    critical_path: tuple[Step, ...]
    timeline: NDArray[np.int64] = field(repr=False)
    measured_ns: float | None = None
    bubble: float | None = None
    note: str | None = None

    @property
    def error(self) -> float | None:
        """Returns the relative error of the prediction; None without a measurement."""
        if self.measured_ns is None:
            return None
        return self.total_ns / self.measured_ns - 1

    def figures(self) -> list[tuple[str, str]]:
        """Returns the main figures, as pairs of name and text.

        Example:
            >>> from ark_mlir.simulation import simulate
            >>> [name for name, _ in simulate(exe, "h200").figures()]
            ['simulated', 'exposed communication', 'between ranks']
        """
        result = [
            ("simulated", duration(self.total_ns)),
            ("exposed communication", duration(self.exposed_ns)),
            ("between ranks", size(self.sent_bytes)),
        ]
        if self.bubble is not None:
            result.append(("bubble", f"{100 * self.bubble:.1f} %"))
        if self.note is not None:
            result.append(("schedule", self.note))
        if self.measured_ns is not None and self.error is not None:
            result.append(("measured", duration(self.measured_ns)))
            result.append(("error of the prediction", f"{100 * self.error:+.1f} %"))
        return result

    def __str__(self) -> str:
        head = f"{self.program}: {self.ranks} ranks on {self.topology}"
        figures = [f"  {name:<24} {text}" for name, text in self.figures()]
        return "\n".join([head, *figures, *self._link_lines(), *self._path_lines()])

    def _link_lines(self) -> list[str]:
        if not self.links:
            return []
        busiest = sorted(self.links, key=lambda link: -link.busy_ns)
        lines = [
            f"  {link.name:<24} {size(link.bytes):>10} {link.messages:>8,} "
            f"{100 * link.utilisation:>6.1f} %"
            for link in busiest[:_MAX_LINES]
        ]
        return ["links: bytes, messages, utilisation", *lines, *_more(busiest)]

    def _path_lines(self) -> list[str]:
        steps = _joined(self.critical_path)
        lines = [
            f"  {step.start_ns / 1e3:>10.2f} {step.ns / 1e3:>9.2f}  rank {step.rank} "
            f"{step.kind:<9} {_shortened(step.name)}"
            for step in steps[:_MAX_LINES]
        ]
        kinds = sorted({step.kind for step in self.critical_path})
        shares = (
            f"{kind} {duration(sum(step.ns for step in self.critical_path if step.kind == kind))}"
            for kind in kinds
        )
        head = [f"critical path: {', '.join(shares)}", "  start, µs  time, µs"]
        return [*head, *lines, *_more(steps)]


def _joined(steps: Sequence[Step]) -> list[Step]:
    """Joins consecutive steps of one kind, task and lane to one step."""
    result: list[Step] = []
    for step in steps:
        before = result[-1] if result else None
        if before and (before.kind, before.name, before.lane) == (step.kind, step.name, step.lane):
            result[-1] = Step(
                step.kind, step.name, step.rank, step.lane, before.start_ns, step.end_ns
            )
        else:
            result.append(step)
    return result


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def _more(lines: Sequence[object]) -> list[str]:
    return [f"  … and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
