#!/usr/bin/env python3
"""Runs the scripts of this folder one after the other, and prints a line for each result.

    tests/soak/run.py                       # long runs, hours
    tests/soak/run.py --scale 0.01          # a hundredth of the cases
    tests/soak/run.py --only fuzz_bundles fuzz_safetensors

A script takes part if it can be executed and has a constant FULL_COUNT, the count of its long run.
It takes --count and --seed, and its last line is JSON with "name", "count", "failures", "seconds".
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHOWN_LINES = 20


@dataclass(frozen=True)
class Script:
    """A script and the count of its long run."""

    path: Path
    full_count: int

    def count(self, scale: float) -> int:
        """Returns the number of cases of a run of this scale, at least one."""
        return max(1, round(self.full_count * scale))


@dataclass(frozen=True)
class Outcome:
    """The result of a script; `problem` is None if it succeeded."""

    name: str
    count: int
    failures: int | None
    seconds: float
    problem: str | None = None

    def __str__(self) -> str:
        failures = "?" if self.failures is None else f"{self.failures:,}"
        end = "ok" if self.problem is None else f"FAILED: {self.problem}"
        return f"{self.name:<20} {self.count:>10,} {failures:>8} {self.seconds:>9.1f}  {end}"


def find_scripts(folder: Path) -> list[Script]:
    """Returns the scripts of a folder by name. Raises ValueError if a FULL_COUNT is no literal."""
    found: list[Script] = []
    for path in sorted(folder.glob("*.py")):
        full_count = _full_count(path)
        if full_count is not None and os.access(path, os.X_OK):
            found.append(Script(path, full_count))
    return found


def _full_count(path: Path) -> int | None:
    """Returns the constant of a file without running it; None if the file has none."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == "FULL_COUNT" for target in targets):
            if not (isinstance(value, ast.Constant) and type(value.value) is int):
                raise ValueError(f"{path}: FULL_COUNT is no number: {ast.unparse(value)}")
            return value.value
    return None


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
        problem = f"status {status.returncode}, and its last line is no result"
        return Outcome(name, count, None, seconds, problem)
    failures = result["failures"]
    problem = None
    if status.returncode or failures:
        problem = f"status {status.returncode}"
    elif result["count"] < count:
        problem = f"ran {result['count']:,} of {count:,}"
    return Outcome(name, result["count"], failures, seconds, problem)


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
    parser.add_argument("--logs", type=Path, default=Path("build/soak"), help="folder for output")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="of the scripts")
    options = parser.parse_args()
    if not options.scale > 0:
        parser.error("--scale must be positive")
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
    for script in scripts:
        log = options.logs / f"{script.path.stem}.log"
        outcome = run_script(script, script.count(options.scale), options.seed, log)
        print(outcome, flush=True)
        if outcome.problem is not None:
            failed += 1
            _show_end(log)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
