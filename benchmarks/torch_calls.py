"""The host's time for a call of a compiled PyTorch module with 150 parameters.

    python benchmarks/torch_calls.py [--device cuda] [--layers 75] [--width 16] [--samples 20]

The module has `layers` linear layers, each with a weight and a bias. The arms are eager PyTorch and
torch.compile with the backends ark, eager (TorchDynamo alone) and aot_eager (TorchDynamo and
AOTAutograd, which also run for ark). The last row is the part of ark's call that begins when
AOTAutograd calls the compiled graph. Its figure is the overhead of ark, without PyTorch's.

On a GPU, eager PyTorch queues its kernels without a wait, and a call of ark returns when its kernel
has ended, whose time ark's rows include. On cpu, all times include the execution. Samples of the
arms are taken in turns.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from table import print_table

CALLS = 20  # in a sample; a stream has room for the work of all of them


class Stopwatch:
    """Calls a function, and adds up the time of the calls.

    Attributes:
        seconds: the sum of the times.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.seconds = 0.0
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return self._function(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def make_module(layers: int, width: int) -> torch.nn.Module:
    """Returns a module with two parameters for each layer."""
    torch.manual_seed(0)
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).eval()


@contextmanager
def watched_parts() -> Iterator[Stopwatch]:
    """Measures all calls of compiled subgraphs in the context."""
    from ark_mlir.pytorch.subgraph import CompiledSubgraph

    watch = Stopwatch(CompiledSubgraph.__call__)
    with mock.patch.object(CompiledSubgraph, "__call__", lambda *given: watch(*given)):
        yield watch


def measure(device: str, layers: int, width: int, samples: int) -> tuple[dict[str, float], float]:
    """Returns the microseconds of a call by arm, and those of ark's part of the call."""
    module = make_module(layers, width).to(device)
    x = torch.ones(1, width, device=device)
    arms: dict[str, Callable[..., Any]] = {"eager PyTorch": module}
    for name in ("eager", "aot_eager", "ark"):
        # A module of its own: TorchDynamo tries the graphs of all backends of a module in turn.
        arms[f"torch.compile, {name}"] = torch.compile(copy.deepcopy(module), backend=name)
    times: dict[str, list[float]] = {name: [] for name in arms}
    inner: list[float] = []
    with torch.no_grad():
        expected = module(x)
        for name, call in arms.items():
            error = (call(x) - expected).abs().max()
            assert float(error) <= 1e-4, f"{name}: differs by {float(error)}"
        for _ in range(samples):
            for name, call in arms.items():
                times[name].append(_microseconds(call, x, device))
        for _ in range(samples):
            with watched_parts() as watch:
                _microseconds(arms["torch.compile, ark"], x, device)
            inner.append(watch.seconds / CALLS * 1e6)
    return {name: statistics.median(each) for name, each in times.items()}, statistics.median(inner)


def _microseconds(call: Callable[..., Any], x: torch.Tensor, device: str) -> float:
    """Returns the time of a call, without that of the queue's end."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call(x)
    elapsed = time.perf_counter() - start
    if device == "cuda":
        torch.cuda.synchronize()
    return elapsed / CALLS * 1e6


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--layers", type=int, default=75)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--samples", type=int, default=20)
    given = parser.parse_args()
    times, inner = measure(given.device, given.layers, given.width, given.samples)
    rows = [(name, f"{value:.1f}") for name, value in times.items()]
    rows.append(("- of it, the parts of ark", f"{inner:.1f}"))
    where = torch.cuda.get_device_name() if given.device == "cuda" else "cpu"
    print(f"{where}, {2 * given.layers} parameters, PyTorch {torch.__version__}")
    print_table(("call", "median, us"), rows)


if __name__ == "__main__":
    main()
