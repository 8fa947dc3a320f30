"""The weights of benchmarks/parallel_training.py and their parts; needs no compiler."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from training_models import Sizes

__all__ = ["DIVIDED", "rank_part", "weight_shapes", "whole_weight"]

Shape = tuple[int, ...]

# The ends of the names of weights that ranks divide in tensor parallelism.
DIVIDED = ("qkv.weight", "qkv.bias", "out.weight", "up.weight", "up.bias", "down.weight")


def weight_shapes(sizes: Sizes, layers: Iterable[int], parts: int = 1) -> dict[str, Shape]:
    """Returns the shapes of the weights of some layers, by name.

    The first layer comes with the embedding, and the last one with the head.

    Args:
        sizes: the sizes of the whole model.
        layers: the numbers of the layers.
        parts: the number of ranks that divide each layer.
    """
    width, inner = sizes.width, sizes.width // parts
    shapes: dict[str, Shape] = {}
    norms: list[str] = []
    for number in layers:
        name = f"blocks.{number}"
        norms += [f"{name}.first", f"{name}.second"]
        if number == 0:
            shapes["tokens"] = (sizes.vocabulary, width)
            shapes["positions"] = (sizes.length, width)
        if number == sizes.layers - 1:
            shapes["head"] = (sizes.vocabulary, width)
            norms.append("norm")
        shapes |= {
            f"{name}.qkv.weight": (3, inner, width), f"{name}.qkv.bias": (3, inner),
            f"{name}.out.weight": (width, inner), f"{name}.out.bias": (width,),
            f"{name}.up.weight": (4 * inner, width), f"{name}.up.bias": (4 * inner,),
            f"{name}.down.weight": (width, 4 * inner), f"{name}.down.bias": (width,),
        }  # fmt: skip
    shapes |= {f"{norm}.{part}": (width,) for norm in norms for part in ("weight", "bias")}
    return shapes


def whole_weight(name: str, shape: Shape) -> np.ndarray[Any, Any]:
    """Returns the first fp32 values of a whole weight, which depend on its name and shape only."""
    if name.endswith("bias"):
        return np.zeros(shape, np.float32)
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return np.float32(0.07) * (rng.random(shape, np.float32) - np.float32(0.5))


def rank_part(array: np.ndarray[Any, Any], shape: Shape, rank: int) -> np.ndarray[Any, Any]:
    """Returns the part of a whole weight that a rank has, of shape `shape`."""
    for axis, (whole, own) in enumerate(zip(array.shape, shape, strict=True)):
        if whole != own:
            return np.ascontiguousarray(array.take(range(rank * own, (rank + 1) * own), axis=axis))
    return array
