"""``ark schedule``: a schedule as text to edit."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InvalidUsageError
from .common import Commands, add_command, add_compile_options, load_programs, the_compiler


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "schedule",
        "write a program with its schedule as commented MLIR, to edit and compile again",
        "ark schedule mlp.mlir --target cpu:4 -o schedule.mlir",
        run,
    )
    parser.add_argument("source", metavar="FILE|FOLDER", help="an .mlir file or a model folder")
    parser.add_argument(
        "-o", "--output", metavar="OUT.mlir", required=True, help="the text to write"
    )
    parser.add_argument(
        "--runs-only",
        action="store_true",
        help="leave out semaphores, signals and waits, which compiling it will insert",
    )
    parser.add_argument("--program", metavar="NAME", help="which of a model's programs")
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
    text = the_compiler().export_schedule(
        programs[name],
        options.target,
        synchronized=not options.runs_only,
        name=output.name,
        **settings,
    )
    output.write_text(text, encoding="utf-8")
    print(output)
    return 0
