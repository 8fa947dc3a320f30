#!/usr/bin/env python3
"""Mutated schedules of two to four ranks: the proof and a check by brute force agree on each.

The script extends `mutate_schedules.py` by the classes of mutants that only several ranks have:
signals and waits of other ranks, kinds of hand-off, ends of an iteration, and memory of other
ranks.

    mutate_ranks.py --count 10000 [--seed S]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mutate_schedules
import random_schedules as schedules
from brute_force import ARENA, BYTES, PACKETS, Operand
from brute_force_ranks import rank_of_lane
from mutate_schedules import Mutations, Scheduled
from rank_schedules import random_program

FULL_COUNT = 10_000
_KINDS = ("counter", "peer", "packet", "barrier")


class RankMutations(Mutations):
    """Mutations of programs of several ranks. The names of the methods are the classes."""

    # Random choices.

    def rank(self, row: int) -> int:
        return rank_of_lane(self.mutant.program, row)

    def other_rank(self, rank: int) -> int:
        return self.rng.choice([r for r in range(self.mutant.program.ranks) if r != rank])

    def lane_of(self, rank: int) -> list[tuple]:
        rows = [row for row in range(len(self.lanes)) if self.rank(row) == rank]
        return self.lanes[self.rng.choice(rows)]

    def ranks_of(self, semaphore: str, way: str) -> set[int]:
        """Returns the ranks whose lanes signal a semaphore, or wait for it."""
        return {
            self.rank(row)
            for row, lane in enumerate(self.lanes)
            for item in lane
            if item[:2] == (way, semaphore)
        }

    def crossing(self, way: str) -> tuple[int, int] | None:
        """Returns the lane and the position of a random signal to, or wait for, another rank."""
        opposite = {"signal": "wait", "wait": "signal"}[way]
        sites = [
            (row, index)
            for row, lane in enumerate(self.lanes)
            for index, item in enumerate(lane)
            if item[0] == way and self.ranks_of(item[1], opposite) - {self.rank(row)}
        ]
        return self.rng.choice(sites) if sites else None

    def change_owned(self, accept: Callable[[Operand], bool]) -> bool:
        """Moves an operand to the same offset in the part of another rank."""
        site = self.operand(accept)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        owner = operand.offset // schedules.ROOT_BYTES
        step = (self.other_rank(owner) - owner) * schedules.ROOT_BYTES
        return self.change_operand(site, offset=operand.offset + step)

    # Signals and waits.

    def drop_at(self, site: tuple[int, int] | None) -> bool:
        if site is None:
            return False
        del self.lanes[site[0]][site[1]]
        return True

    def drop_signal_to_a_rank(self) -> bool:
        """Drops a signal; the semaphore may still expect it."""
        if (site := self.crossing("signal")) is None:
            return False
        name = self.lanes[site[0]][site[1]][1]
        signals = sum(item == ("signal", name) for lane in self.lanes for item in lane)
        if signals == 1 or self.rng.random() < 0.5:
            self.mutant.arrivals[name] = signals
        return self.drop_at(site)

    def drop_wait_for_a_rank(self) -> bool:
        return self.drop_at(self.crossing("wait"))

    def signal_to_the_wrong_rank(self) -> bool:
        """Exchanges the semaphores of two signals for which different ranks wait."""
        if (site := self.crossing("signal")) is None:
            return False
        own = self.lanes[site[0]][site[1]]
        waiters = self.ranks_of(own[1], "wait")
        others = [
            (row, index)
            for row, lane in enumerate(self.lanes)
            for index, item in enumerate(lane)
            if item[0] == "signal" and self.ranks_of(item[1], "wait") != waiters
        ]
        if not others:
            return False
        row, index = self.rng.choice(others)
        self.lanes[site[0]][site[1]], self.lanes[row][index] = self.lanes[row][index], own
        return True

    def wait_for_the_wrong_rank(self) -> bool:
        """Makes a wait name a semaphore that other ranks signal."""
        if (site := self.crossing("wait")) is None:
            return False
        row, index = site
        signallers = self.ranks_of(self.lanes[row][index][1], "signal")
        names = [
            name
            for name in self.mutant.program.semaphores
            if (ranks := self.ranks_of(name, "signal")) and ranks != signallers
        ]
        if not names:
            return False
        self.lanes[row][index] = ("wait", self.rng.choice(names))
        return True

    def signal_by_the_wrong_rank(self) -> bool:
        """Moves a signal to a lane of another rank."""
        if (site := self.crossing("signal")) is None:
            return False
        row, index = site
        item = self.lanes[row].pop(index)
        lane = self.lane_of(self.other_rank(self.rank(row)))
        lane.insert(self.rng.randrange(len(lane) + 1), item)
        return True

    # Kinds.

    def set_kind(self, names: list[str], kinds: tuple[str, ...]) -> bool:
        if not names:
            return False
        program, name = self.mutant.program, self.rng.choice(names)
        before = program.kinds.get(name, "counter")
        program.kinds[name] = self.rng.choice([kind for kind in kinds if kind != before])
        return True

    def narrow_scope(self) -> bool:
        """Gives a hand-off between ranks the kind of a hand-off within a rank."""
        wide = [name for name, kind in self.mutant.program.kinds.items() if kind != "counter"]
        return self.set_kind(wide, ("counter",))

    def change_kind(self) -> bool:
        return self.set_kind(self.mutant.program.semaphores, _KINDS)

    # Barriers.

    def rank_ends_alone(self) -> bool:
        """Makes the lanes of a rank end at a barrier of their own."""
        program = self.mutant.program
        rank = self.rng.randrange(program.ranks)
        own = [lane for row, lane in enumerate(self.lanes) if lane and self.rank(row) == rank]
        if not own:
            return False
        for lane in own:
            lane[-1] = ("barrier", "alone")
        program.semaphores.append("alone")
        program.kinds["alone"] = "barrier"
        return True

    def rank_does_not_meet(self) -> bool:
        """Makes the lanes of a rank pass a barrier as if it were a counter."""
        if (site := self.item("barrier")) is None:
            return False
        name = self.lanes[site[0]][site[1]][1]
        rank = self.rank(site[0])
        ways = self.rng.choice([("signal", "wait"), ("signal",)])
        for row, lane in enumerate(self.lanes):
            if self.rank(row) == rank and ("barrier", name) in lane:
                index = lane.index(("barrier", name))
                lane[index : index + 1] = [(way, name) for way in ways]
        return True

    def meet_at_a_counter(self) -> bool:
        """Makes a signal and a wait for it on another rank a barrier."""
        if (site := self.crossing("wait")) is None:
            return False
        name = self.lanes[site[0]][site[1]][1]
        for lane in self.lanes:
            lane[:] = [
                ("barrier", name) if item in (("signal", name), ("wait", name)) else item
                for item in lane
            ]
        if self.rng.random() < 0.5:
            self.mutant.program.kinds[name] = "barrier"
        return True

    # Ranks of work items.

    def move_to_a_rank(self, accept: Callable[[tuple], bool]) -> bool:
        sites = [
            (row, index)
            for row, lane in enumerate(self.lanes)
            for index, item in enumerate(lane)
            if item[0] == "run" and accept(item)
        ]
        if not sites:
            return False
        row, index = self.rng.choice(sites)
        item = self.lanes[row].pop(index)
        lane = self.lane_of(self.other_rank(self.rank(row)))
        lane.insert(self.rng.randrange(max(1, len(lane))), item)
        return True

    def run_on_the_wrong_rank(self) -> bool:
        return self.move_to_a_rank(lambda item: True)

    def send_by_the_wrong_rank(self) -> bool:
        """Moves a work item that sends packets to another rank."""
        return self.move_to_a_rank(
            lambda item: any(o.writes and o.root == PACKETS for o in self.tasks[item[1]].operands)
        )

    def exchange_lanes(self) -> bool:
        """Exchanges lanes of two ranks, with all of their items."""
        first = self.rng.randrange(len(self.lanes))
        others = [row for row in range(len(self.lanes)) if self.rank(row) != self.rank(first)]
        second = self.rng.choice(others)
        self.lanes[first], self.lanes[second] = self.lanes[second], self.lanes[first]
        return True

    # Memory.

    def put_to_the_wrong_rank(self) -> bool:
        return self.change_owned(lambda o: o.writes and o.root == ARENA)

    def read_from_the_wrong_rank(self) -> bool:
        return self.change_owned(lambda o: not o.writes and o.root == ARENA)

    def send_to_the_wrong_rank(self) -> bool:
        return self.change_owned(lambda o: o.writes and o.root == PACKETS)

    def receive_from_the_wrong_rank(self) -> bool:
        return self.change_owned(lambda o: not o.writes and o.root == PACKETS)

    def touch_state_of_the_wrong_rank(self) -> bool:
        site = self.operand(lambda o: o.root >= 0)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        return self.change_operand(site, root=self.other_rank(operand.root))

    def cross_the_bound(self) -> bool:
        """Moves an operand so that it begins in the part of one rank and ends in another's."""
        site = self.operand(lambda o: o.root == ARENA)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        size = BYTES[operand.dtype]
        bound = schedules.ROOT_BYTES * self.rng.randrange(1, self.mutant.program.ranks)
        return self.change_operand(
            site, offset=bound - size * self.rng.randint(0, len(operand.span()) // size)
        )

    def other_words(self) -> bool:
        """Sends or receives packets as words of another size."""
        site = self.operand(lambda o: o.root == PACKETS)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        dtype = {"i32": "i64", "i64": "i32"}[operand.dtype]
        return self.change_operand(site, dtype=dtype)

    def stamp_or_do_not(self) -> bool:
        """Declares that a task's rank packets carry no epoch, or that other results carry one."""
        number = self.rng.randrange(len(self.tasks))
        stamps = self.tasks[number].stamps
        self.tasks[number] = replace(self.tasks[number], stamps=not stamps)
        return True

    def write_over_rank_packets(self) -> bool:
        """Moves a result to the bytes of rank packets."""
        words = [o for task in self.tasks if task.stamps for o in task.operands if o.writes]
        site = self.operand(lambda o: o.writes and o.root == ARENA and o.dtype != "i64")
        if site is None or not words:
            return False
        return self.change_operand(site, offset=self.rng.choice(words).offset)


CLASSES = (
    "drop_signal_to_a_rank", "drop_wait_for_a_rank", "signal_to_the_wrong_rank",
    "wait_for_the_wrong_rank", "signal_by_the_wrong_rank", "narrow_scope", "change_kind",
    "rank_ends_alone", "rank_does_not_meet", "meet_at_a_counter", "run_on_the_wrong_rank",
    "send_by_the_wrong_rank", "exchange_lanes", "put_to_the_wrong_rank",
    "read_from_the_wrong_rank", "send_to_the_wrong_rank", "receive_from_the_wrong_rank",
    "touch_state_of_the_wrong_rank", "cross_the_bound", "other_words", "stamp_or_do_not",
    "write_over_rank_packets",
)  # fmt: skip
# The classes of `mutate_schedules.py` that change memory or semaphores that ranks share.
_COMMON = (
    "drop_wait", "drop_signal", "drop_barrier", "retarget_wait", "retarget_signal",
    "duplicate_wait", "duplicate_signal", "delay_signal_or_hasten_wait", "expect_other_arrivals",
    "swap_neighbours", "move_run", "move_run_within_lane", "drop_run", "shift_range",
    "grow_region", "shift_region", "alias_buffer",
)  # fmt: skip


def synchronized_programs(rng: random.Random, ark_opt: list[str], count: int) -> list[Scheduled]:
    """Returns random programs of several ranks with the synchronisation of the compiler."""
    programs = [random_program(rng) for _ in range(count)]
    scheduled = [(program, len(program.lanes)) for program in programs]
    return mutate_schedules.synchronize(ark_opt, scheduled)


def main() -> int:
    """Compares the mutants of programs of several ranks; returns the exit status."""
    return mutate_schedules.run(
        (__doc__ or "").splitlines()[0],
        Path(__file__).stem,
        FULL_COUNT,
        (*CLASSES, *_COMMON),
        synchronized_programs,
        RankMutations,
    )


if __name__ == "__main__":
    sys.exit(main())
