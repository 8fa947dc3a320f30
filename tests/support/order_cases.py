"""Cases of sorts, of sums of prefixes, and of ops that write by index."""

from __future__ import annotations

import numpy as np
from op_case import BOOL, EVERY, FLOATS, NUMBERS, Case, extremes, late_extremes

import ark_mlir as ark

X = (5, 7)


def sorts(x: ark.Tensor, y: ark.Tensor) -> list[ark.Tensor]:
    """Returns values and indices in both directions, and of equal elements."""
    pairs = [ark.sort(x), ark.sort(x, 0, descending=True), ark.sort(y, axis=1)]
    pairs.append(ark.sort(ark.where(ark.equal(x, x), ark.full(x.shape, 1, x.dtype), x)))
    results = [result for pair in pairs for result in pair]
    return [*results, ark.argsort(x, 0), ark.argsort(x, descending=True)]


def histograms(x: ark.Tensor, i: ark.Tensor) -> list[ark.Tensor]:
    """Counts, and adds weights; the last indices are out of range."""
    return [ark.bincount(i, 4), ark.bincount(i - 2, 9, x)]


ORDERS: dict[str, Case] = {
    "cumsum": Case(lambda x: [ark.cumsum(x), ark.cumsum(x, 0)], (X,), NUMBERS),
    "cumsum of long rows": Case(
        lambda x, y: [ark.cumsum(x), ark.cumsum(y, 0)], ((2, 67), (1100, 2)), (ark.int32, *FLOATS)
    ),
    "cumsum of booleans": Case(lambda x: ark.cumsum(x, 1), (X,), BOOL),
    "sort": Case(sorts, (X, (2, 37, 3)), NUMBERS, extremes),
    "sort of long rows": Case(
        lambda x: [*ark.sort(x), ark.argsort(x, descending=True)], ((2, 515),),
        (ark.fp32, ark.uint32, ark.int8), late_extremes,
    ),
    "top_k of many elements": Case(
        lambda x: list(ark.top_k(x, 70)), ((1, 1030),), (ark.fp32, ark.int32), late_extremes
    ),
    "scatter": Case(
        lambda x, u, v, i, j: [ark.scatter(x, i, u), ark.scatter(x, j, v, 1)],
        (X, (2, 3, 7), (5, 2, 3)), EVERY, indices=(5, 7),
    ),
    "bincount": Case(histograms, ((2, 3),), NUMBERS, indices=(7,)),
    "scatter of many rows": Case(
        lambda x, u: ark.scatter(x, ark.constant(np.arange(70, dtype=np.int32) % 9), u),
        ((11, 40), (70, 40)), FLOATS,
    ),
}  # fmt: skip
