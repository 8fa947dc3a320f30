"""Mutations of a bundle's tables, by class; each changes a program in place.

A mutation returns False if the program has no site for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from table_oracle import BARRIER, RUN, SIGNAL, STOP, WAIT, Program

Mutation = Callable[[Program, random.Random], bool]
Site = tuple[int, int]


def _find(program: Program, *codes: int) -> list[Site]:
    return [
        (lane, item)
        for lane, (_, items) in enumerate(program.lanes)
        for item, row in enumerate(items)
        if row[0] in codes
    ]


def _row(program: Program, site: Site) -> list[int]:
    return program.lanes[site[0]][1][site[1]]


def _drop(program: Program, site: Site) -> list[int]:
    return program.lanes[site[0]][1].pop(site[1])


def _set_arrivals(program: Program, semaphore: int, change: int) -> None:
    """Changes the number of arrivals in the tables and in the manifest, so that they still
    agree."""
    program.manifest["semaphores"][semaphore]["arrivals"] += change
    for site in _find(program, WAIT, BARRIER):
        row = _row(program, site)
        if row[1] == semaphore:
            row[2] += change


def drop_wait(program: Program, rng: random.Random) -> bool:
    """Removes a wait of a lane."""
    sites = _find(program, WAIT)
    if sites:
        _drop(program, rng.choice(sites))
    return bool(sites)


def retarget_wait(program: Program, rng: random.Random) -> bool:
    """Makes a lane wait for another semaphore."""
    sites, semaphores = _find(program, WAIT), program.manifest["semaphores"]
    if not sites or len(semaphores) < 2:
        return False
    row = _row(program, rng.choice(sites))
    row[1] = rng.choice([s for s in range(len(semaphores)) if s != row[1]])
    row[2] = semaphores[row[1]]["arrivals"]
    return True


def drop_signal(program: Program, rng: random.Random) -> bool:
    """Removes a signal; in half of the cases the arrivals are adapted."""
    sites = _find(program, SIGNAL)
    if not sites:
        return False
    row = _drop(program, rng.choice(sites))
    if rng.random() < 0.5:
        _set_arrivals(program, row[1], -1)
    return True


def duplicate_signal(program: Program, rng: random.Random) -> bool:
    """Repeats a signal, or signals another semaphore; in half of the cases the arrivals are
    adapted."""
    sites = _find(program, SIGNAL)
    if not sites:
        return False
    row = [*_row(program, rng.choice(sites))]
    items = rng.choice(program.lanes)[1]
    items.insert(rng.randrange(len(items)), row)
    if rng.random() < 0.5:
        _set_arrivals(program, row[1], 1)
    return True


def change_arrivals(program: Program, rng: random.Random) -> bool:
    """Changes the number of arrivals by one at one site."""
    change = rng.choice((-1, 1))
    sites = _find(program, WAIT, BARRIER)
    if sites and rng.random() < 0.5:
        _row(program, rng.choice(sites))[2] += change
    else:
        rng.choice(program.manifest["semaphores"])["arrivals"] += change
    return True


def swap_neighbours(program: Program, rng: random.Random) -> bool:
    """Swaps two adjacent instructions."""
    lanes = [items for _, items in program.lanes if len(items) > 1]
    if not lanes:
        return False
    items = rng.choice(lanes)
    first = rng.randrange(len(items) - 1)
    items[first], items[first + 1] = items[first + 1], items[first]
    return True


def swap_instructions(program: Program, rng: random.Random) -> bool:
    """Swaps two instructions of a lane."""
    lanes = [items for _, items in program.lanes if len(items) > 2]
    if not lanes:
        return False
    items = rng.choice(lanes)
    a, b = rng.sample(range(len(items)), 2)
    items[a], items[b] = items[b], items[a]
    return True


def move_run(program: Program, rng: random.Random) -> bool:
    """Moves a work item to another lane."""
    sites = _find(program, RUN)
    if not sites or len(program.lanes) < 2:
        return False
    site = rng.choice(sites)
    row = _drop(program, site)
    items = rng.choice([lane for n, (_, lane) in enumerate(program.lanes) if n != site[0]])
    items.insert(rng.randint(0, max(len(items) - 1, 0)), row)
    return True


def shift_range(program: Program, rng: random.Random) -> bool:
    """Changes the range of a work item by one vCTA; in some cases another work item of the task is
    adapted.
    """
    sites = _find(program, RUN)
    if not sites:
        return False
    row = _row(program, rng.choice(sites))
    column, change = rng.choice((2, 3)), rng.choice((-1, 1))
    if rng.random() < 0.7:
        for site in sites:
            other = _row(program, site)
            if other[1] == row[1] and other[5 - column] == row[column]:
                other[5 - column] += change
    row[column] += change
    return True


def split_late(program: Program, rng: random.Random) -> bool:
    """Moves the last vCTA of a work item to another position of its lane."""
    sites = [p for p in _find(program, RUN) if _row(program, p)[3] - _row(program, p)[2] > 1]
    if not sites:
        return False
    site = rng.choice(sites)
    row, items = _row(program, site), program.lanes[site[0]][1]
    row[3] -= 1
    items.insert(rng.randrange(len(items)), [RUN, row[1], row[3], row[3] + 1])
    return True


def change_operand(program: Program, rng: random.Random) -> bool:
    """Moves an operand to another slot, or by some bytes."""
    if not program.operands:
        return False
    row = rng.choice(program.operands)
    if rng.random() < 0.4:
        row[0] = rng.randrange(len(program.manifest["buffers"]) + 1)
    else:
        row[1] += rng.choice((-1024, -64, -16, -4, 4, 16, 64, 1024))
    return True


def swap_operands(program: Program, rng: random.Random) -> bool:
    """Exchanges two entries of the table of operands."""
    if len(program.operands) < 2:
        return False
    a, b = rng.sample(range(len(program.operands)), 2)
    program.operands[a], program.operands[b] = program.operands[b], program.operands[a]
    return True


def change_task(program: Program, rng: random.Random) -> bool:
    """Gives a task another body, or the operands of another task."""
    if not program.tasks:
        return False
    row = rng.choice(program.tasks)
    if rng.random() < 0.5:
        row[0] = rng.randrange(len(program.manifest["bodies"]))
    else:
        row[1] += rng.choice((-2, -1, 1, 2))
    return True


def drop_barrier(program: Program, rng: random.Random) -> bool:
    """Removes a barrier from one lane or from all lanes."""
    sites = _find(program, BARRIER)
    if not sites:
        return False
    semaphore = _row(program, rng.choice(sites))[1]
    ofit = [site for site in sites if _row(program, site)[1] == semaphore]
    chosen = ofit if rng.random() < 0.3 else [rng.choice(ofit)]
    for site in sorted(chosen, reverse=True):
        _drop(program, site)
    if len(chosen) < len(ofit) and rng.random() < 0.5:
        _set_arrivals(program, semaphore, -1)
    return True


def move_barrier(program: Program, rng: random.Random) -> bool:
    """Moves a barrier to an earlier position of a lane."""
    sites = [site for site in _find(program, BARRIER) if site[1] > 0]
    if not sites:
        return False
    lane, item = rng.choice(sites)
    items = program.lanes[lane][1]
    items.insert(rng.randrange(item), items.pop(item))
    return True


def move_lane_bounds(program: Program, rng: random.Random) -> bool:
    """Moves the last instruction of a lane to the next lane, or the first one of that lane back."""
    if len(program.lanes) < 2:
        return False
    lane = rng.randrange(len(program.lanes) - 1)
    before, after = program.lanes[lane][1], program.lanes[lane + 1][1]
    if before and rng.random() < 0.5:
        after.insert(0, before.pop())
    elif after:
        before.append(after.pop(0))
    return bool(before or after)


def alias_intermediates(program: Program, rng: random.Random) -> bool:
    """Moves an intermediate to the offset of another one, in the tables and the manifest."""
    values, first = program.manifest["intermediates"], len(program.manifest["buffers"])
    pairs = [
        (a, b)
        for a in range(len(values))
        for b in range(len(values))
        if values[a][0] == values[b][0] and values[a][1] != values[b][1]
    ]
    if not pairs:
        return False
    a, b = rng.choice(pairs)
    limits = {0: program.manifest["arena"], program.packet_slot: program.manifest.get("packets", 0)}
    room = limits[values[a][0]] - values[a][2]
    change = min(values[b][1], room) - values[a][1]
    values[a][1] += change
    for task, entry in enumerate(program.manifest["tasks"]):
        for number, value in enumerate(entry["values"]):
            if value == first + a:
                program.operands[program.tasks[task][1] + number][1] += change
    return change != 0


def change_region(program: Program, rng: random.Random) -> bool:
    """Changes the access, region or layout of a declaration."""
    operands = [
        operand
        for body in program.manifest["bodies"]
        for footprint in body["footprints"]
        for operand in footprint
        if operand["shape"]
    ]
    if not operands:
        return False
    operand = rng.choice(operands)
    field = rng.choice(("sizes", "offsets", "shape", "access", "begin"))
    if field == "access":
        kinds = {"read", "write", "update"} - {operand["access"]}
        operand["access"] = rng.choice(sorted(kinds))
    elif field == "begin":
        operand["begin"] = operand.get("begin", 0) + rng.choice((4, 16, 64))
    else:
        dim = rng.randrange(len(operand["shape"]))
        _change_dimension(operand, field, dim, rng)
    return True


def _change_dimension(operand: dict[str, Any], field: str, dim: int, rng: random.Random) -> None:
    if field == "offsets":
        old = operand["offsets"][dim]
        operand["offsets"][dim] = rng.choice((0, ["+", old, 1], ["*", old, 2]))
    elif field == "sizes":
        operand["sizes"][dim] = max(1, operand["sizes"][dim] + rng.choice((-1, 1, 8)))
    else:
        operand["shape"][dim] += rng.choice((-1, 1, 16))


def change_packets(program: Program, rng: random.Random) -> bool:
    """Makes a wait poll other packets or a counter, or a signal of packets add to a counter."""
    sites = [p for p in _find(program, WAIT, SIGNAL) if _row(program, p)[3]]
    if not sites:
        return False
    row = _row(program, rng.choice(sites))
    if row[0] == SIGNAL or rng.random() < 0.3:
        row[3] = 0
    elif rng.random() < 0.5:
        row[3] += rng.choice((-2, -1, 1, 2))
    else:
        program.operands[row[3] + rng.randrange(2 * row[2])][1] += rng.choice((-16, -8, 8, 16))
    return True


def change_stop(program: Program, rng: random.Random) -> bool:
    """Removes, repeats or moves a check of the state that ends a launch."""
    sites = _find(program, STOP)
    if not sites:
        return False
    site = rng.choice(sites)
    row = _row(program, site) if rng.random() < 0.3 else _drop(program, site)
    if rng.random() < 0.7:
        items = rng.choice(program.lanes)[1]
        items.insert(rng.randrange(len(items)), [*row])
    return True


CLASSES: dict[str, Mutation] = {
    "drop a wait": drop_wait,
    "retarget a wait": retarget_wait,
    "drop a signal": drop_signal,
    "duplicate a signal": duplicate_signal,
    "change arrivals": change_arrivals,
    "swap neighbours": swap_neighbours,
    "swap instructions": swap_instructions,
    "move a run": move_run,
    "shift a range": shift_range,
    "run a vCTA late": split_late,
    "change an operand": change_operand,
    "swap operands": swap_operands,
    "change a task": change_task,
    "drop a barrier": drop_barrier,
    "move a barrier": move_barrier,
    "move lane bounds": move_lane_bounds,
    "alias intermediates": alias_intermediates,
    "change a region": change_region,
    "change packets": change_packets,
    "change a stop": change_stop,
}
