"""Random programs of several ranks.

Each rank has a state, and a part of the arena and of the packets: values, then words for rank
packets from other ranks. A task reads memory of its own rank, and writes to memory of any rank.
"""

from __future__ import annotations

import itertools
import random

from brute_force import (
    ARENA,
    BYTES,
    PACKETS,
    Operand,
    Program,
    Task,
    has_overlapping_writes,
)
from random_schedules import (
    ROOT_BYTES,
    cut_conflicts,
    random_operand,
    random_part,
)

# The bytes of a part of the arena that hold values; rank packets lie behind them.
VALUE_BYTES = 48
WORD_BYTES = BYTES["i64"]


def random_program(rng: random.Random) -> Program:
    """Returns a program of two to four ranks, whose lanes have work items only."""
    ranks = rng.randint(2, 4)
    program = Program(random_tasks(rng, ranks), ranks=ranks)
    program.lanes = random_lanes(rng, program, sms_of_rank=rng.randint(1, 2))
    return program


def random_tasks(rng: random.Random, ranks: int) -> list[Task]:
    tasks = [fill(rng, rank, ranks) for rank in range(ranks)]
    tasks += [random_task(rng, number, ranks) for number in range(rng.randint(2, 5))]
    for rank in range(ranks):
        if rng.random() < 0.5:
            add_rank_packets(rng, tasks, rank, ranks)
        if rng.random() < 0.5:
            add_task_packets(rng, tasks, rank)
    return tasks


def fill(rng: random.Random, rank: int, ranks: int) -> Task:
    """Writes all values in the part of a rank, from this or another rank."""
    count = rng.choice([1, 2, 3])
    each = VALUE_BYTES // BYTES["f32"] // count
    operand = Operand(
        ARENA,
        rank * ROOT_BYTES,
        "f32",
        [count * each],
        [1],
        [(f"d0 * {each}", lambda index: index[0] * each)],
        [each],
        True,
    )
    return Task(
        f"fill{rank}", [count], [operand], False, rank=rng.choice([rank, rng.randrange(ranks)])
    )


def random_task(rng: random.Random, number: int, ranks: int) -> Task:
    """Returns a random task. If the task updates in index, it writes to its own rank."""
    while True:
        grid = [rng.randint(1, 4) for _ in range(rng.choice([1, 1, 2]))]
        task = Task(f"t{number}", grid, [], rng.random() < 0.3, rank=rng.randrange(ranks))
        for writes in (False, True):
            for _ in range(rng.randint(0, 2)):
                task.operands.append(random_memory(rng, task, writes, ranks))
        task.in_place |= has_overlapping_writes(task)
        if not task.in_place or all(is_own(operand, task.rank) for operand in task.operands):
            return task


def is_own(operand: Operand, rank: int) -> bool:
    return operand.root != ARENA or operand.offset // ROOT_BYTES == rank


def random_memory(rng: random.Random, task: Task, writes: bool, ranks: int) -> Operand:
    """Returns an operand on the state, or on values in the arena; an operand that is written may
    belong to another rank.
    """
    while True:
        operand = random_operand(rng, task.grid, writes)
        if rng.random() < 0.3:
            operand.root = task.rank
            return operand
        if operand.span().stop <= VALUE_BYTES:
            owner = rng.randrange(ranks) if writes and rng.random() < 0.6 else task.rank
            operand.root = ARENA
            operand.offset += owner * ROOT_BYTES
            return operand


def add_rank_packets(rng: random.Random, tasks: list[Task], rank: int, ranks: int) -> None:
    """Adds a task of another rank that sends words to this one, and readers of them."""
    count = rng.randint(1, (ROOT_BYTES - VALUE_BYTES) // WORD_BYTES)
    sender = rng.choice([other for other in range(ranks) if other != rank])
    offset = rank * ROOT_BYTES + VALUE_BYTES
    words = Operand(ARENA, offset, "i64", [count], [1], [("0", lambda _: 0)], [count], True)
    task = Task(f"send{rank}", [1], [words], False, rank=sender, stamps=True)
    if rng.random() < 0.7:
        task.operands.insert(0, random_memory(rng, task, False, ranks))
    index = rng.randrange(ranks, len(tasks) + 1)
    readers = [other for other in tasks[index:] if other.rank == rank]
    tasks.insert(index, task)
    received = Operand(ARENA, offset, "i64", [count], [1], [], [], False)
    for reader in rng.sample(readers, rng.randint(0, len(readers))):
        reader.operands.append(random_part(rng, reader.grid, received))


def add_task_packets(rng: random.Random, tasks: list[Task], rank: int) -> None:
    """Makes a task of any rank send words of its own, which later tasks of a rank receive."""
    dtype = rng.choice(["i32", "i64"])
    senders = [
        (index, task)
        for index, task in enumerate(tasks[:-1])
        if len(task.grid) == 1 and not task.stamps and (task.rank == rank or not task.in_place)
    ]
    index, sender = rng.choice(senders)
    each = rng.randint(1, 2)
    count = each * sender.grid[0]
    if count * BYTES[dtype] > ROOT_BYTES:
        return
    offset = rank * ROOT_BYTES
    offsets = [(f"d0 * {each}", lambda index: index[0] * each)]
    sender.operands.append(Operand(PACKETS, offset, dtype, [count], [1], offsets, [each], True))
    readers = [task for task in tasks[index + 1 :] if task.rank == rank]
    received = Operand(PACKETS, offset, dtype, [count], [1], [], [], False)
    for reader in rng.sample(readers, rng.randint(0, len(readers))):
        reader.operands.append(random_part(rng, reader.grid, received))


def random_lanes(rng: random.Random, program: Program, sms_of_rank: int) -> list[list[tuple]]:
    """Returns lanes with work items in program order, on SMs of the rank of their task."""
    lanes: list[list[tuple]] = [[] for _ in range(program.ranks * sms_of_rank)]
    for number, task in enumerate(program.tasks):
        count = len(task.indices())
        cuts = sorted({0, count, *(rng.randrange(count + 1) for _ in range(rng.randint(0, 3)))})
        for begin, end in itertools.pairwise(cut_conflicts(task, cuts)):
            lane = lanes[task.rank * sms_of_rank + rng.randrange(sms_of_rank)]
            lane.append(("run", number, begin, end))
    return lanes
