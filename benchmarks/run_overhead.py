"""Measures runs on the CPU, as launches and in a resident kernel, and hand-offs between workers.

    python benchmarks/run_overhead.py [--samples 30]

The programs do almost no work, on two workers. Prints medians of interleaved samples.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from table import print_table

import ark_mlir as ark
from ark_mlir.runtime import Executable

TASKS, ROWS = 64, 64
HOPS = 200


def wide() -> Executable:
    """Builds tasks of 64 vCTAs of 8 numbers; each vCTA needs one vCTA of the previous task."""
    with ark.Program("wide") as program, ark.planner(tile=(1, 8), sync=False):
        x = ark.input("x", (ROWS, 8))
        for _ in range(TASKS):
            x = ark.softmax(x)
        ark.output("y", x)
    return ark.compile(program, target="cpu:2")


def ping_pong() -> Executable:
    """Builds a chain of tasks of one vCTA, which alternate between two workers."""
    with ark.Program("pingpong") as program:
        x = ark.input("x", (1, 8))
        for hop in range(HOPS):
            with ark.planner(sms=(hop % 2, hop % 2 + 1)):
                x = ark.softmax(x)
        ark.output("y", x)
    return ark.compile(program, target="cpu:2")


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=30)
    samples = parser.parse_args().samples
    broad, narrow = wide(), ping_pong()
    many, one = np.ones((ROWS, 8), np.float32), np.ones((1, 8), np.float32)
    arms: dict[str, tuple[Callable[[], object], float]] = {
        "task with its hand-off to the other worker, ns": (
            lambda: narrow.run(x=one, iterations=10), 1e9 / (10 * HOPS)
        ),
        "run(): launch, both workers, arrays, us": (lambda: broad.run(x=many), 1e6),
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(samples):
        for name, (work, scale) in arms.items():
            times[name].append(seconds(work) * scale)
    resident = "the same in a resident kernel, us"
    with broad.resident() as kernel:
        times[resident] = [seconds(lambda: kernel.run(x=many)) * 1e6 for _ in range(samples)]
    print_table(
        ("what", "median", "least"),
        [
            (name, f"{statistics.median(values):.1f}", f"{min(values):.1f}")
            for name, values in times.items()
        ],
    )


if __name__ == "__main__":
    main()
