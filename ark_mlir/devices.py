"""Numbers of GPUs, in the arguments of a caller and in the names of targets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from .backends import backend_info, is_backend
from .errors import InvalidUsageError

# The reason against `concurrent` with a process for every rank.
ONE_PROCESS = (
    "concurrent=True is for ranks in one process; with a process for every rank, each rank needs a "
    "GPU of its own"
)
_NAME = re.compile(r"(\w+):(\d{1,4}(?:,\d{1,4})*)")


def check_devices(devices: object, *, concurrent: bool = False) -> tuple[int, ...]:
    """Returns the numbers of GPUs as a tuple.

    Args:
        devices: the numbers.
        concurrent: True if several ranks may have launches on the same GPU.

    Raises InvalidUsageError if they are not numbers of GPUs, or a GPU is named twice without
    `concurrent`.

    Example:
        >>> check_devices([0, 1])
        (0, 1)
    """
    is_list = isinstance(devices, Sequence) and not isinstance(devices, str | bytes)
    values = list(cast("Iterable[object]", devices)) if is_list else []
    numbers = tuple(value for value in values if type(value) is int and value >= 0)
    if not numbers or len(numbers) != len(values):
        raise InvalidUsageError(f"devices={devices!r}: expected numbers of GPUs, such as [0, 1]")
    if len(set(numbers)) < len(numbers) and not concurrent:
        raise InvalidUsageError(
            f"devices={list(numbers)}: a GPU is named twice; name each GPU once",
            notes=[
                f"devices=[{numbers[0]}] runs all ranks on one GPU in one launch, and "
                "concurrent=True runs a launch for each rank"
            ],
        )
    return numbers


def most_ranks_per_device(devices: Sequence[int] | None, ranks: int) -> int:
    """Returns the largest number of ranks that share a GPU.

    Args:
        devices: a GPU for all ranks, or for each rank; None means a different GPU for each rank.
        ranks: the number of ranks.

    Example:
        >>> most_ranks_per_device([0], 4), most_ranks_per_device([0, 0, 1, 1], 4)
        (4, 2)
    """
    if devices is None:
        return 1
    return ranks if len(devices) == 1 else max(Counter(devices).values())


def split_target(target: str) -> tuple[str, tuple[int, ...] | None]:
    """Splits a target into its name without numbers of GPUs at its end, and these numbers.

    Example:
        >>> split_target("cuda:0,1"), split_target("cuda:sm_90a")
        (('cuda', (0, 1)), ('cuda:sm_90a', None))
    """
    found = _NAME.fullmatch(target)
    if found is None or not is_backend(found[1]) or not backend_info(found[1]).is_gpu:
        return target, None
    # The caller checks for a GPU that is named twice, which concurrent=True permits.
    numbers = [int(number) for number in found[2].split(",")]
    return found[1], check_devices(numbers, concurrent=True)
