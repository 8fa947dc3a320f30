"""External tools, such as a linker and an assembler, with a limit of their time."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import knobs
from .errors import CompileError

__all__ = ["run_tool"]


def run_tool(
    command: Sequence[str], data: bytes | None = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Runs a program to its end, and returns its status and its output.

    Args:
        command: the path of the program, and its arguments.
        data: the standard input.
        **options: further options of :func:`subprocess.run`.

    If the program does not end within ARK_TOOL_TIMEOUT, kills it and raises CompileError. Raises
    OSError if it cannot be started.
    """
    limit = knobs.TOOL_TIMEOUT.get()
    try:
        return subprocess.run(command, input=data, check=False, timeout=limit, **options)
    except subprocess.TimeoutExpired:
        raise CompileError(
            f"{Path(command[0]).name} did not end within {limit:g} s; ARK_TOOL_TIMEOUT sets this "
            "limit"
        ) from None
