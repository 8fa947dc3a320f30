"""Names of buffers in a program of several ranks."""

from __future__ import annotations


def qualified(rank: int, size: int, name: str) -> str:
    """Returns the name of a rank's buffer in the bundle; a single rank keeps its names.

    Example:
        >>> qualified(1, 2, "x"), qualified(0, 1, "x")
        ('rank1/x', 'x')
    """
    return f"rank{rank}/{name}" if size > 1 else name
