"""``ark show``: a schedule as a page."""

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
        "source", metavar="BUNDLE|FILE", help="a bundle, or an .mlir file or model to compile"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="the page (default: the source's name, .html)"
    )
    parser.add_argument(
        "--trace", dest="times", metavar="TRACE", help="a file of `ark run --trace` to compare with"
    )
    parser.add_argument("--program", metavar="NAME", help="which of a model's programs")
    parser.add_argument("--report", action="store_true", help="print the figures, too")
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
