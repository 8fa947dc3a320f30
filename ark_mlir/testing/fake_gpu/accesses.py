"""The memory that a kernel is about to access, by its context and its tables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bundle import Opcode
from ...runtime.drivers.abi import (
    DOMAIN_DISTANCE,
    DOMAIN_DISTANCE_END,
    SEMAPHORE_STRIDE,
    ArkContext,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .devices import Device
    from .memory import MemoryFunctions

# Pointers of the context that every kernel uses, if they are not null.
_POINTERS = (
    "buffers", "instructions", "lanes", "tasks", "operands", "semaphores", "report", "trace",
    "status", "codes",
)  # fmt: skip


def find_foreign(memory: MemoryFunctions, device: Device, context: int) -> list[str]:
    """Returns descriptions of addresses that a kernel uses and its device may not access.

    Checks the first byte of each operand and each counter, but no accesses of bodies.
    """
    if not memory.may_access(device, context, ctypes.sizeof(ArkContext)):
        return [f"GPU {device.ordinal}: the context"]
    fields = ArkContext.from_address(context)
    pointers = [(name, int(getattr(fields, name) or 0)) for name in _POINTERS]
    foreign = _describe(memory, device, pointers)
    return foreign or _describe(memory, device, _uses(memory, fields))


def _describe(
    memory: MemoryFunctions, device: Device, uses: Iterator[tuple[str, int]] | list[tuple[str, int]]
) -> list[str]:
    return [
        f"GPU {device.ordinal}: {name}"
        for name, address in uses
        if address and not memory.may_access(device, address, 1)
    ]


def _uses(memory: MemoryFunctions, fields: ArkContext) -> Iterator[tuple[str, int]]:
    """Yields names and addresses of the counters and operands that instructions use."""
    instructions = _table(memory, fields.instructions, np.int32, 4)
    tasks = _table(memory, fields.tasks, np.int32, 2)
    operands = _table(memory, fields.operands, np.int64, 2)
    codes = instructions[:, 0]
    signals = np.unique(instructions[codes == Opcode.SIGNAL, 1:3], axis=0).tolist()
    for lower, upper in signals:
        if not DOMAIN_DISTANCE <= upper < DOMAIN_DISTANCE_END:  # another domain has no address
            index = lower + (upper << 32)
            yield f"counter {index}", int(fields.semaphores) + SEMAPHORE_STRIDE * index
    begins = np.unique(np.append(tasks[:, 1], len(operands)))
    for task in np.unique(instructions[codes == Opcode.RUN, 1]).tolist():
        begin = int(tasks[task, 1])
        end = int(begins[np.searchsorted(begins, begin, "right")])
        for slot, offset in operands[begin:end].tolist():
            base = ctypes.c_uint64.from_address(int(fields.buffers) + 8 * slot)
            yield f"slot {slot} of task {task}", base.value + offset


def _table(
    memory: MemoryFunctions, address: Any, dtype: type[np.signedinteger[Any]], columns: int
) -> NDArray[Any]:
    """Returns a copy of a table, whose size is that of its allocation."""
    block = memory.find_block(int(address or 0))
    if block is None:
        return np.ndarray((0, columns), dtype)
    count = block.nbytes // (np.dtype(dtype).itemsize * columns)
    return np.ndarray((count, columns), dtype, ctypes.string_at(address, block.nbytes))
