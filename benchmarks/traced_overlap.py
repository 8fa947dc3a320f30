"""The exposed part of the sums of gradients in a traced data-parallel step, on the CPU.

    python benchmarks/traced_overlap.py [--ranks 2] [--workers 2] [--model char-64]

Each rank computes the gradients of an equal part of the batch; `ark.optim.sum_over_ranks` adds
them in buckets. A rank communicates while one of its workers executes a task of these sums
(packing, sending, adding, unpacking) or waits for a message of them. That time is exposed if no
worker of the rank executes another task meanwhile. *Share* is the exposed time, divided by the time
in which the rank communicates. Times are medians over traced steps, of the rank with the largest
share. The machine needs as many idle cores as there are workers of all ranks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from table import table
from training import MODELS
from training_models import Sizes, first_weights

import ark_mlir as ark

NAME = "gradients.sum"
BUCKETS = {"16 KiB": 16 << 10, "256 KiB": 256 << 10, "one for all": 1 << 40}
HEADER = ("buckets", "sums", "step, us", "communication, us", "exposed, us", "share")

Span = tuple[float, float]


class Exposure(NamedTuple):
    """Times of a rank in µs: the step, its communication, and the exposed part."""

    step: float
    communication: float
    exposed: float

    @property
    def share(self) -> float:
        """Returns the exposed part of the communication, 0 without communication."""
        return self.exposed / self.communication if self.communication else 0.0


def build(sizes: Sizes, rank: int, ranks: int, bucket_bytes: int) -> ark.Program:
    """Returns the step of a rank, which has an equal part of the batch."""
    from training_gpt import GPT

    with ark.Program("step", rank=rank, world_size=ranks) as program:
        rows = ark.input("rows", (sizes.batch // ranks, sizes.length + 1), ark.int32)
        model = GPT(sizes)
        weights = ark.trainable(model)
        loss = ark.cross_entropy(model(rows[:, :-1]), rows[:, 1:]) / ranks
        slopes = ark.gradients(loss, weights)
        slopes = ark.optim.sum_over_ranks(slopes, bucket_bytes=bucket_bytes)
        ark.optim.SGD(weights, lr=0.01).step(slopes)
    return program


def merged(spans: Iterable[Span]) -> list[Span]:
    """Returns the union of spans as disjoint spans, in order."""
    result: list[Span] = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def covered(spans: Sequence[Span], others: Sequence[Span]) -> float:
    """Returns the length of the part of disjoint `spans` that disjoint `others` cover."""
    return sum(
        max(0.0, min(end, until) - max(begin, since))
        for begin, end in spans
        for since, until in others
    )


def exposure(events: Iterable[dict[str, Any]], workers: int, rank: int) -> Exposure:
    """Returns the times of a rank, from the events of a trace.

    Args:
        events: the events of a trace in Chrome's format.
        workers: the workers of each rank.
        rank: the rank.
    """
    messages: list[Span] = []
    work: list[Span] = []
    for event in events:
        if event["ph"] != "X" or event["pid"] // workers != rank:
            continue
        span = event["ts"], event["ts"] + event["dur"]
        if NAME in event["name"]:
            messages.append(span)
        elif event["cat"] == "run":
            work.append(span)
    sums, rest = merged(messages), merged(work)
    every = merged([*sums, *rest])
    communication = sum(end - begin for begin, end in sums)
    return Exposure(every[-1][1] - every[0][0], communication, communication - covered(sums, rest))


def measure(options: argparse.Namespace, bucket_bytes: int) -> tuple[int, Exposure]:
    """Returns the number of sums of a step, and the times of the rank with the largest share."""
    sizes, ranks = MODELS[options.model], options.ranks
    programs = [build(sizes, rank, ranks, bucket_bytes) for rank in range(ranks)]
    shape = sizes.batch, sizes.length + 1
    rows = np.random.default_rng(0).integers(0, sizes.vocabulary, shape, dtype=np.int32)
    inputs = [{"rows": part} for part in np.split(rows, ranks)]
    found: list[Exposure] = []
    with (
        ark.compile(programs, f"cpu:{options.workers}", cache=False, trace=True) as world,
        tempfile.TemporaryDirectory() as folder,
    ):
        world.bind([first_weights(sizes)] * ranks)
        world.run(inputs)
        for _ in range(options.samples):
            path = Path(folder) / "trace.json"
            world.run(inputs, trace=path)
            events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
            each = [exposure(events, options.workers, rank) for rank in range(ranks)]
            found.append(max(each, key=lambda times: times.share))
    count = programs[0].mlir.count("ark.all_reduce")
    return count, Exposure(*(statistics.median(column) for column in zip(*found, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2, help="ranks (default 2)")
    parser.add_argument("--workers", type=int, default=2, help="workers of a rank (default 2)")
    parser.add_argument("--model", choices=MODELS, default="char-64", help="default: char-64")
    parser.add_argument("--samples", type=int, default=9, help="traced steps (default 9)")
    options = parser.parse_args()
    rows: list[Sequence[str]] = []
    for name, size in BUCKETS.items():
        sums, times = measure(options, size)
        cells = (f"{value:.0f}" for value in times)
        rows.append((name, str(sums), *cells, f"{times.share:.2f}"))
    print(table(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
