"""Measures the bubble of a pipeline-parallel training step: the time in which ranks wait.

    python benchmarks/pipeline.py --compile FOLDER [--ranks N] [--target cpu:1]
    python benchmarks/pipeline.py --compile FOLDER --target cuda:sm_90a --rows 1024 --width 2048
    python benchmarks/pipeline.py --bundles FOLDER [--ranks N] [--output F]

Compilation needs the compiler. The measurement needs a processor with more idle cores than ranks,
or N GPUs for bundles of a GPU. On GPUs, hand-offs are most of the bubble of small microbatches.
Each rank computes the stages of a residual MLP, forward and backward. A bubble is the share of a
step in which a rank executes no work item, the mean over all ranks. The table has the ideal bubble
of equal units, the bubble that the compiler predicts, and that of traces, the median of several
steps. In the last row, plans name no microbatches: the compiler then fuses microbatches, and ranks
wait for each other.

If the processor has fewer cores than ranks, traced bubbles are "not measured": ranks would wait for
cores. The exit status is 1 if the loss of a row is not that of the first row of its batch.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from bundle_options import NOT_MEASURED, add_one_gpu, bundle_parser, device_options
from table import table

import ark_mlir as ark
from ark_mlir.bundle import Bundle

BLOCKS = 8  # of each rank
# The names of rows: microbatches for each rank, stages of each rank, microbatches in plans.
ROWS = {"1": (1, 1, True), "2": (2, 1, True), "4": (4, 1, True), "2-interleaved": (2, 2, True),
        "2-without-plans": (2, 1, False)}  # fmt: skip
# Relative difference of losses of equal batches, which add microbatches in different orders.
ROUNDING = 1e-5


def main() -> int:
    options = parse()
    if options.compile is not None:
        compile_programs(options)
        return 0
    return measure(options)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.set_defaults(target="cpu:1")
    parser.add_argument("--ranks", type=int, default=4, help="number of ranks (default 4)")
    parser.add_argument("--rows", type=int, default=64, help="rows of a microbatch (default 64)")
    parser.add_argument("--width", type=int, default=256, help="width of the model (default 256)")
    parser.add_argument("--samples", type=int, default=7, help="traced steps (default 7)")
    add_one_gpu(parser)
    return parser.parse_args()


def bundle_path(folder: Path, options: argparse.Namespace, row: str) -> Path:
    return folder / f"pipeline-{options.ranks}-{row}.arkbin"


# -- with the compiler -----------------------------------------------------------------------------


def build(rank: int, ranks: int, row: str, rows: int, width: int) -> ark.Program:
    """Builds the step of a rank, with SGD, at a rate of zero so that all losses are equal."""
    share, chunks, _ = ROWS[row]
    microbatches = share * ranks
    with ark.Program("pipeline", rank=rank, world_size=ranks) as program:
        pipeline = ark.training.Pipeline(microbatches, hidden=(rows, width), chunks=chunks)
        x = ark.input("x", (microbatches * rows, width))
        each = BLOCKS // chunks
        shape = (width, width)
        blocks = {
            stage: [ark.state(f"w{stage * each + number}", shape) for number in range(each)]
            for stage in pipeline.stages
        }
        weights = [weight for part in blocks.values() for weight in part]

        def stage(number: int, h: ark.Tensor) -> ark.Tensor:
            for weight in blocks[number]:
                h = h + ark.gelu(h @ weight)
            return h

        loss, slopes = pipeline.gradients(
            weights, x, stage, lambda y, _: ark.reduce_mean(y * y, keepdims=False)
        )
        ark.output("loss", loss)
        ark.optim.SGD(weights, lr=0.0).step(slopes)
    return program


def compile_programs(options: argparse.Namespace) -> None:
    """Compiles the programs of all rows."""
    options.compile.mkdir(parents=True, exist_ok=True)
    for row, (_, _, planned) in ROWS.items():
        plans: Any = contextlib.nullcontext()
        if not planned:
            plans = mock.patch.object(
                ark.frontend, "planner", return_value=contextlib.nullcontext()
            )
        with plans:
            programs = [
                build(rank, options.ranks, row, options.rows, options.width)
                for rank in range(options.ranks)
            ]
        path = bundle_path(options.compile, options, row)
        ark.compile(
            programs, target=options.target, cache=False, trace=True, **device_options(options)
        ).save(path)
        print(path.name, flush=True)


# -- with the ranks --------------------------------------------------------------------------------


def arrays(bundle: Bundle) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the batch, and the states of each rank; equal names have equal arrays."""
    states: list[dict[str, Any]] = [{} for _ in range(bundle.manifest.ranks)]
    for buffer in bundle.manifest.states:
        rank, _, name = buffer.name.partition("/")
        if name.startswith("w"):
            rng = np.random.default_rng(int(name[1:]))
            scale = 0.2 / buffer.shape[0] ** 0.5
            array = (scale * rng.standard_normal(buffer.shape)).astype(np.float32)
            states[int(rank.removeprefix("rank"))][name] = array
    shape = bundle.manifest.inputs[0].shape
    return {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}, states


def trace(path: Path, samples: int) -> tuple[Bundle, float, list[float], list[float]]:
    """Returns a bundle, its loss, and the traced bubble and time in ms of each step."""
    from ark_mlir.runtime.diagnosis.trace import read_trace
    from ark_mlir.simulation import bubble

    bubbles: list[float] = []
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ark.load(path) as world:
        bundle = world.bundle
        batch, states = arrays(bundle)
        world.bind(states)
        inputs = [batch] * bundle.manifest.ranks
        loss = float(world.run(inputs)[0]["loss"])
        for _ in range(samples):
            file = Path(folder) / "trace.json"
            world.run(inputs, trace=file)
            spans = read_trace(file, bundle)
            spans[:, 1] -= spans[:, 0]
            bubbles.append(bubble(bundle, spans))
            times.append(float(spans.sum(axis=1).max() - spans[:, 0].min()) / 1e6)
    return bundle, loss, bubbles, times


def measure(options: argparse.Namespace) -> int:
    """Measures all rows; returns 1 if a loss is wrong."""
    from ark_mlir.simulation import bubble

    rows: list[list[str]] = []
    losses: dict[int, float] = {}
    status = 0
    for row, (share, chunks, planned) in ROWS.items():
        bundle, loss, bubbles, times = trace(
            bundle_path(options.bundles, options, row), options.samples
        )
        ranks = bundle.manifest.ranks
        if abs(loss / losses.setdefault(share, loss) - 1) > ROUNDING:
            print(f"pipeline: {row}: the loss is {loss}, not {losses[share]}", file=sys.stderr)
            status = 1
        ideal = (ranks - 1) / (chunks * share * ranks + ranks - 1)
        on_cpu = bundle.manifest.target.backend == "cpu"
        is_busy = on_cpu and len(os.sched_getaffinity(0)) <= ranks
        traced = NOT_MEASURED if is_busy else f"{statistics.median(bubbles):.3f}"
        time = NOT_MEASURED if is_busy else f"{statistics.median(times):.3f}"
        predicted = f"{bubble(bundle, bundle.tables.timeline):.3f}"
        rows.append([
            str(ranks), str(share * ranks), str(chunks), "yes" if planned else "no",
            f"{ideal:.3f}", predicted, traced, time,
        ])  # fmt: skip
        print("  ".join(rows[-1]), flush=True)
    head = ("ranks", "microbatches", "stages of a rank", "in plans", "ideal", "predicted",
            "traced", "step, ms")  # fmt: skip
    text = table(head, rows)
    print(text, flush=True)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
