"""A semaphore of a program of several ranks, as counters on the GPU of each rank.

Lanes of a GPU signal its counters with the scope of the GPU, and lanes of other GPUs signal them
with the scope of the system. PTX guarantees neither that additions of both scopes to one word are
atomic, nor that a reader of the later addition observes the earlier one. The additions of a network
adapter, for ranks of other NVLink domains, are atomic with none of these. So if lanes of a GPU wait
for signals of several kinds, the semaphore has a counter for each kind, and these lanes wait for
one after the other. All signals of a counter then have one kind.

A kernel caches the instructions of its lane in shared memory, whose size the compiler computes
before linking, for one instruction per wait and counter (``getLinkedLength`` in
`passes/target/tables/CachedTables.cpp`).

A barrier between ranks has two levels. Lanes arrive at a counter on their own GPU and wait for it.
One lane of each GPU then signals a second counter on every other GPU. All lanes wait for the second
counter, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from ...bundle import Opcode
from ..drivers.abi import RANK_COUNTERS

__all__ = ["Entry", "LinkedSemaphore", "Source", "give_further_counters"]

# An entry of the table of instructions: the opcode and its three operands.
Entry = tuple[int, int, int, int]


class Source(IntEnum):
    """The GPU of a signal, relative to the GPU of the counter."""

    OWN = 0
    PEER = 1
    """Another GPU of the same NVLink domain."""
    NETWORK = 2
    """A GPU of another domain."""


@dataclass(frozen=True)
class LinkedSemaphore:
    """A semaphore of the joined program, and its counters.

    Attributes:
        number: the index of its counter on each GPU.
        waiters: the ranks whose lanes wait for it.
        arrivals: the signals of each rank, or the lanes of each rank that pass the barrier.
        is_barrier: True if it is a barrier.
        remote: the index of the counter of signals from peers; None if they use `number`.
        network: the index of the counter of signals from other domains; None if they use `number`.
        domains: the NVLink domain of each rank; empty if all ranks are in one domain.
    """

    number: int
    waiters: tuple[int, ...]
    arrivals: tuple[int, ...]
    is_barrier: bool = False
    remote: int | None = None
    network: int | None = None
    domains: tuple[int, ...] = ()

    def source(self, waiter: int, rank: int) -> Source:
        """Returns the kind of the signals of a rank to the GPU of a waiter."""
        if waiter == rank:
            return Source.OWN
        apart = bool(self.domains) and self.domains[waiter] != self.domains[rank]
        return Source.NETWORK if apart else Source.PEER

    def arrivals_from(self, source: Source, waiter: int) -> int:
        """Returns the signals of a kind to the GPU of a waiter; with a barrier, one for each other
        GPU, and one for each lane of the own GPU."""
        ranks = [rank for rank in range(len(self.arrivals)) if self.source(waiter, rank) == source]
        if self.is_barrier and source != Source.OWN:
            return sum(rank in self.waiters for rank in ranks)
        return sum(self.arrivals[rank] for rank in ranks)

    def sources(self, waiter: int) -> tuple[Source, ...]:
        """Returns the kinds of signals for which lanes of a rank wait."""
        return tuple(source for source in Source if self.arrivals_from(source, waiter))

    def counter(self, source: Source) -> int:
        """Returns the counter of a kind of signals."""
        further = {Source.PEER: self.remote, Source.NETWORK: self.network}.get(source)
        return self.number if further is None else further

    def counters(self, rank: int) -> tuple[int, ...]:
        """Returns the counters that lanes of a rank wait for."""
        if rank not in self.waiters:
            return ()
        return tuple(self.counter(source) for source in self.sources(rank)) or (self.number,)

    def signal(self, rank: int) -> Iterator[Entry]:
        """Yields the signals of a lane of a rank to all GPUs whose lanes wait."""
        for waiter in self.waiters:
            number = self.counter(self.source(waiter, rank))
            yield (Opcode.SIGNAL, counter_on(waiter, rank, number), 0, 0)

    def wait(self, rank: int, arrivals: int) -> Iterator[Entry]:
        """Yields the waits of a lane of a rank for all arrivals, one for each counter."""
        *first, last = self.sources(rank)
        for source in first:
            count = self.arrivals_from(source, rank)
            arrivals -= count
            yield (Opcode.WAIT, self.counter(source), count, 0)
        yield (Opcode.WAIT, self.counter(last), arrivals, 0)

    def barrier(self, rank: int, is_first: bool) -> Iterator[Entry]:
        """Yields the two levels of a barrier; a barrier of one rank has the first level alone.

        The lane with `is_first` signals for its GPU.
        """
        yield (Opcode.SIGNAL, self.number, 0, 0)
        yield (Opcode.WAIT, self.number, self.arrivals[rank], 0)
        further = [source for source in self.sources(rank) if source != Source.OWN]
        if is_first:
            for waiter in self.waiters:
                if waiter != rank:
                    number = self.counter(self.source(waiter, rank))
                    yield (Opcode.SIGNAL, counter_on(waiter, rank, number), 0, 0)
        for source in further:
            yield (Opcode.WAIT, self.counter(source), self.arrivals_from(source, rank), 0)


def counter_on(gpu: int, home: int, number: int) -> int:
    """Returns the index of a counter on `gpu`, relative to the counters on the GPU `home`."""
    return (gpu - home) * RANK_COUNTERS + number


def give_further_counters(semaphores: Sequence[LinkedSemaphore]) -> list[LinkedSemaphore]:
    """Returns the semaphores, with further counters for those whose waiters need them.

    Kernels have space for a wait for each counter (passes/target/tables/CachedTables.cpp).
    """
    result: list[LinkedSemaphore] = []
    next_counter = len(semaphores)
    for semaphore in semaphores:
        kinds = [semaphore.sources(waiter) for waiter in semaphore.waiters]
        mixed = {source for each in kinds if len(each) > 1 for source in each}
        for name, source in (("remote", Source.PEER), ("network", Source.NETWORK)):
            if source in mixed:
                semaphore = replace(semaphore, **{name: next_counter})
                next_counter += 1
        result.append(semaphore)
    return result
