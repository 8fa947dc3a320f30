"""Predicted times and memory of the rows of a suite, for a GPU that is not there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from table import table

import ark_mlir as ark
from ark_mlir.bundle import Bundle

from .limits import limits_of
from .record import Workload

# The memory of an H200, 141 GB.
MEMORY = 141e9
HEADER = ("row", "predicted, ms", "floor, ms", "x floor", "arrays, GB", "arena, GB",
          "schedule, s", "")  # fmt: skip


def memory_note(bundle: Bundle) -> str:
    """Returns "" if arrays and arena of a bundle fit an H200, else by how much they do not."""
    manifest = bundle.manifest
    total = sum(buffer.bytes for buffer in manifest.buffers) + manifest.arena
    if total <= MEMORY:
        return ""
    return f"too large for one H200: {total / 1e9:.0f} of {MEMORY / 1e9:.0f} GB"


def predictions(
    name: str,
    rows: Sequence[str],
    workloads: dict[str, Workload],
    schedule: Callable[[str, str], Bundle],
    target: str,
) -> tuple[str, int]:
    """Returns a table of the predictions of rows, and 1 if one of them does not compile, else 0.

    Args:
        name: the name of the suite, for messages.
        rows: the rows.
        workloads: the workloads of all rows.
        schedule: compiles the schedule of a row for a target, without machine code.
        target: the target.
    """
    limits = limits_of(ark.targets.resolve(target).arch)
    cells: list[tuple[str, ...]] = []
    status = 0
    for row in rows:
        begin = time.monotonic()
        try:
            bundle = schedule(row, target)
        except ark.ArkError as error:
            print(f"{name}: {row}: {error}", file=sys.stderr, flush=True)
            cells.append((row, *("",) * 6, f"not compiled: {type(error).__name__}"))
            status = 1
            continue
        floor = workloads[row].floor(limits)
        cells.append((row, *prediction_cells(bundle, floor, time.monotonic() - begin)))
        print("  ".join(cells[-1]), file=sys.stderr, flush=True)
    head = f"**Predictions** for `{target}`, not measurements. Floors are those of {limits}."
    return f"{head}\n\n{table(HEADER, cells)}\n", status


def prediction_cells(bundle: Bundle, floor: float, seconds: float) -> tuple[str, ...]:
    """Returns the cells of a row after its name.

    Args:
        bundle: the schedule of the row.
        floor: the least possible time of the row, in seconds.
        seconds: the time of the compilation of the schedule.
    """
    manifest = bundle.manifest
    predicted = manifest.statistics["predicted_ns"] / 1e9
    arrays = sum(buffer.bytes for buffer in manifest.buffers)
    return (
        f"{predicted * 1e3:.2f}", f"{floor * 1e3:.2f}", f"{predicted / floor:.2f}",
        f"{arrays / 1e9:.1f}", f"{manifest.arena / 1e9:.1f}", f"{seconds:.0f}",
        memory_note(bundle),
    )  # fmt: skip
