"""The discrete-event simulation of a schedule on a topology.

Every lane executes its instructions in order; an event is a lane that continues. A message
occupies each link of its path in turn, first come first served, and the lane that sends it
continues when the message has left the first link.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..bundle import Bundle, Opcode
from ..errors import InvalidUsageError
from .exchanges import Exchanges, Sends, rank_of_lanes
from .topology import Link, Route, Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Bytes that a vCTA computes before it stores: a tile of 128 x 256 elements of bf16, the largest
# whose sums a vCTA holds in registers.
_MOST_HELD = 1 << 16


@dataclass
class LinkState:
    """A link of the world, and its traffic.

    Attributes:
        free: the end of the last message.
        begins, ends: the idle intervals before that time, in order.
    """

    free: float = 0.0
    bytes: int = 0
    messages: int = 0
    busy: float = 0.0
    begins: list[float] = field(default_factory=list[float])
    ends: list[float] = field(default_factory=list[float])

    def carry(self, ready: float, size: int, occupation: float, now: float = 0.0) -> float:
        """Sends a message that is at the link at `ready`; returns its start.

        A message that waited for earlier links may be known before one that is at this link
        earlier, so a message takes the first idle interval in which it fits. No later message is at
        the link before `now`.
        """
        self.bytes += size
        self.messages += 1
        self.busy += occupation
        passed = bisect_right(self.ends, now)
        del self.begins[:passed], self.ends[:passed]
        for index in range(bisect_left(self.ends, ready + occupation), len(self.ends)):
            begin = max(ready, self.begins[index])
            if begin + occupation <= self.ends[index]:
                self._take(index, begin, begin + occupation)
                return begin
        begin = max(ready, self.free)
        if begin > self.free:
            self.begins.append(self.free)
            self.ends.append(begin)
        self.free = begin + occupation
        return begin

    def _take(self, index: int, begin: float, end: float) -> None:
        """Removes an interval from the idle interval that contains it."""
        first, last = self.begins[index], self.ends[index]
        left = [(each, to) for each, to in ((first, begin), (end, last)) if to > each]
        self.begins[index : index + 1] = [each for each, _ in left]
        self.ends[index : index + 1] = [to for _, to in left]


@dataclass(frozen=True)
class Outcome:
    """The times of a simulation.

    Attributes:
        spans: start and end of each instruction in ns, ``[I, 2]``.
        computed: the end of the computation of each work item, whose messages may leave later.
        causes: for each instruction, the instruction that it waited for last; -1 without a wait.
        links: the links that carried messages, by name.
    """

    spans: NDArray[np.float64]
    computed: NDArray[np.float64]
    causes: NDArray[np.int64]
    links: dict[str, LinkState]

    @property
    def total(self) -> float:
        """Returns the end of the last instruction in ns."""
        return float(self.spans[:, 1].max(initial=0.0))


class _Semaphore:
    """The arrivals of one iteration, as lanes of each rank see them."""

    def __init__(self, arrivals: int) -> None:
        self.arrivals = arrivals
        self.arrived = 0
        self.waiting: list[int] = []
        # By rank: the time at which the last arrival is seen, and its instruction.
        self.seen: dict[int, tuple[float, int]] = {}
        # By rank: the last arrival of a barrier.
        self.last: dict[int, tuple[float, int]] = {}

    def see(self, rank: int, time: float, index: int) -> None:
        self.seen[rank] = max(self.seen.get(rank, (0.0, -1)), (time, index))


@dataclass(frozen=True)
class _Arrivals:
    """The last packets that a rank receives from a group, each with its time and its sender.

    Attributes:
        last: the last packet.
        last_elsewhere: the last packet from the lanes other than that of the sender of `last`.
    """

    last: tuple[float, int]
    last_elsewhere: tuple[float, int]


class _Way(NamedTuple):
    """The path between two ranks, with the states of its links.

    Attributes:
        path: the path of the topology.
        links: the links in order, each with its kind.
    """

    path: Route
    links: tuple[tuple[LinkState, Link], ...]


class Simulation:
    """One simulation; `durations` has the time of each instruction without its waits, in ns."""

    def __init__(
        self,
        bundle: Bundle,
        exchanges: Exchanges,
        topology: Topology,
        durations: NDArray[np.float64],
    ) -> None:
        tables, manifest = bundle.tables, bundle.manifest
        self._topology = topology
        self._exchanges = exchanges
        self._entries: list[list[int]] = tables.instructions.tolist()
        self._lanes: list[list[int]] = tables.lanes.tolist()
        self._rank = rank_of_lanes(bundle)
        self._sms = manifest.target.sms
        self._durations: list[float] = durations.tolist()
        self._semaphores = [_Semaphore(each.arrivals) for each in manifest.semaphores]
        self._waiters = self._waiting_ranks()
        count = len(self._entries)
        self._begin = [0.0] * count
        self._end = [-1.0] * count
        self._computed = [0.0] * count
        self._causes = [-1] * count
        self._lane_of: list[int] = tables.lane_of.tolist()
        self._next = [first for _, first, _ in self._lanes]
        self._entered = [False] * len(self._lanes)
        # The time at which all messages of a lane have arrived; its next signal releases them.
        self._delivered = [0.0] * len(self._lanes)
        self._arrival: dict[tuple[int, int], float] = {}
        self._missing = [len(senders) for senders in exchanges.groups]
        self._groups_of_sender: dict[int, list[int]] = defaultdict(list)
        for group, senders in enumerate(exchanges.groups):
            for sender in senders:
                self._groups_of_sender[sender].append(group)
        self._receivers: dict[int, list[int]] = defaultdict(list)
        self._arrivals: dict[tuple[int, int], _Arrivals] = {}
        self._ways: dict[tuple[int, int], _Way] = {}
        self._links: dict[str, LinkState] = {}
        self._events: list[tuple[float, int]] = []

    def run(self) -> Outcome:
        """Simulates one iteration; raises InvalidUsageError if lanes wait for each other."""
        self._events = [(0.0, lane) for lane in range(len(self._lanes))]
        heapq.heapify(self._events)
        while self._events:
            now, lane = heapq.heappop(self._events)
            if self._next[lane] < self._lanes[lane][2]:
                self._step(lane, now)
        for lane, (_, _, last) in enumerate(self._lanes):
            if self._next[lane] < last:
                raise InvalidUsageError(
                    f"lane {lane} waits forever at instruction {self._next[lane]}: the schedule "
                    "has a deadlock"
                )
        return Outcome(
            np.stack([np.array(self._begin), np.array(self._end)], axis=1),
            np.array(self._computed),
            np.array(self._causes, np.int64),
            self._links,
        )

    def _waiting_ranks(self) -> list[list[int]]:
        """Returns the ranks of the lanes that wait for each semaphore."""
        ranks: list[set[int]] = [set() for _ in self._semaphores]
        for rank, (_, first, last) in zip(self._rank, self._lanes, strict=True):
            for code, semaphore, _, _ in self._entries[first:last]:
                if code in (Opcode.WAIT, Opcode.BARRIER):
                    ranks[semaphore].add(rank)
        return [sorted(each) for each in ranks]

    # -- lanes -------------------------------------------------------------------------------------

    def _step(self, lane: int, now: float) -> None:
        """Executes the next instruction of a lane, or registers the lane where it has to wait."""
        index = self._next[lane]
        code = self._entries[index][0]
        if not self._entered[lane]:
            self._begin[index] = now
        if code == Opcode.RUN:
            self._run(lane, index, now)
        elif code == Opcode.WAIT:
            self._wait(lane, index, now)
        elif code == Opcode.BARRIER:
            self._barrier(lane, index, now)
        else:
            if code == Opcode.SIGNAL:
                self._signal(lane, index, now)
            self._finish(lane, index, now + self._durations[index])

    def _finish(self, lane: int, index: int, end: float) -> None:
        self._end[index] = end
        self._next[lane] = index + 1
        self._entered[lane] = False
        heapq.heappush(self._events, (end, lane))
        for group in self._groups_of_sender.get(index, ()):
            self._missing[group] -= 1
            if self._missing[group] == 0:
                for receiver in self._receivers.pop(group, ()):
                    heapq.heappush(self._events, (end, receiver))

    # -- work items --------------------------------------------------------------------------------

    def _run(self, lane: int, index: int, now: float) -> None:
        if not self._entered[lane]:
            group = self._exchanges.group_of.get(index)
            if group is not None and self._missing[group]:
                self._receivers[group].append(lane)
                return
            ready, cause = (0.0, -1) if group is None else self._received(lane, group)
            if ready > now:
                self._causes[index] = cause
                heapq.heappush(self._events, (ready, lane))
                return
            self._begin[index] = now
            self._computed[index] = now + self._durations[index]
        sends = self._exchanges.sends.get(index)
        if sends is None:
            self._finish(lane, index, self._computed[index])
        elif not self._entered[lane] and (issue := self._issue_time(lane, index, sends)) > now:
            self._entered[lane] = True
            heapq.heappush(self._events, (issue, lane))
        else:
            self._finish(lane, index, self._send(lane, index, sends, now))

    def _received(self, lane: int, group: int) -> tuple[float, int]:
        """Returns the time at which a lane has received a group's packets, and the last sender.

        A lane does not wait for packets that it sent itself.
        """
        key = group, self._rank[lane]
        if key not in self._arrivals:
            self._arrivals[key] = self._find_arrivals(*key)
        arrivals = self._arrivals[key]
        last = arrivals.last
        return arrivals.last_elsewhere if self._lane_of[last[1]] == lane else last

    def _find_arrivals(self, group: int, rank: int) -> _Arrivals:
        times = [
            (
                self._arrival.get((sender, rank), self._end[sender] + self._topology.gpu.packet_ns),
                sender,
            )
            for sender in self._exchanges.groups[group]
        ]
        last = max(times, default=(0.0, -1))
        lane = self._lane_of[last[1]]
        others = (each for each in times if self._lane_of[each[1]] != lane)
        return _Arrivals(last, max(others, default=(0.0, -1)))

    def _issue_time(self, lane: int, index: int, sends: Sends) -> float:
        """Returns the time at which a work item begins to send: the first of its portions.

        A lane computes and then sends each portion. The last byte leaves the lane at the end of the
        computation, unless the lane or a link is too slow.
        """
        begin, streaming = self._begin[index], sum(self._streaming_times(lane, sends))
        computing = max(0.0, self._computed[index] - begin - streaming)
        return begin + computing / self._portions(index, sends)

    def _portions(self, index: int, sends: Sends) -> int:
        """Returns the number of equal parts in which a work item sends: at least one for each
        vCTA, of at most as many bytes as a vCTA holds in registers."""
        _, _, first, end = self._entries[index]
        return max(1, end - first, -(-max(sends.values()) // _MOST_HELD))

    def _streaming_times(self, lane: int, sends: Sends) -> list[float]:
        """Returns the times for which a lane stores to each rank."""
        source = self._rank[lane]
        return [size / self._way(source, target).path.lane_gbps for target, size in sends.items()]

    def _send(self, lane: int, index: int, sends: Sends, now: float) -> float:
        """Sends the messages of a work item; returns the time at which the lane continues."""
        source, portions = self._rank[lane], self._portions(index, sends)
        end, issue, delivered = self._computed[index], now, self._delivered[lane]
        times = self._streaming_times(lane, sends)
        # The time at which the lane begins to send its last portion to a rank.
        last_issue = max(end, self._begin[index] + sum(times)) - sum(times) / portions
        for (target, size), time in zip(sends.items(), times, strict=True):
            path, links = self._way(source, target)
            step = time / portions
            issued = last_issue + step
            head, last = issue, issued
            is_first = True
            for link, kind in links:
                occupation = kind.occupation(size)
                head = link.carry(head, size, occupation, now)
                left = max(head + occupation, last_issue + occupation / portions)
                last = max(last, left)
                if is_first:
                    end = max(end, issued, left)
                    is_first = False
            arrival = last + path.latency_ns
            self._arrival[index, target] = arrival
            delivered = max(delivered, arrival)
            issue, last_issue = issue + step, issued
        self._delivered[lane] = delivered
        return end

    def _way(self, source: int, target: int) -> _Way:
        key = source, target
        way = self._ways.get(key)
        if way is None:
            path = self._topology.path(source, target)
            names = self._topology.link_names(source, target)
            kinds = [self._topology.links[name] for name in path.links]
            links = tuple(
                (self._links.setdefault(name, LinkState()), kind)
                for name, kind in zip(names, kinds, strict=True)
            )
            way = self._ways[key] = _Way(path, links)
        return way

    # -- semaphores --------------------------------------------------------------------------------

    def _signal(self, lane: int, index: int, now: float) -> None:
        number = self._entries[index][1]
        semaphore, rank = self._semaphores[number], self._rank[lane]
        end, delivered = now + self._durations[index], self._delivered[lane]
        for waiter in self._waiters[number]:
            if waiter == rank:
                seen = end + self._topology.gpu.handoff_ns
            else:
                seen = max(now + self._way(rank, waiter).path.signal_ns, delivered)
            semaphore.see(waiter, seen, index)
        self._arrive(semaphore, now)

    def _arrive(self, semaphore: _Semaphore, now: float) -> None:
        semaphore.arrived += 1
        if semaphore.arrived == semaphore.arrivals:
            for lane in semaphore.waiting:
                heapq.heappush(self._events, (now, lane))
            semaphore.waiting.clear()

    def _wait(self, lane: int, index: int, now: float) -> None:
        semaphore = self._semaphores[self._entries[index][1]]
        self._entered[lane] = True
        if semaphore.arrived < semaphore.arrivals:
            semaphore.waiting.append(lane)
            return
        # Arrivals at one counter follow each other.
        gpu = self._topology.gpu
        each = max(0.0, gpu.barrier_ns - gpu.handoff_ns) / self._sms
        seen, cause = semaphore.seen[self._rank[lane]]
        self._resume(lane, index, seen + each * (semaphore.arrivals - 1), cause)

    def _resume(self, lane: int, index: int, ready: float, cause: int) -> None:
        if ready > self._begin[index]:
            self._causes[index] = cause
        self._finish(lane, index, max(ready, self._begin[index]))

    def _barrier(self, lane: int, index: int, now: float) -> None:
        semaphore, rank = self._semaphores[self._entries[index][1]], self._rank[lane]
        if not self._entered[lane]:
            self._entered[lane] = True
            # The end of an iteration also releases all that the lane sent.
            arrival = max(now, self._delivered[lane])
            semaphore.last[rank] = max(semaphore.last.get(rank, (0.0, -1)), (arrival, index))
            semaphore.waiting.append(lane)
            self._arrive(semaphore, now)
            return
        if semaphore.arrived < semaphore.arrivals:
            return
        ready, cause = self._release(semaphore.last, rank)
        self._resume(lane, index, ready, cause)

    def _release(self, last: dict[int, tuple[float, int]], rank: int) -> tuple[float, int]:
        """Returns the time at which the lanes of a rank pass a barrier, and the last arrival.

        Each rank counts the arrivals of its own lanes, signals to all ranks, and releases its lanes
        when the signals of all ranks have arrived.
        """
        gpu = self._topology.gpu
        told = [
            (time + (self._topology.path(other, rank).signal_ns if other != rank else 0.0), index)
            for other, (time, index) in last.items()
        ]
        time, index = max(told)
        return time + gpu.barrier_ns, index
