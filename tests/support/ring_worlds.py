"""Worlds of `ring_program` on the stand-in for CUDA, with inputs and the check of their results."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.testing.fake_gpu import FakeCuda, fake_world
from ark_mlir.testing.toy import ToyProgram, barrier, ring_program, run, signal, wait

Array = np.ndarray[Any, Any]
Arrays = list[dict[str, Array]]
PAGE = 2 << 20


def weights(size: int) -> Arrays:
    return [{"w": np.arange(128, dtype=np.float32) * (rank + 1)} for rank in range(size)]


def inputs(size: int, scale: int = 1) -> Arrays:
    return [{"x": np.full(128, scale * (rank + 10), np.float32)} for rank in range(size)]


def bound_world(cuda: FakeCuda, kernel: bytes, size: int = 2, **options: Any) -> ark.World:
    return fake_world(cuda, kernel, ring_program(size), size, **options).bind(weights(size))


def check_run(world: ark.World, scale: int = 1, **options: Any) -> None:
    """Checks that a run of `ring_program` gives each rank the sums of the previous rank."""
    outputs = world.run(inputs(world.size, scale), **options)
    for rank, output in enumerate(outputs):
        source = (rank - 1) % world.size
        x, w = inputs(world.size, scale)[source]["x"], weights(world.size)[source]["w"]
        np.testing.assert_array_equal(output["y"], x + w + np.float32(0.5))


def waiting_program(hangs: int) -> ToyProgram:
    """Two ranks; a lane of rank `hangs` waits for a signal that comes only if its input is not 0.

    On the other rank a lane waits for that one at a barrier.
    """
    program = ToyProgram(sms=2, arena=2 * PAGE)
    again, never = program.semaphore(2, "again"), program.semaphore(1, "never")
    for rank in range(2):
        state = program.buffer(f"rank{rank}/n", "state", "int64", [])
        count = program.task("count", 1, [(state, 0)], f"rank{rank}/count")
        if rank == hangs:
            program.lane(rank, [wait(never, 1), run(count, 0, 1), barrier(again, 2), signal(never)])
        else:
            program.lane(rank, [run(count, 0, 1), barrier(again, 2)])
    return program
