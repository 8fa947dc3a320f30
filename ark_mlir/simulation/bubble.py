"""The bubble of a pipeline: the time in which ranks wait for other ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Opcode
from .exchanges import rank_of_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Bundle


def bubble(bundle: Bundle, spans: NDArray[np.int64 | np.float64]) -> float:
    """Returns the share of an iteration in which no lane of a rank executes a work item.

    The result is the mean over all ranks, from 0 to 1. Of R ranks with equal stages that pass M
    microbatches through all of them, in turns, the ideal bubble is ``(R - 1) / (M + R - 1)``.

    Args:
        bundle: the program.
        spans: start and duration of each instruction in one unit, ``[I, 2]``, such as
            ``bundle.tables.timeline`` or ``Prediction.timeline``.

    Example:
        >>> from ark_mlir.simulation import bubble, simulate
        >>> 0 <= bubble(exe.bundle, simulate(exe, "h200").timeline) < 1
        True
    """
    tables = bundle.tables
    work = (tables.instructions[:, 0] == Opcode.RUN) & (spans[:, 1] > 0)
    ranks = np.array(rank_of_lanes(bundle))[tables.lane_of]
    if not work.any():
        return 0.0
    total = float(spans.sum(axis=1).max() - spans[:, 0].min())
    busy = sum(_covered(spans[work & (ranks == rank)]) for rank in range(bundle.manifest.ranks))
    return 1 - busy / (bundle.manifest.ranks * total)


def _covered(spans: NDArray[np.int64 | np.float64]) -> float:
    """Returns the length of the union of intervals, each a start and a duration."""
    if not len(spans):
        return 0.0
    ordered = spans[np.argsort(spans[:, 0], kind="stable")]
    starts, ends = ordered[:, 0], ordered.sum(axis=1)
    # The latest end of all intervals before each one.
    before = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
    return float(np.maximum(ends - np.maximum(starts, before), 0).sum())
