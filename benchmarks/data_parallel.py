"""Measures the exposed part of the all-reduce of gradients in a data-parallel training step.

    python benchmarks/data_parallel.py --compile FOLDER [--ranks N]              # with the compiler
    python benchmarks/data_parallel.py --bundles FOLDER [--ranks N] [--output F] # with N GPUs

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and PyTorch. Each
rank computes the gradients of some weights, bf16 products of 4096 x 4096 x 4096, and the ranks
replace each gradient by its mean over the ranks. Three programs are measured in one run:

compute      the products alone
all-reduce   the all-reduces alone, of gradients that are inputs
both         the products and the all-reduces in one kernel

The exposed time is that of `both` less that of `compute`. Rows limit the SMs of the all-reduces; a
row without a limit leaves the choice to the scheduler. A time is the additional time of a launch
with more iterations, divided by the additional iterations. Before the measurement, the gradients of
`both` are compared with those of PyTorch in fp32. The exit status is 1 if a program fails.

With --one-gpu, both commands are for all ranks on one GPU, in one launch, each with an equal part
of the SMs. The rows of several GPUs are "not measured".
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# NVLink multicast may disturb GPUs that others use.
os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1")

from bundle_options import NOT_MEASURED, add_one_gpu, bundle_parser, device_options
from table import table

import ark_mlir as ark

LAYERS = 4
SIZE = 4096
KINDS = ("compute", "all-reduce", "both")
# Upper bound of the exposed time, as a share of the time of the all-reduces alone.
AIM = 0.10
# SMs of the all-reduces; 0 leaves the choice to the scheduler.
LIMITS = (0, 8, 16)
ITERATIONS = 12


def main() -> int:
    options = parse()
    if options.compile is not None:
        compile_programs(options)
        return 0
    return measure(options)


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="number of GPUs (default 2)")
    parser.add_argument("--samples", type=int, default=7, help="samples of a time (default 7)")
    parser.add_argument("--size", type=int, default=SIZE, help=f"extent (default {SIZE})")
    add_one_gpu(parser)
    return parser.parse_args()


# -- with the compiler -----------------------------------------------------------------------------


def bundle_path(folder: Path, one_gpu: bool, kind: str, ranks: int, limit: int) -> Path:
    """Returns the file of a program with a limit of SMs; `one_gpu` as the option."""
    suffix = "-one-gpu" if one_gpu else ""
    sms = "" if kind == "compute" or not limit else f"-{limit}-sms"
    return folder / f"gradients-{ranks}-{kind}{sms}{suffix}.arkbin"


def build(kind: str, rank: int, ranks: int, size: int, limit: int) -> ark.Program:
    """Builds one of the three programs of a rank."""
    with ark.Program("gradients", rank=rank, world_size=ranks) as program:
        for layer in range(LAYERS):
            if kind == "all-reduce":
                gradient = ark.input(f"g{layer}", (size, size), ark.bf16)
            else:
                errors = ark.input(f"e{layer}", (size, size), ark.bf16)
                values = ark.input(f"v{layer}", (size, size), ark.bf16)
                gradient = ark.matmul(errors, values, transpose_other=True)
            if kind != "compute":
                with ark.planner(sms=limit) if limit else contextlib.nullcontext():
                    gradient = ark.all_reduce(gradient) * (1 / ranks)
            ark.output(f"y{layer}", gradient)
    return program


def compile_programs(options: argparse.Namespace) -> None:
    """Compiles the programs of all rows."""
    options.compile.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for limit in LIMITS[:1] if kind == "compute" else LIMITS:
            programs = [
                build(kind, rank, options.ranks, options.size, limit)
                for rank in range(options.ranks)
            ]
            path = bundle_path(options.compile, options.one_gpu, kind, options.ranks, limit)
            ark.compile(
                programs, target=options.target, cache=False, **device_options(options)
            ).save(path)
            print(path.name, flush=True)


# -- with the GPUs ---------------------------------------------------------------------------------


class Kernel:
    """One of the programs on all ranks, with tensors on the GPUs of the ranks."""

    def __init__(self, path: Path, ranks: int) -> None:
        import torch

        self._world: Any = ark.load(path)
        manifest = self._world.bundle.manifest
        self._gpus = [0 if manifest.shares_device else rank for rank in range(ranks)]
        try:
            self.inputs: list[dict[str, Any]] = [{} for _ in range(ranks)]
            for buffer in self._world.inputs:
                rank, _, name = buffer.name.partition("/")
                number = int(rank.removeprefix("rank"))
                device = f"cuda:{self._gpus[number]}"
                generator = torch.Generator(device).manual_seed(100 * number + int(name[1:]))
                self.inputs[number][name] = torch.randn(
                    tuple(buffer.shape), generator=generator, device=device, dtype=torch.bfloat16
                )
            self.outputs = self._world.run(self.inputs)
        except BaseException:
            self._world.close()
            raise

    def seconds(self) -> float:
        """Returns the seconds of one iteration."""
        few, many = (self._launch(count) for count in (ITERATIONS, 3 * ITERATIONS))
        return (many - few) / (2 * ITERATIONS)

    def _launch(self, iterations: int) -> float:
        import torch

        begin = time.perf_counter()
        self._world.run(self.inputs, iterations=iterations, out=self.outputs)
        for gpu in self._gpus:
            torch.cuda.synchronize(gpu)
        return time.perf_counter() - begin

    def close(self) -> None:
        self._world.close()


def check(kernel: Kernel, ranks: int) -> None:
    """Raises RuntimeError if a gradient is not the mean of the products of all ranks."""
    import torch

    for layer in range(LAYERS):
        right = sum(
            (inputs[f"e{layer}"].float() @ inputs[f"v{layer}"].float().T).to("cuda:0")
            for inputs in kernel.inputs
        )
        for rank, outputs in enumerate(kernel.outputs):
            found = outputs[f"y{layer}"].to("cuda:0").float()
            error = float(torch.linalg.norm(found - right / ranks) / torch.linalg.norm(found))
            if not error < 0.01:
                raise RuntimeError(f"gradient {layer} of rank {rank} has a relative error {error}")


def measure(options: argparse.Namespace) -> int:
    """Measures all rows; returns 1 if a program fails."""
    rows: list[list[str]] = []
    status = 0
    gpus = str(1 if options.one_gpu else options.ranks)
    for limit in LIMITS:
        try:
            cells = measure_row(options, limit)
        except Exception as error:
            print(f"data_parallel: {limit} SMs: {error}", file=sys.stderr, flush=True)
            cells = [NOT_MEASURED] * 4
            status = 1
        rows.append([gpus, str(limit or "all"), *cells, "" if options.one_gpu else f"{AIM:.2f}"])
        print("  ".join(rows[-1]), flush=True)
    if options.one_gpu:
        cells = [NOT_MEASURED] * 4
        for limit in LIMITS:
            rows.append([str(options.ranks), str(limit or "all"), *cells, f"{AIM:.2f}"])
    head = ("GPUs", "SMs of the all-reduces", "compute, µs", "all-reduce, µs", "both, µs")
    text = f"{options.ranks} ranks\n\n{table((*head, 'exposed / all-reduce', 'aim'), rows)}"
    print(text, flush=True)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    return status


def measure_row(options: argparse.Namespace, limit: int) -> list[str]:
    """Returns the times of one limit of SMs in µs, and the exposed part of the all-reduces."""
    with contextlib.ExitStack() as stack:
        kernels: dict[str, Kernel] = {}
        for kind in KINDS:
            path = bundle_path(options.bundles, options.one_gpu, kind, options.ranks, limit)
            kernels[kind] = Kernel(path, options.ranks)
            stack.callback(kernels[kind].close)
        check(kernels["both"], options.ranks)
        samples: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(options.samples):
            for kind in KINDS:
                samples[kind].append(kernels[kind].seconds())
    compute, alone, both = (1e6 * statistics.median(samples[kind]) for kind in KINDS)
    exposed = (both - compute) / alone
    return [*(f"{value:.1f}" for value in (compute, alone, both)), f"{exposed:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
