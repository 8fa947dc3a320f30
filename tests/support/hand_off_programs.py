"""Programs whose tasks pass values to each other in packets on a GPU."""

from __future__ import annotations

from typing import Any

import ark_mlir as ark

WIDTH = 512


def blocks() -> ark.Program:
    """Returns two blocks of a decoder without attention, for one token."""
    with ark.Program("blocks") as program:
        x = ark.input("x", (1, WIDTH), ark.bf16)
        for n in range(2):
            gate, up, down = (
                ark.parameter(f"{name}{n}", (WIDTH, WIDTH), ark.bf16)
                for name in ("gate", "up", "down")
            )
            h = ark.rmsnorm(x, ark.parameter(f"g{n}", (WIDTH,), ark.bf16))
            h = ark.silu(ark.matmul(h, gate, transpose_other=True)) * ark.matmul(
                h, up, transpose_other=True
            )
            x = ark.matmul(h, down, transpose_other=True) + x
        ark.output("y", x)
    return program


def shares() -> ark.Program:
    """Returns a product of each element and the sum of its column: every SM needs the sums of all
    columns.
    """
    with ark.Program("shares") as program:
        x = ark.input("x", (WIDTH, WIDTH), ark.bf16)
        ark.output("y", ark.mul(x, ark.reduce_sum(x, axis=0), name="shares"))
    return program


def partitions() -> ark.Program:
    """Returns attention of one token over split keys; another task combines partial results."""
    heads, head, keys = 4, 64, 1024
    with ark.Program("partitions") as program:
        x = ark.input("x", (1, WIDTH), ark.bf16)
        wide = ark.parameter("q", (heads * head, WIDTH), ark.bf16)
        narrow = ark.parameter("o", (WIDTH, heads * head), ark.bf16)
        k, v = (ark.parameter(n, (1, heads // 2, keys, head), ark.bf16) for n in ("k", "v"))
        q = ark.reshape(ark.matmul(x, wide, transpose_other=True), (1, heads, 1, head))
        mixed = ark.reshape(ark.attention(q, k, v), (1, heads * head))
        ark.output("y", ark.matmul(mixed, narrow, transpose_other=True))
    return program


# Shapes for which all programs have packets.
OPTIONS: dict[str, dict[str, Any]] = {
    "blocks": {}, "shares": {"tile": {"shares": (4, WIDTH)}}, "partitions": {},
}  # fmt: skip
