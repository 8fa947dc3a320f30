"""What a hand-off between two tasks of all SMs costs, while weights stream.

    python benchmarks/handoff.py --compile FOLDER               # where the compiler is
    python benchmarks/handoff.py --bundles FOLDER [--output F]  # where the GPU is

A chain of products, each of which needs all of the one before, against the same weights in one
product: what the chain takes longer, for each of its hand-offs, is what they expose. Arms take
turns, and figures are medians. Two kinds of hand-off are ark's own on one GPU: a counter for a
dependence, where some SMs have no part in it, and a barrier, where all have.

What `packet` and `cluster` could bring is measured on a kernel written by hand, handoff.cu, and so
is a barrier there, for comparison: that is no code of ark's. It needs nvcc where the GPU is.

The second needs the runtime half of the package, numpy, cuda-python and PyTorch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bundle_options import bundle_parser
from decode_arms import DeviceClock
from table import table

import ark_mlir as ark

SOURCE = Path(__file__).with_name("handoff.cu")
LIMIT_US = 1.0


@dataclass(frozen=True)
class Size:
    """A product of a row: how many rows of weights an SM has, and how long they are."""

    rows: int
    columns: int

    def file(self, what: str) -> str:
        return f"{what}-{self.rows}x{self.columns}.arkbin"


def size(text: str) -> Size:
    rows, _, columns = text.partition("x")
    try:
        return Size(int(rows), int(columns))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected ROWSxCOLUMNS, got {text!r}") from None


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument(
        "--sizes", type=size, nargs="+", default=(Size(16, 2048), Size(32, 4096)),
        metavar="ROWSxCOLUMNS", help="rows of weights of an SM, and their length",
    )  # fmt: skip
    parser.add_argument("--products", type=int, default=32, help="of a chain")
    parser.add_argument("--iterations", type=int, default=8, help="of a launch")
    parser.add_argument("--samples", type=int, default=9)
    return parser.parse_args()


# -- where the compiler is -------------------------------------------------------------------------


def chain(products: int, rows: int, columns: int) -> ark.Program:
    """Each product needs the first `columns` values of the one before."""
    with ark.Program("chain") as program:
        x = ark.input("x", (1, columns), ark.bf16)
        for step in range(products):
            w = ark.parameter(f"w{step}", (rows, columns), ark.bf16)
            x = ark.matmul(x, w, transpose_other=True, name=f"product{step}")[:, :columns]
        ark.output("y", x)
    return program


def stream(products: int, rows: int, columns: int, sms: int) -> ark.Program:
    """The same weights, and no dependence."""
    with ark.Program("stream") as program, ark.planner(sms=sms):
        x = ark.input("x", (1, columns), ark.bf16)
        w = ark.parameter("w", (products * rows, columns), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    return program


def compile_all(options: argparse.Namespace) -> None:
    from ark_mlir.targets import resolve

    folder: Path = options.compile
    folder.mkdir(parents=True, exist_ok=True)
    all_sms = resolve(options.target).sms
    for sizes in options.sizes:
        # Where a few SMs have no part, dependences keep a counter of their own.
        for what, sms in (("all", all_sms), ("some", all_sms - all_sms // 32)):
            rows = sms * sizes.rows
            programs = {
                f"chain-{what}": chain(options.products, rows, sizes.columns),
                f"stream-{what}": stream(options.products, rows, sizes.columns, sms),
            }
            for name, program in programs.items():
                made = ark.compile(program, options.target, cache=False)
                made.save(folder / sizes.file(name))


# -- where the GPU is ------------------------------------------------------------------------------


class Pair:
    """A chain, and what streams the same weights."""

    def __init__(self, folder: Path, sizes: Size, what: str) -> None:
        self.sizes = sizes
        self.times: dict[str, list[float]] = {"chain": [], "stream": []}
        loaded = [ark.load(folder / sizes.file(f"{arm}-{what}")) for arm in self.times]
        self.chain, self.stream = loaded
        manifest = self.chain.bundle.manifest
        self.products = len(self.chain.parameters)
        (weights,) = self.stream.parameters
        self.gigabytes = weights.bytes / 1e9
        kinds = Counter(semaphore.handoff for semaphore in manifest.semaphores)
        self.kind, _ = kinds.most_common(1)[0]
        array, parts = make_weights(weights, self.products, manifest.target.backend)
        self.stream.bind({weights.name: array})
        self.chain.bind({buffer.name: parts[buffer.name] for buffer in self.chain.parameters})
        self._clocks = {"chain": DeviceClock(self.chain), "stream": DeviceClock(self.stream)}
        (row,) = self.chain.inputs
        self._row = np.ones(row.shape, row.dtype.numpy)

    def sample(self, iterations: int) -> None:
        for arm, executable in (("chain", self.chain), ("stream", self.stream)):
            start = time.perf_counter()
            executable.run(x=self._row, iterations=iterations)
            host = time.perf_counter() - start
            self.times[arm].append((self._clocks[arm].seconds() or host) / iterations)

    @property
    def microseconds(self) -> tuple[float, float]:
        """Of the chain and of the stream; the first sample warms up."""
        first, second = (1e6 * statistics.median(times[1:]) for times in self.times.values())
        return first, second

    @property
    def exposed(self) -> float:
        """Microseconds for each hand-off."""
        first, second = self.microseconds
        return (first - second) / (self.products - 1)

    def close(self) -> None:
        self.chain.close()
        self.stream.close()


def make_weights(buffer: Any, products: int, backend: str) -> tuple[Any, dict[str, Any]]:
    """All weights, and the part of each product, which shares their memory."""
    rows, columns = buffer.shape
    rows //= products
    if backend == "cuda":
        import torch

        scale = columns**-0.5
        shape = (products * rows, columns)
        weights: Any = torch.randn(shape, device="cuda", dtype=torch.bfloat16) * scale
    else:
        weights = np.zeros(buffer.shape, buffer.dtype.numpy)
    return weights, {
        f"w{step}": weights[step * rows : (step + 1) * rows] for step in range(products)
    }


def measure(options: argparse.Namespace) -> list[Pair]:
    pairs = [
        Pair(options.bundles, sizes, what) for sizes in options.sizes for what in ("all", "some")
    ]
    for _ in range(options.samples + 1):
        for pair in pairs:
            pair.sample(options.iterations)
    return pairs


def report(pairs: Sequence[Pair]) -> str:
    rows = [
        (
            pair.kind,
            f"{pair.sizes.rows} x {pair.sizes.columns}",
            *(f"{us / pair.products:.2f}" for us in pair.microseconds),
            f"{pair.gigabytes / pair.microseconds[1] * 1e6:.0f}",
            f"{pair.exposed:.2f}",
            "yes" if pair.exposed <= LIMIT_US else "no",
        )
        for pair in pairs
    ]
    header = (
        "hand-off", "rows of an SM", "chain, us a product", "stream, us a product", "GB/s",
        "exposed, us", f"<= {LIMIT_US:.1f} us",
    )  # fmt: skip
    return "ark:\n\n" + table(header, rows)


def by_hand() -> str:
    """The table of handoff.cu."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return "By hand: not measured, since there is no nvcc here."
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        program = Path(folder) / "handoff"
        build = [nvcc, "-O3", "-std=c++17", "-arch=sm_90a", "-o", str(program), str(SOURCE)]
        subprocess.run(build, check=True)
        done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode:
        return f"By hand: **WRONG**, exit status {done.returncode}."
    found = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [
        (
            row["kind"], str(row["ring_kb"]), str(row["cluster"]), str(row["sms"]),
            f"{row['us']:.2f}", "" if row["kind"] == "none" else f"{row['exposed_us']:.2f}",
        )
        for row in found
    ]  # fmt: skip
    header = ("hand-off", "ring, KB an SM", "cluster", "SMs", "us a product", "exposed, us")
    return "By hand (handoff.cu, no code of ark's), 16 x 2048:\n\n" + table(header, rows)


def main() -> None:
    options = parse()
    if options.compile is not None:
        compile_all(options)
        return
    pairs = measure(options)
    text = report(pairs)
    if pairs[0].chain.bundle.manifest.target.backend == "cuda":
        text += "\n\n" + by_hand()
    for pair in pairs:
        pair.close()
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
