"""Drawn graphs of ops that keep the shape of their tensor, for tests of gradients."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
from gradient_cases import Case

import ark_mlir as ark

# Ops of one tensor that keep its shape.
STEPS: dict[str, Callable[[ark.Tensor], ark.Tensor]] = {
    "gelu": ark.gelu,
    "norm": lambda x: ark.layernorm(x, eps=0.1),
    "softmax": ark.softmax,
    "turn": lambda x: ark.reshape(ark.transpose(x), x.shape),
    "half": lambda x: ark.concat([x[..., 1:] * 0.5, x[..., :1]], -1),
    "mean": lambda x: x - ark.reduce_mean(x, 0),
    "rows": lambda x: ark.gather(x, ark.constant(np.arange(x.shape[0])[::-1] // 2), 0),
    "again": lambda x: x + _one(ark.checkpoint(lambda h: ark.tanh(h) * h, x)),
    "drop": lambda x: ark.dropout(x, 0.3, seed=x.size),
    "square": lambda x: ark.matmul(ark.matmul(x, x, transpose_other=True), x) * 0.1,
}


def _one(made: ark.Tensor | list[ark.Tensor]) -> ark.Tensor:
    return made if isinstance(made, ark.Tensor) else made[0]


def graph_case(shape: tuple[int, ...], steps: Sequence[str], readers: Sequence[int]) -> Case:
    """Returns a graph of one operand, in which step i reads the value ``readers[i]``.

    Value 0 is the operand, and value i + 1 is the sum of step i and value i.
    """

    def make(x: ark.Tensor) -> list[ark.Tensor]:
        values = [x]
        for name, reader in zip(steps, readers, strict=True):
            values.append(STEPS[name](values[reader]) + values[-1])
        return values[-1:]

    return Case(make, (shape,))


def draw_case(seed: int) -> Case:
    """Returns a graph of two to six steps; values have several readers or none."""
    draw = random.Random(seed)
    shape = tuple(draw.choice([1, 2, 3, 5]) for _ in range(draw.choice([2, 3])))
    count = draw.randint(2, 6)
    steps = [draw.choice(sorted(STEPS)) for _ in range(count)]
    return graph_case(shape, steps, [draw.randint(0, number) for number in range(count)])
