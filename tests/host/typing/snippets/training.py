"""Optimizers, schedules and training loops."""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import ark_mlir as ark


def right(
    program: ark.Program, weights: list[ark.Tensor], step: ark.Tensor, x: NDArray[np.float32]
) -> None:
    rate = ark.optim.warmup_cosine(step, 1e-3, warmup=10, total=100)
    ark.optim.AdamW(weights, lr=rate, betas=(0.9, 0.95))
    optimizer = ark.optim.SGD(weights, lr=lambda count: ark.cast(count, ark.fp32), momentum=0.9)
    gradients, norm = ark.optim.clip_by_global_norm(weights, 1.0)
    assert_type(norm, ark.Tensor)
    pipeline = ark.training.Pipeline(4, hidden=(8, 64), dtype="bfloat16", chunks=2)
    loss, slopes = pipeline.gradients(weights, norm, lambda s, h: h * s, lambda y, m: y)
    assert_type(loss, ark.Tensor)
    assert_type(slopes, list[ark.Tensor])
    ark.optim.clip_by_global_norm(slopes, 1.0, all_ranks=True)
    means, incomplete = ark.optim.accumulate(gradients, steps=4)
    optimizer.step(means, skip=incomplete)
    loop = ark.training.Loop(steps=8)
    ark.training.Trainer(program, loop, lambda number: {"x": x}, target="cpu:2", tile={"y": (8,)})


def wrong(
    program: ark.Program, weights: list[ark.Tensor], step: ark.Tensor, x: NDArray[np.float32]
) -> None:
    ark.optim.AdamW(weights[0], lr=0.1)  # error: "Tensor" is not assignable to "Sequence[Tensor]"
    ark.optim.AdamW(lr=0.1)  # error: Argument missing for parameter "weights"
    ark.optim.AdamW(weights, lr="0.1")  # error: reportArgumentType
    ark.optim.AdamW(weights, lr=lambda count: 0.1)  # error: reportArgumentType
    ark.optim.AdamW(weights, 0.1, betas=0.9)  # error: reportArgumentType
    ark.optim.AdamW(weights, 0.1, decay=0.01)  # error: No parameter named "decay"
    ark.optim.SGD(weights, 0.1, momentum="0.9")  # error: "Literal['0.9']" is not assignable
    ark.optim.SGD(weights, 0.1, dampening=0.1)  # error: No parameter named "dampening"
    ark.optim.warmup_linear(step, 1e-3, 10)  # error: Argument missing for parameter "total"
    ark.optim.warmup_cosine(100, 1e-3, 10, 100)  # error: is not assignable to "Tensor"
    ark.optim.clip_by_global_norm(weights, "1")  # error: "Literal['1']" is not assignable
    ark.training.Pipeline("4", (8, 64))  # error: "Literal['4']" is not assignable
    ark.optim.accumulate(weights, steps=2.5)  # error: "float" is not assignable to "int"
    ark.optim.LossScaler(interval=2.5)  # error: "float" is not assignable to "int"
    loop = ark.training.Loop(steps="8")  # error: "Literal['8']" is not assignable
    batch = {"x": x}
    ark.training.Trainer(program, loop, batch)  # error: reportArgumentType
    ark.training.Trainer(program, loop, lambda _: batch, save=2)  # error: reportArgumentType
    ark.training.Trainer(program, loop, lambda _: batch, trace="yes")  # error: reportArgumentType
    ark.training.Trainer(program, loop, lambda _: batch, tiles={})  # error: No parameter named
