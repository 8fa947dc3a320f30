"""``ark check``: the proof of a schedule."""

from __future__ import annotations

import argparse
import tempfile
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
        "file", metavar="FILE", help="an .mlir file at any stage, or a bundle that holds its MLIR"
    )
    parser.add_argument("--target", metavar="T", help="target of a program not yet scheduled")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    path = Path(options.file)
    if not path.exists():
        raise InvalidUsageError("no such file", location=options.file)
    if path.suffix != ".arkbin":
        return _check(path, options.target)
    from ..bundle import read_bundle

    bundle = read_bundle(path)
    if bundle.signature is not None:
        print(f"signature: {bundle.signature}")
    mlir = bundle.mlir
    if mlir is None:
        raise InvalidUsageError(
            "holds no MLIR to check; compile it with --set keep_mlir=true", location=options.file
        )
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        text = Path(folder) / f"{path.stem}.mlir"
        text.write_text(mlir, encoding="utf-8")
        return _check(text, options.target)


def _check(path: Path, target: str | None) -> int:
    print(the_compiler().check(path, target=target))
    return 0
