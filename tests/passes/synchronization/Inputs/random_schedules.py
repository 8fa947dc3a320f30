"""Random programs and schedules, checked by brute force.

Half of the programs hand some of their values over as packets.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from dataclasses import replace

from brute_force import (
    ARENA,
    BYTES,
    PACKETS,
    Operand,
    Program,
    Task,
    find_conflicts,
    has_overlapping_writes,
    is_correct,
)

# The bytes of an argument, and of one rank's part of the arena and of the packets.
ROOT_BYTES = 64
# The number of arguments of a program of one rank.
ARGUMENTS = 2
VALUES = ("f32", "f16", "i8")


def random_operand(rng: random.Random, grid: list[int], writes: bool) -> Operand:
    """Returns a random part of a root in a random layout that fits the root."""
    while True:
        dtype = rng.choice(VALUES)
        size = BYTES[dtype]
        rank = rng.choice([1, 1, 2, 2, 3])
        shape = [rng.choice([1, 2, 3, 4, 6]) for _ in range(rank)]
        order = list(range(rank))
        if rng.random() < 0.3:
            rng.shuffle(order)
        strides, step = [0] * rank, 1
        for dim in reversed(order):
            strides[dim] = step
            step *= shape[dim]
            if rng.random() < 0.15:
                step += rng.choice([1, 2])  # a gap
        if rng.random() < 0.05:
            strides[rng.randrange(rank)] = rng.choice([0, 1])  # elements may overlap
        span = size * (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)))
        if span > ROOT_BYTES:
            continue
        offset = rng.randrange(0, ROOT_BYTES - span + 1)
        offset -= offset % size
        offsets: list[tuple[str, object]] = []
        sizes = []
        for extent in shape:
            offsets.append(random_offset(rng, grid, extent))
            sizes.append(rng.choice([1, 1, 2, 3, extent]))
        return Operand(
            rng.randrange(ARGUMENTS), offset, dtype, shape, strides, offsets, sizes, writes
        )


def random_offset(rng: random.Random, grid: list[int], extent: int) -> tuple[str, object]:
    """Returns an affine expression that stays below the extent for every vCTA."""
    candidates: list[tuple[str, object]] = []
    constant = rng.randrange(extent)
    candidates.append((str(constant), lambda _, c=constant: c))
    for dim, count in enumerate(grid):
        for factor in (1, 2, 3):
            if (count - 1) * factor < extent:
                candidates += [(f"d{dim} * {factor}", lambda i, d=dim, f=factor: i[d] * f)] * 3
        if (count - 1) // 2 < extent:
            candidates.append((f"d{dim} floordiv 2", lambda i, d=dim: i[d] // 2))
        last = count - 1
        if last < extent:
            candidates.append((f"{last} - d{dim}", lambda i, d=dim, c=last: c - i[d]))
    if len(grid) == 2 and grid[0] + grid[1] - 2 < extent:
        candidates.append(("d0 + d1", lambda i: i[0] + i[1]))
    return rng.choice(candidates)


def random_tasks(rng: random.Random) -> list[Task]:
    tasks = []
    for number in range(rng.randint(2, 7)):
        grid = [rng.randint(1, 4) for _ in range(rng.choice([1, 1, 2]))]
        operands = [random_operand(rng, grid, False) for _ in range(rng.randint(0, 2))]
        operands += [random_operand(rng, grid, True) for _ in range(rng.randint(0, 2))]
        task = Task(f"t{number}", grid, operands, rng.random() < 0.3)
        task.in_place |= has_overlapping_writes(task)
        tasks.append(task)
    return tasks


def random_packets(rng: random.Random, tasks: list[Task]) -> None:
    """Adds senders, each of words of its own, and readers of words that are sent before them."""
    free = 0
    for number, task in enumerate(tasks[:-1]):
        count = task.grid[0]
        each = rng.randint(1, 3)
        words = count * each
        if len(task.grid) != 1 or rng.random() < 0.4 or free + 4 * words > ROOT_BYTES:
            continue
        shape, strides = [words], [1]
        offsets = [(f"d0 * {each}", lambda i, n=each: i[0] * n)]
        sizes = [each]
        if rng.random() < 0.3:  # words of a vCTA are as far apart as possible
            shape, strides, sizes = [each, count], [count, 1], [each, 1]
            offsets = [("0", lambda _: 0), ("d0", lambda i: i[0])]
        task.operands.append(Operand(PACKETS, free, "i32", shape, strides, offsets, sizes, True))
        for reader in rng.sample(tasks[number + 1 :], rng.randint(1, len(tasks) - number - 1)):
            begin = rng.choice([0, 0, rng.randrange(words)])
            part = Operand(PACKETS, free + 4 * begin, "i32", [words - begin], [1], [], [], False)
            reader.operands.append(random_part(rng, reader.grid, part))
        free += 4 * words


def random_part(rng: random.Random, grid: list[int], operand: Operand) -> Operand:
    """Returns an operand on the same buffer with other regions, often the whole buffer."""
    if rng.random() < 0.5:
        offsets: list[tuple[str, object]] = [("0", lambda _: 0) for _ in operand.shape]
        return replace(operand, offsets=offsets, sizes=list(operand.shape))
    offsets = [random_offset(rng, grid, extent) for extent in operand.shape]
    sizes = [rng.choice([1, 2, extent]) for extent in operand.shape]
    return replace(operand, offsets=offsets, sizes=sizes)


def random_lanes(rng: random.Random, tasks: list[Task], sms: int) -> list[list[tuple]]:
    """Returns lanes with work items in program order, which satisfies every dependence; in rare
    cases, shuffled.
    """
    lanes: list[list[tuple]] = [[] for _ in range(sms)]
    for number, task in enumerate(tasks):
        count = len(task.indices())
        cuts = sorted({0, count, *(rng.randrange(count + 1) for _ in range(rng.randint(0, 4)))})
        for begin, end in itertools.pairwise(cut_conflicts(task, cuts)):
            lanes[rng.randrange(sms)].append(("run", number, begin, end))
    return lanes


def cut_conflicts(task: Task, cuts: list[int]) -> list[int]:
    """Returns the bounds of work items such that no two vCTAs of one work item conflict."""
    conflicts = find_conflicts(task)
    result = [0]
    for vcta in range(1, cuts[-1]):
        if vcta in cuts or any((other, vcta) in conflicts for other in range(result[-1], vcta)):
            result.append(vcta)
    return [*result, cuts[-1]] if cuts[-1] else result


# ----------------------------------------------------------------------------
# Text
# ----------------------------------------------------------------------------


def argument_names(program: Program) -> list[str]:
    """Returns the names of the arguments: a state for each of several ranks."""
    if program.ranks > 1:
        return [f"rank{rank}/s" for rank in range(program.ranks)]
    return [f"r{number}" for number in range(ARGUMENTS)]


def root_bytes(program: Program, root: int) -> int:
    return ROOT_BYTES * program.ranks if root in (ARENA, PACKETS) else ROOT_BYTES


def root_name(root: int) -> str:
    return {ARENA: "%arena", PACKETS: "%packets"}.get(root, f"%r{root}")


def to_mlir(program: Program, sms: int) -> str:
    lines = [
        'module attributes {ark.target = #ark.target<backend = cpu, arch = "host",'
        f" sms = {sms // program.ranks}, warps = 1, shared_memory = 0, bandwidth = 10, flops = 10,"
        " handoff = 100, barrier = 300, overhead = 50>} {"
    ]
    arguments = ", ".join(
        f'%r{r}: memref<{ROOT_BYTES}xi8> {{ark.kind = #ark.kind<state>, ark.name = "{name}"}}'
        for r, name in enumerate(argument_names(program))
    )
    world = f" attributes {{world_size = {program.ranks} : i64}}" if program.ranks > 1 else ""
    lines.append(f"ark.program @p({arguments}){world} {{")
    for op, root in (("arena", ARENA), ("packets", PACKETS)):
        if uses(program, root):
            kind = f"memref<{root_bytes(program, root)}xi8>"
            lines.append(f"  {root_name(root)} = ark.{op} : {kind}")
    number = 0
    for task in program.tasks:
        texts: dict[bool, list[str]] = {False: [], True: []}
        tiles = []
        dims = ", ".join(f"d{i}" for i in range(len(task.grid)))
        # A task has its inputs first.
        for operand in sorted(task.operands, key=lambda operand: operand.writes):
            size = BYTES[operand.dtype]
            base = f"%v{number}"
            shape = "x".join(map(str, operand.shape))
            whole = root_bytes(program, operand.root)
            left = (whole - operand.offset) // size
            lines.append(f"  %o{number} = arith.constant {operand.offset} : index")
            lines.append(
                f"  {base} = memref.view {root_name(operand.root)}[%o{number}][]"
                f" : memref<{whole}xi8> to memref<{left}x{operand.dtype}>"
            )
            kind = f"memref<{shape}x{operand.dtype}, strided<{operand.strides}>>"
            lines.append(
                f"  %c{number} = memref.reinterpret_cast {base} to offset: [0],"
                f" sizes: {operand.shape}, strides: {operand.strides}"
                f" : memref<{left}x{operand.dtype}> to {kind}"
            )
            offsets = ", ".join(text for text, _ in operand.offsets)
            texts[operand.writes].append(
                f"%c{number}[#ark.region<({dims}) -> ({offsets}), {operand.sizes}>] : {kind}"
            )
            corners = [tuple(0 for _ in task.grid), tuple(extent - 1 for extent in task.grid)]
            tile = []
            for (_, function), extent, count in zip(
                operand.offsets, operand.shape, operand.sizes, strict=True
            ):
                last = max(function(corner) for corner in corners)
                tile.append("?" if last + count > extent else str(count))
            tiles.append(
                f"%t{number}: memref<{'x'.join(tile)}x{operand.dtype},"
                f" strided<{operand.strides}, offset: ?>>"
            )
            number += 1
        indices = [f"%i{i}: index" for i in range(len(task.grid))]
        attributes = " attributes {in_place}" if task.in_place else ""
        lines.append(
            f'  ark.task "{task.name}" grid {task.grid} ins({", ".join(texts[False])})'
            f" outs({', '.join(texts[True])}){attributes} {{"
        )
        lines.append(f"  ^bb0({', '.join(indices + tiles)}):")
        if task.stamps:
            lines.append(f"    %e{number} = ark.epoch : i32")
        lines.append("    ark.yield\n  }")
    lines.append(schedule_text(program, sms))
    lines.append("  ark.return\n}\n}")
    return "\n".join(lines)


def uses(program: Program, root: int) -> bool:
    return any(operand.root == root for task in program.tasks for operand in task.operands)


def has_packets(program: Program) -> bool:
    return uses(program, PACKETS)


def without_packets(program: Program) -> Program:
    tasks = [
        replace(task, operands=[o for o in task.operands if o.root != PACKETS])
        for task in program.tasks
    ]
    return replace(program, tasks=tasks)


def schedule_text(program: Program, sms: int) -> str:
    lines = [f'  ark.schedule "random" sms = {sms} {{']
    for name in program.semaphores:
        arrivals = sum(
            item[0] in ("signal", "barrier") and item[1] == name
            for lane in program.lanes
            for item in lane
        )
        kind = f" handoff = {program.kinds[name]}" if name in program.kinds else ""
        lines.append(f"    ark.semaphore @{name} arrivals = {arrivals}{kind}")
    for sm, lane in enumerate(program.lanes):
        if not lane:
            continue
        lines.append(f"    ark.lane sms = [{sm}, {sm + 1}] warps = [0, 1] {{")
        for item in lane:
            if item[0] == "run":
                lines.append(
                    f'      ark.run "{program.tasks[item[1]].name}" [{item[2]}, {item[3]}]'
                )
            else:
                lines.append(f"      ark.{item[0]} @{item[1]}")
        lines.append("    }")
    lines.append("  }")
    return "\n".join(lines)


def read_schedule(text: str, tasks: list[Task], sms: int, ranks: int = 1) -> Program:
    """Returns the schedule of one printed module."""
    program = Program(tasks, [[] for _ in range(sms)], ranks=ranks)
    names = {task.name: number for number, task in enumerate(tasks)}
    current: list[int] = []
    for line in text.splitlines():
        line = line.strip()
        if match := re.match(r"ark\.semaphore @(\S+) arrivals = \d+(?: handoff = (\w+))?", line):
            program.semaphores.append(match[1])
            if match[2]:
                program.kinds[match[1]] = match[2]
        elif match := re.match(r"ark\.lane sms = \[(\d+), (\d+)\]", line):
            current = list(range(int(match[1]), int(match[2])))
        elif match := re.match(r'ark\.run "(\w+)" \[(.*), (.*)\]', line):
            for sm in current:
                bounds = [
                    eval(bound.replace("floordiv", "//"), {"d0": sm})
                    for bound in match.groups()[1:]
                ]
                program.lanes[sm].append(("run", names[match[1]], *bounds))
        elif match := re.match(r"ark\.(wait|signal|barrier) @(\S+)", line):
            for sm in current:
                program.lanes[sm].append((match[1], match[2]))
    return program


# ----------------------------------------------------------------------------
# Mutations
# ----------------------------------------------------------------------------


def mutate_packets(rng: random.Random, program: Program) -> Program:
    """Changes the part that is sent or received, possibly to a part that another task sends."""
    tasks = [replace(task, operands=list(task.operands)) for task in program.tasks]
    choices = [
        (task, number)
        for task in tasks
        for number, operand in enumerate(task.operands)
        if operand.root == PACKETS
    ]
    if not choices:
        return program
    task, number = rng.choice(choices)
    operand = random_part(rng, task.grid, task.operands[number])
    span = 4 * (1 + sum((n - 1) * s for n, s in zip(operand.shape, operand.strides, strict=True)))
    if rng.random() < 0.5:
        operand = replace(operand, offset=4 * rng.randrange((ROOT_BYTES - span) // 4 + 1))
    task.operands[number] = operand
    return replace(program, tasks=tasks)


def join_runs(rng: random.Random, program: Program) -> Program:
    """Joins two adjacent work items."""
    lanes = [list(lane) for lane in program.lanes]
    choices = [
        (lane, i)
        for lane in lanes
        for i in range(len(lane) - 1)
        if lane[i][0] == lane[i + 1][0] == "run"
        and lane[i][1] == lane[i + 1][1]
        and lane[i][3] == lane[i + 1][2]
    ]
    if choices:
        lane, i = rng.choice(choices)
        lane[i : i + 2] = [("run", lane[i][1], lane[i][2], lane[i + 1][3])]
    return replace(program, lanes=lanes)


def stop_updating(rng: random.Random, program: Program) -> Program:
    """Removes `in_place` from a task."""
    tasks = [replace(task) for task in program.tasks]
    if updating := [task for task in tasks if task.in_place]:
        rng.choice(updating).in_place = False
    return replace(program, tasks=tasks)


def mutate(rng: random.Random, program: Program) -> Program:
    """Makes one change that keeps the structure valid."""
    special = rng.random()
    if special < 0.2:
        return mutate_packets(rng, program)
    if special < 0.3:
        return join_runs(rng, program)
    if special < 0.35:
        return stop_updating(rng, program)
    lanes = [list(lane) for lane in program.lanes]
    mutant = replace(program, lanes=lanes, semaphores=list(program.semaphores))
    choices = [(row, i) for row, lane in enumerate(lanes) for i in range(len(lane))]
    syncs = [(row, i) for row, i in choices if lanes[row][i][0] in ("wait", "signal")]
    kind = rng.choice(["delete", "delete", "retarget", "swap", "move", "duplicate", "shift"])
    if kind in ("delete", "retarget", "duplicate") and syncs:
        row, i = rng.choice(syncs)
        if kind == "delete":
            del lanes[row][i]
        elif kind == "retarget":
            lanes[row][i] = (lanes[row][i][0], rng.choice(program.semaphores))
        else:
            lanes[row].insert(rng.randrange(len(lanes[row])), lanes[row][i])
    elif kind == "move":
        row, i = rng.choice(choices)
        item = lanes[row].pop(i)
        target = rng.randrange(len(lanes))
        lanes[target].insert(rng.randrange(len(lanes[target]) + 1), item)
    elif kind == "shift":
        # Moves a signal or wait within its lane.
        if syncs:
            row, i = rng.choice(syncs)
            item = lanes[row].pop(i)
            lanes[row].insert(rng.randrange(len(lanes[row]) + 1), item)
    else:
        row, i = rng.choice(choices)
        if i + 1 < len(lanes[row]):
            lanes[row][i], lanes[row][i + 1] = lanes[row][i + 1], lanes[row][i]
    used = {item[1] for lane in lanes for item in lane if item[0] in ("signal", "barrier")}
    named = {item[1] for lane in lanes for item in lane if item[0] != "run"}
    # Waits of a semaphore without signals do not verify.
    if named - used:
        return program
    mutant.semaphores = [name for name in mutant.semaphores if name in used]
    return mutant


# ----------------------------------------------------------------------------
# Driver
# ----------------------------------------------------------------------------


def run_ark_opt(
    ark_opt: list[str], modules: list[str], *passes: str
) -> tuple[list[str], set[int], str]:
    """Returns the output of every module, and the numbers of the modules that failed."""
    source = "\n// -----\n".join(modules)
    starts, line = [], 1
    for module in modules:
        starts.append(line)
        line += module.count("\n") + 2
    done = subprocess.run(
        [*ark_opt, "-", "--split-input-file", *passes],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = set()
    for match in re.finditer(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE):
        number = max(n for n, start in enumerate(starts) if start <= int(match[1]))
        failed.add(number)
    if done.returncode not in (0, 1) or (done.returncode == 1 and not failed):
        sys.exit(f"ark-opt ended with {done.returncode}:\n{done.stderr}")
    return done.stdout.split("// -----"), failed, done.stderr


def main() -> None:
    # lit may add switches to ark-opt.
    ark_opt, seed, count = sys.argv[1:-2], int(sys.argv[-2]), int(sys.argv[-1])
    rng = random.Random(seed)
    programs = []
    for _ in range(count):
        tasks, sms = random_tasks(rng), rng.randint(1, 4)
        if rng.random() < 0.5:
            random_packets(rng, tasks)
        programs.append((Program(tasks, random_lanes(rng, tasks, sms)), sms))
    modules = [to_mlir(program, sms) for program, sms in programs]
    outputs, failed, errors = run_ark_opt(
        ark_opt,
        modules,
        "--ark-insert-synchronization",
        "--ark-verify-synchronization",
    )
    if failed:
        number = min(failed)
        sys.exit(f"rejected:\n{modules[number]}\n{errors}")
    _, failed, errors = run_ark_opt(
        ark_opt,
        modules,
        "--ark-insert-synchronization",
        "--ark-test-delete-each-wait",
    )
    if failed:
        number = min(failed)
        sys.exit(f"not minimal:\n{modules[number]}\n{errors}")

    synchronized = []
    waits = 0
    for (program, sms), output in zip(programs, outputs, strict=True):
        result = read_schedule(output, program.tasks, sms)
        waits += sum(item[0] == "wait" for lane in result.lanes for item in lane)
        if not is_correct(result):
            sys.exit(f"accepted, but wrong:\n{output}")
        synchronized.append((result, sms))

    mutants = []
    for program, sms in synchronized:
        for _ in range(6):
            mutant = program
            for _ in range(rng.choice([1, 1, 2])):
                mutant = mutate(rng, mutant)
            mutants.append((mutant, sms))
    modules = [to_mlir(program, sms) for program, sms in mutants]
    _, failed, errors = run_ark_opt(ark_opt, modules, "--ark-verify-synchronization")
    wrong = wrong_by_packets = 0
    for number, (mutant, _) in enumerate(mutants):
        expected = is_correct(mutant)
        wrong += not expected
        wrong_by_packets += not expected and is_correct(without_packets(mutant))
        if expected == (number in failed):
            verdict = "falsely rejected" if expected else "falsely accepted"
            sys.exit(f"{verdict}:\n{modules[number]}\n{errors if expected else ''}")
    sending = sum(has_packets(program) for program, _ in programs)
    print(
        f"{count} programs, {sending} with packets, {waits} waits, {len(mutants)} mutants, "
        f"{wrong} of them wrong, {wrong_by_packets} by packets alone: agree"
    )


if __name__ == "__main__":
    main()
