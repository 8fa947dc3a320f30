#!/usr/bin/env python3
"""Runs the scripts of this folder, and prints a line for each result.

    tests/soak/run.py                       # long runs, hours
    tests/soak/run.py --scale 0.01          # a hundredth of the cases
    tests/soak/run.py --only fuzz_bundles fuzz_safetensors
    tests/soak/run.py --jobs 16             # 16 processes, each with a share of the cases

A script is run if it is executable and has a constant FULL_COUNT, the count of its long run.
The script takes --count and --seed, and its last line is JSON with "name", "count", "failures",
"seconds". With several jobs, a script runs as several processes with different seeds. A script with
the constant EXCLUSIVE runs afterwards, in one process and with no other script beside it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHOWN_LINES = 20

# Scripts whose cases are not numbered count programs from the seed. No share of a script has as
# many programs.
_SEEDS_OF_A_SHARE = 1_000_000


@dataclass(frozen=True)
class Script:
    """A script, the count of its long run, and True if no other script may run beside it."""

    path: Path
    full_count: int
    is_exclusive: bool = False

    def count(self, scale: float) -> int:
        """Returns the number of cases of a run of this scale, at least one."""
        return max(1, round(self.full_count * scale))

    def shares(self, count: int, jobs: int) -> list[int]:
        """Returns the number of cases of each process; there are at most `jobs` processes."""
        processes = 1 if self.is_exclusive else min(jobs, count)
        return [(count + k) // processes for k in range(processes)]


@dataclass(frozen=True)
class Outcome:
    """The result of a script or of a share of it; `problem` is None if it succeeded."""

    name: str
    count: int
    failures: int | None
    seconds: float
    log: Path
    problem: str | None = None

    def __str__(self) -> str:
        failures = "?" if self.failures is None else f"{self.failures:,}"
        end = "ok" if self.problem is None else f"FAILED: {self.problem}"
        return f"{self.name:<20} {self.count:>10,} {failures:>8} {self.seconds:>9.1f}  {end}"


def find_scripts(folder: Path) -> list[Script]:
    """Returns the scripts of a folder; raises ValueError if a FULL_COUNT is not a literal."""
    found: list[Script] = []
    for path in sorted(folder.glob("*.py")):
        constants = _constants(path)
        if "FULL_COUNT" not in constants or not os.access(path, os.X_OK):
            continue
        value = constants["FULL_COUNT"]
        if not (isinstance(value, ast.Constant) and type(value.value) is int):
            raise ValueError(f"{path}: FULL_COUNT is not a number: {ast.unparse(value)}")
        found.append(Script(path, value.value, "EXCLUSIVE" in constants))
    return found


def _constants(path: Path) -> dict[str, ast.expr]:
    """Returns the values of a file's global names, without running the file."""
    found: dict[str, ast.expr] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        found.update({target.id: value for target in targets if isinstance(target, ast.Name)})
    return found


def run_script(script: Script, count: int, seed: int, log: Path) -> Outcome:
    """Runs a script, with its output in `log`."""
    command = [sys.executable, str(script.path), "--count", str(count), "--seed", str(seed)]
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
    seconds = time.monotonic() - start
    result = _last_line(log)
    name = script.path.stem
    if result is None:
        problem = f"status {status.returncode}, and its last line is not a result"
        return Outcome(name, count, None, seconds, log, problem)
    failures = result["failures"]
    problem = None
    if status.returncode or failures:
        problem = f"status {status.returncode}"
    elif result["count"] < count:
        problem = f"ran {result['count']:,} of {count:,}"
    return Outcome(name, result["count"], failures, seconds, log, problem)


def _last_line(log: Path) -> dict[str, Any] | None:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    try:
        result = json.loads(lines[-1])
        numbers = (result["count"], result["failures"], result["seconds"])
    except (IndexError, ValueError, TypeError, KeyError):
        return None
    known = isinstance(result["name"], str) and all(
        isinstance(number, int | float) for number in numbers
    )
    return result if known else None


def merge(outcomes: list[Outcome]) -> Outcome:
    """Returns the result of a script from the results of its shares, with the longest time."""
    failures = [outcome.failures for outcome in outcomes]
    known = [number for number in failures if number is not None]
    bad = next((outcome for outcome in outcomes if outcome.problem is not None), outcomes[0])
    return Outcome(
        bad.name,
        sum(outcome.count for outcome in outcomes),
        sum(known) if len(known) == len(failures) else None,
        max(outcome.seconds for outcome in outcomes),
        bad.log,
        bad.problem,
    )


def run_all(
    scripts: list[Script], scale: float, seed: int, jobs: int, logs: Path
) -> Iterator[Outcome]:
    """Runs all scripts, and yields their results: first those that share the jobs, by name."""
    together = [script for script in scripts if not script.is_exclusive]
    with ThreadPoolExecutor(jobs) as pool:
        started = [_start(pool, script, scale, seed, jobs, logs) for script in together]
        for shares in started:
            yield merge([share.result() for share in shares])
    with ThreadPoolExecutor(1) as pool:
        for script in scripts:
            if script.is_exclusive:
                yield merge([s.result() for s in _start(pool, script, scale, seed, 1, logs)])


def _start(
    pool: ThreadPoolExecutor, script: Script, scale: float, seed: int, jobs: int, logs: Path
) -> list[Future[Outcome]]:
    counts = script.shares(script.count(scale), jobs)
    name = script.path.stem
    return [
        pool.submit(
            run_script,
            script,
            count,
            seed + number * _SEEDS_OF_A_SHARE,
            logs / (f"{name}.log" if len(counts) == 1 else f"{name}.{number}.log"),
        )
        for number, count in enumerate(counts)
    ]


def _show_end(log: Path) -> None:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines[-_SHOWN_LINES:]:
        print(f"    {line[:500]}")
    print(f"    all of it: {log}", flush=True)


def main() -> int:
    """Runs the scripts; returns the exit status."""
    parser = argparse.ArgumentParser(description="Runs the soak tests.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the long runs' counts")
    parser.add_argument("--seed", type=int, default=0, help="passed to every script")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="scripts to run")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--logs", type=Path, default=Path("build/soak"), help="folder for output")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parent, help="folder of the scripts"
    )
    options = parser.parse_args()
    if not options.scale > 0:
        parser.error("--scale must be positive")
    if options.jobs < 1:
        parser.error("--jobs must be positive")
    try:
        scripts = find_scripts(options.folder)
    except ValueError as error:
        parser.error(str(error))
    if unknown := set(options.only or ()) - {script.path.stem for script in scripts}:
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    if options.only:
        scripts = [script for script in scripts if script.path.stem in options.only]
    if not scripts:
        parser.error(f"no scripts in {options.folder}")
    options.logs.mkdir(parents=True, exist_ok=True)
    print(f"{'name':<20} {'count':>10} {'failures':>8} {'seconds':>9}", flush=True)
    failed = 0
    for outcome in run_all(scripts, options.scale, options.seed, options.jobs, options.logs):
        print(outcome, flush=True)
        if outcome.problem is not None:
            failed += 1
            _show_end(outcome.log)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
