"""The comparison of the iterations and epochs of all ranks before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidUsageError

if TYPE_CHECKING:
    from .communicator import ControlMessages

__all__ = ["check_iterations", "is_stale"]


def check_iterations(messages: ControlMessages) -> None:
    """Raises InvalidUsageError if ranks run different numbers of iterations."""
    counts = {message.sender: message.body["iterations"] for message in messages}
    differing = next((rank for rank in counts if counts[rank] != counts[0]), None)
    if differing is not None:
        raise InvalidUsageError(
            f"rank 0 runs {counts[0]} iterations, and rank {differing} runs {counts[differing]}"
        )


def is_stale(messages: ControlMessages) -> bool:
    """Returns True if the semaphores may differ from the values that all ranks expect."""
    return (
        not all(message.body["clean"] for message in messages)
        or len({message.body["epoch"] for message in messages}) > 1
    )
