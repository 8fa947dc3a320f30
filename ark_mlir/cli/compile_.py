"""``ark compile``: from a program or a model folder to a bundle."""

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
    parser.add_argument("source", metavar="FILE|FOLDER", help="an .mlir file or a model folder")
    parser.add_argument(
        "-o", "--output", metavar="OUT.arkbin", required=True, help="the bundle to write"
    )
    parser.add_argument("--dump-dir", metavar="DIR", help="write the IR after every stage there")
    parser.add_argument("--trace", action="store_true", help="let the kernel record times")
    parser.add_argument(
        "--profile", metavar="COSTS.json", help="what tasks take: a file of ark tune or ark profile"
    )
    parser.add_argument("--report", action="store_true", help="print what was made")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    programs = compile_programs(options.source, options)
    output = Path(options.output)
    for name, executable in programs.items():
        # A model of several programs becomes several files: out.prefill.arkbin …
        path = output if len(programs) == 1 else output.with_suffix(f".{name}{output.suffix}")
        executable.save(path)
        if options.report:
            print(executable.report())
        if options.report or len(programs) > 1:
            print(path)
    return 0
