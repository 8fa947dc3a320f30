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
    check_program,
    count,
    import_compiler,
    load_programs,
    open_bundle,
    refuse_compile_options,
)

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..simulation import Topology


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
        "source",
        metavar="BUNDLE|FILE",
        nargs="?",
        help="bundle, or .mlir file or model folder to compile",
    )
    parser.add_argument(
        "--topology",
        metavar="FILE",
        required=True,
        help="topology: a JSON file, or one of h200, h200x8",
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
        "--measured",
        metavar="MICROSECONDS",
        type=float,
        help="measured time, with which the prediction is compared",
    )
    parser.add_argument(
        "--validate",
        action="store_true",
        help="compare predictions with measured and published times in the topology; no BUNDLE",
    )
    parser.add_argument("-o", "--output", metavar="OUT.html", help="write the timeline as a page")
    parser.add_argument("--program", metavar="NAME", help="the program, if a model has several")
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..show import write_timeline
    from ..simulation import Topology, simulate
    from ..tuning import Costs

    topology = Topology.read(options.topology)
    if options.validate:
        return print_validation(topology, options)
    if options.source is None:
        raise InvalidUsageError("ark simulate needs a bundle or file, or --validate")
    costs = None if options.costs is None else Costs.read(options.costs)
    if options.world is not None and options.world > topology.gpus:
        raise InvalidUsageError(
            f"--world {options.world}: topology {topology.name!r} has only {topology.gpus} GPUs"
        )
    bundle = open_world(options)
    prediction = simulate(
        bundle,
        topology,
        world=options.world,
        costs=costs,
        measured_ns=None if options.measured is None else 1e3 * options.measured,
    )
    print(prediction)
    if options.output is not None:
        write_timeline(
            bundle,
            options.output,
            simulated=prediction.timeline,
            figures=prediction.figures(),
            links=prediction.links,
        )
        print(options.output)
    return 0


def print_validation(topology: Topology, options: argparse.Namespace) -> int:
    """Compares predictions with the measured times of a topology."""
    from ..simulation import validate

    if options.source is not None:
        raise InvalidUsageError("--validate takes no bundle or file: it compiles the programs")
    if not topology.measured and not topology.published:
        raise InvalidUsageError(
            f"topology {topology.name!r} has no measured and no published times"
        )
    import_compiler()
    validate(topology, report=print)
    return 0


def open_world(options: argparse.Namespace) -> Bundle:
    """Reads a bundle, or compiles the schedule of an ``.mlir`` file or of all ranks of a model.

    Raises InvalidUsageError if a model has several programs and ``--program`` names none of them,
    or if a bundle comes with another ``--program`` or with options of the compiler.
    """
    source = Path(options.source)
    if not source.is_dir() and source.suffix != ".mlir":
        bundle = open_bundle(options.source)
        refuse_compile_options(options.source, options)
        check_program(options.program, [bundle.manifest.program], options.source)
        return bundle
    if source.is_dir() and options.world is not None:
        options.settings.append(("tensor_parallel", options.world))
    programs, settings = load_programs(options.source, options)
    if options.program is None and len(programs) == 1:
        (options.program,) = programs
    if options.program not in programs:
        raise InvalidUsageError(
            f"has programs {', '.join(programs)}; choose one with --program",
            location=options.source,
        )
    return import_compiler().compile_schedule(
        programs[options.program], target=options.target, **settings
    )
