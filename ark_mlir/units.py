"""Formatting of counts, sizes and times for people.

>>> counted(1200, "task"), size(2048), duration(1500)
('1,200 tasks', '2 KiB', '1.5 µs')
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["counted", "duration", "listed", "parse_size", "size"]

_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([KMGT]i)?B", re.ASCII)
# A list of at most this number of names is printed as it is, and a longer one in short.
_NAMES = 8


def counted(number: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun: ``1 task``, ``1,200 tasks``.

    `many` is the plural of the noun `one`, by default with an ``s``.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    """Returns a number of bytes with a binary unit: ``64 B``, ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:.4g} TiB"


def parse_size(text: str) -> int | None:
    """Returns the bytes of a size with a unit of :func:`size`; None if the text is no such size.

    >>> parse_size("1.5 KiB"), parse_size("8GiB"), parse_size("8GB")
    (1536, 8589934592, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    powers = ("", "Ki", "Mi", "Gi", "Ti")
    return int(float(match[1]) * 1024 ** powers.index(match[2] or ""))


def duration(ns: float) -> str:
    """Returns a time in nanoseconds with the unit that suits it: ``1.5 µs``, ``2 s``."""
    for unit in ("ns", "µs", "ms"):
        if ns < 1000:
            return f"{ns:.4g} {unit}"
        ns /= 1000
    return f"{ns:.4g} s"


def listed(names: Sequence[str]) -> str:
    """Returns names with commas; a list of more than 8 names is shortened.

    The short form has each name once, with its count, and at most 8 names.

    Example:
        >>> listed(["matmul", "add"])
        'matmul, add'
        >>> listed(["mul", "add"] * 6 + ["cast"])
        'mul ×6, add ×6, cast'
    """
    if len(names) <= _NAMES:
        return ", ".join(names)
    counts = Counter(names)
    short = [name if times == 1 else f"{name} ×{times}" for name, times in counts.items()]
    rest = len(short) - _NAMES
    return ", ".join(short[:_NAMES]) + (f" and {rest} more" if rest > 0 else "")
