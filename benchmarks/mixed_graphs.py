"""Measures graphs of which PyTorch executes a part, on the CPU: ark's workers beside OpenMP's.

    python benchmarks/mixed_graphs.py [--parts 4] [--rows 256] [--rounds 15]

A network alternates between layers that ark compiles and an op that ark does not have. So each call
passes between the threads of ark and those of PyTorch, which both use all cores. The table has the
fastest and the median calls of interleaved rounds, for each number of threads of PyTorch and each
number of workers of ark.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from table import print_table

__all__ = ["Times", "measure"]

_WIDTH = 256


class Mixed(torch.nn.Module):
    """Layers in ark, with a Bessel function, which ark does not have, after each of them."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(_WIDTH, _WIDTH) for _ in range(parts))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = torch.special.bessel_j0(torch.tanh(layer(x)))
        return x


@dataclass(frozen=True)
class Times:
    """Seconds of the calls of both arms, in the order of the rounds."""

    ark: list[float]
    eager: list[float]

    @property
    def ratio(self) -> float:
        """The fastest call of ark over the fastest one of PyTorch."""
        return min(self.ark) / min(self.eager)


def measure(parts: int, rows: int, threads: int, workers: int, rounds: int) -> Times:
    """Returns the times of a network of `parts` layers on `rows` rows.

    Args:
        threads: number of threads of PyTorch.
        workers: number of workers of ark's target.
        rounds: number of calls of each arm, which take turns.

    Raises AssertionError if the results differ.
    """
    from ark_mlir.pytorch.backend import backend

    torch.manual_seed(0)
    torch._dynamo.reset()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        module, x = Mixed(parts).eval(), torch.randn(rows, _WIDTH)
        fast = torch.compile(module, backend=backend, options={"target": f"cpu:{workers}"})
        with torch.no_grad():
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
            times = [
                (_seconds(lambda: fast(x)), _seconds(lambda: module(x))) for _ in range(rounds)
            ]
    finally:
        torch.set_num_threads(before)
    return Times([ark for ark, _ in times], [eager for _, eager in times])


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    cores = torch.get_num_threads()
    rows: list[tuple[str, ...]] = []
    for threads, workers in ((cores, cores), (1, cores), (cores, 1), (1, 1)):
        found = measure(options.parts, options.rows, threads, workers, options.rounds)
        cells = [
            f"{value * 1e3:.2f}"
            for arm in (found.ark, found.eager)
            for value in (min(arm), statistics.median(arm))
        ]
        rows.append((str(threads), str(workers), *cells, f"{found.ratio:.2f}"))
    print_table(
        ("threads", "workers", "ark ms", "median", "eager ms", "median", "ark / eager"), rows
    )


if __name__ == "__main__":
    main()
