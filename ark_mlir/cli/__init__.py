"""The command line: ``ark COMMAND``; see :mod:`ark_mlir.cli.main`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: 0, 1 (error), 2 (wrong usage), 130 (Ctrl-C)."""
    try:
        from .main import main as run
    except KeyboardInterrupt:  # the import takes most of a second
        print("ark: interrupted", file=sys.stderr)
        return 130
    return run(arguments)
