"""``ark profile``: measures the times of a bundle's tasks, for the scheduler ``profile``."""

from __future__ import annotations

import argparse

from ..progress import Progress
from .bench import prepare
from .common import (
    Commands,
    add_binding_options,
    add_command,
    add_devices_option,
    count,
    device_options,
    load_bundle,
)
from .run import add_input_option


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "profile",
        "measure the time of each task of a bundle, as costs for `ark compile --profile`",
        "ark profile mlp.arkbin -o costs.json; "
        "ark compile mlp.mlir --profile costs.json -o mlp.arkbin",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="bundle written by `ark compile --trace`")
    parser.add_argument(
        "-o", "--output", metavar="COSTS.json", required=True, help="file of costs to write"
    )
    add_input_option(parser)
    add_binding_options(parser)
    add_devices_option(parser)
    parser.add_argument(
        "--runs", type=count, default=10, metavar="N", help="number of measured runs (default: 10)"
    )


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..tuning import measure
    from ..units import duration

    with load_bundle(options.bundle, **device_options(options)) as executable:
        inputs = prepare(executable, options)
        with Progress(f"measuring {executable.name}"):
            costs = measure(executable, inputs, options.runs)
    costs.write(options.output)
    for name, cost in costs.tasks.items():
        print(f"{name}: {cost.vctas} vCTAs, {duration(cost.ns)} each")
    print(options.output)
    return 0
