"""``ark.compiler.export_schedule``: a schedule as text that can be edited and compiled."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .. import ir
from ..mlir.locations import describe
from ..progress import Progress
from ..targets import Target, backend_of
from ..units import duration
from .lowering import choose_target, lower
from .options import CompileKeywords, CompileOptions
from .source import load_module
from .stages import run_stage
from .tasks import programs_of, tasks_of, vctas_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ..typing import Source

_ITEM = re.compile(
    r'^\s*ark\.(run|wait|signal|barrier|semaphore|lane|prefetch)\s+(?:"([^"]*)"|@(\S+))?'
)
# Times of an item in ns, over the SMs of its lane op: first start, last start, longest duration.
_Times = tuple[float, float, float]
_LOCATION = re.compile(r"\s+loc\(.*\)$")
_DEFINITION = re.compile(r"(#loc\d*) = loc\((.*)\)$")
# A name around a location that is defined elsewhere.
_NESTED = re.compile(r'loc\(("(?:[^"\\]|\\.)*"\(#loc\d*\))\)')

_HEADER = """\
// The program {program} for {target}, with its schedule{predicted}, which begins at line {{line}}.
//
// Edit the schedule, then prove or compile it. Errors name the line of the schedule:
//   ark check {{name}}
//   ark compile {{name}} -o {program}.arkbin
//
// A lane is a range of warps of an SM. Lanes run at the same time, the items of a lane in order.
// `ark.lane sms = [0, 4]` stands for a lane on each of four SMs. The ranges of vCTAs depend on the
// SM, d0.
{rules}"""
_SYNCHRONIZED = """\
// `ark.run` runs vCTAs [begin, end) of a task; every vCTA runs once. `ark.signal` publishes the
// writes of the lane. `ark.wait` continues after all arrivals at its semaphore; `arrivals` is the
// number of signals of all lanes. The compiler inserts new semaphores, signals, waits and barriers
// if you delete them.
"""
_PLAN = """\
// `ark.run` runs vCTAs [begin, end) of a task; every vCTA runs once. Every order that the
// dependences allow is valid: the compiler derives the waits.
"""


def export_schedule(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    *,
    synchronized: bool = True,
    name: str = "schedule.mlir",
    **overrides: Unpack[CompileKeywords],
) -> str:
    """Returns the MLIR text of a program with its schedule, with comments on each item.

    The comments give the op of a task, the predicted times, and the producers of a wait.
    :func:`ark_mlir.compile` and :func:`ark_mlir.compiler.check` accept the text, as it is or
    edited. Their errors name the line of an item in the text, and the source lines of its task.

    Args:
        source, target, options, overrides: arguments of :func:`ark_mlir.compile`.
        synchronized: True adds semaphores, signals and waits; False writes only work items.
        name: the name of the file, for the comments.

    Raises:
        InvalidUsageError: the source, the target or an option is invalid.
        VerificationError: the proof of the schedule failed.
        CompileError: the MLIR does not parse, or a stage failed.

    Example:
        >>> text = export_schedule(program, "cpu:4")
        >>> "ark.lane" in text
        True
    """
    options = CompileOptions.make(options, overrides)
    module = load_module(source)
    machine = choose_target(module, target)
    last = "synchronization" if synchronized else "scheduling"
    with Progress("exporting") as progress:
        lower(module, machine, backend_of(machine.backend), options, last, progress)
    times = _times(module) if synchronized else []
    end = max((last + most for _, last, most in times), default=0.0)
    # The stage and the predicted time do not hold for an edited text.
    if "ark.stage" in module.attributes:
        del module.attributes["ark.stage"]
    _remove_prediction(module)
    text = _annotated(str(module.get_asm(enable_debug_info=True)), _words_of_tasks(module), times)
    text = _locations_last(text)
    program = next(line for line in text if "ark.program @" in line).split("@")[1].split("(")[0]
    header = _HEADER.format(
        program=program,
        target=machine,
        predicted=f" of {duration(end)} (predicted)" if end else "",
        rules=_SYNCHRONIZED if synchronized else _PLAN,
    )
    first = next(number for number, line in enumerate(text) if "ark.schedule" in line)
    line = header.count("\n") + first + 1
    return header.format(line=line, name=name) + "\n".join(text) + "\n"


def _remove_prediction(module: ir.Operation) -> None:
    for program in programs_of(module):
        for op in program.regions[0].blocks[0]:
            if op.operation.name == "ark.schedule" and "predicted_ns" in op.operation.attributes:
                del op.operation.attributes["predicted_ns"]


def _words_of_tasks(module: ir.Operation) -> dict[str, str]:
    words: dict[str, str] = {}
    for task in tasks_of(module):
        ops = (
            "+".join(ir.StringAttr(op).value for op in ir.ArrayAttr(task.attributes["ops"]))
            if "ops" in task.attributes
            else ""
        )
        parts = [ops, f"{vctas_of(task)} vCTAs in all", describe(task.location)]
        words[ir.StringAttr(task.attributes["name"]).value] = ", ".join(filter(None, parts))
    return words


def _times(module: ir.Operation) -> list[_Times]:
    """Returns the times of the items of all lane ops, in order."""
    result: list[_Times] = []
    copy = module.clone().operation
    shapes = _shapes(copy)
    run_stage(copy, "kernel", {})
    kernel = next(
        op.operation for op in copy.regions[0].blocks[0] if op.operation.name == "ark.kernel"
    )
    table = ir.DenseIntElementsAttr(kernel.attributes["timeline"])
    timeline: NDArray[np.int64] = np.array(table, np.int64)
    first = 0
    for sms, items in shapes:
        for item in range(items):
            # The times of this item, one for each SM.
            item_times = timeline[first + item : first + sms * items : items]
            starts, longest = item_times[:, 0], float(item_times[:, 1].max())
            result.append((float(starts.min()), float(starts.max()), longest))
        first += sms * items
    return result


def _shapes(module: ir.Operation) -> list[tuple[int, int]]:
    """Returns the numbers of SMs and items of each lane op."""
    shapes: list[tuple[int, int]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "ark.lane":
            return ir.WalkResult.ADVANCE
        begin, end = ir.DenseI64ArrayAttr(op.attributes["sms"])
        shapes.append((end - begin, len(list(op.regions[0].blocks[0]))))
        return ir.WalkResult.SKIP

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return shapes


# -- text ----------------------------------------------------------------------------------------


@dataclass
class _Semaphores:
    """The producers and consumers of each semaphore.

    The producers are the tasks of the work items before its signals, and the consumers those of the
    work items after its waits.
    """

    signalled: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    waiting: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Semaphores:
        result = cls()
        last, pending = "", list[str]()
        for line in lines:
            kind, task, semaphore = _item(line)
            if kind == "lane":
                last, pending = "", []
            elif kind == "run":
                last = task
                for name in pending:
                    _add(result.waiting[name], task)
                pending = []
            elif kind == "signal":
                _add(result.signalled[semaphore], last)
            elif kind == "wait":
                pending.append(semaphore)
        return result

    def words(self, kind: str, name: str) -> str:
        signalled = ", ".join(self.signalled[name]) or "nothing"
        if kind == "wait":
            return f"until all of {signalled} that it needs is done"
        if kind == "semaphore" and self.signalled[name]:
            return f"{signalled}, for {', '.join(self.waiting[name])}"
        return ""


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _item(line: str) -> tuple[str, str, str]:
    """Returns kind, task and semaphore of the item in a line; each may be empty."""
    found = _ITEM.match(line)
    kind, task, semaphore = found.groups(default="") if found else ("", "", "")
    return kind, task, semaphore


def _annotated(text: str, words: dict[str, str], times: Iterable[_Times]) -> list[str]:
    """Returns the lines of a module; lines of the schedule have comments instead of locations."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.lstrip().startswith("ark.schedule "))
    indent = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith(indent + "}"))
    semaphores = _Semaphores.of(lines[begin:end])
    left = iter(times)
    for number in range(begin, end + 1):
        line = _LOCATION.sub("", lines[number])
        kind, task, semaphore = _item(line)
        notes: list[str] = []
        if kind in ("run", "wait", "signal", "barrier", "prefetch"):
            notes += [_when(next(left, None))]
        notes += [words.get(task, ""), semaphores.words(kind, semaphore)]
        comment = "; ".join(filter(None, notes))
        lines[number] = f"{line}  // {comment}" if comment else line
    return lines


def _locations_last(lines: Sequence[str]) -> list[str]:
    """Moves the definitions of locations to the end, so that the text begins with the program.

    In MLIR's syntax, an op or an argument may refer to a location that is defined later, but a
    location may not. The locations of arguments, which refer to other locations, get names.
    """
    defined = [line for line in lines if _DEFINITION.match(line)]
    names = {found[2]: found[1] for line in defined if (found := _DEFINITION.match(line))}

    def name(found: re.Match[str]) -> str:
        return f"loc({names.setdefault(found[1], f'#arg{len(names)}')})"

    rest = [_NESTED.sub(name, line) for line in lines if not _DEFINITION.match(line)]
    added = [f"{alias} = loc({text})" for text, alias in names.items() if alias.startswith("#arg")]
    return [*rest, *defined, *added]


def _when(times: _Times | None) -> str:
    if times is None:
        return ""
    first, last, most = times
    start = duration(first) if first == last else f"{duration(first)} to {duration(last)}"
    return f"at {start}, {duration(most)}"
