"""The curves of `training.py --curve`: losses of many steps beside PyTorch's."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from protocol.comparison import release
from protocol.suite import Task, write
from table import table

__all__ = ["batches", "write_curves"]

ARMS = ("eager", "ark")
# A token is a multiple of the previous one, plus one of so many numbers.
NOISE = 8
FACTOR = 7
WINDOW = 50
HEADER = ("row", "arm", "first loss", "last 50 steps", "largest difference of 50-step means",
          "steps of equal losses to 1e-3")  # fmt: skip


def batches(vocabulary: int, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Returns tokens int32 of `shape`, in which a token depends on the one before it.

    The entropy of a token, given the one before it, is ln 8 = 2.08 if the vocabulary has at least
    eight tokens: a model can learn it.
    """
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, NOISE, shape, dtype=np.int64)
    tokens = np.empty(shape, np.int32)
    tokens[..., 0] = rng.integers(0, vocabulary, shape[:-1])
    for index in range(1, shape[-1]):
        tokens[..., index] = (FACTOR * tokens[..., index - 1].astype(np.int64) + noise[..., index]
                              ) % vocabulary  # fmt: skip
    return tokens


def write_curves(options: argparse.Namespace) -> int:
    """Writes the losses of the chosen rows to files, and prints how far the curves differ."""
    cells: list[tuple[str, ...]] = []
    for row in options.rows:
        curves = curves_of(Task(row, options.bundles, ARMS, 0), options.curve)
        save(options.bundles / f"{row}.curve.csv", curves)
        cells += [summary(row, arm, curves) for arm in ARMS]
    write(table(HEADER, cells) + "\n", options.output)
    return 0


def curves_of(task: Task, steps: int) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the losses of the first `steps` steps of each arm, fp32."""
    import torch
    from training import Problem

    problem = Problem(task)
    makers: dict[str, Callable[[], Any]] = {
        "eager": lambda: problem.torch_arm("eager"),
        "ark": problem.ark_arm,
    }
    shape = tuple(problem.rows.shape)
    curves: dict[str, np.ndarray[Any, Any]] = {}
    for arm in ARMS:
        launches = makers[arm]()
        losses: list[np.ndarray[Any, Any]] = []
        for number in range(-(-steps // problem.steps)):
            rows = batches(problem.sizes.vocabulary, shape, seed=number)
            problem.rows.copy_(torch.from_numpy(rows))
            losses.append(launches.output())
        curves[arm] = np.concatenate(losses)[:steps]
        del launches
        release()
    return curves


def save(path: Path, curves: dict[str, np.ndarray[Any, Any]]) -> None:
    """Writes a file with a column of losses for each arm."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("step", *curves))
        for number, losses in enumerate(zip(*curves.values(), strict=True)):
            writer.writerow((number, *(f"{loss:.6f}" for loss in losses)))


def means(losses: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the means of successive windows of 50 steps; the last one may be shorter."""
    starts = np.arange(0, len(losses), WINDOW)
    return np.add.reduceat(losses, starts) / np.diff(starts, append=len(losses))


def summary(row: str, arm: str, curves: dict[str, np.ndarray[Any, Any]]) -> tuple[str, ...]:
    """Returns the cells of an arm; differences are those to PyTorch."""
    found, expected = curves[arm], curves[ARMS[0]]
    difference = np.abs(means(found) - means(expected)).max()
    apart = np.flatnonzero(np.abs(found - expected) > 1e-3 * np.abs(expected))
    equal = int(apart[0]) if apart.size else len(found)
    first, last = f"{found[0]:.4f}", f"{found[-WINDOW:].mean():.4f}"
    return (row, arm, first, last, f"{difference:.5f}", str(equal))
