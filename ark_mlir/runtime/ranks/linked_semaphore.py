"""A semaphore of a program of several ranks, as counters on the GPU of each rank.

Lanes of a GPU signal its counters with the scope of the GPU, and lanes of other GPUs signal them
with the scope of the system. PTX guarantees neither that additions of both scopes to one word are
atomic, nor that a reader of the later addition observes the earlier one. So if lanes of a GPU wait
for signals of their own GPU and of other GPUs, the semaphore has two counters, and these lanes wait
for one after the other. All signals of a counter then have one scope.

A kernel caches the instructions of its lane in shared memory, whose size the compiler computes
before linking, for one instruction per wait (``getLinkedLength`` in
`passes/target/tables/CachedTables.cpp`). A semaphore keeps one counter with signals of both scopes
if a lane has no space for a second wait.

A barrier between ranks has two levels. Lanes arrive at a counter on their own GPU and wait for it.
The first lane of each GPU then signals a second counter on every other GPU. All lanes wait for the
second counter, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...bundle import Opcode
from ..drivers.abi import RANK_COUNTERS

__all__ = ["Entry", "LinkedSemaphore", "give_second_counters"]

# An entry of the table of instructions: the opcode and its three operands.
Entry = tuple[int, int, int, int]


@dataclass(frozen=True)
class LinkedSemaphore:
    """A semaphore of the joined program, and its counters.

    Attributes:
        number: the index of its counter on each GPU.
        waiters: the ranks whose lanes wait for it.
        arrivals: the signals of each rank, or the lanes of each rank that pass the barrier.
        is_barrier: True if it is a barrier.
        remote: the index of the counter of signals from other GPUs; None if they use `number`.
    """

    number: int
    waiters: tuple[int, ...]
    arrivals: tuple[int, ...]
    is_barrier: bool = False
    remote: int | None = None

    @property
    def mixed_waiters(self) -> tuple[int, ...]:
        """The ranks whose lanes wait for signals of their own GPU and of other GPUs."""
        total = sum(self.arrivals)
        return tuple(rank for rank in self.waiters if 0 < self.arrivals[rank] < total)

    @property
    def needs_two_counters(self) -> bool:
        """True if lanes of a GPU wait for signals of this GPU and of other GPUs."""
        return bool(self.mixed_waiters)

    def remote_arrivals(self, rank: int) -> int:
        """Returns the arrivals from other GPUs at the GPU of a rank."""
        if self.is_barrier:
            return len(self.waiters) - 1
        return sum(self.arrivals) - self.arrivals[rank]

    def counters(self, rank: int) -> tuple[int, ...]:
        """Returns the counters that lanes of a rank wait for."""
        if rank not in self.waiters:
            return ()
        if self.remote is None:
            return (self.number,)
        own = (self.number,) if self.arrivals[rank] else ()
        return (*own, self.remote) if self.remote_arrivals(rank) else own

    def signal(self, rank: int) -> Iterator[Entry]:
        """Yields the signals of a lane of a rank to all GPUs whose lanes wait."""
        for waiter in self.waiters:
            remote = None if waiter == rank else self.remote
            number = self.number if remote is None else remote
            yield (Opcode.SIGNAL, counter_on(waiter, rank, number), 0, 0)

    def wait(self, rank: int, arrivals: int) -> Iterator[Entry]:
        """Yields the waits of a lane of a rank for all arrivals at its two counters."""
        own = self.arrivals[rank]
        for counter in self.counters(rank):
            count = own if counter == self.number else arrivals - own
            yield (Opcode.WAIT, counter, count, 0)

    def barrier(self, rank: int, is_first: bool) -> Iterator[Entry]:
        """Yields the two levels of a barrier; a barrier of one rank has the first level alone."""
        yield (Opcode.SIGNAL, self.number, 0, 0)
        yield (Opcode.WAIT, self.number, self.arrivals[rank], 0)
        if self.remote is None:
            return
        if is_first:
            for waiter in self.waiters:
                if waiter != rank:
                    yield (Opcode.SIGNAL, counter_on(waiter, rank, self.remote), 0, 0)
        yield (Opcode.WAIT, self.remote, self.remote_arrivals(rank), 0)


def counter_on(gpu: int, home: int, number: int) -> int:
    """Returns the index of a counter on `gpu`, relative to the counters on the GPU `home`."""
    return (gpu - home) * RANK_COUNTERS + number


def give_second_counters(semaphores: Sequence[LinkedSemaphore]) -> list[LinkedSemaphore]:
    """Returns the semaphores, with a second counter where they need one.

    Kernels have space for two waits of each semaphore (passes/target/tables/CachedTables.cpp).
    """
    result: list[LinkedSemaphore] = []
    next_counter = len(semaphores)
    for semaphore in semaphores:
        if semaphore.needs_two_counters:
            semaphore = replace(semaphore, remote=next_counter)
            next_counter += 1
        result.append(semaphore)
    return result
