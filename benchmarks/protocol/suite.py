"""Suites: scripts whose rows are compiled on one machine and measured on another.

Rows are measured in processes of their own, so that one row does not depend on another, and a
process that ends early costs only the row that it was measuring.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import ark_mlir as ark
from ark_mlir.bundle import Bundle, read_bundle

from .comparison import problem
from .conditions import clocks, machine
from .limits import H200, limits_of
from .prediction import predictions
from .record import Result, Workload, merged, problems, result_table, summary

FOLDER = Path(__file__).parents[1]
# The measurement of a row does not start if less time is left.
LEAST_SECONDS = 15.0
LATE = "not measured: no time left"
ALL = "all arms"
NOTES = """Medians. *device*: replays of a CUDA graph, or events around the launches; operands of
products and attention do not fit the caches. *caller*: until a caller who waits for each launch has
the result. *x floor*: device time / the time of the reads or of the products at {limits}. *x best
peer*: device time / that of the fastest arm of PyTorch. *error*: relative, against fp32. Clocks of
the GPU:"""
# The names of the backends' devices in PyTorch. PyTorch for ROCm has the names of CUDA.
TORCH_DEVICES = {"cpu": "cpu", "cuda": "cuda", "hip": "cuda"}


@dataclass(frozen=True)
class Suite:
    """The rows of a script.

    Attributes:
        name: the name of the script.
        workloads: all rows.
        figures: the rows of a run without ``--rows``.
        compile: writes the bundle of a row to a folder, for a target.
        measure: yields the results of a row; see :class:`Task`.
        arms: the names of all arms, in the order of the record.
        default_arms: the arms of a run without ``--arms``.
        together: True if one process measures all rows.
        schedule: None, or compiles the schedule of a row for a target, without machine code; the
            script then has the option ``--predict``.
        unsupported: rows that ark cannot express, with the reason.
    """

    name: str
    workloads: Mapping[str, Workload]
    figures: Sequence[str]
    compile: Callable[[str, Path, str], None]
    measure: Callable[[Task], Iterator[Result]]
    arms: Sequence[str]
    default_arms: Sequence[str]
    together: bool = False
    unsupported: Mapping[str, str] = field(default_factory=dict)
    schedule: Callable[[str, str], Bundle] | None = None

    @property
    def script(self) -> Path:
        return FOLDER / f"{self.name}.py"


@dataclass(frozen=True)
class Task:
    """One row that a process measures."""

    row: str
    folder: Path
    arms: Sequence[str]
    samples: int

    @property
    def bundle(self) -> Path:
        return self.folder / f"{self.row}.arkbin"

    def device(self) -> str:
        """Returns PyTorch's name of the device: ``cuda`` or ``cpu``, by the row's bundle if there
        is one."""
        import torch

        if self.bundle.exists():
            return TORCH_DEVICES[read_bundle(self.bundle).manifest.target.backend]
        return "cuda" if torch.cuda.is_available() else "cpu"

    def arch(self) -> str:
        """Returns the architecture of the row's bundle, "" without a bundle."""
        return read_bundle(self.bundle).manifest.target.arch if self.bundle.exists() else ""


def run(suite: Suite, description: str | None) -> int:
    """Parses the arguments of a script and compiles, predicts or measures its rows."""
    return run_with(suite, make_parser(suite, description).parse_args())


def run_with(suite: Suite, options: argparse.Namespace) -> int:
    """Compiles, predicts or measures rows, by the options of :func:`make_parser`."""
    if suite.schedule is not None and options.predict:
        text, status = predictions(
            suite.name, options.rows, dict(suite.workloads), suite.schedule, options.target
        )
        return write(text, options.output) or status
    if options.compile is not None:
        return compile_rows(suite, options.rows, options.compile, options.target)
    if options.journal is not None:
        return measure_here(suite, options)
    begin = time.monotonic()
    journal = Journal()
    request = Request(options.rows, options.bundles, options.arms, options.samples)
    for _ in range(options.repeats):
        journal.measure(suite, request, begin + options.seconds)
    text = journal.record(suite.workloads, suite.unsupported, time.monotonic() - begin)
    return finish(journal, text, options.output)


def finish(journal: Journal, text: str, output: Path | None) -> int:
    """Prints the record and writes it to a file; returns 1 if an arm has a problem."""
    write(text, output)
    return int(any(result.problem for result in journal.results()))


def write(text: str, output: Path | None) -> int:
    """Prints a text and writes it to a file, if there is one; returns 0."""
    print(text)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    return 0


def make_parser(suite: Suite, description: str | None) -> argparse.ArgumentParser:
    """Returns the parser of the options of a script."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--compile", type=Path, metavar="FOLDER", help="compile to FOLDER")
    action.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure FOLDER's bundles")
    if suite.schedule is not None:
        action.add_argument("--predict", action="store_true", help="predict times, without a GPU")
    parser.add_argument("--target", default="cuda:sm_90a", help="target of --compile")
    parser.add_argument(
        "--rows", type=names(suite.workloads), default=suite.figures,
        help=f"some of {', '.join(suite.workloads)}",
    )  # fmt: skip
    parser.add_argument(
        "--arms", type=names(suite.arms), default=suite.default_arms,
        help=f"some of {', '.join(suite.arms)}; default {', '.join(suite.default_arms)}",
    )  # fmt: skip
    add_measuring(parser)
    parser.add_argument("--repeats", type=int, default=1, help="processes that measure each row")
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    return parser


def add_measuring(parser: argparse.ArgumentParser) -> None:
    """Adds the options that all measurements have."""
    parser.add_argument("--output", type=Path, help="write the record to a Markdown file")
    parser.add_argument("--samples", type=int, default=7, help="samples of each arm")
    parser.add_argument(
        "--seconds", type=float, default=3600, help="rows that would begin later are left out"
    )


def names(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Returns a parser of a list of known names, separated by commas."""
    all_names = tuple(known)

    def read(text: str) -> tuple[str, ...]:
        if unknown := [name for name in text.split(",") if name not in all_names]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
        return tuple(text.split(","))

    return read


# -- with the compiler -----------------------------------------------------------------------------


def compile_rows(suite: Suite, rows: Sequence[str], folder: Path, target: str) -> int:
    """Writes the bundles of rows; returns 1 if one of them cannot be compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for row in rows:
        begin = time.monotonic()
        try:
            suite.compile(row, folder, target)
        except ark.ArkError as error:
            print(f"{suite.name}: {row}: {error}", file=sys.stderr, flush=True)
            status = 1
            continue
        size = (folder / f"{row}.arkbin").stat().st_size / 1e6
        print(f"{row}: {time.monotonic() - begin:.1f} s, {size:.2f} MB", flush=True)
    return status


def save(program: Any, folder: Path, row: str, target: str) -> None:
    """Compiles a program to the bundle of a row, which is absent if that fails."""
    path = folder / f"{row}.arkbin"
    path.unlink(missing_ok=True)
    ark.compile(program, target, cache=False).save(path)


# -- in the process of some rows -------------------------------------------------------------------


def measure_here(suite: Suite, options: argparse.Namespace) -> int:
    """Measures rows in this process and adds their results to the journal as they come."""
    import torch

    torch.set_grad_enabled(False)
    with options.journal.open("a", encoding="utf-8") as journal:

        def note(**entry: object) -> None:
            print(json.dumps(entry), file=journal, flush=True)

        for row in options.rows:
            torch._dynamo.reset()
            task = Task(row, options.bundles, options.arms, options.samples)
            device = task.device()
            note(begin=row, machine=machine(device), clocks=clocks(device), arch=task.arch())
            try:
                for result in suite.measure(task):
                    note(result=asdict(result))
                    print(result, flush=True)
            except Exception as error:
                note(result=asdict(problem(row, ALL, error)))
            note(end=row, clocks=clocks(device))
    return 0


# -- in the process that starts others -------------------------------------------------------------


class Journal:
    """The results of rows that other processes measure.

    Attributes:
        machines: descriptions of the machine, without repetition.
        clocks: clocks before and after each row.
        limits: the limits of the GPU of the last row.
    """

    def __init__(self) -> None:
        self.machines: list[str] = []
        self.clocks: list[str] = []
        self.limits = H200
        self._results: list[Result] = []

    def results(self) -> list[Result]:
        """Returns one result for each row and arm, in the order of the rows."""
        order: dict[str, int] = {}
        for result in self._results:
            order.setdefault(result.row, len(order))
        return sorted(merged(self._results), key=lambda result: order[result.row])

    def measure(self, suite: Suite, request: Request, deadline: float, prefix: str = "") -> None:
        """Measures rows, and starts another process for the rest if one ends early.

        Args:
            suite: the suite of the rows.
            request: the rows, and how they are measured.
            deadline: the time of the monotonic clock at which the last process is ended.
            prefix: is added to the names of the rows in the results.
        """
        pending = list(request.rows)
        while pending:
            left = deadline - time.monotonic()
            if left < LEAST_SECONDS:
                self._results += [Result(prefix + row, ALL, problem=LATE) for row in pending]
                return
            now = pending if suite.together else pending[:1]
            begun = self._run_once(suite, request, now, left, prefix)
            pending = [row for row in pending if row not in begun]

    def _run_once(
        self, suite: Suite, request: Request, rows: Sequence[str], left: float, prefix: str
    ) -> list[str]:
        """Runs one process and returns the rows that it began."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.jsonl"
            outcome = run_within(request.command(suite, rows, path), left)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        entries = [json.loads(line) for line in text.splitlines()]
        begun, ended = ([each[key] for each in entries if key in each] for key in ("begin", "end"))
        begun = begun or list(rows[:1])
        for entry in entries:
            if "result" in entry:
                result = Result(**entry["result"])
                self._results.append(replace(result, row=prefix + result.row))
            if entry.get("machine") not in (None, *self.machines):
                self.machines.append(entry["machine"])
            if "arch" in entry:
                self.limits = limits_of(entry["arch"])
            if "clocks" in entry:
                moment = "before" if "begin" in entry else "after"
                row = prefix + (entry.get("begin") or entry["end"])
                self.clocks.append(f"{moment} {row}: {entry['clocks']}")
        self._results += [
            Result(prefix + row, ALL, problem=outcome) for row in begun if row not in ended
        ]
        return begun

    def record(
        self, workloads: Mapping[str, Workload], unsupported: Mapping[str, str], seconds: float
    ) -> str:
        """Returns the Markdown record: conditions, workloads, results, and what is missing."""
        results = self.results()
        rows = dict.fromkeys(result.row for result in results)
        lines = [
            f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {seconds:.0f} s.",
            *self.machines,
            "",
            *(f"- {row}: {workloads[row].description}" for row in rows),
            *(f"- {row}: not supported: {reason}" for row, reason in unsupported.items()),
            "",
            result_table(results, workloads, self.limits),
            "",
            *problems(results),
            "",
            summary(results),
            "",
            NOTES.format(limits=self.limits),
            "",
            *(f"- {line}" for line in self.clocks),
            "",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Request:
    """Rows of a suite, and how they are measured."""

    rows: Sequence[str]
    folder: Path
    arms: Sequence[str]
    samples: int

    def command(self, suite: Suite, rows: Sequence[str], journal: Path) -> list[str]:
        """Returns the command of a process that measures some of the rows."""
        return [
            sys.executable, str(suite.script), "--bundles", str(self.folder),
            "--rows", ",".join(rows), "--arms", ",".join(self.arms),
            "--samples", str(self.samples), "--journal", str(journal),
        ]  # fmt: skip


def run_within(command: Sequence[str], seconds: float) -> str:
    """Runs a command and ends it, with the processes that it started, after some seconds.

    Returns how it ended.
    """
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return f"the process ended with status {process.wait(timeout=seconds)}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"ended after {seconds:.0f} s"
