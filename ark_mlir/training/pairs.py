"""Pairs of sentences as tokens, and the pairs of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError

__all__ = ["PairBatches", "read_pairs", "tokenize_pairs"]


def read_pairs(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Returns the pairs of sentences in files.

    Args:
        paths: files in UTF-8. Each line has two sentences with a tab between them; empty lines
            count as no line.

    Raises InvalidUsageError if a file cannot be read, a line has no pair, or there is no pair.
    """
    pairs: list[tuple[str, str]] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            raise InvalidUsageError(f"cannot be read: {problem}", location=str(path)) from None
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            parts = line.rstrip("\r").split("\t")
            if len(parts) != 2 or not all(part.strip() for part in parts):
                raise InvalidUsageError(
                    "a line must have two sentences with a tab between them",
                    location=f"{path}:{number}",
                )
            pairs.append((parts[0], parts[1]))
    if not pairs:
        raise InvalidUsageError("the files have no pair of sentences", location=str(paths[0]))
    return pairs


def tokenize_pairs(
    pairs: Sequence[tuple[str, str]], encode: Callable[[str], list[int]], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns tokens and numbers of tokens of sentences.

    Args:
        pairs: the pairs of sentences.
        encode: returns the tokens of a sentence, at most `length`, and at least one.
        length: the number of columns.

    The first array is int32 ``[2 * pairs, length]``: the first sentences, then the second ones,
    with zeros after the last token; the second one is int32 ``[2 * pairs]``.
    """
    rows = [encode(pair[side]) for side in (0, 1) for pair in pairs]
    ids = np.zeros((len(rows), length), np.int32)
    for row, tokens in zip(ids, rows, strict=True):
        row[: len(tokens)] = tokens
    return ids, np.array([len(tokens) for tokens in rows], np.int32)


class PairBatches:
    """Batches of different random pairs, the same for equal seeds and steps.

    A call returns ``{"pairs": int32 [batch]}``, the numbers of the pairs. The tokens themselves
    stay on the device.

    Args:
        count: the number of all pairs.
        batch: the number of pairs of a batch.
        seed: an integer; each seed gives another order.

    Raises InvalidUsageError if there are fewer pairs than a batch has.
    """

    def __init__(self, count: int, batch: int, seed: int = 0) -> None:
        if count < batch:
            raise InvalidUsageError(f"{count} pairs are fewer than the {batch} of a batch")
        self._count, self._batch, self._seed = count, batch, seed

    def __call__(self, step: int) -> Mapping[str, NDArray[Any]]:
        """Returns the batch of a step."""
        rng = np.random.default_rng([self._seed, step])
        chosen = rng.choice(self._count, self._batch, replace=False)
        return {"pairs": chosen.astype(np.int32)}
