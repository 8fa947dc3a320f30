"""All-reduce between GPUs: ark in its kernel, NCCL, and PyTorch's symmetric memory.

    python benchmarks/collectives.py --compile FOLDER [--ranks N]              # with the compiler
    python benchmarks/collectives.py --bundles FOLDER [--ranks N] [--output F] # with N GPUs

The second needs the runtime half of the package, numpy, ml_dtypes, cuda-python and PyTorch. Every
arm reduces a bf16 vector on N GPUs, many times in a chain in which each all-reduce needs the result
of the one before. A time is the median over the samples of the additional time of a longer chain,
divided by the number of additional all-reduces.

Arms of PyTorch run in N processes, each with a CUDA graph of the chain; events around the replay
measure the time, of which the largest over the ranks counts. ark runs several iterations of its
chain in one launch for each GPU; the caller measures the time. For each size, one run of the
benchmark measures all arms. NVLink multicast is off in all arms. Before an arm is measured, its
result is checked: the sum of ones, twos and so on, which bf16 holds exactly.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# NVLink multicast may disturb GPUs that others use.
os.environ.update(
    NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", NVSHMEM_DISABLE_NVLS="1"
)

import numpy as np
from bundle_options import bundle_parser
from table import table

import ark_mlir as ark

# Elements of a vector, and the number of all-reduces in the longer chain. The shorter chain has a
# third as many.
CHAINS = {1 << 10: 66, 1 << 13: 66, 1 << 16: 33, 1 << 19: 33, 1 << 23: 9}
# Iterations of a chain in the shorter launch. A launch also copies inputs and outputs, and the time
# for that varies by a millisecond.
ITERATIONS = 200
ARMS = ("nccl", "one-shot", "two-shot")
PORT = 29511


def main() -> int:
    options = parse()
    if options.compile is not None:
        compile_chains(options.compile, options.ranks, options.target)
        return 0
    arms = {name: measure_torch(name, options) for name in ARMS}
    rows = [measure_row(elements, arms, options) for elements in CHAINS]
    head = ("bytes", *(f"{name}, µs" for name in ARMS), "ark, µs", "ark / best")
    text = table(head, rows)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    return 0


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="number of GPUs (default 2)")
    parser.add_argument("--samples", type=int, default=9, help="samples of a time (default 9)")
    return parser.parse_args()


def measure_row(
    elements: int, arms: dict[str, dict[int, float]], options: argparse.Namespace
) -> list[str]:
    """Measures one size: the times of all arms, and ark's share of the best other one."""
    others = [arms[name].get(elements) for name in ARMS]
    own = measure_ark(elements, options)
    best = min((value for value in others if value is not None), default=None)
    cells = ["not measured" if value is None else f"{value:.1f}" for value in others]
    ratio = "" if best is None else f"{own / best:.2f}"
    return [f"{2 * elements:,}", *cells, f"{own:.1f}", ratio]


# -- ark -------------------------------------------------------------------------------------


def bundle_path(folder: Path, ranks: int, elements: int, count: int) -> Path:
    return folder / f"all-reduce-{ranks}x{elements}-{count}.arkbin"


def build_chain(rank: int, ranks: int, elements: int, count: int) -> ark.Program:
    """Builds a chain of all-reduces, each of which takes the mean over the ranks of the previous
    result.
    """
    with ark.Program("all_reduces", rank=rank, world_size=ranks) as program:
        x = ark.input("x", (elements,), ark.bf16)
        for _ in range(count):
            x = ark.all_reduce(x) * (1 / ranks)
        ark.output("y", x)
    return program


def compile_chains(folder: Path, ranks: int, target: str) -> None:
    """Compiles a short and a long chain of every size."""
    folder.mkdir(parents=True, exist_ok=True)
    for elements, most in CHAINS.items():
        for count in (most // 3, most):
            programs = [build_chain(rank, ranks, elements, count) for rank in range(ranks)]
            path = bundle_path(folder, ranks, elements, count)
            ark.compile(programs, target=target).save(path)


def measure_ark(elements: int, options: argparse.Namespace) -> float:
    """Returns the microseconds of one all-reduce in ark's kernel."""
    most = CHAINS[elements]
    counts = (most // 3, most)
    paths = [bundle_path(options.bundles, options.ranks, elements, count) for count in counts]
    short, long = (time_chain(path, options) for path in paths)
    return (long - short) / (most - most // 3) * 1e6


def time_chain(path: Path, options: argparse.Namespace) -> float:
    """Returns the seconds of an iteration of a bundle, after a check of its result."""
    with ark.load(path) as world:
        bf16 = world.inputs[0].dtype.numpy
        inputs = [
            {"x": np.full(world.inputs[0].shape, 1 + rank, bf16)} for rank in range(options.ranks)
        ]
        expected = (options.ranks + 1) / 2
        for output in world.run(inputs):
            if not (output["y"] == bf16.type(expected)).all():
                raise SystemExit(f"collectives: {path.name} gives a wrong sum")
        few, many = (
            time_runs(world, inputs, factor * ITERATIONS, options.samples) for factor in (1, 3)
        )
    return (many - few) / (2 * ITERATIONS)


def time_runs(world: Any, inputs: list[dict[str, Any]], iterations: int, samples: int) -> float:
    """Returns the seconds of a launch with `iterations` iterations."""
    times: list[float] = []
    for _ in range(samples):
        begin = time.perf_counter()
        world.run(inputs, iterations=iterations)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


# -- PyTorch ---------------------------------------------------------------------------------


def measure_torch(arm: str, options: argparse.Namespace) -> dict[int, float]:
    """Returns the microseconds of one all-reduce by PyTorch, by elements; empty if the arm cannot
    run."""
    import torch.multiprocessing as mp

    context = mp.get_context("spawn")
    queue: Any = context.SimpleQueue()
    processes = [
        context.Process(target=torch_rank, args=(rank, options.ranks, arm, options.samples, queue))
        for rank in range(options.ranks)
    ]
    for process in processes:
        process.start()
    results = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    if failures := [result for result in results if isinstance(result, str)]:
        print(f"collectives: no figures for {arm}: {failures[0]}", file=sys.stderr)
        return {}
    return {elements: max(result[elements] for result in results) for elements in CHAINS}


def torch_rank(rank: int, ranks: int, arm: str, samples: int, queue: Any) -> None:
    """Measures an arm in the process of one rank; puts times, or the text of an error."""
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT + ARMS.index(arm)))
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=device)
    try:
        queue.put({n: time_torch(arm, n, rank, ranks, samples) for n in CHAINS})
    except Exception as error:  # the other arms keep their figures
        queue.put(f"{type(error).__name__}: {error}")
    dist.destroy_process_group()


def time_torch(arm: str, elements: int, rank: int, ranks: int, samples: int) -> float:
    """Returns the microseconds of one all-reduce in a CUDA graph of a chain."""
    import torch
    import torch.distributed as dist

    group = dist.group.WORLD
    if arm == "nccl":
        x = torch.empty(elements, dtype=torch.bfloat16, device="cuda")

        def reduce_once() -> None:
            dist.all_reduce(x)
            x.mul_(1 / ranks)
    else:
        import torch.distributed._symmetric_memory as symmetric

        x = symmetric.empty(elements, dtype=torch.bfloat16, device="cuda")
        symmetric.rendezvous(x, group)
        name = group.group_name

        def reduce_once() -> None:
            if arm == "one-shot":
                total = torch.ops.symm_mem.one_shot_all_reduce(x, "sum", name)
                torch.mul(total, 1 / ranks, out=x)
            else:
                torch.ops.symm_mem.two_shot_all_reduce_(x, "sum", name)
                x.mul_(1 / ranks)

    x.fill_(1 + rank)
    reduce_once()
    torch.cuda.synchronize()
    if not bool((x == (ranks + 1) / 2).all()):
        raise RuntimeError(f"{arm} gives a wrong sum of {elements} elements")
    few, many = 8, 8 + 2 * CHAINS[elements]
    graphs = {count: capture(reduce_once, count) for count in (few, many)}
    times = {count: [replay(graph) for _ in range(samples)] for count, graph in graphs.items()}
    medians = {count: statistics.median(values) for count, values in times.items()}
    scaling = [replay_scaling(x, ranks, count) for count in (few, many)]
    reducing = medians[many] - medians[few]
    return (reducing - (scaling[1] - scaling[0])) / (many - few) * 1e3


def capture(run: Callable[[], None], count: int) -> Any:
    """Captures a CUDA graph of `count` calls, after some warm-up calls."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            run()
    return graph


def replay(graph: Any) -> float:
    """Returns the milliseconds of a replay, by events on the device."""
    import torch
    import torch.distributed as dist

    dist.barrier()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def replay_scaling(x: Any, ranks: int, count: int) -> float:
    """Returns the milliseconds of the multiplications alone, which ark fuses into its
    all-reduce."""
    graph = capture(lambda: x.mul_(1 / ranks), count)
    return statistics.median(replay(graph) for _ in range(5))


if __name__ == "__main__":
    sys.exit(main())
