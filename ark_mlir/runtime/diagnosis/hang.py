"""The diagnosis of failed runs: from the kernel's report to an error that names the cause.

A kernel reports one wait: that of the lane that timed out first. The positions of the other lanes
follow from the counters, since a lane stops at the first wait that the counters do not satisfy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...bundle import Opcode
from ...errors import ArkError, BusyError, DataRangeError, DeviceError, HangError
from ...units import counted, listed
from ..drivers.abi import LATE, PACKET_EPOCHS, Abort

if TYPE_CHECKING:
    from ...bundle import Bundle, Task
    from ..drivers.interface import Outcome

# An error lists at most this number of lanes, and states the number of the others.
_MAX_LANES = 16
# The notes of a run in which lanes had not begun.
_LATE_NOTES = (
    "a launch on this GPU begins a lane when the GPU has room for it: wait for other work on the "
    "GPU to end (kernels of other streams or processes), then run again",
    "the other lanes have executed a part of the run: states may hold part of it; reset() "
    "restores them",
)


class LaneHangError(HangError):
    """A HangError with a :class:`Diagnosis`."""

    def __init__(self, diagnosis: Diagnosis, timeout_ns: int) -> None:
        waiter = diagnosis.waiter
        super().__init__(
            f"{waiter.item.label} waited more than {timeout_ns / 1e9:g} s for "
            f"{waiter.label}: {waiter.difference}",
            location=waiter.item.location or None,
            op=waiter.item.op or None,
            notes=diagnosis.notes(),
        )
        self.diagnosis = diagnosis


@dataclass(frozen=True)
class LaneItem:
    """An instruction of a lane, and the task that it belongs to.

    A wait belongs to the task that the lane runs next, which needs the awaited data. A signal
    belongs to the task that the lane ran last, whose result it announces. `rank` is None if the
    program has one rank.
    """

    lane: int
    sm: int
    instruction: int
    task: int | None
    vctas: tuple[int, int]
    task_name: str
    op: str
    location: str
    rank: int | None = None

    @property
    def label(self) -> str:
        """The lane, SM, rank and task in words."""
        of_rank = "" if self.rank is None else f" of rank {self.rank}"
        words = f"lane {self.lane} (SM {self.sm}{of_rank})"
        if self.task is None:
            return words
        begin, end = self.vctas
        return f"{words}, task {self.task_name!r} vCTAs [{begin}, {end})"

    @property
    def where(self) -> str:
        """The lane, SM and task in words, with the line of the program if it is known."""
        return f"{self.label} at {self.location}" if self.location else self.label


@dataclass(frozen=True)
class Blocked:
    """A wait at `item` that its semaphore does not satisfy.

    A work item that polls for packets is also represented by this class. Its `semaphore` is None,
    its `sender` is the task that sends the packets, and `seen` and `expected` are epochs.
    """

    item: LaneItem
    iteration: int
    semaphore: int | None
    semaphore_name: str
    seen: int
    expected: int
    sender: int | None = None

    @property
    def label(self) -> str:
        """The awaited event, in words."""
        kind = "semaphore" if self.sender is None else "packets of task"
        return f"{kind} {self.semaphore_name!r}"

    @property
    def difference(self) -> str:
        """The seen and the expected value, in words; a work item that polls reports one packet."""
        if self.sender is None:
            return f"saw {self.seen}, expected {self.expected}"
        return f"saw epoch {self.seen} in one of them, expected {self.expected} in all"


@dataclass(frozen=True)
class Diagnosis:
    """The explanation of a hang.

    Attributes:
        waiter: the wait of the lane that timed out first.
        producers: all signals that the waiter waited for.
        missing: the producers that certainly have not happened; if there are none, the producers
            that may not have happened.
        blocked: the wait of each blocked lane.
        chain: the waits from the waiter to the root, each of which waits for the next.
        cycle: True if the chain is a cycle, that is, a deadlock.
        cause: the root cause in one sentence.
    """

    waiter: Blocked
    producers: tuple[LaneItem, ...]
    missing: tuple[LaneItem, ...]
    blocked: tuple[Blocked, ...]
    chain: tuple[Blocked, ...]
    cycle: bool
    cause: str

    def notes(self) -> list[str]:
        """The notes of the error."""
        notes = [f"cause: {self.cause}"]
        notes += [f"produced by {item.where}" for item in self.producers[:_MAX_LANES]]
        others = [other for other in self.blocked if other.item.lane != self.waiter.item.lane]
        for other in others[:_MAX_LANES]:
            notes.append(f"also waiting: {other.item.where}, for {other.label}: {other.difference}")
        if len(others) > _MAX_LANES:
            notes.append(f"and {len(others) - _MAX_LANES} more lanes")
        return notes


def failure(bundle: Bundle, outcome: Outcome, timeout_ns: int) -> ArkError:
    """Returns the error of a run that failed; `timeout_ns` is the timeout of its waits."""
    stop, fault = outcome.stop, outcome.fault
    if stop.abort == Abort.HANG:
        if not _plausible(bundle, outcome):
            return DeviceError(f"the kernel's report of a hang is inconsistent: {stop}")
        error = LaneHangError(diagnose(bundle, outcome), timeout_ns)
        late = outcome.codes.count(LATE)
        return _late_error(error.diagnosis, late, len(outcome.codes), timeout_ns) if late else error
    if stop.abort:
        codes = {lane: code for lane, code in enumerate(outcome.codes) if code not in (0, 2)}
        return DeviceError(f"lanes failed with codes {codes}" if codes else "the run was aborted")
    if fault.code:
        return _data_error(bundle, outcome)
    codes = {lane: code for lane, code in enumerate(outcome.codes) if code}
    return DeviceError(f"lanes failed with codes {codes}")


def _late_error(diagnosis: Diagnosis, late: int, lanes: int, timeout_ns: int) -> BusyError:
    """Returns the error of a wait that timed out before `late` of the lanes had begun."""
    waiter = diagnosis.waiter
    return BusyError(
        f"{late} of {counted(lanes, 'lane')} had not begun when {waiter.item.label} had waited "
        f"{timeout_ns / 1e9:g} s for {waiter.label}: other work occupies the GPU",
        location=waiter.item.location or None,
        op=waiter.item.op or None,
        notes=_LATE_NOTES,
    )


def faulty_task(bundle: Bundle, outcome: Outcome) -> Task | None:
    """Returns the task that found invalid data, or None if the kernel's report names no task."""
    tasks, number = bundle.manifest.tasks, outcome.fault.task
    return tasks[number] if 0 <= number < len(tasks) else None


def _data_error(bundle: Bundle, outcome: Outcome) -> ArkError:
    fault, task = outcome.fault, faulty_task(bundle, outcome)
    # If there are several ranks, the name of the task contains the rank that passed the data.
    several = bundle.manifest.ranks > 1
    subject = f"task {task.name!r}: " if task and several else ""
    owner = "" if fault.sequence is None else f"sequence {fault.sequence}: "
    # The op of a fused task may be a part of an op that the user wrote, such as cross_entropy,
    # which the name of the task contains.
    fused = task is not None and len(task.ops) > 1 and not several
    return DataRangeError(
        f"{subject}{owner}index {fault.index} is out of range [0, {fault.bound})",
        location=(task.location if task else None) or None,
        op=_op(task) or None,
        notes=(f"the task computes {task.name!r}",) if task is not None and fused else (),
    )


def _plausible(bundle: Bundle, outcome: Outcome) -> bool:
    stop, tables = outcome.stop, bundle.tables
    if not (stop.lane < len(tables.lanes) and stop.instruction < len(tables.instructions)):
        return False
    _, first, last = tables.lanes[stop.lane].tolist()
    if not first <= stop.instruction < last:
        return False
    return bool(tables.waits[stop.instruction]) or _sender(bundle, stop.instruction) is not None


def _sender(bundle: Bundle, instruction: int) -> int | None:
    """Returns the first task whose packets a work item receives, or None."""
    tables, manifest = bundle.tables, bundle.manifest
    code, task, *_ = tables.instructions[instruction].tolist()
    if code != Opcode.RUN or not manifest.packets:
        return None
    slot = 1 + len(manifest.buffers)

    def packets_of(task: int) -> set[int]:
        begin = int(tables.tasks[task, 1])
        count = len(manifest.tasks[task].values)
        entries = tables.operands[begin : begin + count].tolist()
        return {offset for at, offset in entries if at == slot}

    received = packets_of(task)
    # The sender is the first task that has the packets as an operand.
    return next((other for other in range(task) if received & packets_of(other)), None)


def diagnose(bundle: Bundle, outcome: Outcome) -> Diagnosis:
    """Returns the diagnosis of a run that stopped with a hang."""
    return _Inspector(bundle, outcome).diagnosis()


class _Inspector:
    def __init__(self, bundle: Bundle, outcome: Outcome) -> None:
        self._bundle = bundle
        self._tables = bundle.tables
        self._outcome = outcome
        stop = outcome.stop
        # Iterations are counted from the first launch on, as semaphores count them.
        if self._tables.waits[stop.instruction]:
            arrivals = int(self._tables.instructions[stop.instruction, 2])
            self._iteration = max(stop.expected // arrivals - 1, 0)
        else:
            ahead = (stop.expected - (outcome.epoch + 1)) % PACKET_EPOCHS
            self._iteration = outcome.epoch + ahead

    def diagnosis(self) -> Diagnosis:
        stop = self._outcome.stop
        waiter = self._blocked_at(stop.instruction, self._iteration, stop.seen, stop.expected)
        lanes = range(len(self._tables.lanes))
        positions: list[Blocked | None] = [self._first_blocked(lane) for lane in lanes]
        positions[stop.lane] = waiter
        chain, cycle, cause = self._root(waiter, positions)
        return Diagnosis(
            waiter,
            producers=tuple(self._item(index) for index in self._releases_of(waiter)),
            missing=tuple(self._missing(waiter, positions)),
            blocked=tuple(filter(None, positions)),
            chain=tuple(chain),
            cycle=cycle,
            cause=cause,
        )

    # -- items -------------------------------------------------------------------------------

    def _blocked_at(self, index: int, iteration: int, seen: int, expected: int) -> Blocked:
        if (sender := _sender(self._bundle, index)) is not None:
            name = self._bundle.manifest.tasks[sender].name
            return Blocked(self._item(index), iteration, None, name, seen, expected, sender)
        semaphore = int(self._tables.instructions[index, 1])
        return Blocked(
            self._item(index),
            iteration=iteration,
            semaphore=semaphore,
            semaphore_name=self._bundle.manifest.semaphores[semaphore].name,
            seen=seen,
            expected=expected,
        )

    def _item(self, index: int) -> LaneItem:
        lane = int(self._tables.lane_of[index])
        work_item = self._work_item_near(index)
        entry: list[int] = (
            [] if work_item is None else self._tables.instructions[work_item].tolist()
        )
        manifest = self._bundle.manifest
        described = manifest.tasks[entry[1]] if entry else None
        sm = int(self._tables.lanes[lane, 0])
        return LaneItem(
            lane=lane,
            sm=sm,
            instruction=index,
            task=entry[1] if entry else None,
            vctas=(entry[2], entry[3]) if entry else (0, 0),
            task_name=described.name if described else "",
            op=_op(described),
            location=described.location if described else "",
            rank=sm // (manifest.target.sms // manifest.ranks) if manifest.ranks > 1 else None,
        )

    def _work_item_near(self, index: int) -> int | None:
        """Returns the work item that an instruction belongs to; see :class:`LaneItem`."""
        first, last = self._tables.lanes[self._tables.lane_of[index], 1:].tolist()
        after, before = range(index + 1, last), range(index - 1, first - 1, -1)
        order = (*after, *before) if self._tables.waits[index] else (*before, *after)
        codes = self._tables.instructions[:, 0]
        if codes[index] == Opcode.RUN:
            return index
        return next((near for near in order if codes[near] == Opcode.RUN), None)

    # -- positions of lanes ------------------------------------------------------------------

    def _first_blocked(self, lane: int) -> Blocked | None:
        """Returns the wait that blocked a lane, or None if the lane ended or executed a task."""
        if self._outcome.codes[lane] == 0:
            return None
        _, first, last = self._tables.lanes[lane].tolist()
        waits = np.flatnonzero(self._tables.waits[first:last]) + first
        # A lane may be one iteration behind the waiter, or ahead of it.
        for iteration in range(max(self._iteration - 1, 0), self._iteration + 2):
            for index in waits.tolist():
                _, semaphore, arrivals, _ = self._tables.instructions[index].tolist()
                seen, expected = int(self._outcome.counters[semaphore]), (iteration + 1) * arrivals
                if seen < expected:
                    return self._blocked_at(index, iteration, seen, expected)
        return None

    def _releases_of(self, waiter: Blocked) -> Iterator[int]:
        """Yields the signals that a waiter waits for, or the work items that send its packets."""
        entries = self._tables.instructions
        if waiter.sender is None:
            releases = self._tables.signals & (entries[:, 1] == waiter.semaphore)
        else:
            releases = (entries[:, 0] == Opcode.RUN) & (entries[:, 1] == waiter.sender)
        yield from np.flatnonzero(releases).tolist()

    def _missing(self, waiter: Blocked, positions: list[Blocked | None]) -> Iterator[LaneItem]:
        """Yields the producers that certainly have not happened. If there are none, yields the
        producers that may not have happened."""
        unsure: list[LaneItem] = []
        found = False
        for index in self._releases_of(waiter):
            item = self._item(index)
            at = positions[item.lane]
            if at is None:
                if self._outcome.codes[item.lane] != 0:
                    unsure.append(item)
            # A barrier signals before it waits.
            elif (at.iteration, at.item.instruction) < (waiter.iteration, index):
                found = True
                yield item
        if not found:
            yield from unsure

    def _root(
        self, waiter: Blocked, positions: list[Blocked | None]
    ) -> tuple[list[Blocked], bool, str]:
        chain = [waiter]
        while True:
            last = chain[-1]
            if problem := self._unsatisfiable(last):
                return chain, False, problem
            missing = next(self._missing(last, positions), None)
            if missing is None:
                return chain, False, _lost(last)
            behind = positions[missing.lane]
            if behind is None:
                effect = "sent its packets" if last.sender is not None else "signalled"
                return chain, False, f"{missing.where} had not ended, so it had not {effect}"
            if behind in chain:
                lanes = [str(link.item.lane) for link in chain[chain.index(behind) :]]
                cycle = " → lane ".join([*lanes, lanes[0]])
                return chain, True, f"a cycle of waits: lane {cycle}"
            chain.append(behind)

    def _unsatisfiable(self, blocked: Blocked) -> str | None:
        signals = sum(1 for _ in self._releases_of(blocked))
        if blocked.sender is not None:
            name = repr(blocked.semaphore_name)
            return None if signals else f"no lane runs task {name}, which would send packets"
        arrivals = int(self._tables.instructions[blocked.item.instruction, 2])
        if arrivals <= signals:
            return None
        return (
            f"{blocked.item.where} waits for {arrivals} arrivals at {blocked.semaphore_name!r} "
            f"in each iteration, and the schedule has {signals}"
        )


def _lost(blocked: Blocked) -> str:
    """Returns the cause of a wait that did not end although every lane had passed its signal."""
    if blocked.sender is not None:
        return (
            f"no lane is known to be blocked before its work item of task "
            f"{blocked.semaphore_name!r}: "
            "the task polls for packets itself, or packets were lost or overwritten"
        )
    return (
        f"every lane that signals {blocked.semaphore_name!r} has passed its signal, but not "
        "all arrived: one was lost, or the counter was overwritten"
    )


def _op(task: Task | None) -> str:
    return listed(task.ops) if task else ""
