"""Measures the exposed time of a hand-off between two tasks of all SMs, while weights stream.

    python benchmarks/handoff.py --compile FOLDER               # with the compiler
    python benchmarks/handoff.py --bundles FOLDER [--output F]  # with the GPU

Compares a chain of products, each of which needs the whole result of the previous one, with one
product of the same weights. The exposed time of a hand-off is the additional time of the chain,
divided by its number of hand-offs. Samples of the arms are interleaved, and figures are medians.
ark has three kinds of hand-off on one GPU: packets between tasks, and without packets a counter, if
some SMs have no part in the dependence, or a barrier, if all SMs have one. The benchmark checks
that a bundle uses the kind of its arm.

A handwritten kernel, handoff.cu, which is not part of ark, shows the possible gain of `cluster`,
and a barrier and packets for comparison. --compile builds it if nvcc is installed; otherwise the
machine with the GPU needs nvcc. Its clusters and copies are those of NVIDIA's sm_90, so that AMD
GPUs measure ark's kinds alone.

The second command needs ark's runtime, numpy, PyTorch, and cuda-python or hip-python.
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
from bundle_options import bundle_parser, torch_device
from decode_arms import DeviceClock
from table import table

import ark_mlir as ark
from ark_mlir.backends import backend_info
from ark_mlir.bundle import Opcode

SOURCE = Path(__file__).with_name("handoff.cu")
BY_HAND = "handoff"
LIMIT_US = 1.0
# The number of SMs that compute a part of a product, by kind. If a few SMs have no part,
# dependences keep counters instead of a barrier. For packets, rows are as long as the result of a
# product.
KINDS = {"barrier": "all", "counter": "some", "packet": "some"}


@dataclass(frozen=True)
class Size:
    """The size of a product with one row: the number of weight rows per SM, and their length."""

    rows: int
    columns: int

    def file(self, name: str) -> str:
        return f"{name}-{self.rows}x{self.columns}.arkbin"

    @property
    def text(self) -> str:
        return f"{self.rows} x {self.columns}"


SIZE_BY_HAND = Size(16, 2048)


def size(text: str) -> Size:
    rows, _, columns = text.partition("x")
    try:
        return Size(int(rows), int(columns))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected ROWSxCOLUMNS, got {text!r}") from None


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument(
        "--sizes", type=size, nargs="+", metavar="ROWSxCOLUMNS",
        help="rows of weights of an SM, and their length; by default two for the SMs of the target",
    )  # fmt: skip
    parser.add_argument("--products", type=int, default=32, help="number of products of a chain")
    parser.add_argument("--iterations", type=int, default=8, help="iterations of each launch")
    parser.add_argument("--samples", type=int, default=9)
    return parser.parse_args()


def count_parts(sms: int) -> dict[str, int]:
    """Returns the number of SMs that compute a part of a product, by the names in `KINDS`."""
    return {"all": sms, "some": sms - sms // 32}


def choose_sizes(sms: int) -> list[Size]:
    """Returns two sizes for a GPU. Their rows are as long as the result of a product of some SMs:
    2048 and 4096 elements on an H200."""
    rows = (16, 32) if sms < 200 else (8, 16)
    return [Size(each, each * count_parts(sms)["some"]) for each in rows]


def find_sizes(folder: Path) -> list[Size]:
    """Returns the sizes of the chains in a folder."""
    names = [path.stem.rpartition("-")[2] for path in folder.glob("chain-*.arkbin")]
    return sorted({size(name) for name in names}, key=lambda each: (each.rows, each.columns))


# -- with the compiler -----------------------------------------------------------------------------


def chain(products: int, rows: int, columns: int) -> ark.Program:
    """Builds a chain of products, each of which needs `columns` values of the previous product."""
    with ark.Program("chain") as program:
        x = ark.input("x", (1, columns), ark.bf16)
        for step in range(products):
            w = ark.parameter(f"w{step}", (rows, columns), ark.bf16)
            x = ark.matmul(x, w, transpose_other=True, name=f"product{step}")[:, :columns]
        ark.output("y", x)
    return program


def stream(products: int, rows: int, columns: int, sms: int) -> ark.Program:
    """Builds one product with the same weights, without dependences."""
    with ark.Program("stream") as program, ark.planner(sms=sms):
        x = ark.input("x", (1, columns), ark.bf16)
        w = ark.parameter("w", (products * rows, columns), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    return program


def compile_all(options: argparse.Namespace) -> None:
    from ark_mlir.targets import resolve

    folder: Path = options.compile
    folder.mkdir(parents=True, exist_ok=True)
    target = resolve(options.target)
    parts = count_parts(target.sms)
    for sizes in options.sizes or choose_sizes(target.sms):
        for name, sms in parts.items():
            program = stream(options.products, sms * sizes.rows, sizes.columns, sms)
            made = ark.compile(program, options.target, cache=False)
            made.save(folder / sizes.file(f"stream-{name}"))
        for kind in get_kinds(target.backend):
            rows = parts[KINDS[kind]] * sizes.rows
            made = ark.compile(
                chain(options.products, rows, sizes.columns),
                options.target,
                cache=False,
                packets=kind == "packet",
            )
            found, file = find_kind(made.bundle), folder / sizes.file(f"chain-{kind}")
            file.unlink(missing_ok=True)  # of an earlier compiler
            if found != kind and target.backend != "cpu":
                print(f"{sizes.text}: no chain for {kind}, as the compiler chooses {found}")
                continue
            made.save(file)
    if target.backend == "cuda" and (nvcc := shutil.which("nvcc")):
        build_by_hand(nvcc, folder / BY_HAND)


def get_kinds(backend: str) -> list[str]:
    """Returns the kinds of hand-off of a backend; only GPUs have packets between tasks."""
    has_packets = backend_info(backend).has_task_packets
    return [kind for kind in KINDS if kind != "packet" or has_packets]


# -- with the GPU ----------------------------------------------------------------------------------


def find_kind(bundle: Any) -> str:
    """Returns the kind of hand-off between the products of a chain."""
    count = Counter(np.asarray(bundle.tables.instructions)[:, 0].tolist())
    waits = count[Opcode.WAIT] + count[Opcode.SIGNAL]
    # One barrier ends the iteration.
    if bundle.manifest.packets and not waits and count[Opcode.BARRIER] == len(bundle.tables.lanes):
        return "packet"
    kinds = Counter(semaphore.handoff for semaphore in bundle.manifest.semaphores)
    return kinds.most_common(1)[0][0]


def check_kind(bundle: Any, kind: str) -> str:
    """Checks the kind of a chain that was made for it. On a cpu with few lanes, the kind may
    differ."""
    found = find_kind(bundle)
    if found != kind and torch_device(bundle) != "cpu":
        raise ark.InvalidUsageError(f"a chain for {kind} hands off by {found}")
    return found


class Pair:
    """A chain of products, and one product that streams the same weights."""

    def __init__(self, folder: Path, sizes: Size, kind: str) -> None:
        self.sizes = sizes
        self.times: dict[str, list[float]] = {"chain": [], "stream": []}
        self.chain = ark.load(folder / sizes.file(f"chain-{kind}"))
        self.stream = ark.load(folder / sizes.file(f"stream-{KINDS[kind]}"))
        self.kind = check_kind(self.chain.bundle, kind)
        self.products = len(self.chain.parameters)
        (weights,) = self.stream.parameters
        self.gigabytes = weights.bytes / 1e9
        array, parts = make_weights(weights, self.products, torch_device(self.chain.bundle))
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
        """Returns the microseconds of chain and stream; the first sample is a warm-up."""
        first, second = (1e6 * statistics.median(times[1:]) for times in self.times.values())
        return first, second

    @property
    def exposed(self) -> float:
        """Returns the exposed microseconds per hand-off."""
        first, second = self.microseconds
        return (first - second) / (self.products - 1)

    def close(self) -> None:
        self.chain.close()
        self.stream.close()


def make_weights(buffer: Any, products: int, device: str) -> tuple[Any, dict[str, Any]]:
    """Returns all weights, and the part of each product as a view."""
    rows, columns = buffer.shape
    rows //= products
    if device != "cpu":
        import torch

        scale = columns**-0.5
        shape = (products * rows, columns)
        weights: Any = torch.randn(shape, device=device, dtype=torch.bfloat16) * scale
    else:
        weights = np.zeros(buffer.shape, buffer.dtype.numpy)
    return weights, {
        f"w{step}": weights[step * rows : (step + 1) * rows] for step in range(products)
    }


def measure(options: argparse.Namespace) -> list[Pair]:
    folder = options.bundles
    pairs = [
        Pair(folder, sizes, kind)
        for sizes in options.sizes or find_sizes(folder)
        for kind in KINDS
        if (folder / sizes.file(f"chain-{kind}")).exists()
    ]
    if not pairs:
        raise SystemExit(f"handoff: {folder} has no chain; --compile writes chains")
    for _ in range(options.samples + 1):
        for pair in pairs:
            pair.sample(options.iterations)
    return pairs


def judge(exposed: float) -> str:
    return "yes" if exposed <= LIMIT_US else "no"


def report(pairs: Sequence[Pair]) -> str:
    rows = [
        (
            pair.kind,
            pair.sizes.text,
            *(f"{us / pair.products:.2f}" for us in pair.microseconds),
            f"{pair.gigabytes / pair.microseconds[1] * 1e6:.0f}",
            f"{pair.exposed:.2f}",
            judge(pair.exposed),
        )
        for pair in pairs
    ]
    header = (
        "hand-off", "rows of an SM", "chain, us a product", "stream, us a product", "GB/s",
        "exposed, us", f"<= {LIMIT_US:.1f} us",
    )  # fmt: skip
    return "ark:\n\n" + table(header, rows)


def build_by_hand(nvcc: str, program: Path) -> None:
    build = [nvcc, "-O3", "-std=c++17", "-arch=sm_90a", "-o", str(program), str(SOURCE)]
    subprocess.run(build, check=True)


def run_by_hand(folder: Path) -> list[dict[str, Any]] | str:
    """Returns the output of handoff.cu, or the reason for its absence."""
    program = folder / BY_HAND
    with tempfile.TemporaryDirectory(prefix="ark-") as temporary:
        if not program.exists():
            nvcc = shutil.which("nvcc")
            if nvcc is None:
                return "not measured, since there is no nvcc here, and --compile had none"
            program = Path(temporary) / BY_HAND
            build_by_hand(nvcc, program)
        program.chmod(0o755)
        done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode:
        return f"**WRONG**, exit status {done.returncode}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def report_by_hand(found: list[dict[str, Any]] | str) -> str:
    title = f"By hand (handoff.cu, no code of ark's), {SIZE_BY_HAND.text}"
    if isinstance(found, str):
        return f"{title}: {found}."
    rows = [
        (
            row["kind"], str(row["ring_kb"]), str(row["cluster"]), str(row["sms"]),
            f"{row['us']:.2f}", "" if row["kind"] == "none" else f"{row['exposed_us']:.2f}",
        )
        for row in found
    ]  # fmt: skip
    header = ("hand-off", "ring, KB an SM", "cluster", "SMs", "us a product", "exposed, us")
    return f"{title}:\n\n" + table(header, rows)


def summarize(pairs: Sequence[Pair], found: list[dict[str, Any]] | str) -> str:
    """Returns the exposed time of each kind, of ark's kernels if the compiler emits the kind. A
    size has several values if several of its chains use one kind of hand-off."""
    exposed: dict[tuple[str, Size], list[float]] = {}
    for pair in pairs:
        exposed.setdefault((pair.kind, pair.sizes), []).append(pair.exposed)
    makers = {kind: "ark" for kind, _ in exposed}
    clusters = [] if isinstance(found, str) else [r for r in found if r["kind"] == "cluster"]
    if clusters:
        best = min(clusters, key=lambda row: row["exposed_us"])
        makers["cluster"] = f"by hand, within {best['cluster']} SMs"
        exposed["cluster", SIZE_BY_HAND] = [best["exposed_us"]]
    sizes = list(dict.fromkeys([pair.sizes for pair in pairs]))
    rows = [
        (
            kind,
            maker,
            *(
                ", ".join(f"{us:.2f}: {judge(us)}" for us in exposed.get((kind, size), []))
                for size in sizes
            ),
        )
        for kind, maker in makers.items()
    ]
    header = ("hand-off", "whose", *(f"exposed, us, {size.text}" for size in sizes))
    return f"Of each kind, and whether that is <= {LIMIT_US:.1f} us:\n\n" + table(header, rows)


def main() -> None:
    options = parse()
    if options.compile is not None:
        compile_all(options)
        return
    pairs = measure(options)
    text = report(pairs)
    found: list[dict[str, Any]] | str = "not measured, as this is no NVIDIA GPU"
    if pairs[0].chain.bundle.manifest.target.backend == "cuda":
        found = run_by_hand(options.bundles)
        text += "\n\n" + report_by_hand(found)
    text += "\n\n" + summarize(pairs, found)
    for pair in pairs:
        pair.close()
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
