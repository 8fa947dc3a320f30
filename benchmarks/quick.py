"""The most important rows of other benchmarks, in one run of nine minutes on one GPU.

    python benchmarks/quick.py --compile FOLDER                # where the compiler is
    python benchmarks/quick.py --bundles FOLDER --output F     # where the GPU is

`--rows` selects the entries with one of the given rows, for what an earlier run did not reach.

The rows are those of decode.py, serving.py, prefill.py, dense.py and attention.py, whose arms and
figures they have. First, several processes at a time fill the cache of torch.compile. Then each
row is measured in a process of its own, one after the other, in the order of their value; each
autotunes again on the idle GPU. Rows without time left are in the record, as not measured. The
record is written after every row, so that a run that ends early keeps its measurements.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import attention
import decode
import dense
import prefill
import serving
from protocol.record import Workload
from protocol.suite import (
    FOLDER,
    Journal,
    Request,
    Suite,
    add_measuring,
    compile_rows,
    finish,
    names,
    run_within,
)

SUITES = {
    suite.name: suite
    for suite in (decode.SUITE, serving.SUITE, prefill.SUITE, dense.SUITE, attention.SUITE)
}
STEPS = ("reduce-overhead", "reduce-overhead flex", "ark-1", "ark-128")
PROMPTS = ("reduce-overhead flash", "reduce-overhead cudnn", "ark")
PRODUCTS = ("cublas", "cublas warm", "ark", "ark warm")
# The time limit of the process of one entry.
ENTRY_SECONDS = 150.0
# Processes that fill the cache of torch.compile at a time, and the time for all of them.
WARMING = 5
WARMING_SECONDS = 150.0


@dataclass(frozen=True)
class Entry:
    """Rows of one suite that a process measures with some of their arms."""

    suite: Suite
    rows: Sequence[str]
    arms: Sequence[str]

    @property
    def prefix(self) -> str:
        return f"{self.suite.name} "

    def request(self, folder: Path, arms: Sequence[str], samples: int) -> Request:
        return Request(self.rows, folder / self.suite.name, arms, samples)


DENSE_ROWS = (
    "3072x3072x3072-nt",
    "4096x4096x4096-nt",
    "128x8192x2048-nt",
    "4096x4096x4096-tn",
)
ATTENTION_ROWS = ("4096-64-causal", "8192-128-causal")
ENTRIES = (
    Entry(decode.SUITE, ["A"], STEPS),
    Entry(prefill.SUITE, ["1B-128"], PROMPTS),
    Entry(dense.SUITE, DENSE_ROWS, PRODUCTS),
    Entry(attention.SUITE, ATTENTION_ROWS, attention.ARMS),
    Entry(decode.SUITE, ["B"], STEPS),
    Entry(prefill.SUITE, ["1B-512"], PROMPTS),
    Entry(decode.SUITE, ["Qwen3-4B"], STEPS),
    Entry(decode.SUITE, ["A-b8"], STEPS),
    Entry(prefill.SUITE, ["1B-2048"], PROMPTS),
    Entry(decode.SUITE, ["A-16k"], STEPS),
    Entry(serving.SUITE, ["1B-160-b32"], STEPS),
    Entry(prefill.SUITE, ["1B-130"], PROMPTS),
    Entry(decode.SUITE, ["Qwen3-8B"], STEPS),
    # Modes that take long to compile, in the rows where they may be the best peers.
    Entry(decode.SUITE, ["B"], ["max-autotune flex"]),
    Entry(prefill.SUITE, ["1B-512"], ["max-autotune flash"]),
    Entry(decode.SUITE, ["A"], ["max-autotune flex"]),
    Entry(decode.SUITE, ["A-b8"], ["max-autotune flex"]),
)


def main() -> int:
    options = parse()
    if options.compile is not None:
        return compile_all(options.compile, options.target)
    begin = time.monotonic()
    deadline = begin + options.seconds
    journal = Journal()
    journal.machines += measured_read(deadline)
    entries = [entry for entry in ENTRIES if not set(entry.rows).isdisjoint(options.rows)]
    warm_up(entries, options.bundles, deadline)
    text = ""
    for entry in entries:
        request = entry.request(options.bundles, entry.arms, options.samples)
        until = min(deadline, time.monotonic() + ENTRY_SECONDS)
        journal.measure(entry.suite, request, until, entry.prefix)
        text = journal.record(dict(workloads()), serving.UNSUPPORTED, time.monotonic() - begin)
        if options.output is not None:
            options.output.write_text(text, encoding="utf-8")
    return finish(journal, text, options.output)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--compile", type=Path, metavar="FOLDER", help="compile to FOLDER")
    action.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure FOLDER's bundles")
    parser.add_argument("--target", default="cuda:sm_90a", help="target of --compile")
    rows = tuple(dict.fromkeys(row for entry in ENTRIES for row in entry.rows))
    parser.add_argument(
        "--rows", type=names(rows), default=rows, help=f"some of {', '.join(rows)}; default all"
    )
    add_measuring(parser)
    parser.set_defaults(seconds=540, samples=5)
    return parser.parse_args()


def compile_all(folder: Path, target: str) -> int:
    """Writes the bundles of all entries; returns 1 if one of them cannot be compiled."""
    rows = dict.fromkeys((entry.suite.name, row) for entry in ENTRIES for row in entry.rows)
    states = [compile_rows(SUITES[name], [row], folder / name, target) for name, row in rows]
    return max(states)


def workloads() -> Iterator[tuple[str, Workload]]:
    """Yields the workloads of all suites by the names of their rows in the record."""
    for name, suite in SUITES.items():
        for row, workload in suite.workloads.items():
            yield f"{name} {row}", workload


def measured_read(deadline: float) -> list[str]:
    """Returns a line with the bandwidth of a streaming read."""
    command = [sys.executable, str(FOLDER / "read_limit.py")]
    left = max(1.0, min(60.0, deadline - time.monotonic()))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return [f"Streaming read: not measured: {error}"]
    return [done.stdout.strip()]


def warm_up(entries: Sequence[Entry], folder: Path, deadline: float) -> None:
    """Fills the cache of torch.compile with the kernels of the entries, several at a time."""
    end = min(deadline, time.monotonic() + WARMING_SECONDS)

    def make(entry: Entry) -> None:
        arms = [arm for arm in entry.arms if arm.startswith("reduce-overhead")]
        if not arms:
            return
        command = entry.request(folder, arms, 0).command(entry.suite, entry.rows, Path("/dev/null"))
        left = end - time.monotonic()
        if left > 0:
            run_within(command, left)

    with ThreadPoolExecutor(WARMING) as pool:
        list(pool.map(make, sorted(entries, key=lambda entry: "Qwen3" not in entry.rows[0])))
    for path in inductor_cache().rglob("*.best_config"):
        path.unlink(missing_ok=True)  # found while other processes used the GPU


def inductor_cache() -> Path:
    """Returns the folder in which torch.compile keeps its kernels."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return Path(cache_dir())


if __name__ == "__main__":
    sys.exit(main())
