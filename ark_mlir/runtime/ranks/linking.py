"""Linking: the tables of each rank's GPU, derived from the tables of all ranks.

A bundle describes the lanes of all ranks together: a semaphore is one counter, and a barrier is
passed by all lanes at once. The proof covers this form, and one launch on one GPU executes it. If
each rank has a separate GPU, linking changes four things:

- a GPU executes the lanes of its rank only. The entry of a lane holds the index of the lane among
  the lanes of all ranks instead of the SM. The code of the kernel indexes its tables by this index;
- a counter lies on every GPU whose lanes wait for it, since polling another GPU's memory is slow.
  A signal adds to the counter on each of these GPUs;
- a stop tells the GPU of every rank which iteration is the last one;
- a barrier has two levels, and a semaphore with signals of the own GPU and of other GPUs has a
  counter for each kind of signals (:mod:`.linked_semaphore`).

A linked wait has the same meaning: it ends when all arrivals of this iteration have happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...bundle import Bundle, Opcode, Semaphore, Tables
from ...errors import UnsupportedError
from ..drivers.abi import FREE_COUNTERS, MOST_RANKS
from .linked_semaphore import Entry, LinkedSemaphore, Source, give_further_counters
from .rank_bundle import bundle_of_rank, lanes_of_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LinkedRank", "link"]


class LinkedRank(NamedTuple):
    """The linked program of one rank.

    Attributes:
        bundle: the lanes of this rank alone; buffers of other ranks have the kind ``peer``.
        lanes: the index of each lane among the lanes of all ranks, ``[L]``.
        origins: for each instruction, the index of the instruction that it replaces, ``[I]``.
        counters: for each semaphore of the joined program, the counters that lanes of this rank
            wait for; none if no lane of this rank waits for it.
    """

    bundle: Bundle
    lanes: NDArray[np.int64]
    origins: NDArray[np.int64]
    counters: tuple[tuple[int, ...], ...]


def link(joined: Bundle) -> list[LinkedRank]:
    """Links a program of several ranks for a GPU of each rank.

    Raises UnsupportedError if the program needs more counters than a GPU holds, has too many ranks,
    or uses a barrier as a counter.
    """
    manifest = joined.manifest
    if manifest.ranks > MOST_RANKS:
        raise UnsupportedError(
            f"{manifest.program!r} has {manifest.ranks} ranks; the limit on several GPUs is "
            f"{MOST_RANKS}",
            location=joined.where,
        )
    lanes = [lanes_of_rank(joined, rank) for rank in range(manifest.ranks)]
    semaphores = _describe(joined, lanes)
    return [
        _link_rank(joined, rank, lanes_of_rank, semaphores)
        for rank, lanes_of_rank in enumerate(lanes)
    ]


def _describe(joined: Bundle, lanes: list[tuple[int, ...]]) -> list[LinkedSemaphore]:
    """Returns the semaphores with the ranks that wait for them and the counters that they use."""
    tables, manifest = joined.tables, joined.manifest
    rank_of = np.zeros(len(tables.lanes), np.int64)
    for rank, its_lanes in enumerate(lanes):
        rank_of[list(its_lanes)] = rank
    codes, numbers = tables.instructions[:, 0], tables.instructions[:, 1]
    ranks = rank_of[tables.lane_of]
    semaphores: list[LinkedSemaphore] = []
    for number in range(len(manifest.semaphores)):
        used = numbers == number
        waiters = tuple(np.unique(ranks[used & tables.waits]).tolist())
        is_barrier = bool((used & (codes == Opcode.BARRIER)).any())
        if is_barrier and (used & ((codes == Opcode.SIGNAL) | (codes == Opcode.WAIT))).any():
            raise UnsupportedError(
                f"semaphore {manifest.semaphores[number].name!r} is a barrier for some lanes and a "
                "counter for others, which ranks on several GPUs do not support",
                location=joined.where,
            )
        arrivals = np.bincount(ranks[used & tables.signals], minlength=manifest.ranks)
        semaphores.append(
            LinkedSemaphore(
                number, waiters, tuple(arrivals.tolist()), is_barrier, domains=manifest.domains
            )
        )
    result = give_further_counters(semaphores)
    count = len(result) + sum(
        (semaphore.remote is not None) + (semaphore.network is not None) for semaphore in result
    )
    if count > FREE_COUNTERS:
        raise UnsupportedError(
            f"{manifest.program!r} has {count} counters; the limit for several ranks is "
            f"{FREE_COUNTERS}",
            location=joined.where,
        )
    return result


def _link_rank(
    joined: Bundle, rank: int, lanes: tuple[int, ...], semaphores: list[LinkedSemaphore]
) -> LinkedRank:
    tables = joined.tables
    entries: list[Entry] = []
    origins: list[int] = []
    bounds: list[tuple[int, int, int]] = []
    leaders = _find_leaders(tables, lanes)
    for lane in lanes:
        _, first, last = tables.lanes[lane].tolist()
        begin = len(entries)
        for index in range(first, last):
            entry: Entry = tuple(tables.instructions[index].tolist())
            ranks = range(joined.manifest.ranks)
            for linked in _link_instruction(entry, rank, ranks, lane, semaphores, leaders):
                entries.append(linked)
                origins.append(index)
        bounds.append((lane, begin, len(entries)))
    positions = np.array(origins, np.int64)
    linked_tables = Tables(
        instructions=np.reshape(np.array(entries, np.int32), (-1, 4)),
        # Every rank needs a lane. A rank without work gets an empty one.
        lanes=np.array(bounds or [(0, 0, 0)], np.int32),
        tasks=tables.tasks,
        operands=tables.operands,
        timeline=tables.timeline[positions],
    )
    bundle = bundle_of_rank(joined, rank, rename=False)
    bundle = replace(
        bundle,
        manifest=replace(bundle.manifest, semaphores=_counters(joined, rank, semaphores)),
        sections={
            **joined.sections,
            "instructions": memoryview(linked_tables.instructions.tobytes()),
            "lanes": memoryview(linked_tables.lanes.tobytes()),
            "timeline": memoryview(linked_tables.timeline.tobytes()),
        },
        tables=linked_tables,
    )
    counters = tuple(semaphore.counters(rank) for semaphore in semaphores)
    return LinkedRank(bundle, np.array(lanes or (0,), np.int64), positions, counters)


def _find_leaders(tables: Tables, lanes: tuple[int, ...]) -> dict[int, int]:
    """Returns, for each barrier that lanes of a rank pass, the lane that signals for their GPU.

    A lane that ends the launch signals itself, since a network adapter need not keep the order of
    the stores and signals of different lanes.
    """
    leaders: dict[int, int] = {}
    for lane in lanes:
        _, first, last = tables.lanes[lane].tolist()
        rows = tables.instructions[first:last]
        stops = bool((rows[:, 0] == Opcode.STOP).any())
        for barrier in rows[rows[:, 0] == Opcode.BARRIER, 1].tolist():
            if stops:
                leaders[barrier] = lane
            else:
                leaders.setdefault(barrier, lane)
    return leaders


def _link_instruction(
    entry: Entry,
    rank: int,
    ranks: range,
    lane: int,
    semaphores: list[LinkedSemaphore],
    leaders: Mapping[int, int],
) -> Iterator[Entry]:
    """Yields the instructions that replace one instruction of the joined program."""
    code, a, b, c = entry
    if code == Opcode.SIGNAL:
        yield from semaphores[a].signal(rank)
    elif code == Opcode.WAIT and len(semaphores[a].counters(rank)) > 1:
        yield from semaphores[a].wait(rank, b)
    elif code == Opcode.WAIT:
        (counter,) = semaphores[a].counters(rank)
        yield (Opcode.WAIT, counter, b, c)
    elif code == Opcode.BARRIER:
        yield from semaphores[a].barrier(rank, leaders[a] == lane)
    elif code == Opcode.STOP:
        for other in ranks:
            yield (Opcode.STOP, a, other - rank, 0)
    else:
        yield entry


def _counters(
    joined: Bundle, rank: int, semaphores: list[LinkedSemaphore]
) -> tuple[Semaphore, ...]:
    """Returns the counters of one GPU: those of the semaphores' numbers, then the further ones."""
    own: list[Semaphore] = []
    further: list[Semaphore] = []
    for described, semaphore in zip(joined.manifest.semaphores, semaphores, strict=True):
        if semaphore.remote is None and semaphore.network is None:
            own.append(described)
            continue
        arrivals = sum(
            semaphore.arrivals_from(source, rank)
            for source in Source
            if semaphore.counter(source) == semaphore.number
        )
        own.append(replace(described, arrivals=arrivals))
        for name, number, source in (
            ("peers", semaphore.remote, Source.PEER),
            ("network", semaphore.network, Source.NETWORK),
        ):
            if number is not None:
                arrivals = semaphore.arrivals_from(source, rank)
                further.append(Semaphore(f"{described.name}.{name}", arrivals, described.handoff))
    return (*own, *further)
