"""Requests of a generation: their options, and the checks of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from ..text import GrowingText

__all__ = ["Choice", "Messages", "Request", "is_conversation", "split_stops"]

# The messages of a conversation, each with "role" and "content".
Messages = Sequence[Mapping[str, str]]


class Choice(TypedDict, total=False):
    """Keywords of :meth:`GenerativeModel.generate` and :meth:`GenerativeModel.stream`.

    Attributes:
        stop: a token, a stop string, or a list of both, which end the answer. Tokens replace those
            of :attr:`GenerativeModel.ends`, which apply if `stop` is None or has strings only;
            ``()`` means no token.
        temperature: 0 is greedy decoding. Above 0, tokens are sampled from logits divided by the
            temperature; the model must be loaded with ``sampling=True``.
        top_k: top-k sampling: the number of most probable tokens to keep; 0 keeps all.
        top_p: nucleus sampling: the cumulative probability, relative to that of the `top_k` tokens,
            up to which the most probable tokens are kept; 1.0 keeps all.
        seed: random seed; equal seeds give equal tokens (:mod:`ark_mlir.models.sampling`).
        reference: True computes with the float64 interpreter instead of the compiled programs.

    Example:
        >>> choice: ark.models.Choice = {"stop": 2, "seed": 7}
    """

    stop: int | str | Sequence[int | str] | None
    temperature: float
    top_k: int
    top_p: float
    seed: int
    reference: bool


@dataclass(frozen=True)
class Request:
    """A generation whose arguments were checked.

    Attributes:
        text: the text of the answer, if the caller wants text.
        stops: the text of the answer, if there are stop strings.
    """

    prompt: NDArray[np.int32]
    inputs: Mapping[str, Any]
    count: int
    reference: bool
    text: GrowingText | None
    stops: GrowingText | None


def is_conversation(prompt: object) -> TypeGuard[Messages]:
    """Returns True for the messages of a conversation."""
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return False
    messages = cast("Sequence[object]", prompt)
    return len(messages) > 0 and all(isinstance(message, Mapping) for message in messages)


def split_stops(stop: int | str | Sequence[int | str] | None) -> tuple[object, list[str]]:
    """Returns the stop tokens, or None for the tokens of the model, and the stop strings.

    Raises InvalidUsageError if a stop string is empty.
    """
    if "" in ([stop] if isinstance(stop, str) else stop if isinstance(stop, Sequence) else ()):
        raise InvalidUsageError("stop has an empty text, before which every text would end")
    if isinstance(stop, str):
        return None, [stop]
    if isinstance(stop, Sequence):
        texts = [each for each in stop if isinstance(each, str)]
        tokens = [each for each in stop if not isinstance(each, str)]
        return (tokens or None, texts) if texts else (tokens, [])
    return stop, []
