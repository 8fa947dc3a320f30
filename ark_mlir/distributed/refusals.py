"""Messages by which rank 0 tells the other ranks, while they connect, that it cannot continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArkError, InvalidUsageError, RankFailedError

__all__ = ["name_ranks", "raise_refusal", "refusal"]


def refusal(error: BaseException) -> dict[str, object]:
    """Returns the message that tells another rank of an error of rank 0."""
    text = str(error) if isinstance(error, ArkError) else f"rank 0 failed: {error!r}"
    return {"problem": text, "usage": isinstance(error, InvalidUsageError)}


def raise_refusal(message: Mapping[str, Any], rank: int) -> None:
    """Raises the error of which a message of rank 0 tells `rank`; does nothing for other messages.

    Raises InvalidUsageError if the error of rank 0 is one, else RankFailedError.
    """
    if "problem" in message:
        kind = InvalidUsageError if message.get("usage") else RankFailedError
        raise kind(f"rank {rank} cannot continue: {message['problem']}")


def name_ranks(numbers: Sequence[int]) -> str:
    """Returns the words for some ranks, such as ``rank 2`` or ``ranks 0, 3``."""
    words = ", ".join(map(str, numbers))
    return f"rank {words}" if len(numbers) == 1 else f"ranks {words}"
