"""Measures the time of a run on a GPU: as a launch, in a CUDA graph, and in a resident kernel.

    python benchmarks/gpu_runs.py PROGRAM.arkbin [--runs 500]

Inputs and parameters are zeros. Prints medians over runs in microseconds; a run includes the wait
for its end. Samples of the arms are interleaved, except the resident kernel, which occupies
the GPU. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from table import print_table

import ark_mlir as ark


def zeros(buffer: Any) -> torch.Tensor:
    dtype = getattr(torch, buffer.dtype.numpy_name)
    return torch.zeros(buffer.shape, dtype=dtype, device="cuda")


def on_host(buffer: Any) -> Any:
    return np.zeros(buffer.shape, buffer.dtype.numpy)


def microseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=500)
    options = parser.parse_args()
    exe = ark.load(options.program)
    exe.bind({buffer.name: zeros(buffer) for buffer in exe.parameters})
    device = {buffer.name: zeros(buffer) for buffer in exe.inputs}
    host = {buffer.name: on_host(buffer) for buffer in exe.inputs}
    out = {buffer.name: zeros(buffer) for buffer in exe.outputs}
    exe.run(device, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exe.run(device, out=out)

    def replay() -> None:
        graph.replay()
        torch.cuda.current_stream().synchronize()

    arms: dict[str, Callable[[], object]] = {
        "run, tensors of the GPU": lambda: exe.run(device, out=out),
        "run, arrays of the host": lambda: exe.run(host),
        "replay of a graph": replay,
    }
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(options.runs):
        for name, work in arms.items():
            times[name].append(microseconds(work))
    exe.check()
    with exe.resident() as resident:
        resident.run(host)
        times["resident, arrays of the host"] = [
            microseconds(lambda: resident.run(host)) for _ in range(options.runs)
        ]
    rows = [
        (name, f"{statistics.median(values):.1f}", f"{min(values):.1f}")
        for name, values in times.items()
    ]
    print(f"{torch.cuda.get_device_name()}, {exe.name}")
    print_table(("what", "median, us", "least, us"), rows)


if __name__ == "__main__":
    main()
