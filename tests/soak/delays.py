#!/usr/bin/env python3
"""Random delays in every lane of a cpu kernel change no result.

The kernel of a program is compiled a second time with a delay before every instruction of every
lane. The number of the launch, the lane and the instruction determine the length of a delay, so
that each launch has an order of its own and can be repeated. Every launch has other inputs, so that
values in memory from the previous launch are wrong values. Outputs must be bitwise those of the
kernel without delays.

The script also measures whether delays reveal faults. It deletes waits, one at a time, from
schedules that the proof refuses without them, and counts the launches until a result is wrong.

    delays.py --count 20000 [--seed S]      launches in all, 1,000 of each program
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import programs

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.compiler import check as check_schedule
from ark_mlir.compiler import export_schedule

FULL_COUNT = 20_000
# The script requires that 95 % of the missing waits show, and a share has too few of them.
EXCLUSIVE = True
LAUNCHES_PER_PROGRAM = 1_000
LEAST_WAITS = 3
INPUTS = 7
PLANTED_PER_PROGRAM = 5
PLANTED_LAUNCHES = 100

_DELAY = """
func.func private @ark_delay(%lane: i64, %round: i64, %instruction: i64) {
  %zero = arith.constant 0 : i64
  %mix_round = arith.constant 0x9E3779B97F4A7C15 : i64
  %mix_lane = arith.constant 0xC2B2AE3D27D4EB4F : i64
  %mix = arith.constant 0xBF58476D1CE4E5B9 : i64
  %shift = arith.constant 29 : i64
  %rare = arith.constant 3 : i64
  %nanoseconds = arith.constant 0x3FFFF : i64
  // In each launch, either all instructions of a lane are slow, or some of them.
  %a = arith.muli %round, %mix_round : i64
  %b = arith.muli %lane, %mix_lane : i64
  %c = arith.addi %a, %b : i64
  %c_high = arith.shrui %c, %shift : i64
  %of_lane_0 = arith.xori %c, %c_high : i64
  %of_lane_1 = arith.muli %of_lane_0, %mix : i64
  %of_lane = arith.shrui %of_lane_1, %shift : i64
  %d = arith.addi %of_lane, %instruction : i64
  %e = arith.muli %d, %mix : i64
  %e_high = arith.shrui %e, %shift : i64
  %f = arith.xori %e, %e_high : i64
  %g = arith.muli %f, %mix_round : i64
  %hash = arith.shrui %g, %shift : i64
  %slow_bits = arith.andi %of_lane, %rare : i64
  %slow = arith.cmpi eq, %slow_bits, %zero : i64
  %drawn_bits = arith.andi %hash, %rare : i64
  %drawn = arith.cmpi eq, %drawn_bits, %zero : i64
  %delays = arith.ori %slow, %drawn : i1
  cf.cond_br %delays, ^sleep, ^finish
^sleep:
  %two = arith.constant 2 : i64
  %high = arith.shrui %hash, %two : i64
  %ns = arith.andi %high, %nanoseconds : i64
  func.call @ark_sleep(%ns) : (i64) -> ()
  cf.br ^finish
^finish:
  return
}
"""
_SWITCH = re.compile(r"^(\s*)cf\.switch (%\w+) : i32", re.MULTILINE)


def with_delays(source: Any, verify: bool = True) -> ark.Executable:
    """Compiles a program into a kernel that delays instructions.

    Without `verify`, neither the schedule nor the tables are proven: a wait may be missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        ark.compile(source, cache=False, dump_dir=folder, verify=verify).close()
        (path,) = Path(folder).glob("*-kernel.mlir")
        with ir.Context():
            text = str(ir.Module.parseFile(str(path)))  # without locations
    return ark.compile(insert_delays(text), cache=False, verify=verify)


def insert_delays(text: str) -> str:
    """Returns a module at the stage `kernel` with a call of the delay before every instruction of a
    lane.
    """
    begin = text.index("func.func private @ark_iterate(")
    end = text.index("\n  }\n", begin)
    body = text[begin:end]
    lane = re.search(r"@ark_iterate\(%\w+: !llvm\.ptr, (%\w+): i64\)", body)
    # The arguments of a wait: context, lane, the instruction, the semaphore …
    wait = re.search(r"@ark_wait\(%\w+, %\w+, (%\w+), ", body)
    # The stored epoch of this iteration, which packets carry.
    round_word = re.search(r"llvm\.store (%\w+), %\w+ atomic monotonic", body)
    if lane is None or wait is None or round_word is None:
        raise ValueError("the loop over instructions is not what it was")
    call = f"func.call @ark_delay({lane[1]}, {round_word[1]}, {wait[1]}) : (i64, i64, i64) -> ()"
    body, count = _SWITCH.subn(rf"\1{call}\n\1cf.switch \2 : i32", body)
    if count != 1:
        raise ValueError(f"the loop over instructions has {count} switches")
    close = text.rindex("}")
    return text[:begin] + body + text[end:close] + _DELAY + text[close:]


def inputs_in_turn(drawn: programs.Drawn) -> list[dict[str, Any]]:
    """Returns the inputs of a program for several launches; no two launches have equal inputs."""

    def varied(value: Any, turn: int) -> Any:
        if not isinstance(value, np.ndarray):
            return value  # a scalar
        rolled = np.roll(value, turn)
        if rolled.dtype.kind in "biu":
            return rolled
        return (rolled * (1 - turn / (4 * INPUTS))).astype(value.dtype)

    return [
        {name: varied(value, turn) for name, value in drawn.arrays.items()}
        for turn in range(INPUTS)
    ]


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Returns True if two runs have bitwise equal outputs."""
    return all(a[name].tobytes() == b[name].tobytes() for name in a)


def first_difference(
    plain: ark.Executable, delayed: ark.Executable, drawn: programs.Drawn, launches: int
) -> int | None:
    """Returns the first launch whose outputs differ, or None."""
    inputs = inputs_in_turn(drawn)
    for launch in range(launches):
        given = inputs[launch % INPUTS]
        if not same(plain.run(given), delayed.run(given)):
            return launch
    return None


def candidates(seed: int) -> Iterator[tuple[int, programs.Drawn, str]]:
    """Returns programs with enough waits, for several numbers of workers, and the texts of their
    schedules."""
    while True:
        # Without parameters: values that depend on parameters alone are equal in all launches.
        drawn = programs.draw(seed, parameters=False)
        target = f"cpu:{random.Random(seed).choice([2, 3, 4, 6])}"
        text = export_schedule(drawn.program, target, scheduler="round-robin")
        if text.count("ark.wait @") >= LEAST_WAITS:
            yield seed, drawn, text
        seed += 1


def planted(text: str, rng: random.Random, most: int = PLANTED_PER_PROGRAM) -> Iterator[str]:
    """Yields schedules that lack one of their waits and that the proof rejects."""
    lines = text.splitlines()
    waits = [number for number, line in enumerate(lines) if line.lstrip().startswith("ark.wait @")]
    for number in rng.sample(waits, min(most, len(waits))):
        semaphore = lines[number].split("@")[1].split()[0]
        without = [line for i, line in enumerate(lines) if i != number]
        if not any(f"ark.wait @{semaphore} " in line + " " for line in without):
            continue  # a semaphore without waits is not valid
        mutant = "\n".join(without) + "\n"
        try:
            check_schedule(mutant)
        except ark.VerificationError:
            yield mutant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="launches in all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args()
    # Schedules without a wait are compiled without their proof, on purpose.
    warnings.simplefilter("ignore", ark.UnprovenWarning)
    launches = min(options.count, LAUNCHES_PER_PROGRAM)
    begin = time.monotonic()
    count = failures = missing = found = 0
    slowest = 0
    numbered = candidates(options.seed)
    while count < options.count:
        seed, drawn, text = next(numbered)
        with ark.compile(text, cache=False) as plain, with_delays(text) as delayed:
            launch = first_difference(plain, delayed, drawn, launches)
        count += launches
        if launch is not None:
            failures += 1
            print(f"seed {seed}: launch {launch} differs", flush=True)
        for mutant in planted(text, random.Random(seed)):
            missing += 1
            with (
                ark.compile(text, cache=False) as plain,
                with_delays(mutant, verify=False) as delayed,
            ):
                launch = first_difference(plain, delayed, drawn, PLANTED_LAUNCHES)
            found += launch is not None
            slowest = max(slowest, launch or 0)
            if launch is None:
                print(f"seed {seed}: a missing wait did not show", flush=True)
    print(
        json.dumps(
            {
                "name": Path(__file__).stem,
                "count": count,
                "failures": failures,
                "seconds": round(time.monotonic() - begin, 1),
                "missing waits": missing,
                "missing waits found": found,
                "most launches to find one": slowest,
            }
        )
    )
    sys.exit(1 if failures or found < 0.95 * missing else 0)


if __name__ == "__main__":
    main()
