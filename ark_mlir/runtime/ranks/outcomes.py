"""Conversion of the outcomes of several GPUs to the outcome of the program of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...bundle import Opcode
from ..drivers.abi import Abort
from ..drivers.interface import Outcome, Stop
from .linking import LinkedRank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle

__all__ = ["join_outcomes", "join_traces"]


def join_outcomes(
    bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]
) -> Outcome:
    """Returns the outcomes of all GPUs as one outcome of the program of all ranks."""
    codes = [0] * len(bundle.tables.lanes)
    for rank, outcome in zip(linked, outcomes, strict=True):
        for lane, code in zip(rank.lanes.tolist(), outcome.codes, strict=True):
            codes[lane] = code
    counters = _join_counters(bundle, linked, outcomes)
    stops = (
        _translate(bundle, rank, outcome, counters)
        for rank, outcome in zip(linked, outcomes, strict=True)
        if outcome.stop.abort
    )
    # The report nearest to the cause is returned. A failed lane is nearer than an aborted lane. A
    # barrier waits for all lanes, so any other failed wait is nearer than a failed barrier.
    stop = min(stops, key=lambda stop: (stop.abort, _is_barrier(bundle, stop)), default=Stop())
    fault = next((outcome.fault for outcome in outcomes if outcome.fault.code), outcomes[0].fault)
    # Only the GPU whose task ended the launch early reports the number of iterations.
    iterations = min(outcome.iterations for outcome in outcomes)
    trace = join_traces(bundle, linked, outcomes)
    return Outcome(tuple(codes), stop, fault, counters, outcomes[0].epoch, iterations, trace)


def _is_barrier(bundle: Bundle, stop: Stop) -> bool:
    entries = bundle.tables.instructions
    return stop.instruction < len(entries) and bool(entries[stop.instruction, 0] == Opcode.BARRIER)


def _join_counters(
    bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]
) -> NDArray[np.uint64]:
    """Returns the counters of the program of all ranks.

    The counter of a semaphore is the minimum over the GPUs that wait for it. The counter of a
    barrier is the sum of the arrivals on all GPUs.
    """
    count = len(bundle.manifest.semaphores)
    result = np.zeros(count, np.uint64)
    # A GPU whose launch was good does not report its counters.
    reported = [
        (rank, outcome.counters)
        for rank, outcome in zip(linked, outcomes, strict=True)
        if len(outcome.counters)
    ]
    entries = bundle.tables.instructions
    barriers = set(entries[entries[:, 0] == Opcode.BARRIER, 1].tolist())
    for number in range(count):
        waiting = [(rank, values) for rank, values in reported if rank.counters[number]]
        if number in barriers:
            result[number] = sum(int(values[number]) for _, values in waiting)
        elif waiting:
            result[number] = min(_count(rank, values, number) for rank, values in waiting)
    return result


def _count(rank: LinkedRank, counters: NDArray[np.uint64], semaphore: int) -> int:
    """Returns the signals of a semaphore that a GPU has counted."""
    return sum(int(counters[counter]) for counter in rank.counters[semaphore])


def _translate(
    bundle: Bundle, rank: LinkedRank, outcome: Outcome, counters: NDArray[np.uint64]
) -> Stop:
    """Returns the report of one GPU in terms of the program of all ranks."""
    stop = outcome.stop
    if stop.abort == Abort.HOST and stop.expected:
        # The host ended a kernel that had just reported a hang.
        stop = replace(stop, abort=Abort.HANG)
    if stop.abort == Abort.PEERS:
        return stop  # no instruction was executed
    if stop.lane >= len(rank.lanes) or stop.instruction >= len(rank.origins):
        return stop  # the fields are out of range; the caller detects this
    origin = int(rank.origins[stop.instruction])
    code, semaphore, arrivals, _ = bundle.tables.instructions[origin].tolist()
    translated = replace(
        stop, lane=int(rank.lanes[stop.lane]), instruction=origin, semaphore=semaphore
    )
    linked_arrivals = int(rank.bundle.tables.instructions[stop.instruction, 2])
    has_two = code == Opcode.WAIT and len(rank.counters[int(semaphore)]) > 1
    if not (has_two or code == Opcode.BARRIER) or not linked_arrivals:
        return translated
    if not outcome.counters.size:
        return translated
    seen = _count(rank, outcome.counters, semaphore) if has_two else int(counters[semaphore])
    epoch = stop.expected // linked_arrivals
    return replace(translated, seen=seen, expected=epoch * arrivals)


def join_traces(
    bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]
) -> NDArray[np.int64] | None:
    """Returns begin and end of each instruction of the program of all ranks, in ns.

    Linking may replace one instruction by several. The time of the instruction then reaches from
    the start of the first of them to the end of the last.
    """
    if any(outcome.trace is None for outcome in outcomes):
        return None
    times = np.zeros((len(bundle.tables.instructions), 2), np.int64)
    for rank, outcome in zip(linked, outcomes, strict=True):
        trace = outcome.trace
        assert trace is not None
        _, firsts = np.unique(rank.origins, return_index=True)
        lasts = np.append(firsts[1:], len(rank.origins)) - 1
        origins = rank.origins[firsts]
        times[origins, 0] = trace[firsts, 0]
        times[origins, 1] = trace[lasts, 1]
    return times
