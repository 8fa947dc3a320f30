#!/usr/bin/env python3
"""Random programs under random schedules, compared with the interpreter.

Each pair of a program and a schedule is compiled and run three times; outputs of every run are
compared with those of the float64 interpreter, within its bound per element, and states keep their
values from run to run. Schedules come from every scheduler of the compiler, for 1 to 16 workers,
with random tiles and pins, and from `schedules.py`, which distributes the work items of a program
at random.

    random_programs.py --count 10000 [--seed S] [--emulate sm_90a]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import programs
import schedules

import ark_mlir as ark
from ark_mlir.compiler import export_schedule
from ark_mlir.testing.bounds import assert_within

FULL_COUNT = 10_000
SCHEDULES_PER_PROGRAM = 5
RUNS = 3
SCHEDULERS = ("auto", "list", "round-robin", "rounds", "alone")
WORKERS = (1, 2, 3, 4, 7, 16)


def pin(rng: random.Random) -> Any:
    """Returns a random planner: with a tile of the last dimension, or without synchronisation."""
    if rng.random() < 0.2:
        return ark.planner(tile=(rng.choice([1, 4, 16, 64]),))
    if rng.random() < 0.05:
        return ark.planner(sync=False)
    return contextlib.nullcontext()


class Tally(collections.Counter[str]):
    """Counts pairs by schedule, and compared elements."""


def compare(drawn: programs.Drawn, executable: ark.Executable, tally: Tally) -> None:
    """Runs a program several times; raises AssertionError if a result is wrong."""
    parameters = {buffer.name for buffer in executable.parameters}
    executable.bind({name: drawn.arrays[name] for name in parameters})
    inputs = {name: a for name, a in drawn.arrays.items() if name not in parameters}
    states = dict(drawn.states)
    for _ in range(RUNS):
        expected = ark.reference.evaluate(drawn.program, drawn.arrays, states, bound=True)
        got = executable.run(inputs)
        for name, array in got.items():
            bound = expected.bounds[name]
            assert_within(array, expected.outputs[name], bound, name)
            tally["elements"] += array.size
            tally["elements with a finite bound"] += int(np.isfinite(bound).sum())
        states = {name: executable.states[name] for name in states}


# Messages with which the compiler may refuse a random choice: an order of a lane that a dependence
# forbids, a work item of vCTAs that conflict with each other, a tile that splits an axis of a
# reduction, and a tile for a result of rank 0.
REFUSALS = (
    "the order of the lanes contradicts the dependences",
    "in the same work item as",
    "which the group does not permit",
    "expected a positive extent for each of its last dimensions",
)


def compile_one(drawn: programs.Drawn, rng: random.Random, tally: Tally) -> ark.Executable | None:
    """Compiles a program with a random schedule; returns None if the compiler rejects it."""
    target = f"cpu:{rng.choice(WORKERS)}"
    scheduler = rng.choice(SCHEDULERS) if rng.random() < 0.5 else "drawn"
    source, options = drawn.program, {}
    try:
        if scheduler != "drawn":
            options = {"scheduler": scheduler, "trace": rng.random() < 0.1}
        else:
            text = export_schedule(drawn.program, target, synchronized=False)
            if "ark.run" in text:
                source, target = schedules.shuffled(schedules.parse(text), rng), None
        executable = ark.compile(source, target, cache=False, **options)
    except (ark.VerificationError, ark.CompileError) as error:
        if not any(refusal in str(error) for refusal in REFUSALS):
            raise
        tally["refused"] += 1
        return None
    tally[scheduler] += 1
    return executable


def run_pair(seed: int, number: int, drawn: programs.Drawn, tally: Tally) -> str:
    """Compiles and runs one pair; returns the error, or None."""
    rng = random.Random(f"{seed}/{number}")
    try:
        executable = compile_one(drawn, rng, tally)
        if executable is not None:
            with executable:
                compare(drawn, executable, tally)
            tally["pairs"] += 1
    except Exception:
        return traceback.format_exc(limit=4)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="pairs to compare")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args()
    begin = time.monotonic()
    tally, failures, seed = Tally(), 0, options.seed
    while tally["pairs"] + failures < options.count:
        drawn = programs.draw(seed, pin)
        tally.update({f"op {name}": 1 for name in set(drawn.ops)})
        for number in range(SCHEDULES_PER_PROGRAM):
            if problem := run_pair(seed, number, drawn, tally):
                failures += 1
                print(f"seed {seed}, schedule {number}: {drawn.ops}\n{problem}", flush=True)
        seed += 1
        if seed % 50 == 0 and sys.stderr.isatty():
            print(f"{tally['pairs']} of {options.count} pairs", file=sys.stderr)
    print(
        json.dumps(
            {
                "name": Path(__file__).stem,
                "count": tally["pairs"] + failures,
                "failures": failures,
                "seconds": round(time.monotonic() - begin, 1),
                "programs": seed - options.seed,
                **{key: tally[key] for key in sorted(tally)},
            }
        )
    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
