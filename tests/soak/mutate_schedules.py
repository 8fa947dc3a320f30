#!/usr/bin/env python3
"""Mutated schedules: the proof and a check by brute force agree on each of them.

Random programs are synchronised by the compiler. Each schedule is then changed at one site, by a
mutation of each class below, and proven. `brute_force.py` lists the bytes of every vCTA, runs the
lanes one item at a time, and compares all pairs; it shares no code with the compiler. The proof
must refuse a schedule that brute force finds wrong, and accept one that it finds correct.

    mutate_schedules.py --count 10000 [--seed S]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import random
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "passes" / "synchronization" / "Inputs"))

import brute_force  # noqa: E402 - the path above leads to it
import random_schedules as schedules  # noqa: E402
from brute_force import ARENA, BYTES, PACKETS, Operand, Program  # noqa: E402
from brute_force_ranks import keeps_ranks  # noqa: E402

FULL_COUNT = 10_000
PROGRAMS_PER_BATCH = 40
# A program and the number of its SMs.
Scheduled = tuple[Program, int]


@dataclass
class Mutant:
    """A schedule with one change.

    Attributes:
        kind: the class of the mutation.
        program: the tasks and the lanes after it.
        sms: the number of SMs.
        arrivals: the declared arrivals of semaphores for which they differ from the number of
            signals.
    """

    kind: str
    program: Program
    sms: int
    arrivals: dict[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """Returns the text of the module."""
        text = schedules.to_mlir(self.program, self.sms)
        for name, count in self.arrivals.items():
            begin = text.index(f"ark.semaphore @{name} arrivals = ")
            end = text.index("\n", begin)
            text = f"{text[:begin]}ark.semaphore @{name} arrivals = {count}{text[end:]}"
        return text

    def is_right(self) -> bool:
        """Returns True if brute force finds the schedule correct."""
        return self.is_ordered() and self.keeps_ranks()

    def keeps_ranks(self) -> bool:
        """Returns True if brute force finds that ranks share only memory and semaphores that they
        may share.
        """
        return self.program.ranks == 1 or keeps_ranks(self.program, schedules.ROOT_BYTES)

    def is_ordered(self) -> bool:
        """Returns True if brute force finds the schedule correct, without regard to ranks."""
        return (
            not self.arrivals
            and runs_each_vcta_once(self.program)
            and all(fits(self.program, o) for task in self.program.tasks for o in task.operands)
            and all(stays_inside(task, o) for task in self.program.tasks for o in task.operands)
            and brute_force.is_correct(self.program)
        )


# -- assumptions of brute_force ----------------------------------------------------------------


def runs_each_vcta_once(program: Program) -> bool:
    """Returns True if the work items of all lanes contain every vCTA of every task exactly once."""
    runs = collections.Counter(
        (item[1], vcta)
        for lane in program.lanes
        for item in lane
        if item[0] == "run"
        for vcta in range(item[2], item[3])
    )
    expected = collections.Counter(
        (number, vcta)
        for number, task in enumerate(program.tasks)
        for vcta in range(len(task.indices()))
    )
    ranges = [item for lane in program.lanes for item in lane if item[0] == "run"]
    return runs == expected and all(0 <= item[2] <= item[3] for item in ranges)


def fits(program: Program, operand: Operand) -> bool:
    """Returns True if a view lies in its buffer, aligned to the size of its elements."""
    span, whole = operand.span(), schedules.root_bytes(program, operand.root)
    return span.start % BYTES[operand.dtype] == 0 and span.start >= 0 and span.stop <= whole


def stays_inside(task: brute_force.Task, operand: Operand) -> bool:
    """Returns True if the region of every vCTA begins inside of the view."""
    return all(
        0 <= function(index) < extent
        for index in task.indices()
        for (_, function), extent in zip(operand.offsets, operand.shape, strict=True)
    )


# -- mutations ---------------------------------------------------------------------------------


class Mutations:
    """Each method changes one site of a schedule; it returns False if there is no such site.

    The names of the methods are the classes.
    """

    def __init__(self, rng: random.Random, mutant: Mutant) -> None:
        self.rng = rng
        self.mutant = mutant
        program = mutant.program
        self.lanes = [list(lane) for lane in program.lanes]
        self.tasks = [replace(task, operands=list(task.operands)) for task in program.tasks]
        mutant.program = replace(
            program,
            tasks=self.tasks,
            lanes=self.lanes,
            semaphores=list(program.semaphores),
            kinds=dict(program.kinds),
        )

    # Random choices.

    def item(self, *kinds: str) -> tuple[int, int] | None:
        """Returns a random lane and the position of an item in it."""
        sites = [
            (row, site)
            for row, lane in enumerate(self.lanes)
            for site, item in enumerate(lane)
            if item[0] in kinds
        ]
        return self.rng.choice(sites) if sites else None

    def operand(self, accept: Callable[[Operand], bool]) -> tuple[int, int] | None:
        """Returns a random task and the number of an operand."""
        sites = [
            (number, site)
            for number, task in enumerate(self.tasks)
            for site, operand in enumerate(task.operands)
            if accept(operand)
        ]
        return self.rng.choice(sites) if sites else None

    def change_operand(self, site: tuple[int, int], **changes: object) -> bool:
        number, index = site
        operands = self.tasks[number].operands
        operands[index] = replace(operands[index], **changes)  # type: ignore[arg-type]
        return True

    # Synchronisation.

    def drop(self, kind: str) -> bool:
        if (site := self.item(kind)) is None:
            return False
        row, index = site
        del self.lanes[row][index]
        return True

    def drop_wait(self) -> bool:
        return self.drop("wait")

    def drop_signal(self) -> bool:
        return self.drop("signal")

    def drop_barrier(self) -> bool:
        return self.drop("barrier")

    def retarget(self, kind: str) -> bool:
        if (site := self.item(kind)) is None:
            return False
        row, index = site
        name = self.rng.choice(self.mutant.program.semaphores or [self.lanes[row][index][1]])
        changed = name != self.lanes[row][index][1]
        self.lanes[row][index] = (kind, name)
        return changed

    def retarget_wait(self) -> bool:
        return self.retarget("wait")

    def retarget_signal(self) -> bool:
        return self.retarget("signal")

    def duplicate(self, kind: str) -> bool:
        if (site := self.item(kind)) is None:
            return False
        row, index = site
        lane = self.lanes[self.rng.randrange(len(self.lanes))] or self.lanes[row]
        lane.insert(self.rng.randrange(len(lane)), self.lanes[row][index])
        return True

    def duplicate_wait(self) -> bool:
        return self.duplicate("wait")

    def duplicate_signal(self) -> bool:
        return self.duplicate("signal")

    def delay_signal_or_hasten_wait(self) -> bool:
        """Moves a signal or a wait within its lane."""
        if (site := self.item("signal", "wait")) is None:
            return False
        row, index = site
        item = self.lanes[row].pop(index)
        self.lanes[row].insert(self.rng.randrange(len(self.lanes[row]) + 1), item)
        return True

    def expect_other_arrivals(self) -> bool:
        if not self.mutant.program.semaphores:
            return False
        name = self.rng.choice(self.mutant.program.semaphores)
        signals = sum(
            item[0] in ("signal", "barrier") and item[1] == name
            for lane in self.lanes
            for item in lane
        )
        self.mutant.arrivals[name] = signals + self.rng.choice([-1, 1])
        return True

    # Order and lanes.

    def swap_neighbours(self) -> bool:
        rows = [lane for lane in self.lanes if len(lane) > 1]
        if not rows:
            return False
        lane = self.rng.choice(rows)
        index = self.rng.randrange(len(lane) - 1)
        lane[index : index + 2] = reversed(lane[index : index + 2])
        return True

    def move_run(self) -> bool:
        """Moves a work item to another SM."""
        if (site := self.item("run")) is None or len(self.lanes) < 2:
            return False
        row, index = site
        item = self.lanes[row].pop(index)
        target = self.rng.choice([n for n in range(len(self.lanes)) if n != row])
        lane = self.lanes[target]
        lane.insert(self.rng.randrange(max(1, len(lane))), item)
        return True

    def move_run_within_lane(self) -> bool:
        if (site := self.item("run")) is None:
            return False
        row, index = site
        item = self.lanes[row].pop(index)
        self.lanes[row].insert(self.rng.randrange(len(self.lanes[row]) + 1), item)
        return True

    def drop_run(self) -> bool:
        return self.drop("run")

    def duplicate_run(self) -> bool:
        return self.duplicate("run")

    def shift_range(self) -> bool:
        """Makes a work item begin or end one vCTA earlier or later."""
        if (site := self.item("run")) is None:
            return False
        row, index = site
        kind, task, begin, end = self.lanes[row][index]
        step = self.rng.choice([-1, 1])
        moved = (begin + step, end) if self.rng.random() < 0.5 else (begin, end + step)
        if not 0 <= moved[0] <= moved[1]:
            return False
        self.lanes[row][index] = (kind, task, *moved)
        return True

    # Memory.

    def grow_region(self) -> bool:
        site = self.operand(lambda o: bool(o.sizes) and o.sizes != o.shape)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        dim = self.rng.choice([d for d, n in enumerate(operand.sizes) if n != operand.shape[d]])
        sizes = list(operand.sizes)
        sizes[dim] = operand.shape[dim]
        return self.change_operand(site, sizes=sizes)

    def shift_region(self) -> bool:
        site = self.operand(lambda o: bool(o.offsets) and any(n > 1 for n in o.shape))
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        dim = self.rng.choice([d for d, n in enumerate(operand.shape) if n > 1])
        text, function = operand.offsets[dim]
        offsets = list(operand.offsets)
        offsets[dim] = (f"{text} + 1", lambda index, f=function: f(index) + 1)
        return self.change_operand(site, offsets=offsets)

    def alias_buffer(self) -> bool:
        """Moves an operand to the address of another one."""
        site = self.operand(lambda o: o.root != PACKETS)
        if site is None:
            return False
        roots = list(range(len(schedules.argument_names(self.mutant.program))))
        roots += [ARENA] if schedules.uses(self.mutant.program, ARENA) else []
        return self.change_operand(site, root=self.rng.choice(roots), offset=0)

    def leave_buffer(self) -> bool:
        """Makes a view end behind its buffer."""
        site = self.operand(lambda o: o.root != PACKETS)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        size, span = BYTES[operand.dtype], len(operand.span())
        first = schedules.root_bytes(self.mutant.program, operand.root) - span + size
        return self.change_operand(site, offset=first + size * self.rng.randrange(3))

    def misalign(self) -> bool:
        """Makes a view begin within an element."""
        site = self.operand(lambda o: o.root != PACKETS and BYTES[o.dtype] > 1 and o.offset > 0)
        if site is None:
            return False
        operand = self.tasks[site[0]].operands[site[1]]
        return self.change_operand(site, offset=operand.offset - 1)

    def send_or_receive_other_packets(self) -> bool:
        changed = schedules.mutate_packets(self.rng, self.mutant.program)
        if changed is self.mutant.program:
            return False
        self.mutant.program = changed
        return True


CLASSES = (
    "drop_wait", "drop_signal", "drop_barrier", "retarget_wait", "retarget_signal",
    "duplicate_wait", "duplicate_signal", "delay_signal_or_hasten_wait", "expect_other_arrivals",
    "swap_neighbours", "move_run", "move_run_within_lane", "drop_run", "duplicate_run",
    "shift_range", "grow_region", "shift_region", "alias_buffer", "leave_buffer", "misalign",
    "send_or_receive_other_packets",
)  # fmt: skip


def mutate(
    rng: random.Random,
    kind: str,
    program: Program,
    sms: int,
    mutations: type[Mutations] = Mutations,
) -> Mutant | None:
    """Applies a mutation; returns None if it is not applicable, or if the text would not parse."""
    mutant = Mutant(kind, program, sms)
    if not getattr(mutations(rng, mutant), kind)():
        return None
    changed = mutant.program
    signalled = {
        item[1] for lane in changed.lanes for item in lane if item[0] in ("signal", "barrier")
    }
    waited = {item[1] for lane in changed.lanes for item in lane if item[0] == "wait"}
    declared = signalled | mutant.arrivals.keys()
    # A semaphore without signals has no number of arrivals, unless the mutation declares one.
    if waited - declared:
        return None
    changed.semaphores = [name for name in changed.semaphores if name in declared]
    return mutant


# -- driver ------------------------------------------------------------------------------------


def synchronized_programs(rng: random.Random, ark_opt: list[str], count: int) -> list[Scheduled]:
    """Returns random programs with the synchronisation of the compiler."""
    programs: list[Scheduled] = []
    for _ in range(count):
        tasks, sms = schedules.random_tasks(rng), rng.randint(2, 4)
        if rng.random() < 0.5:
            schedules.random_packets(rng, tasks)
        programs.append((Program(tasks, schedules.random_lanes(rng, tasks, sms)), sms))
    return synchronize(ark_opt, programs)


def synchronize(ark_opt: list[str], programs: list[Scheduled]) -> list[Scheduled]:
    """Returns programs, whose lanes have only work items, with the compiler's synchronisation."""
    modules = [schedules.to_mlir(program, sms) for program, sms in programs]
    outputs, failed, errors = schedules.run_ark_opt(
        ark_opt, modules, "--ark-insert-synchronization", "--ark-verify-synchronization"
    )
    if failed:
        sys.exit(f"the compiler refuses its own schedule:\n{modules[min(failed)]}\n{errors}")
    return [
        (schedules.read_schedule(output, program.tasks, sms, program.ranks), sms)
        for (program, sms), output in zip(programs, outputs, strict=True)
    ]


@dataclass
class Verdicts:
    """Counts correct and wrong mutants of each class, and the verdicts that differ.

    Some mutants are wrong only because of ranks: one rank with all lanes could run them.
    """

    right: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong_by_ranks: int = 0
    accepted_wrong: int = 0
    refused_right: int = 0

    @property
    def count(self) -> int:
        """Returns the number of mutants."""
        return self.right.total() + self.wrong.total()

    def compare(self, ark_opt: list[str], mutants: list[Mutant]) -> None:
        """Proves mutants, and prints those for which brute force has another verdict."""
        modules = [mutant.text() for mutant in mutants]
        _, failed, errors = schedules.run_ark_opt(ark_opt, modules, "--ark-verify-synchronization")
        for number, mutant in enumerate(mutants):
            expected = mutant.is_right()
            (self.right if expected else self.wrong)[mutant.kind] += 1
            self.wrong_by_ranks += not expected and mutant.is_ordered()
            if expected != (number in failed):
                continue
            self.accepted_wrong += not expected
            self.refused_right += expected
            verdict = "refused, but right" if expected else "accepted, but wrong"
            print(f"{mutant.kind}: {verdict}\n{modules[number]}\n", flush=True)
            if expected:
                print(errors[-3000:], flush=True)


def run(
    description: str,
    name: str,
    full_count: int,
    classes: tuple[str, ...],
    draw: Callable[[random.Random, list[str], int], list[Scheduled]],
    mutations: type[Mutations] = Mutations,
) -> int:
    """Compares mutants of drawn programs, prints the result, and returns the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=full_count, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ark-opt", nargs="+", default=[str(_ROOT / "build/bin/ark-opt")])
    options = parser.parse_args()
    if shutil.which(options.ark_opt[0]) is None:
        sys.exit(f"{options.ark_opt[0]} is not there: run `make build`")
    begin, rng = time.monotonic(), random.Random(options.seed)
    verdicts = Verdicts()
    kinds = itertools.cycle(classes)
    programs = min(PROGRAMS_PER_BATCH, 1 + options.count // len(classes))
    while verdicts.count < options.count:
        mutants = []
        for program, sms in draw(rng, options.ark_opt, programs):
            drawn = (mutate(rng, next(kinds), program, sms, mutations) for _ in classes)
            mutants += [mutant for mutant in drawn if mutant is not None]
        verdicts.compare(options.ark_opt, mutants)
    failures = verdicts.accepted_wrong + verdicts.refused_right
    result = {
        "name": name,
        "count": verdicts.count,
        "failures": failures,
        "seconds": round(time.monotonic() - begin, 1),
        "classes": len(classes),
        "right": verdicts.right.total(),
        "wrong": verdicts.wrong.total(),
        "wrong by ranks alone": verdicts.wrong_by_ranks,
        "false accepts": verdicts.accepted_wrong,
        "false rejects": verdicts.refused_right,
        "right by class": dict(verdicts.right),
        "wrong by class": dict(verdicts.wrong),
    }
    print(json.dumps(result))
    return 1 if failures else 0


def main() -> int:
    """Compares the mutants of programs of one rank; returns the exit status."""
    description = (__doc__ or "").splitlines()[0]
    return run(description, Path(__file__).stem, FULL_COUNT, CLASSES, synchronized_programs)


if __name__ == "__main__":
    sys.exit(main())
