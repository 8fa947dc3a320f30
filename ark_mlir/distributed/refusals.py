"""Control messages of rank 0 to ranks that connect, with the error that stops rank 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArkError, InvalidUsageError, RankFailedError

__all__ = ["name_ranks", "raise_refusal", "refusal"]


def refusal(error: BaseException) -> dict[str, object]:
    """Returns the control message with an error of rank 0."""
    text = str(error) if isinstance(error, ArkError) else f"rank 0 failed: {error!r}"
    return {"problem": text, "usage": isinstance(error, InvalidUsageError)}


def raise_refusal(message: Mapping[str, Any], rank: int) -> None:
    """Raises the error in a control message of rank 0; does nothing if there is no error.

    `rank` is the rank of this process. Raises InvalidUsageError if rank 0 has raised
    InvalidUsageError, else RankFailedError.
    """
    if "problem" in message:
        kind = InvalidUsageError if message.get("usage") else RankFailedError
        raise kind(f"rank {rank} cannot continue: {message['problem']}")


def name_ranks(numbers: Sequence[int]) -> str:
    """Returns a phrase with the ranks, such as ``rank 2`` or ``ranks 0, 3``."""
    words = ", ".join(map(str, numbers))
    return f"rank {words}" if len(numbers) == 1 else f"ranks {words}"
