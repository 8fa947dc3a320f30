"""``ark check``: the proof of a schedule, or of a bundle's tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InvalidUsageError
from .common import Commands, add_command, the_compiler


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "check",
        "prove that a schedule has no race and no deadlock, and reuses nothing too early",
        "ark check schedule.mlir",
        run,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="an .mlir file at any stage; or a bundle, whose tables are proven",
    )
    parser.add_argument("--target", metavar="T", help="target of a program not yet scheduled")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    path = Path(options.file)
    if not path.exists():
        raise InvalidUsageError("no such file", location=options.file)
    if path.suffix != ".arkbin":
        print(the_compiler().check(path, target=options.target))
        return 0
    if options.target is not None:
        raise InvalidUsageError("--target: a bundle has its target", location=options.file)
    from ..bundle import read_bundle

    bundle = read_bundle(path)
    if bundle.signature is not None:
        print(f"signature: {bundle.signature}")
    print(the_compiler().check_bundle(bundle))
    return 0
