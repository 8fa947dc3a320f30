"""The command line: ``ark COMMAND``; see :mod:`ark_mlir.cli.main`."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 1 (an error), 2 (wrong usage)."""
    from .main import main as run

    return run(arguments)
