"""``ark bench``: measures the time of runs."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ..progress import Progress
from .common import Commands, add_binding_options, add_command, bind_parameters, count
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
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..runtime import load

    with load(options.bundle) as executable:
        inputs = prepare(executable, options)
        with Progress(f"measuring {executable.name}"):
            seconds = measure(executable, inputs, options)
        figures = statistics(seconds, executable.report().predicted_ns, options.iterations)
    if options.json:
        print(json.dumps(figures))
        return 0
    from ..units import duration

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


def measure(
    executable: Executable, inputs: dict[str, Any], options: argparse.Namespace
) -> list[float]:
    """Returns the seconds of each run."""
    if options.resident:
        with executable.resident() as resident:
            return _measure(resident.run, inputs, options)
    return _measure(executable.run, inputs, options)


def _measure(run: Any, inputs: dict[str, Any], options: argparse.Namespace) -> list[float]:
    from ..tuning import measure_seconds

    def once() -> None:
        run(inputs, iterations=options.iterations)

    for _ in range(options.warmup):
        once()
    return [measure_seconds(once) for _ in range(options.runs)]


def statistics(seconds: list[float], predicted_ns: int, iterations: int) -> dict[str, float]:
    """Returns statistics of the seconds per iteration."""
    ordered = sorted(value / iterations for value in seconds)
    return {
        "least": ordered[0],
        "median": ordered[len(ordered) // 2],
        "p90": ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)],
        "most": ordered[-1],
        "predicted": predicted_ns / 1e9,
    }
