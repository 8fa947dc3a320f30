"""A small training program and its batches, for tests of trainers."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark

Array = np.ndarray[Any, Any]


def build(launch: int = 4, kind: str = "AdamW") -> tuple[ark.Program, ark.training.Loop]:
    """A linear model with dropout, so that a step depends on its number."""
    with ark.Program("fit") as program:
        loop = ark.training.Loop(steps=launch)
        x, y = loop.input("x", (8, 5)), loop.input("y", (8,))
        w = ark.state("w", (5,), init=0.5)
        guess = ark.matmul(ark.dropout(x, 0.2, seed=1, counter=loop.step), w)
        loss = ark.reduce_mean((guess - y) ** 2.0, keepdims=False)
        slopes = ark.gradients(loss, [w])
        getattr(ark.optim, kind)([w], lr=0.05).step(slopes, skip=loop.end(loss))
    return program, loop


def batch(step: int) -> dict[str, Array]:
    rng = np.random.default_rng(step)
    x = rng.standard_normal((8, 5)).astype(np.float32)
    return {"x": x, "y": x.sum(1)}
