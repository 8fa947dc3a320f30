"""Numbers of GPUs, in the arguments of a caller and in the names of targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import cast

from .backends import backend_info, is_backend
from .errors import InvalidUsageError

_NAME = re.compile(r"(\w+):(\d{1,4}(?:,\d{1,4})*)")


def check_devices(devices: object) -> tuple[int, ...]:
    """Returns the numbers of GPUs as a tuple.

    Raises InvalidUsageError if they are not numbers of GPUs, or a GPU is named twice.

    Example:
        >>> check_devices([0, 1])
        (0, 1)
    """
    is_list = isinstance(devices, Sequence) and not isinstance(devices, str | bytes)
    values = list(cast("Iterable[object]", devices)) if is_list else []
    numbers = tuple(value for value in values if type(value) is int and value >= 0)
    if not numbers or len(numbers) != len(values):
        raise InvalidUsageError(f"devices={devices!r}: expected numbers of GPUs, such as [0, 1]")
    if len(set(numbers)) < len(numbers):
        raise InvalidUsageError(
            f"devices={list(numbers)}: a GPU is named twice; name each GPU once"
        )
    return numbers


def split_target(target: str) -> tuple[str, tuple[int, ...] | None]:
    """Splits a target into its name without numbers of GPUs at its end, and these numbers.

    Example:
        >>> split_target("cuda:0,1"), split_target("cuda:sm_90a")
        (('cuda', (0, 1)), ('cuda:sm_90a', None))
    """
    found = _NAME.fullmatch(target)
    if found is None or not is_backend(found[1]) or not backend_info(found[1]).is_gpu:
        return target, None
    return found[1], check_devices([int(number) for number in found[2].split(",")])
