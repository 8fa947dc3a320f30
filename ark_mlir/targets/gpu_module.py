"""The ``gpu.module`` of a program, from which backends of GPUs make machine code."""

from __future__ import annotations

from .. import ir
from ..errors import CompileError


def find_op(module: ir.Operation, name: str) -> ir.Operation:
    """Returns the first op of a module with a name, such as ``gpu.module``.

    Raises CompileError if there is none.
    """
    for op in module.regions[0].blocks[0]:
        if op.operation.name == name:
            return op.operation
    raise CompileError(f"the module has no {name}")


def take_gpu_module(module: ir.Operation) -> ir.Module:
    """Moves the ops of the ``gpu.module`` to a new module, and returns this module.

    Raises CompileError if there is no ``gpu.module``.
    """
    gpu_module = find_op(module, "gpu.module")
    result = ir.Module.create(gpu_module.location)
    for op in list(gpu_module.regions[0].blocks[0]):
        op.operation.detach_from_parent()
        result.body.append(op)
    return result
