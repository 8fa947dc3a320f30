"""Balances the turns of slow tests, so that `make test` takes as long in each commit.

Usage: balance_turns.py [--rewrite] <JUnit report>...

Reports come from `pytest tests/host --junit-xml=<report>`; several reports together may cover all
tests. The script prints the seconds of the slow tests in each of the next turns. With --rewrite, it
chooses the first turn of each test again, and writes tests/host/rotation.py. A test that the
reports lack keeps its turn.
"""

from __future__ import annotations

import runpy
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

HOST = Path(__file__).parents[1] / "host"
ROTATION: dict[str, tuple[int, int]] = runpy.run_path(str(HOST / "rotation.py"))["ROTATION"]
# A multiple of most intervals.
TURNS = 240


def read_times(reports: list[str]) -> dict[str, dict[str, float]]:
    """Returns the seconds of each case in JUnit reports, by test."""
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            path = case.get("classname", "").removeprefix("tests.host.").replace(".", "/")
            test, _, parameters = case.get("name", "").partition("[")
            times[f"{path}.py::{test}"][parameters] = float(case.get("time", 0))
    return times


def find_load(seconds: float, cases: int, interval: int, first: int) -> list[float]:
    """Returns the seconds of a test in each turn, if its cases take equally long."""
    load = [0.0] * TURNS
    for case in range(cases):
        for turn in range((first + case) % interval, TURNS, interval):
            load[turn] += seconds / cases
    return load


def balance(times: dict[str, dict[str, float]]) -> dict[str, tuple[int, int]]:
    """Returns the table with first turns that make the seconds of all turns similar."""
    table = dict(ROTATION)
    total = [0.0] * TURNS
    movable: list[tuple[float, int, str]] = []
    for name, (interval, _) in table.items():
        cases = times.get(name)
        if interval and cases:
            movable.append((sum(cases.values()), len(cases), name))
    for seconds, cases, name in sorted(movable, reverse=True):
        interval = table[name][0]
        choices = [find_load(seconds, cases, interval, first) for first in range(interval)]
        sums = [sum((a + b) ** 2 for a, b in zip(total, load, strict=True)) for load in choices]
        best = min(range(interval), key=sums.__getitem__)
        table[name] = (interval, best)
        total = [a + b for a, b in zip(total, choices[best], strict=True)]
    return table


def show(times: dict[str, dict[str, float]], table: dict[str, tuple[int, int]]) -> None:
    total = [0.0] * TURNS
    for name, (interval, first) in table.items():
        if interval and (cases := times.get(name)):
            load = find_load(sum(cases.values()), len(cases), interval, first)
            total = [a + b for a, b in zip(total, load, strict=True)]
    print("seconds of slow tests in the first turns:", *(f"{seconds:.0f}" for seconds in total[:8]))
    print(f"in all turns: from {min(total):.0f} to {max(total):.0f} s")


def rewrite(table: dict[str, tuple[int, int]]) -> None:
    path = HOST / "rotation.py"
    head = path.read_text(encoding="utf-8").partition("ROTATION: ")[0]
    lines = [f'    "{name}": {table[name]},' for name in sorted(table)]
    text = "\n".join(["ROTATION: dict[str, tuple[int, int]] = {", *lines, "}", "# fmt: on", ""])
    path.write_text(head + text, encoding="utf-8")


def main() -> None:
    arguments = sys.argv[1:]
    change = "--rewrite" in arguments
    times = read_times([name for name in arguments if name != "--rewrite"])
    table = balance(times) if change else ROTATION
    show(times, table)
    if change:
        rewrite(table)


if __name__ == "__main__":
    main()
