"""``ark compile``: compiles a program or a model folder into bundles."""

from __future__ import annotations

import argparse
from pathlib import Path

from .common import Commands, add_command, add_compile_options, compile_programs


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "compile",
        "compile an .mlir file or a model folder into a bundle",
        "ark compile model.mlir -o model.arkbin --target cpu",
        run,
    )
    parser.add_argument("source", metavar="FILE|FOLDER", help=".mlir file or model folder")
    parser.add_argument(
        "-o", "--output", metavar="OUT.arkbin", required=True, help="bundle to write"
    )
    parser.add_argument("--dump-dir", metavar="DIR", help="write the IR after each stage to DIR")
    parser.add_argument(
        "--trace", action="store_true", help="compile a kernel that can record a trace"
    )
    parser.add_argument(
        "--profile",
        metavar="COSTS.json",
        help="schedule by measured costs, a file of `ark tune` or `ark profile`",
    )
    parser.add_argument("--report", action="store_true", help="print a report of the program")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    programs = compile_programs(options.source, options)
    output = Path(options.output)
    for name, executable in programs.items():
        # Each program of a model has its own file, such as out.prefill.arkbin.
        path = output if len(programs) == 1 else output.with_suffix(f".{name}{output.suffix}")
        executable.save(path)
        if options.report:
            print(executable.report())
        if options.report or len(programs) > 1:
            print(path)
    return 0
