"""Programs with every collective, and inputs for programs of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ark_mlir as ark
from ark_mlir.dtypes import DType

Array = NDArray[Any]
# The size is odd, so that the parts of ranks differ, and larger than the number of ranks of any
# test.
SHAPE = (5, 11)
# More elements than packets take, and no multiple of a tile's.
LARGE = (48, 1031)


def everything(rank: int, size: int, dtype: DType) -> ark.Program:
    """Returns a program with every collective once; all ranks use the results of others."""
    number = dtype not in (ark.bool, ark.fp8_e4m3)
    with ark.Program("everything", rank=rank, world_size=size) as program:
        x = ark.input("x", SHAPE, dtype)
        wide = ark.input("wide", (2 * size, 3), dtype)
        ark.output("gathered", ark.all_gather(x, 1))
        ark.output("swapped", ark.all_to_all(wide, 0))
        ark.output("broadcast", ark.broadcast(x, size - 1))
        sent = ark.send(x[1:4], (rank + 1) % size, tag=3)
        received = ark.recv((3, SHAPE[1]), dtype, (rank - 1) % size, tag=3)
        ark.output("received", ark.identity(received, deps=[sent]))
        ark.output("bytes", ark.bitcast(received, ark.uint8))
        ark.noop(ark.copy(received))
        if number:
            total = ark.all_reduce(x)
            ark.noop(ark.all_reduce(x[:1], "max"))
            ark.output("total", total)
            ark.output("twice", ark.all_reduce(total))
            ark.output("largest", ark.all_reduce(x, "max"))
            ark.output("smallest", ark.all_reduce(ark.transpose(x, (1, 0)), "min"))
            ark.output("scattered", ark.reduce_scatter(wide, 0))
            ark.output("scalar", ark.all_reduce(ark.reduce_max(x, (0, 1), keepdims=False)))
    return program


def large(rank: int, size: int, dtype: DType) -> ark.Program:
    """Returns a program with tensors that are too large for packets."""
    with ark.Program("large", rank=rank, world_size=size) as program:
        x = ark.input("x", LARGE, dtype)
        wide = ark.input("wide", (8 * size, LARGE[1]), dtype)
        total = ark.all_reduce(x)
        ark.output("total", total)
        ark.output("twice", ark.all_reduce(total))
        ark.output("largest", ark.all_reduce(x, "max"))
        ark.output("smallest", ark.all_reduce(x, "min"))
        ark.output("gathered", ark.all_gather(x, 0))
        ark.output("scattered", ark.reduce_scatter(wide, 0))
        ark.output("swapped", ark.all_to_all(wide, 0))
        ark.output("broadcast", ark.broadcast(x, size - 1))
        sent = ark.send(x, (rank + 1) % size)
        received = ark.recv(LARGE, dtype, (rank - 1) % size)
        ark.output("received", ark.identity(received, deps=[sent]))
    return program


def chunked(rank: int, size: int, dtype: DType) -> ark.Program:
    """Returns a program that reduces a tensor of 8 MiB, which two shots exchange in chunks, and a
    gather of it.
    """
    with ark.Program("chunked", rank=rank, world_size=size) as program:
        x = ark.input("x", ((8 << 20) // (1024 * dtype.itemsize), 1024), dtype)
        total = ark.all_reduce(x)
        ark.output("total", total + x)
        ark.output("gathered", ark.all_gather(ark.reduce_scatter(total, 0), 0) * 0.5)
    return program


def multiplying(rank: int, size: int, dtype: DType) -> ark.Program:
    """Returns a program that gathers 256 rows and multiplies them: TMA copies the operands.

    All numbers are small integers, so that the order of additions does not change the sums. The
    depth is so large that stages of shared memory are reused.
    """
    depth = 512
    with (
        ark.Program("multiplying", rank=rank, world_size=size) as program,
        ark.planner(tile=(256, 128)),
    ):
        x = ark.input("x", (256 // size, depth), ark.int8)
        w = ark.input("w", (depth, 256), ark.int8)
        rows = ark.all_gather(ark.cast(x, dtype), 0)
        ark.output("y", ark.matmul(rows, ark.cast(w, dtype)))
    return program


def draw(rng: np.random.Generator, program: ark.Program) -> dict[str, Array]:
    return draw_arguments(rng, program.inputs)


def draw_arguments(
    rng: np.random.Generator, arguments: Mapping[str, Any], scale: float = 4
) -> dict[str, Array]:
    def values(argument: Any) -> Array:
        if argument.dtype.is_float:
            return (scale * rng.standard_normal(argument.shape)).astype(argument.dtype.numpy)
        return rng.integers(0, 100, argument.shape).astype(argument.dtype.numpy)

    return {name: values(argument) for name, argument in arguments.items()}
