"""The command line: ``ark COMMAND``; see :mod:`ark_mlir.cli.main`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 1 (an error), 2 (wrong usage)."""
    try:
        from .main import main as run
    except KeyboardInterrupt:  # loading it takes most of a second
        print("ark: interrupted", file=sys.stderr)
        return 130
    return run(arguments)
