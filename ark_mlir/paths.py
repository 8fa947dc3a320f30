"""Paths that callers give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from .errors import InvalidUsageError

__all__ = ["as_path"]


def as_path(path: object, what: str) -> Path:
    """`path` as a Path; raises InvalidUsageError, which says `what` it is of, where it is none.

    Example:
        >>> as_path("mlp.arkbin", "the bundle")
        PosixPath('mlp.arkbin')
    """
    if isinstance(path, str | bytes | os.PathLike):
        text = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
        if text:
            return Path(text)
    raise InvalidUsageError(f"{what} is {path!r}; expected a path")
