"""Measures the overhead of the persistent schedule on the CPU, with vCTAs of almost no work.

    python benchmarks/schedule_overhead.py [--workers 2] [--samples 15]

Three programs, whose vCTAs fill 64 bytes, run many times in one launch on all workers: one task
with independent vCTAs; a chain of tasks with one vCTA per worker, each of which depends only on the
previous vCTA of its worker; and a chain in which each vCTA depends on the previous vCTAs of all
workers, and so waits for a hand-off.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from table import print_table

import ark_mlir as ark

ITERATIONS = 2000
VCTAS = 4096
TASKS = 256
COLUMNS = 16
AIM = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--samples", type=int, default=15)
    options = parser.parse_args()
    workers = options.workers
    programs = {
        "independent": (program(VCTAS, 1, own), VCTAS),
        "chain, own parts": (program(workers, TASKS, own), workers * TASKS),
        "chain, all parts": (program(workers, TASKS, everything), workers * TASKS),
    }
    rows: list[tuple[str, ...]] = []
    for name, (text, vctas) in programs.items():
        with ark.compile(text, f"cpu:{workers}", scheduler="round-robin") as executable:
            nanoseconds = measure(executable, options.samples) / vctas
            statistics = executable.bundle.manifest.statistics
            waits = f"{statistics['waits']:.0f} + {statistics['barriers']:.0f}"
        rows.append((name, str(vctas), waits, f"{nanoseconds / 1e3:.3f}", f"{AIM:.0f}"))
    print_table(("program", "vCTAs", "waits + barriers", "us per vCTA", "aim, at most"), rows)
    return 0


def own(rows: int) -> str:
    return f"#ark.region<(d0) -> (d0, 0), [1, {COLUMNS}]>"


def everything(rows: int) -> str:
    return f"#ark.region<(d0) -> (0, 0), [{rows}, {COLUMNS}]>"


def program(rows: int, tasks: int, reads: Callable[[int], str]) -> str:
    """Returns the text of a chain of tasks at the stage `tiling`, with a vCTA for each row."""
    whole, tile = f"tensor<{rows}x{COLUMNS}xf32>", f"tensor<1x{COLUMNS}xf32>"
    seen = tile if reads is own else whole
    lines = []
    value = "%x"
    for task in range(tasks):
        lines.append(f"""
          %e{task} = tensor.empty() : {whole}
          %t{task} = ark.task "t{task}" grid [{rows}]
              ins({value}[{reads(rows)}] : {whole})
              outs(%e{task}[{own(rows)}] : {whole}) {{
          ^bb0(%i: index, %a: {seen}, %o: {tile}):
            %zero = arith.constant 0.0 : f32
            %r = linalg.fill ins(%zero : f32) outs(%o : {tile}) -> {tile}
            ark.yield %r : {tile}
          }} : {whole}""")
        value = f"%t{task}"
    return f"""
      module attributes {{ark.stage = "tiling"}} {{
        ark.program @noop(%x: {whole} {{ark.kind = #ark.kind<input>, ark.name = "x"}})
            -> ({whole} {{ark.name = "y"}}) {{{"".join(lines)}
          ark.return {value} : {whole}
        }}
      }}"""


def measure(executable: ark.Executable, samples: int) -> float:
    """Returns the median nanoseconds of one iteration."""
    (buffer,) = executable.inputs
    x = np.zeros(buffer.shape, np.float32)
    times: list[float] = []
    for _ in range(samples + 1):
        start = time.perf_counter()
        executable.run(x=x, iterations=ITERATIONS)
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:])) / ITERATIONS * 1e9


if __name__ == "__main__":
    sys.exit(main())
