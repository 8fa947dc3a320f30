"""``ark show``: writes a schedule as an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

from .common import Commands, add_command, add_compile_options, open_program


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "show",
        "write a schedule as a self-contained HTML timeline",
        "ark show mlp.arkbin -o mlp.html",
        run,
    )
    parser.add_argument(
        "source", metavar="BUNDLE|FILE", help="bundle, or .mlir file or model folder to compile"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="page to write (default: the source's name)"
    )
    parser.add_argument(
        "--trace",
        dest="times",
        metavar="TRACE",
        help="also show the measured times of a trace, which `ark run --trace` wrote",
    )
    parser.add_argument("--program", metavar="NAME", help="the program, if a model has several")
    parser.add_argument("--report", action="store_true", help="print a report of the program")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..show import write_timeline

    executable = open_program(options.source, options)
    output = Path(options.output or Path(Path(options.source).name).with_suffix(".html"))
    write_timeline(executable, output, options.times)
    if options.report:
        print(executable.report())
    print(output)
    return 0
