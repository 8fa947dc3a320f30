"""``ark bench``: measures the time of runs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..progress import Progress
from .common import (
    Commands,
    add_binding_options,
    add_command,
    add_devices_option,
    bind_parameters,
    count,
    device_options,
    load_bundle,
)
from .run import add_input_option, read_inputs

if TYPE_CHECKING:
    from ..runtime import Executable


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "bench",
        "measure the run time of a bundle",
        "ark bench mlp.arkbin --runs 100",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="bundle written by `ark compile`")
    add_input_option(parser)
    add_binding_options(parser)
    parser.add_argument(
        "--runs", type=count, default=20, metavar="N", help="number of measured runs (default: 20)"
    )
    parser.add_argument(
        "--warmup", type=count, default=3, metavar="N", help="number of warm-up runs (default: 3)"
    )
    parser.add_argument(
        "--iterations", type=count, default=1, metavar="N", help="iterations per run (default: 1)"
    )
    parser.add_argument(
        "--resident", action="store_true", help="keep the kernel on the device between runs"
    )
    add_devices_option(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..tuning import measure_runs
    from ..units import duration

    with load_bundle(options.bundle, **device_options(options)) as executable:
        inputs = prepare(executable, options)
        with Progress(f"measuring {executable.name}"):
            times = measure_runs(
                executable,
                inputs,
                runs=options.runs,
                warmup=options.warmup,
                iterations=options.iterations,
                resident=options.resident,
            )
    figures = asdict(times)
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"{executable.name}: {options.runs} runs of {options.iterations} iterations")
    for name, value in figures.items():
        print(f"  {name:<10} {duration(value * 1e9)} per iteration")
    return 0


def prepare(executable: Executable, options: argparse.Namespace) -> dict[str, Any]:
    """Binds the parameters and returns the inputs; inputs without a file are zeros.

    All parameters are zeros if the command line gives none.
    """
    from ..tuning import zeros

    if not options.parameters and not options.files:
        executable.bind(zeros(executable.parameters))
    else:
        bind_parameters(executable, options)
    return {**zeros(executable.inputs), **read_inputs(executable, options)}
