"""Balances the shards of slow tests, so that `make test` takes as long in each commit.

Usage: balance_shards.py [--rewrite] <JUnit report>...

Reports come from `pytest tests/host --junit-xml=<report>`; several reports together may cover all
tests. The script prints the seconds of the slow tests in each of the next shards. With --rewrite,
it chooses the first shard of each test again, and writes tests/host/rotation.py. A test that the
reports lack keeps its shard.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

HOST = Path(__file__).parents[1] / "host"
sys.path.insert(0, str(HOST))

from rotation import ROTATION  # noqa: E402  # pyright: ignore

# A multiple of most intervals.
SHARDS = 240


def read_times(reports: list[str]) -> dict[str, dict[int, float]]:
    """Returns the seconds of each case of the slow tests in JUnit reports, by test and index.

    The property ``case`` of tests/host/conftest.py is the index.
    """
    times: dict[str, dict[int, float]] = defaultdict(dict)
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            path = case.get("classname", "").removeprefix("tests.host.").replace(".", "/")
            name = f"{path}.py::{case.get('name', '').partition('[')[0]}"
            for item in case.iterfind("properties/property[@name='case']"):
                times[name][int(item.get("value", 0))] = float(case.get("time", 0))
    return times


def find_load(cases: dict[int, float], interval: int, first: int) -> list[float]:
    """Returns the seconds of a test in each shard."""
    load = [0.0] * SHARDS
    for case, seconds in cases.items():
        for shard in range((first + case) % interval, SHARDS, interval):
            load[shard] += seconds
    return load


def balance(times: dict[str, dict[int, float]]) -> dict[str, tuple[int, int]]:
    """Returns the table with first shards that make the seconds of all shards similar."""
    table = dict(ROTATION)
    total = [0.0] * SHARDS
    # The tests with the longest cases come first, since short cases fill the rest of a shard.
    known = [name for name, (interval, _) in table.items() if interval and name in times]
    longest = {name: max(find_load(times[name], table[name][0], 0)) for name in known}
    for name in sorted(known, key=longest.__getitem__, reverse=True):
        interval = table[name][0]
        choices = [find_load(times[name], interval, first) for first in range(interval)]
        sums = [sum((a + b) ** 2 for a, b in zip(total, load, strict=True)) for load in choices]
        best = min(range(interval), key=sums.__getitem__)
        table[name] = (interval, best)
        total = [a + b for a, b in zip(total, choices[best], strict=True)]
    return table


def show(times: dict[str, dict[int, float]], table: dict[str, tuple[int, int]]) -> None:
    total = [0.0] * SHARDS
    for name, (interval, first) in table.items():
        if interval and (cases := times.get(name)):
            load = find_load(cases, interval, first)
            total = [a + b for a, b in zip(total, load, strict=True)]
    print(
        "seconds of slow tests in the first shards:", *(f"{seconds:.0f}" for seconds in total[:8])
    )
    print(f"in all shards: from {min(total):.0f} to {max(total):.0f} s")


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
