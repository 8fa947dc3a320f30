"""Ranks compare their numbers of iterations and their epochs before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidUsageError

if TYPE_CHECKING:
    from .communicator import Words

__all__ = ["check_iterations", "is_stale"]


def check_iterations(words: Words) -> None:
    """Raises InvalidUsageError if ranks run different numbers of iterations."""
    counts = {word.sender: word.body["iterations"] for word in words}
    odd = next((rank for rank in counts if counts[rank] != counts[0]), None)
    if odd is not None:
        raise InvalidUsageError(
            f"rank 0 runs {counts[0]} iterations, and rank {odd} runs {counts[odd]}"
        )


def is_stale(words: Words) -> bool:
    """Returns True if the semaphores may differ from the values that all ranks expect."""
    return (
        not all(word.body["clean"] for word in words) or len({w.body["epoch"] for w in words}) > 1
    )
