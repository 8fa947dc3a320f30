"""``ark simulate``: predicts the time of a program of several ranks on a topology."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidUsageError
from .common import (
    Commands,
    add_command,
    add_compile_options,
    count,
    load_model,
    open_program,
    the_compiler,
    unique,
)

if TYPE_CHECKING:
    from ..runtime import Executable


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "simulate",
        "predict the time of a program of several ranks, with the contention of links",
        "ark simulate decode.arkbin --world 8 --topology h200 -o decode.html",
        run,
    )
    parser.add_argument(
        "source", metavar="BUNDLE|FILE", help="bundle, or .mlir file or model folder to compile"
    )
    parser.add_argument(
        "--topology",
        metavar="FILE",
        required=True,
        help="topology in JSON, or one that ark has: h200, h200x8, h100x2",
    )
    parser.add_argument(
        "--world",
        metavar="N",
        type=count,
        help="number of ranks: that of a bundle, or the tensor parallelism of a model folder",
    )
    parser.add_argument(
        "--costs", metavar="COSTS", help="measured times of tasks, a file of `ark profile`"
    )
    parser.add_argument(
        "--measured", metavar="MICROSECONDS", type=float, help="print the prediction's error, too"
    )
    parser.add_argument("-o", "--output", metavar="OUT.html", help="write the timeline as a page")
    parser.add_argument("--program", metavar="NAME", help="program of a model with several ones")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..show import write_timeline
    from ..simulation import Topology, simulate
    from ..tuning import Costs

    topology = Topology.read(options.topology)
    costs = None if options.costs is None else Costs.read(options.costs)
    if options.world is not None and options.world > topology.gpus:
        raise InvalidUsageError(
            f"--world {options.world} is above the {topology.gpus} GPUs of topology "
            f"{topology.name!r}"
        )
    executable = open_world(options)
    prediction = simulate(
        executable,
        topology,
        world=options.world,
        costs=costs,
        measured_ns=None if options.measured is None else 1e3 * options.measured,
    )
    print(prediction)
    if options.output is not None:
        write_timeline(
            executable,
            options.output,
            simulated=prediction.timeline,
            figures=prediction.figures(),
        )
        print(options.output)
    return 0


def open_world(options: argparse.Namespace) -> Executable:
    """Loads a bundle, or compiles an ``.mlir`` file or the programs of all ranks of a model.

    Raises InvalidUsageError if a model has several programs and ``--program`` names none of them.
    """
    if not Path(options.source).is_dir() or options.world in (None, 1):
        return open_program(options.source, options)
    settings = {**unique(options.settings, "--set"), "tensor_parallel": options.world}
    model, chosen = load_model(options.source, settings)
    if options.program not in model.ranks:
        raise InvalidUsageError(
            f"has programs {', '.join(model.ranks)}; choose one with --program",
            location=options.source,
        )
    return the_compiler().compile(model.ranks[options.program], target=options.target, **chosen)
