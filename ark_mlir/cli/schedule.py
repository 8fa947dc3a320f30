"""``ark schedule``: writes a schedule as MLIR text for editing."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InvalidUsageError
from .common import Commands, add_command, add_compile_options, import_compiler, load_programs


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "schedule",
        "write a program and its schedule as commented MLIR, which can be edited and compiled",
        "ark schedule mlp.mlir --target cpu:4 -o schedule.mlir",
        run,
    )
    parser.add_argument("source", metavar="FILE|FOLDER", help=".mlir file or model folder")
    parser.add_argument("-o", "--output", metavar="OUT.mlir", required=True, help="file to write")
    parser.add_argument(
        "--runs-only",
        action="store_true",
        help="omit semaphores, signals and waits; `ark compile` inserts them",
    )
    parser.add_argument("--program", metavar="NAME", help="the program, if a model has several")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    programs, settings = load_programs(options.source, options)
    name = options.program or next(iter(programs))
    if name not in programs or (len(programs) > 1 and options.program is None):
        raise InvalidUsageError(
            f"has programs {', '.join(programs)}; choose one with --program",
            location=options.source,
        )
    output = Path(options.output)
    text = import_compiler().export_schedule(
        programs[name],
        options.target,
        synchronized=not options.runs_only,
        name=output.name,
        **settings,
    )
    output.write_text(text, encoding="utf-8")
    print(output)
    return 0
