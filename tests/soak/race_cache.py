#!/usr/bin/env python3
"""Sixteen processes read and write six entries of one cache that has room for three.

The kernel of every entry contains its key. A failure is an entry of another key, a warning (no
entry is damaged, so none is due), or a process that ends with an error.

    tests/soak/race_cache.py --count 3200 --seed 1
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

from ark_mlir.bundle import Bundle
from ark_mlir.bundle.store import BundleStore
from ark_mlir.testing.toy import add_program

PROCESSES = 16
FULL_COUNT = 3_200
# The script has processes of its own.
EXCLUSIVE = True
_KEYS = 6
_TIMEOUT_SECONDS = 1800


class _Warned(logging.Handler):
    """Counts and prints the warnings of the cache."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1
        print(f"warning: {record.getMessage()}", flush=True)


def bundle_of(key: int) -> Bundle:
    """Returns a bundle whose kernel contains its key."""
    return Bundle.from_parts(*add_program().parts(b"\x7fELF" + bytes([key]) * 20_000))


def work(folder: Path, limit: int, seed: int, rounds: int, start: Barrier) -> None:
    """Runs one of the processes; exits with 1 on a failure."""
    warned, draw, store = _Warned(), Random(seed), BundleStore(folder, limit)
    logging.getLogger("ark.cache").addHandler(warned)
    made = [bundle_of(key) for key in range(_KEYS)]
    start.wait()
    wrong = 0
    for _ in range(rounds):
        key = draw.randrange(_KEYS)
        found = store.load(str(key))
        if found is None:
            store.save(str(key), made[key])
        elif found.sections["kernel"] != made[key].sections["kernel"]:
            wrong += 1
            print(f"key {key}: the entry is of another one", flush=True)
    sys.exit(1 if wrong or warned.count else 0)


def main() -> int:
    """Runs the processes; prints the result; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="look-ups of all processes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rounds = -(-options.count // PROCESSES)
    begin = time.monotonic()
    context = multiprocessing.get_context("fork")
    start = context.Barrier(PROCESSES)
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        probe = BundleStore(Path(folder) / "probe", 1 << 30)
        probe.save("0", bundle_of(0))
        limit = int(3.5 * probe.usage().bytes)
        arguments = (Path(folder) / "cache", limit)
        processes = [
            context.Process(
                target=work, args=(*arguments, PROCESSES * options.seed + index, rounds, start)
            )
            for index in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(_TIMEOUT_SECONDS)
            process.kill()
            process.join()
        usage = BundleStore(*arguments).usage()
    failures = sum(process.exitcode != 0 for process in processes)
    # Every look-up is counted, and the folder is within its limit.
    failures += usage.hits + usage.misses != rounds * PROCESSES
    failures += usage.bytes > limit
    print(json.dumps({
        "name": "race_cache", "count": rounds * PROCESSES, "failures": failures,
        "seconds": round(time.monotonic() - begin, 1), "seed": options.seed,
        "hits": usage.hits, "misses": usage.misses,
    }))  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
