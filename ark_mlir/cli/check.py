"""``ark check``: proves a schedule, or the tables of a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InvalidUsageError
from .common import Commands, add_command, check_kind, import_compiler, open_bundle


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "check",
        "prove that a schedule has no race, no deadlock and no premature reuse of memory",
        "ark check schedule.mlir",
        run,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help=".mlir file at any stage, or bundle, whose tables are proven",
    )
    parser.add_argument(
        "--target", metavar="T", help="target to schedule for, if FILE has no schedule"
    )


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    path = Path(options.file)
    if path.is_dir() or path.suffix == ".arkbin":
        return _check_bundle(options)
    check_kind(path)
    if not path.exists():
        raise InvalidUsageError("no such file", location=options.file)
    print(import_compiler().check(path, target=options.target))
    return 0


def _check_bundle(options: argparse.Namespace) -> int:
    """Proves the tables of a bundle."""
    bundle = open_bundle(options.file)
    if options.target is not None:
        raise InvalidUsageError("--target cannot be used with a bundle", location=options.file)
    if bundle.signature is not None:
        print(f"signature: {bundle.signature}")
    print(import_compiler().check_bundle(bundle))
    return 0
