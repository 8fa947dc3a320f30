"""``ark doctor``: compiles, runs and checks a small program on every target of this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..backends import backend_info
from ..errors import ArkError
from ..progress import Progress
from ..units import duration
from .common import Commands, add_command, import_compiler
from .readiness import Readiness, find_readiness

if TYPE_CHECKING:
    from ..frontend import Program

_ROWS, _WIDTH, _HIDDEN = 4, 64, 96
_RUNS = 3


@dataclass(frozen=True)
class Finding:
    """The result of one target.

    Attributes:
        target: the name of the target.
        good: False if a check failed that should succeed on this machine.
        text: a description of the check, or of the failure.
    """

    target: str
    good: bool
    text: str

    def __str__(self) -> str:
        return f"{self.target}: {'ok' if self.good else 'FAILED'}: {self.text}"


def add(commands: Commands) -> None:
    """Adds the command."""
    add_command(
        commands,
        "doctor",
        "compile, run and check a small program on every target of this machine",
        "ark doctor",
        run,
    )


def run(options: argparse.Namespace) -> int:
    """Runs the command; returns 1 if a target fails."""
    del options
    import_compiler()
    good = True
    for readiness in find_readiness().values():
        finding = examine(readiness)
        print(finding, flush=True)
        good = good and finding.good
    return 0 if good else 1


def examine(readiness: Readiness) -> Finding:
    """Compiles the program for one target, and runs and checks it if the machine can."""
    name = readiness.target
    target = name if readiness.can_run else backend_info(name).example
    try:
        if not readiness.can_compile:
            remedy = f" (to mend it: {readiness.remedy})" if readiness.remedy else ""
            return Finding(name, False, readiness.compiles + remedy)
        with Progress(f"checking {name}"):
            return Finding(name, True, _check(target, readiness))
    except ArkError as error:
        return Finding(name, False, "; ".join((str(error).splitlines()[0], *error.notes)))


def _check(target: str, readiness: Readiness) -> str:
    """Checks one target, and returns a description of the check; raises ArkError if it fails."""
    program = make_program()
    with import_compiler().compile(program, target=target, cache=False) as executable:
        if not readiness.can_run:
            kernel = executable.bundle.manifest.target.arch
            remedy = f" (to mend it: {readiness.remedy})" if readiness.remedy else ""
            return f"compiles for {kernel}; not run: {readiness.runs}{remedy}"
        return _run(program, executable)


def make_program() -> Program:
    """Returns a program with products, a softmax, an epilogue, and a state that counts runs."""
    from .. import frontend as ark

    with ark.Program("doctor") as program:
        x = ark.input("x", (_ROWS, _WIDTH))
        first = ark.parameter("first", (_WIDTH, _HIDDEN))
        second = ark.parameter("second", (_HIDDEN, _WIDTH))
        runs = ark.state("runs", (1,))
        ark.update(runs, runs + 1, (0,))
        ark.output("y", ark.softmax(ark.gelu(x @ first) @ second))
    return program


def _run(program: Program, executable: Any) -> str:
    """Runs the program several times, and compares the results with the float64 interpreter."""
    import numpy as np

    from .. import reference

    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.standard_normal((_ROWS, _WIDTH), np.float32),
        "first": rng.standard_normal((_WIDTH, _HIDDEN), np.float32) / 8,
        "second": rng.standard_normal((_HIDDEN, _WIDTH), np.float32) / 8,
    }
    executable.bind({name: arrays[name] for name in ("first", "second")})
    expected = reference.evaluate(program, arrays, bound=True)
    worst = 0.0
    for _ in range(_RUNS):
        result = executable.run(x=arrays["x"])["y"]
        worst = max(worst, _error(result, expected))
    if executable.states["runs"][0] != _RUNS:
        raise ArkError(
            f"wrong state: it counted {executable.states['runs'][0]:g} runs instead of {_RUNS}"
        )
    seconds = _fastest(lambda: executable.run(x=arrays["x"]))
    return (
        f"ran on {executable.bundle.manifest.target.arch} and agrees with the interpreter "
        f"(error {worst:.1%} of the bound), {duration(1e9 * seconds)} per run"
    )


def _error(result: Any, expected: Any) -> float:
    """Returns the largest error as a share of its bound; raises ArkError if it is above 1."""
    share = float((abs(result - expected.outputs["y"]) / expected.bounds["y"]).max())
    # A comparison with NaN is false.
    if not share <= 1:
        raise ArkError(f"wrong result: the largest error is {share:.3g} times its bound")
    return share


def _fastest(work: Callable[[], object]) -> float:
    from ..tuning import measure_seconds

    return min(measure_seconds(work) for _ in range(_RUNS))
