"""A program that ends its launch when its counter reaches a limit."""

from __future__ import annotations

import ark_mlir as ark


def counter(rows: int = 8, shape: tuple[int, ...] = ()) -> ark.Program:
    """Returns a program that counts iterations, adds the count to a tensor over all lanes, and
    stops at a limit.
    """
    with ark.Program("counter") as program:
        limit = ark.input("limit", shape, ark.int32) if shape else ark.scalar("limit")
        count = ark.state("count", shape, ark.int32)
        done = ark.state("done", shape, ark.int32)
        total = ark.state("total", (rows, 16), ark.fp32)
        zeros = [0] * len(shape)
        ark.update(total, total + 1.0, (0, 0), name="total")
        count = ark.update(count, count + 1, zeros)
        ark.update(done, ark.cast(ark.greater_equal(count, limit), ark.int32), zeros)
        ark.stop_when(done)
        ark.output("y", ark.reduce_sum(total, 1))
    return program
