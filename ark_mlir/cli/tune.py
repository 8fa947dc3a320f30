"""``ark tune``: measures what tasks take on the device, and schedules by that."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidUsageError
from .bench import prepare, timed
from .common import (
    Commands,
    add_binding_options,
    add_command,
    add_compile_options,
    count,
    load_programs,
    progress,
    the_compiler,
)
from .profile import measure
from .run import add_input_option

if TYPE_CHECKING:
    from ..runtime import Executable
    from ..tuning.costs import Costs

# A schedule has to be better by this part to be taken instead of the usual one: less is noise.
_NOTICEABLE = 0.005
# Beside the usual choice between them, which goes by a prediction.
_SCHEDULERS = ("list", "round-robin", "rounds")
# A lane that differs by so much from the median is worth a word.
_UNLIKE = 0.05


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "tune",
        "measure each kind of task on the device, alone and beside others, and schedule by it",
        "ark tune mlp.mlir --target cuda -o mlp.arkbin; where the compiler is elsewhere: "
        "ark tune mlp.arkbin --record costs.json; "
        "ark compile mlp.mlir --profile costs.json -o mlp.arkbin",
        run,
    )
    parser.add_argument(
        "source",
        metavar="FILE|FOLDER|BUNDLE",
        help="a program to compile and measure, or a bundle of `ark compile --trace` to measure",
    )
    parser.add_argument("-o", "--output", metavar="OUT.arkbin", help="the tuned bundle to write")
    parser.add_argument("--record", metavar="COSTS.json", help="write what was measured")
    parser.add_argument(
        "--alone",
        metavar="BUNDLE",
        help="beside a bundle: the same program compiled with --trace --set scheduler=alone",
    )
    parser.add_argument("--program", metavar="NAME", help="which of a model's programs")
    parser.add_argument("--runs", type=count, default=10, metavar="N", help="default 10")
    parser.add_argument(
        "--rounds", type=count, default=2, metavar="N",
        help="how often to schedule by what the last schedule was measured to take (default 2)",
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
    """Measures bundles, where the compiler may be elsewhere."""
    if options.record is None or options.output is not None:
        raise InvalidUsageError(
            "is a bundle, which can only be measured: give --record, and no --output, then "
            "compile its program with --profile",
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
    from ..runtime import load

    with load(path) as executable:
        return _measure(executable, options)


def _measure(executable: Executable, options: argparse.Namespace) -> Costs:
    inputs = prepare(executable, options)
    with progress(f"measuring {executable.name}"):
        return measure(executable, inputs, options.runs)


def describe(costs: Costs) -> str:
    """Returns a table of the time of each kind, and of the lanes that differ from the others."""
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


@dataclass
class _Candidate:
    """A schedule: what it is called, the program with it, and how long its runs took."""

    name: str
    executable: Executable
    inputs: dict[str, Any]
    seconds: list[float]

    def run(self) -> None:
        self.executable.run(self.inputs)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def _tune(options: argparse.Namespace) -> int:
    if options.alone is not None:
        raise InvalidUsageError("--alone goes with a bundle; a program is compiled for it")
    program, settings = _choose(options)

    def build(**more: Any) -> Executable:
        return the_compiler().compile(program, target=options.target, **{**settings, **more})

    with build(trace=True, scheduler="alone") as executable:
        alone = _measure(executable, options)
    candidates = [_candidate("as it was", build(), options)]
    candidates += [_candidate(name, build(scheduler=name), options) for name in _SCHEDULERS]
    costs: Costs | None = None
    for number in range(options.rounds):
        more = {} if costs is None else {"profile": costs}
        with build(trace=True, **more) as executable:
            costs = _measure(executable, options).beside(alone)
        if number == 0:
            print(describe(costs))
            if options.record is not None:
                costs.write(options.record)
        candidates.append(_candidate(f"profile {number + 1}", build(profile=costs), options))
    best = _compare(candidates, options.runs)
    if options.output is not None:
        best.executable.save(options.output)
        print(options.output)
    for candidate in candidates:
        candidate.executable.close()
    return 0


def _choose(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The program to tune, and settings for the compiler."""
    programs, settings = load_programs(options.source, options)
    for name in ("trace", "profile", "scheduler"):
        if name in settings:
            raise InvalidUsageError(f"tune sets {name!r} itself")
    name = options.program or next(iter(programs))
    if name not in programs or (len(programs) > 1 and options.program is None):
        raise InvalidUsageError(
            f"has programs {', '.join(programs)}; choose one with --program",
            location=options.source,
        )
    return programs[name], settings


def _candidate(name: str, executable: Executable, options: argparse.Namespace) -> _Candidate:
    return _Candidate(name, executable, prepare(executable, options), [])


def _compare(candidates: Sequence[_Candidate], runs: int) -> _Candidate:
    """The fastest, by runs that take turns; prints what each of them gains."""
    from ..units import duration

    with progress("comparing schedules"):
        for number in range(runs + 1):
            for candidate in candidates:
                seconds = timed(candidate.run)
                if number:
                    candidate.seconds.append(seconds)
    first = candidates[0]

    def gain(candidate: _Candidate) -> str:
        return f"gain {1 - candidate.median / first.median:+.1%}"

    for candidate in candidates:
        print(f"{candidate.name}: {duration(1e9 * candidate.median)} a run, {gain(candidate)}")
    best = min(candidates, key=lambda candidate: candidate.median)
    if best.median > (1 - _NOTICEABLE) * first.median:
        best = first
    print(f"kept: {best.name}, {gain(best)}")
    return best
