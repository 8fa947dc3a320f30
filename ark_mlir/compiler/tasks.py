"""The programs and tasks of a module."""

from __future__ import annotations

from collections.abc import Iterator

from .. import ir


def programs_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the programs of a module, in order."""
    for op in module.regions[0].blocks[0]:
        if op.operation.name == "ark.program":
            yield op.operation


def tasks_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the tasks of all programs of a module, in order."""
    for program in programs_of(module):
        for op in program.regions[0].blocks[0]:
            if op.operation.name == "ark.task":
                yield op.operation


def vctas_of(task: ir.Operation) -> int:
    """Returns the number of vCTAs of a task."""
    count = 1
    for extent in ir.DenseI64ArrayAttr(task.attributes["grid"]):
        count *= extent
    return count


def has_schedule(module: ir.Operation) -> bool:
    """Returns True if a program of a module has a schedule."""
    return any(
        op.operation.name == "ark.schedule"
        for program in programs_of(module)
        for op in program.regions[0].blocks[0]
    )
