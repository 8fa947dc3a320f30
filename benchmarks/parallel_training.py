"""Training steps of large transformers on several GPUs, with several kinds of parallelism.

    python benchmarks/parallel_training.py --predict [--ranks N]                     # without GPUs
    python benchmarks/parallel_training.py --compile FOLDER [--ranks N]              # the compiler
    python benchmarks/parallel_training.py --bundles FOLDER [--ranks N] [--output F] # with N GPUs

A row is a model and a kind of parallelism. A step is the forward pass, the cross-entropy, the
backward pass and AdamW, on a batch of random tokens; weights and moments are fp32, products read
bf16. All kinds compute the step of the same batch:

data      each rank has all weights and a part of the batch, and the ranks add the gradients
tensor    each rank has some heads and inner columns of each layer, and the ranks add the results
sequence  as tensor, and each rank has a part of the tokens between products
pipeline  each rank has some of the layers, and a microbatch is one sequence

*Predicted* is the time of the simulator on `--topology`, *exposed* its part that ranks would save
if messages took no time. *Memory* is that of the largest rank: its arrays, and its
part of the arena and the task packets. *Step* is the measured time;
it is "not measured" with fewer GPUs than ranks. `--layers` reduces the depth of all models. A
kind that cannot divide the model into equal parts for the ranks has no row. The exit status is 1 if
losses of the kinds of one model differ, or there is no row.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bundle_options import NOT_MEASURED, bundle_parser
from parallel_training_weights import rank_part, weight_shapes, whole_weight
from table import table
from training_models import Sizes

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Manifest, read_bundle

KINDS = ("data", "tensor", "sequence", "pipeline")
MODELS = {
    "bert-large": Sizes(30592, 1024, 24, 16, 512, 8, "bf16", causal=False),
    "gpt2-xl": Sizes(50304, 1600, 48, 25, 1024, 8, "bf16"),
    "gpt3-6.7b": Sizes(50304, 4096, 32, 32, 2048, 8, "bf16"),
    "tiny": Sizes(64, 32, 4, 4, 16, 4),
}
HEAD = ("model", "kind", "ranks", "layers", "memory, GB", "predicted, ms", "exposed, ms",
        "bubble", "TFLOP/s of a rank", "step, ms", "predicted / step")  # fmt: skip
# Relative difference of losses of one batch, whose sums the kinds compute in different orders.
ROUNDING = {"fp32": 1e-4, "bf16": 2e-2}


def main() -> int:
    options = parse()
    if options.compile is not None:
        return compile_programs(options)
    return report(options)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__, predicts=True)
    parser.add_argument("--ranks", type=int, default=2, help="number of GPUs (default 2)")
    parser.add_argument("--models", default="bert-large,gpt2-xl,gpt3-6.7b", help="names of models")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of parallelism")
    parser.add_argument("--layers", type=int, help="layers of each model (default: all)")
    parser.add_argument("--batch", type=int, help="sequences of a batch (default: the model's)")
    parser.add_argument("--topology", default="h200", help="topology of the simulation")
    parser.add_argument("--samples", type=int, default=7, help="measured steps (default 7)")
    return parser.parse_args()


def chosen_rows(options: argparse.Namespace) -> Iterator[tuple[str, str, Sizes]]:
    """Returns model, kind and sizes of each row.

    Raises SystemExit if a name is unknown, or ranks do not divide what a kind divides.
    """
    for model in options.models.split(","):
        for kind in options.kinds.split(","):
            if model not in MODELS or kind not in KINDS:
                raise SystemExit(f"{model} {kind}: not one of {[*MODELS]} and one of {KINDS}")
            sizes = MODELS[model]
            sizes = replace(sizes, layers=options.layers or sizes.layers)
            sizes = replace(sizes, batch=options.batch or sizes.batch)
            divided = {
                "data": sizes.batch, "tensor": sizes.heads, "sequence": sizes.heads,
                "pipeline": sizes.layers,
            }  # fmt: skip
            what = {"data": "sequences", "pipeline": "layers"}
            if divided[kind] % options.ranks:
                print(
                    f"{model} {kind}: {options.ranks} ranks do not divide "
                    f"{divided[kind]} {what.get(kind, 'heads')}; no row",
                    flush=True,
                )
            else:
                yield model, kind, sizes


# -- with the compiler -----------------------------------------------------------------------------


def programs(kind: str, sizes: Sizes, ranks: int) -> list[ark.Program]:
    from parallel_training_models import build

    return [build(sizes, kind, rank, ranks) for rank in range(ranks)]


def bundle_path(folder: Path, model: str, kind: str, ranks: int) -> Path:
    return folder / f"parallel-{ranks}-{model}-{kind}.arkbin"


def compile_programs(options: argparse.Namespace) -> int:
    """Compiles the bundles of all rows; returns 1 if there are none."""
    options.compile.mkdir(parents=True, exist_ok=True)
    status = 1
    for model, kind, sizes in chosen_rows(options):
        path = bundle_path(options.compile, model, kind, options.ranks)
        made = programs(kind, sizes, options.ranks)
        ark.compile(made, target=options.target, cache=False).save(path)
        print(path.name, flush=True)
        status = 0
    return status


def schedule(kind: str, sizes: Sizes, options: argparse.Namespace) -> Bundle:
    """Returns the compiled schedule of a row, without machine code."""
    from ark_mlir.compiler import compile_schedule

    return compile_schedule(programs(kind, sizes, options.ranks), options.target)


# -- with the ranks --------------------------------------------------------------------------------


def first_values(bundle: Bundle, sizes: Sizes) -> list[dict[str, Any]]:
    """Returns the first weights of each rank."""
    shapes = weight_shapes(sizes, range(sizes.layers))
    values: list[dict[str, Any]] = [{} for _ in range(bundle.manifest.ranks)]
    for buffer in bundle.manifest.states:
        rank, _, name = buffer.name.rpartition("/")
        if name in shapes:
            number = int(rank.removeprefix("rank")) if rank else 0
            whole = whole_weight(name, shapes[name])
            values[number][name] = rank_part(whole, tuple(buffer.shape), number)
    return values


def batches(kind: str, sizes: Sizes, ranks: int) -> list[dict[str, Any]]:
    """Returns the inputs of each rank: its part of the batch, or all of it."""
    shape = sizes.batch, sizes.length + 1
    rows = np.random.default_rng(0).integers(0, sizes.vocabulary, shape, dtype=np.int32)
    parts = np.split(rows, ranks) if kind == "data" else [rows] * ranks
    return [{"rows": part} for part in parts]


def measure(bundle: Path, kind: str, sizes: Sizes, samples: int) -> tuple[list[float], float]:
    """Returns the losses of the first two steps, and the median seconds of the next steps."""
    with ark.load(bundle) as world:
        ranks = world.bundle.manifest.ranks
        world.bind(first_values(world.bundle, sizes))
        inputs = batches(kind, sizes, ranks)
        losses = [float(world.run(inputs)[0]["loss"]) for _ in range(2)]
        times: list[float] = []
        for _ in range(samples):
            begin = time.perf_counter()
            world.run(inputs)
            times.append(time.perf_counter() - begin)
    return losses, statistics.median(times)


def can_run(bundle: Bundle) -> bool:
    """Returns True if the machine has the devices of all ranks."""
    if bundle.manifest.target.backend == "cpu":
        return True
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.device_count() >= bundle.manifest.ranks


# -- table -----------------------------------------------------------------------------------------


def memory_of(manifest: Manifest) -> int:
    """Returns the largest number of bytes of one rank: its arrays, and its part of the arena and
    of the task packets, which all ranks have in equal parts."""
    ranks = manifest.ranks
    owned = [0] * ranks
    for buffer in manifest.buffers:
        rank, _, _ = buffer.name.rpartition("/")
        owned[int(rank.removeprefix("rank")) if rank else 0] += buffer.bytes
    return max(owned) + (manifest.arena + manifest.packets) // ranks


def predicted_cells(bundle: Bundle, sizes: Sizes, topology: str) -> tuple[float, list[str]]:
    """Returns the predicted seconds of a step, and the cells of the table up to this time."""
    from ark_mlir.simulation import simulate

    found = simulate(bundle, topology)
    rate = sizes.flops / bundle.manifest.ranks / found.total_ns / 1e3
    return found.total_ns / 1e9, [
        str(sizes.layers), f"{memory_of(bundle.manifest) / 1e9:.2f}", f"{found.total_ns / 1e6:.3f}",
        f"{found.exposed_ns / 1e6:.3f}", "" if found.bubble is None else f"{found.bubble:.3f}",
        f"{rate:.1f}",
    ]  # fmt: skip


def agree(losses: dict[str, list[float]], model: str, found: list[float], dtype: str) -> bool:
    """Returns False, and prints why, if losses differ from those of the model's first kind."""
    first = losses.setdefault(model, found)
    if np.allclose(first, found, rtol=ROUNDING[dtype]):
        return True
    print(f"parallel_training: {model}: losses are {found}, not {first}", file=sys.stderr)
    return False


def report(options: argparse.Namespace) -> int:
    """Prints the table of all rows; returns 1 if losses of one model differ, or there is no
    row."""
    rows: list[Sequence[str]] = []
    losses: dict[str, list[float]] = {}
    status = 0
    for model, kind, sizes in chosen_rows(options):
        if options.predict:
            bundle, runs = schedule(kind, sizes, options), False
        else:
            path = bundle_path(options.bundles, model, kind, options.ranks)
            bundle = read_bundle(path)
            runs = can_run(bundle)
        predicted, cells = predicted_cells(bundle, sizes, options.topology)
        step = ratio = NOT_MEASURED
        if runs:
            found, seconds = measure(path, kind, sizes, options.samples)
            step, ratio = f"{seconds * 1e3:.3f}", f"{predicted / seconds:.2f}"
            status |= not agree(losses, model, found, sizes.dtype)
        rows.append([model, kind, str(options.ranks), *cells, step, ratio])
        print("  ".join(rows[-1]), flush=True)
    if not rows:
        print("parallel_training: no row; choose other --ranks or --kinds", file=sys.stderr)
        return 1
    text = table(HEAD, rows)
    print(text, flush=True)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
