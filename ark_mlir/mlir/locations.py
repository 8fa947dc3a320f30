"""The text of an MLIR location in messages."""

from __future__ import annotations

from .. import ir

__all__ = ["describe"]


def describe(location: ir.Location) -> str | None:
    """Returns ``file:line`` of the innermost file that a location names; None if it names no file.

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
        # The location of a parsed module is its file, with line 0.
        line = location.start_line
        return f"{location.filename}:{line}" if line else location.filename
    return None
