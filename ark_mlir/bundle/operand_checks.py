"""Checks that the accesses of every operand of a task stay inside its value.

A kernel computes addresses from a slot and a byte offset, and assumes the layout that its code was
compiled for. The manifest states the layout and the value of each operand; these checks compare
both with the table of operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BundleError
from .footprints import Footprint, Steps, find_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .manifest import Manifest

_WRITTEN_KINDS = ("state", "output")

Refuse = Callable[[str, "NDArray[np.bool_]", str], None]


@dataclass(frozen=True)
class _Columns:
    """The declarations of the operands of one footprint: arrays with an entry for each operand."""

    begin: NDArray[np.int64]
    span: NDArray[np.int64]
    alignment: NDArray[np.int64]
    writes: NDArray[np.bool_]

    @classmethod
    def of(cls, footprint: Footprint) -> _Columns:
        return cls(
            np.array([operand.begin for operand in footprint], np.int64),
            np.array([operand.span for operand in footprint], np.int64),
            np.array([operand.alignment for operand in footprint], np.int64),
            np.array([operand.writes for operand in footprint], np.bool_),
        )


def check_declarations(manifest: Manifest, where: str) -> None:
    """Raises BundleError if values, footprints and tasks of a manifest contradict each other."""
    sizes = manifest.slot_bytes
    inner = (0, len(manifest.buffers) + 1) if manifest.packets else (0,)
    for number, value in enumerate(manifest.intermediates):
        if value.slot not in inner or value.offset + value.bytes > sizes[value.slot]:
            raise BundleError(
                f"manifest: intermediates[{number}]: not in the arena or the packets",
                location=where,
            )
    _check_footprints(manifest, where)
    _check_lifetimes(manifest, where)


def _check_lifetimes(manifest: Manifest, where: str) -> None:
    """Raises BundleError if two intermediates share bytes while both are live.

    An intermediate is live from the first to the last task that has it as an operand. One task may
    read an intermediate and write another one in the same bytes.
    """
    values = manifest.intermediates
    if not values:
        return
    ranges = np.array([(value.slot, value.offset, value.bytes) for value in values], np.int64)
    counts = np.array([len(task.values) for task in manifest.tasks], np.int64)
    users = np.repeat(np.arange(len(counts)), counts)
    numbers = np.array([v for task in manifest.tasks for v in task.values], np.int64)
    inner = numbers >= len(manifest.buffers)
    users, numbers = users[inner], numbers[inner] - len(manifest.buffers)
    first, last = np.full(len(values), len(counts)), np.full(len(values), -1)
    np.minimum.at(first, numbers, users)
    np.maximum.at(last, numbers, users)
    slots, begins = ranges[:, 0], ranges[:, 1]
    ends = begins + ranges[:, 2]
    for number in range(len(values)):
        later = slice(number + 1, None)
        shares = (
            (slots[later] == slots[number])
            & (begins[later] < ends[number])
            & (ends[later] > begins[number])
            & (first[later] < last[number])
            & (last[later] > first[number])
        )
        if shares.any():
            other = number + 1 + int(np.argmax(shares))
            raise BundleError(
                f"manifest: intermediates[{other}]: shares bytes with intermediates[{number}] "
                f"while tasks {max(first[number], first[other])} to "
                f"{min(last[number], last[other])} use both",
                location=where,
            )


def _check_footprints(manifest: Manifest, where: str) -> None:
    """Raises BundleError unless every task has a footprint of its body and a value per operand.

    The footprint must fit the grid of the task.
    """
    seen: set[tuple[int, int, tuple[int, ...]]] = set()
    steps = Steps()
    for number, task in enumerate(manifest.tasks):
        path = f"manifest: tasks[{number}]"
        footprint = manifest.footprint(task)
        if len(task.values) != len(footprint):
            raise BundleError(
                f"{path}.values: {len(task.values)} values for {len(footprint)} operands",
                location=where,
            )
        if any(value >= len(manifest.values) for value in task.values):
            raise BundleError(
                f"{path}.values: there are {len(manifest.values)} values", location=where
            )
        key = (task.body, task.footprint, task.grid)
        if key in seen:
            continue
        seen.add(key)
        if problem := find_problem(footprint, task.grid, steps):
            raise BundleError(f"{path}.footprint: {problem}", location=where)


def check_operands(
    manifest: Manifest, first: NDArray[np.int64], operands: NDArray[np.int64], refuse: Refuse
) -> None:
    """Compares the entries of the table of operands with the manifest.

    `first` has the first entry of every task. `refuse` is called with the name of the table, a mask
    of its wrong entries, and the problem.
    """
    if not any(task.values for task in manifest.tasks):
        return
    columns = {
        (body, number): _Columns.of(footprint)
        for body, record in enumerate(manifest.bodies)
        for number, footprint in enumerate(record.footprints)
    }
    of_task = [columns[task.body, task.footprint] for task in manifest.tasks]
    counts = np.array([len(task.values) for task in manifest.tasks], np.int64)
    # The entries of all tasks, one after the other.
    shift: NDArray[np.int64] = first - np.concatenate(([0], counts.cumsum()[:-1]))
    entries: NDArray[np.int64] = np.repeat(shift, counts)
    entries = entries + np.arange(len(entries))
    values = np.array([(v.slot, v.offset, v.bytes) for v in manifest.values], np.int64)
    named = values[np.concatenate([np.array(task.values, np.int64) for task in manifest.tasks])]
    begin, span, alignment = (
        np.concatenate([getattr(item, name) for item in of_task])
        for name in ("begin", "span", "alignment")
    )
    writes = np.concatenate([item.writes for item in of_task])
    kinds = np.array([False] + [b.kind not in _WRITTEN_KINDS for b in manifest.buffers] + [False])
    slots, offsets = operands[entries, 0], operands[entries, 1]

    def check(bad: NDArray[np.bool_], problem: str) -> None:
        marked = np.zeros(len(operands), np.bool_)
        marked[entries[bad]] = True
        refuse("operands", marked, problem)

    elsewhere = (slots != named[:, 0]) | (offsets != named[:, 1] + begin)
    check(elsewhere, "does not point to its value in the manifest")
    check(begin + span > named[:, 2], "its footprint leaves its value")
    check(offsets % alignment != 0, "lacks the alignment that its body requires")
    check(writes & kinds[slots], "writes a buffer that no task may write")
