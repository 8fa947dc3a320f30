#!/usr/bin/env python3
"""Mutates every instruction that orders threads, memory or copies in the kernels of some programs.

    tests/soak/mutate_kernels.py [--count N] [--seed S] [--only NAME] [--limit SECONDS] [--jobs J]

Prints how each mutant was detected, and the mutants that were not. A smaller count tries an equal
share of each program's mutants. The exit status is 1 if one survives without a reason in
tests/support/emulation/reasons.py. With all mutants of all programs, it is also 1 if fewer than
95 % are detected, or if a mutant with a reason does not survive.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from emulation import build_library
from emulation.mutants import Verdict, judge_all
from emulation.programs import NAMES, prepare
from emulation.survivors import count

ROOT = Path(__file__).resolve().parents[2]
# The least number of mutants.
FULL_COUNT = 300
# The script has processes of its own, and only a run of all mutants shows reasons without mutants.
EXCLUSIVE = True
# The number of seeds for each mutant.
SEEDS = 4


def main() -> int:
    """Runs all mutants; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of the emulator")
    parser.add_argument("--limit", type=float, default=120, help="seconds for all runs of a mutant")
    parser.add_argument("--only", action="append", choices=NAMES, help="a program")
    jobs = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=jobs, help="programs at a time")
    parser.add_argument("--json", type=Path, help="writes all verdicts to a file")
    arguments = parser.parse_args()
    begin = time.monotonic()
    verdicts: list[tuple[str, Verdict]] = []
    kept = ROOT / "build" / "emulation"
    kept.mkdir(parents=True, exist_ok=True)
    library = build_library(kept)
    seeds = range(arguments.seed, arguments.seed + SEEDS)
    every = max(1, FULL_COUNT // arguments.count)
    names = arguments.only or NAMES
    work = partial(judge_program, library=library, seeds=seeds, every=every, limit=arguments.limit)
    with ProcessPoolExecutor(min(arguments.jobs, len(names))) as pool:
        for name, found in zip(names, pool.map(work, names), strict=True):
            for verdict in found:
                print_verdict(name, verdict)
            verdicts += [(name, verdict) for verdict in found]
    if arguments.json:
        rows = [{"program": name, **asdict(verdict)} for name, verdict in verdicts]
        arguments.json.write_text(json.dumps(rows, indent=1))
    is_whole = every == 1 and not arguments.only
    score = count(verdicts, is_whole=is_whole)
    print(score)
    is_good = score.is_good if is_whole else score.is_explained
    result = {
        "name": "mutate_kernels",
        "count": len(verdicts),
        "failures": 0 if is_good else max(1, len(score.unexplained) + len(score.unused)),
        "seconds": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(result))
    return int(not is_good)


def judge_program(
    name: str, library: Path, seeds: range, every: int, limit: float
) -> list[Verdict]:
    """Runs each `every`-th mutant of a program."""
    with tempfile.TemporaryDirectory(prefix="ark-mutants-") as folder:
        prepared = prepare(name, library, Path(folder))
        mutants = prepared.find_mutants(seeds)[::every]
        return judge_all(prepared.run, mutants, seeds, limit)


def print_verdict(name: str, verdict: Verdict) -> None:
    """Prints one line for one mutant."""
    twin = f" (with {verdict.twin})" if verdict.twin else ""
    print(f"{name}: {verdict.mutant.name}{twin}: {verdict.problem or 'SURVIVED'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
