"""Prompts that run as rows of one batch, and the durations of a generation."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .requests import Request

__all__ = ["Answer", "Timing", "as_batch"]


@dataclass(frozen=True)
class Timing:
    """Durations of the parts of a generation.

    Attributes:
        prompt: number of tokens of the prompt, or of all prompts.
        prompt_seconds: seconds until the first new token; for several batches, their sum.
        tokens: number of new tokens after the first one of each sequence.
        seconds: seconds for these tokens.
        sequences: number of prompts.
    """

    prompt: int
    prompt_seconds: float
    tokens: int
    seconds: float
    sequences: int = 1

    def __str__(self) -> str:
        several = self.sequences > 1
        name = f"{self.sequences} prompts" if several else "prompt"
        text = f"{name}: {self.prompt} tokens in {self.prompt_seconds:.3g} s"
        if not self.tokens:
            return text
        speed = f"{self.tokens / self.seconds:.4g} tokens/s"
        return f"{text}; then {speed}{' in total' if several else ''}"

    def __add__(self, other: Timing) -> Timing:
        return Timing(
            self.prompt + other.prompt,
            self.prompt_seconds + other.prompt_seconds,
            self.tokens + other.tokens,
            self.seconds + other.seconds,
            self.sequences + other.sequences,
        )


@dataclass
class Answer:
    """The new tokens of one prompt of a batch, and their text."""

    request: Request
    ends: frozenset[int]
    tokens: list[int] = field(default_factory=list[int])
    complete: bool = False
    _parts: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, request: Request) -> Answer:
        """Returns the empty answer of a request."""
        return cls(request, frozenset(int(end) for end in request.inputs["ends"] if end >= 0))

    def add(self, tokens: Iterable[int]) -> None:
        """Adds tokens up to the one that ends the sequence or completes a stop string.

        The row goes on until all rows have ended, so that later tokens are dropped.
        """
        growing = self.request.text or self.request.stops
        for token in tokens:
            if self.complete:
                return
            self.tokens.append(token)
            if growing is not None:
                self._parts.append(growing.add(token))
                self.complete = growing.stopped
            self.complete = self.complete or token in self.ends

    def result(self) -> str | list[int]:
        """Returns the text for a prompt that is a text or a conversation, else the tokens."""
        if self.request.text is None:
            return self.tokens
        return "".join(self._parts) + self.request.text.end()


def as_batch(
    requests: Sequence[Request], rows: int
) -> tuple[NDArray[np.int32], Mapping[str, NDArray[Any]]]:
    """Returns the tokens of the programs' rows, and the inputs of all launches.

    Args:
        requests: at most `rows` requests with equal options. The last one fills the other rows,
            which thus end when it ends.
        rows: number of rows of the programs.

    The tokens are int32 ``[rows, longest]``. Shorter prompts have padding on the left, so that all
    rows continue at one position.
    """
    longest = max(request.prompt.size for request in requests)
    prompts = np.zeros((rows, longest), np.int32)
    padding = np.zeros(rows, np.int32)
    for row in range(rows):
        prompt = requests[min(row, len(requests) - 1)].prompt
        padding[row] = longest - prompt.size
        prompts[row, longest - prompt.size :] = prompt
    inputs = dict(requests[0].inputs)
    return prompts, inputs if rows == 1 else {**inputs, "padding": padding}
