"""Corpora of tokens, and the positions of a batch in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from ..paths import as_path

__all__ = ["TokenBatches", "read_bytes", "read_tokens"]


def read_bytes(paths: Sequence[str | os.PathLike[str]]) -> NDArray[np.int32]:
    """Returns the bytes of files, one after the other, as tokens from 0 to 255.

    Args:
        paths: the files.

    Raises InvalidUsageError if a file cannot be read, or all are empty.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("abc")
        >>> ark.training.read_bytes(["corpus.txt"])
        array([97, 98, 99], dtype=int32)
    """
    joined = b"".join(_read_files(paths))
    if not joined:
        raise InvalidUsageError("paths names no file with text; pass files that are not empty")
    return np.frombuffer(joined, np.uint8).astype(np.int32)


def read_tokens(
    paths: Sequence[str | os.PathLike[str]], encode: Callable[[str], list[int]]
) -> NDArray[np.int32]:
    """Returns the tokens of files of text in UTF-8, one after the other.

    Args:
        paths: the files.
        encode: returns the tokens of a text.

    Raises InvalidUsageError if a file cannot be read or is not UTF-8, or no file has tokens.
    """
    tokens: list[int] = []
    for path, data in zip(paths, _read_files(paths), strict=True):
        try:
            tokens += encode(data.decode())
        except UnicodeDecodeError:
            raise InvalidUsageError("is not UTF-8", location=str(path)) from None
    if not tokens:
        raise InvalidUsageError("paths names no file with text; pass files that are not empty")
    return np.array(tokens, np.int32)


def _read_files(paths: Sequence[str | os.PathLike[str]]) -> list[bytes]:
    if isinstance(paths, str | os.PathLike):
        raise InvalidUsageError(f"paths must be a list of paths, not {paths!r}")
    parts: list[bytes] = []
    for path in paths:
        file = as_path(path, "a file of text")
        try:
            parts.append(file.read_bytes())
        except OSError as error:
            raise InvalidUsageError(
                f"cannot be read: {error.strerror}", location=str(file)
            ) from None
    return parts


class TokenBatches:
    """Batches of random positions in a corpus, the same for equal seeds and steps.

    A call returns ``{"starts": int32 [batch]}``, the first token of each sequence. The tokens
    themselves stay on the device.

    Args:
        count: the number of tokens of the corpus.
        batch: the number of sequences of a batch.
        length: the number of tokens that a sequence predicts; it has one more.
        seed: an integer; each seed gives another order of positions.

    Raises InvalidUsageError if the corpus is shorter than one sequence.

    Example:
        >>> batches = ark.training.TokenBatches(1000, batch=2, length=16)
        >>> batches(3)["starts"].shape
        (2,)
        >>> bool((batches(3)["starts"] == batches(3)["starts"]).all())
        True
    """

    def __init__(self, count: int, batch: int, length: int, seed: int = 0) -> None:
        if count < length + 1:
            raise InvalidUsageError(
                f"a corpus of {count} tokens is shorter than a sequence of length {length}, "
                f"which needs {length + 1} tokens"
            )
        self._batch, self._seed = batch, seed
        self._positions = count - length

    def __call__(self, step: int) -> Mapping[str, NDArray[Any]]:
        """Returns the batch of a step.

        Args:
            step: the number of the step.

        >>> sorted(ark.training.TokenBatches(100, 4, 9)(0))
        ['starts']
        """
        rng = np.random.default_rng([self._seed, step])
        return {"starts": rng.integers(0, self._positions, self._batch).astype(np.int32)}
