"""``ark tune``: measures the times of tasks on the device, and schedules by them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidUsageError
from ..progress import Progress
from .bench import prepare
from .common import (
    Commands,
    add_binding_options,
    add_command,
    add_compile_options,
    check_bundle_path,
    count,
    import_compiler,
    load_bundle,
    load_programs,
)
from .run import add_input_option

if TYPE_CHECKING:
    from ..runtime import Executable
    from ..tuning import Costs, Tuning

# The report counts the lanes whose speed differs from the median by more than this fraction.
_UNLIKE = 0.05


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "tune",
        "measure the tasks on the device, alone and side by side, and schedule by their times",
        "ark tune mlp.mlir --target cuda -o mlp.arkbin\n"
        "on a host without the compiler: ark tune mlp.arkbin --record costs.json\n"
        "then, with the compiler: ark compile mlp.mlir --profile costs.json -o mlp.arkbin",
        run,
    )
    parser.add_argument(
        "source",
        metavar="FILE|FOLDER|BUNDLE",
        help="program to tune, or bundle of `ark compile --trace` to measure",
    )
    parser.add_argument("-o", "--output", metavar="OUT.arkbin", help="tuned bundle to write")
    parser.add_argument("--record", metavar="COSTS.json", help="write the measured costs to a file")
    parser.add_argument(
        "--alone",
        metavar="BUNDLE",
        help="bundle of the same program, compiled with --trace --set scheduler=alone: the times "
        "of tasks while no other task runs; only with a bundle as source",
    )
    parser.add_argument("--program", metavar="NAME", help="the program, if a model has several")
    parser.add_argument(
        "--runs", type=count, default=10, metavar="N", help="runs per measurement (default: 10)"
    )
    parser.add_argument(
        "--rounds", type=count, default=2, metavar="N",
        help="number of times that the program is measured and scheduled (default: 2)",
    )  # fmt: skip
    add_compile_options(parser)
    add_input_option(parser)
    add_binding_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    if Path(options.source).is_dir() or Path(options.source).suffix == ".mlir":
        return _tune(options)
    return _record(options)


# -- measuring -------------------------------------------------------------------------------------


def _record(options: argparse.Namespace) -> int:
    """Measures bundles; needs no compiler."""
    check_bundle_path(options.source)
    if options.record is None or options.output is not None:
        raise InvalidUsageError(
            "a bundle can be measured but not tuned: use --record instead of --output, then "
            "compile the program with --profile",
            location=options.source,
        )
    costs = _measure_bundle(options.source, options)
    if options.alone is not None:
        costs = costs.beside(_measure_bundle(options.alone, options))
    costs.write(options.record)
    print(describe(costs))
    print(options.record)
    return 0


def _measure_bundle(path: str, options: argparse.Namespace) -> Costs:
    with load_bundle(path) as executable:
        return _measure(executable, options)


def _measure(executable: Executable, options: argparse.Namespace) -> Costs:
    from ..tuning import measure

    inputs = prepare(executable, options)
    with Progress(f"measuring {executable.name}"):
        return measure(executable, inputs, options.runs)


def describe(costs: Costs) -> str:
    """Returns a table with the time of each kind of task and the speed of the lanes."""
    from ..units import counted, duration

    kinds: dict[str, list[Any]] = {}
    for cost in costs.tasks.values():
        kinds.setdefault(cost.kind, []).append(cost)
    lines: list[str] = []
    for kind, tasks in kinds.items():
        cost, vctas = tasks[0], sum(task.vctas for task in tasks)
        line = f"{kind}: {counted(len(tasks), 'task')}, {counted(vctas, 'vCTA')}, "
        line += f"{duration(cost.ns)} each"
        if cost.alone_ns:
            line += f", alone {duration(cost.alone_ns)} ({cost.ns / cost.alone_ns:.2f} x)"
        lines.append(line)
    fast = sum(speed > 1 + _UNLIKE for speed in costs.lanes)
    slow = sum(speed < 1 - _UNLIKE for speed in costs.lanes)
    if costs.lanes:
        lines.append(
            f"{counted(len(costs.lanes), 'lane')}: speed {min(costs.lanes):.2f} to "
            f"{max(costs.lanes):.2f} of the median; faster by over {_UNLIKE:.0%}: {fast}, "
            f"slower: {slow}"
        )
    return "\n".join(lines)


# -- with the compiler -----------------------------------------------------------------------------


def _tune(options: argparse.Namespace) -> int:
    from ..tuning import search

    if options.alone is not None:
        raise InvalidUsageError("--alone can be used only with a bundle as source")
    program, settings = _choose(options)

    def build(**more: Any) -> Executable:
        return import_compiler().compile(program, target=options.target, **{**settings, **more})

    def bound(executable: Executable) -> dict[str, Any]:
        return prepare(executable, options)

    def show(costs: Costs) -> None:
        print(describe(costs))
        if options.record is not None:
            costs.write(options.record)

    counts = {"runs": options.runs, "rounds": options.rounds}
    with search(build, bound, **counts, progress=Progress, on_costs=show) as tuned:
        _report(tuned, options)
    return 0


def _report(tuned: Tuning, options: argparse.Namespace) -> None:
    """Prints the time and gain of each schedule, and writes the best bundle."""
    from ..units import duration

    for candidate in tuned.candidates:
        gain = f"gain {tuned.gain_of(candidate):+.1%}"
        print(f"{candidate.name}: {duration(1e9 * candidate.median)} a run, {gain}")
    print(f"kept: {tuned.best.name}, gain {tuned.gain:+.1%}")
    if options.output is not None:
        tuned.best.executable.save(options.output)
        print(options.output)


def _choose(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Returns the program to tune, and the settings for the compiler."""
    from ..tuning import check_options

    programs, settings = load_programs(options.source, options)
    check_options(settings)
    name = options.program or next(iter(programs))
    if name not in programs or (len(programs) > 1 and options.program is None):
        raise InvalidUsageError(
            f"has programs {', '.join(programs)}; choose one with --program",
            location=options.source,
        )
    return programs[name], settings
