"""From an MLIR location to the words that messages have for it."""

from __future__ import annotations

from .. import ir

__all__ = ["describe"]


def describe(location: ir.Location) -> str | None:
    """``file:line`` of the innermost file that a location names, or None where there is none.

    Example:
        >>> with ir.Context():
        ...     describe(ir.Location.name("fc", ir.Location.file("net.py", 3, 1)))
        'net.py:3'
    """
    if location.is_a_name():
        return describe(location.child_loc)
    if location.is_a_callsite():
        return describe(location.callee) or describe(location.caller)
    if location.is_a_fused():
        return next(filter(None, map(describe, location.locations)), None)
    if location.is_a_file():
        # A module that was read has line 0: the whole file.
        line = location.start_line
        return f"{location.filename}:{line}" if line else location.filename
    return None
