"""Predicted times of the rows of other benchmarks, for a GPU that is not there.

    python benchmarks/predicted.py [--target hip:gfx942] [--suites decode,dense] [--output F]

The script compiles the rows and prints, for each, the time that the compiler predicts, beside a
floor: all reads, or all products, at the vendor's figures of the GPU. **Nothing is measured.** The
cost model of the compiler is fitted to an H200; its rates for AMD GPUs (docs/support.md) are
estimates of what a kernel reaches.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import attention
import decode
import dense
import encoder_gpu
import prefill
from protocol.limits import Limits, limits_of
from protocol.record import Workload
from protocol.suite import Suite, names
from table import table

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

SUITES = {
    suite.name: suite
    for suite in (decode.SUITE, prefill.SUITE, dense.SUITE, attention.SUITE, encoder_gpu.SUITE)
}
# Rows beside the figures of a suite.
MORE = {"decode": ("Qwen3-8B",)}
HEADER = ("row", "predicted, ms", "floor, ms", "x floor", "limit", "bytes, MB")


def main() -> int:
    options = parse()
    arch = ark.targets.resolve(options.target).arch
    limits = limits_of(arch)
    parts = [introduction(options.target, limits)]
    status = 0
    for name in options.suites:
        rows, failures = predict_suite(SUITES[name], rows_of(name, options.rows), options.target)
        status |= bool(failures)
        cells = [row_cells(row, ns, SUITES[name].workloads[row], limits) for row, ns in rows]
        parts += [f"`{name}.py`:", table(HEADER, cells), *failures]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return status


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = sorted({row for suite in SUITES.values() for row in suite.workloads})
    parser.add_argument("--target", default="hip:gfx942", help="default: hip:gfx942")
    parser.add_argument("--suites", type=names(SUITES), default=tuple(SUITES))
    parser.add_argument("--rows", type=names(known), help="default: the figures of each suite")
    parser.add_argument("--output", type=Path, help="write the tables to a Markdown file")
    return parser.parse_args()


def rows_of(name: str, wanted: Sequence[str] | None) -> Sequence[str]:
    """Returns the rows of a suite: its figures, or those of the wanted rows that it has."""
    suite = SUITES[name]
    if wanted is None:
        return (*suite.figures, *MORE.get(name, ()))
    return [row for row in wanted if row in suite.workloads]


def introduction(target: str, limits: Limits) -> str:
    """Returns the paragraph above the tables."""
    return (
        f"**Predictions** for `{target}`, not measurements: nothing has run. Floors are the reads "
        f"or the products at {limits}. The GPU has {limits.units} compute units and a cache of "
        f"{limits.cache / 1e6:.0f} MB, whose bandwidth no floor uses: operands come from memory."
    )


def predict_suite(
    suite: Suite, rows: Sequence[str], target: str
) -> tuple[list[tuple[str, int]], list[str]]:
    """Returns the predicted ns of the rows that compile, and a line for each of the others."""
    found: list[tuple[str, int]] = []
    failures: list[str] = []
    for row, outcome in predictions(suite, rows, target):
        if isinstance(outcome, int):
            found.append((row, outcome))
        else:
            failures.append(f"- {row}: not compiled: {outcome}")
    return found, failures


def predictions(
    suite: Suite, rows: Sequence[str], target: str
) -> Iterator[tuple[str, int | ark.ArkError]]:
    """Yields the predicted ns of each row, or why it does not compile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in rows:
            try:
                suite.compile(row, folder, target)
            except ark.ArkError as error:
                yield row, error
                continue
            bundle = read_bundle(folder / f"{row}.arkbin")
            ns = int(bundle.manifest.statistics["predicted_ns"])
            print(f"{suite.name} {row}: {ns / 1e6:.3f} ms", file=sys.stderr, flush=True)
            yield row, ns


def row_cells(row: str, ns: int, workload: Workload, limits: Limits) -> tuple[str, ...]:
    """Returns the cells of a row of `HEADER`."""
    floor = workload.floor(limits)
    reads = workload.bytes / limits.read >= workload.flops / limits.product
    return (
        row, f"{ns / 1e6:.3f}", f"{1e3 * floor:.3f}", f"{ns / 1e9 / floor:.2f}",
        "reads" if reads else "products", f"{workload.bytes / 1e6:.0f}",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
