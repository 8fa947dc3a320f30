"""Gradients of norms: programs of given rows, and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark


def gradients_of(norm: str, shape: tuple[int, ...], dtype: ark.DType) -> ark.Program:
    """Returns a program with all gradients of a norm, for a cotangent that is an input."""
    with ark.Program("norm") as program:
        x, g = (ark.input(name, shape, dtype) for name in "xg")
        names = ["weight", "bias"][: 2 if norm == "layernorm" else 1]
        scales = [ark.input(name, shape[-1:], dtype) for name in names]
        y = getattr(ark, norm)(x, *scales)
        for name, slope in zip(["x", *names], ark.gradients(y, [x, *scales], seed=g), strict=True):
            ark.output(f"of_{name}", slope)
    return program


def draw(shape: tuple[int, ...], dtype: ark.DType, norm: str) -> dict[str, Any]:
    """Returns the inputs of :func:`gradients_of`. The rows have means and scales of their own."""
    rng = np.random.default_rng(3)
    rows = (*shape[:-1], 1)
    x = rng.standard_normal(shape) * (rng.random(rows) + 0.5) + rng.standard_normal(rows)
    drawn = {"x": x, "g": rng.standard_normal(shape), "weight": rng.random(shape[-1]) + 0.5}
    if norm == "layernorm":
        drawn["bias"] = rng.standard_normal(shape[-1])
    return {name: array.astype(dtype.numpy) for name, array in drawn.items()}


def slopes(x: ark.Tensor, w: ark.Tensor, b: ark.Tensor) -> list[ark.Tensor]:
    """Returns first derivatives, whose derivatives are second ones."""
    results = [ark.layernorm(x, w, b), ark.rmsnorm(x, w), ark.layernorm(x, eps=0.5)]
    first, *others = (ark.reduce_sum(y * y * y, keepdims=False) for y in results)
    return ark.gradients(sum(others, first), [x, w, b])


def torch_slopes(torch: Any, x: Any, w: Any, b: Any) -> list[Any]:
    of = torch.nn.functional
    size = x.shape[-1:]
    results = [
        of.layer_norm(x, size, w, b), of.rms_norm(x, size, w, 1e-5), of.layer_norm(x, size, eps=0.5)
    ]  # fmt: skip
    loss = sum((y**3).sum() for y in results)
    return list(torch.autograd.grad(loss, [x, w, b], create_graph=True))
