"""The stages in the order of passes/pipelines, and functions that run them."""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from .. import ir
from .._mlir_libs import _ark
from ..errors import (
    ArkError,
    CompileError,
    InvalidUsageError,
    MemoryLimitError,
    VerificationError,
)
from ..interruption import in_background
from ..mlir.diagnostics import to_error
from ..passmanager import PassManager
from .source import count_ranks

_BEGIN = re.compile(r"ark-begin-stage\{stage=(\w+)\}")
# Failures of this stage are VerificationErrors: the schedule is wrong, not the compiler.
_PROVEN = "synchronization"
# The message of ark-plan-arena if no plan keeps the limit.
_EXCESS = re.compile(r"needs an arena of \d+ bytes, which exceeds the memory limit")
_PROOFS = {
    "memory": "ark.program(ark-verify-tasks)",
    "scheduling": "ark.program(ark-verify-tasks,ark-verify-scheduling)",
    "synchronization": (
        "ark.program(ark-verify-tasks,ark-verify-scheduling,ark-verify-synchronization)"
    ),
}


@functools.cache
def stages() -> tuple[str, ...]:
    """Returns the names of all stages, in order.

    Example:
        >>> stages()[0]
        'graph'
    """
    with ir.Context():
        return tuple(_BEGIN.findall(str(PassManager.parse("builtin.module(ark-compile)"))))


def stages_between(first: str, last: str) -> tuple[str, ...]:
    """Returns the stages from `first` to `last`, both included.

    Raises InvalidUsageError if one of them does not exist.
    """
    names = stages()
    for name in (first, last):
        if name not in names:
            raise InvalidUsageError(f"no such stage: {name!r}; there are {', '.join(names)}")
    return names[names.index(first) : names.index(last) + 1]


def reached_stage(module: ir.Operation) -> str | None:
    """Returns the last stage that has lowered a module; None for a program of graph ops.

    The attribute ``ark.stage`` names this stage. A module that was written by hand may lack it;
    then the ops in the module determine the stage.
    """
    if "ark.stage" in module.attributes:
        return ir.StringAttr(module.attributes["ark.stage"]).value
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.add(op.name)
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    marks = {
        "ark.kernel": "kernel",
        "ark.semaphore": "synchronization",
        "ark.schedule": "scheduling",
        "ark.arena": "memory",
        "ark.task": "tiling",
        "ark.group": "graph",
    }
    return next((stage for op, stage in marks.items() if op in found), None)


def run_stage(module: ir.Operation, stage: str, options: Mapping[str, str]) -> None:
    """Runs one stage on a module, in place.

    Raises:
        VerificationError: the proof of the schedule failed.
        MemoryLimitError: the arena exceeds the option `memory`.
        CompileError: the stage failed. All errors name a location in the program.
    """
    words = [f"{name}={quoted(value)}" for name, value in options.items()]
    words += [f"from={stage}", f"to={stage}"]
    run_passes(module, f"ark-compile{{{' '.join(words)}}}", stage)


def prove(module: ir.Operation, stage: str) -> None:
    """Proves a module that enters the compiler at a stage.

    Raises VerificationError if the proof fails. Modules of the stages before ``memory`` need no
    proof here.

    Each task must access only its regions. At ``scheduling``, the schedule must fit the target and
    the plans, and its order must admit a synchronisation. At ``synchronization``, it must also have
    no race and no deadlock.
    """
    if stage in _PROOFS:
        _run(module, _PROOFS[stage], stage, VerificationError)


def run_passes(module: ir.Operation, pipeline: str, stage: str) -> None:
    """Runs passes on a module, in place; raises the errors of :func:`run_stage`."""
    _run(module, pipeline, stage, VerificationError if stage == _PROVEN else CompileError)


@contextmanager
def _threads(module: ir.Operation) -> Generator[None]:
    """Gives the context of a module of several ranks threads, which compile tasks side by side.

    One rank has too few different tasks. The threads end with the context manager, since they would
    not survive a fork.
    """
    if count_ranks(module) == 1:
        yield
        return
    context = module.context
    context.enable_multithreading(True)
    try:
        yield
    finally:
        context.enable_multithreading(False)


def _run(module: ir.Operation, pipeline: str, stage: str, kind: type[ArkError]) -> None:
    with module.context:
        try:
            with _threads(module):
                _run_unverified(module, f"builtin.module({pipeline})")
            # A stage is verified at its end. The tests of passes verify after each pass.
            module.verify()
        except ir.MLIRError as error:
            found = to_error(kind, error, location=f"stage {stage}")
            if _EXCESS.search(found.message):
                found = to_error(MemoryLimitError, error, location=f"stage {stage}")
            raise found from None
        except ValueError as error:
            raise InvalidUsageError(f"stage {stage}: {error}") from None


def _run_unverified(module: ir.Operation, pipeline: str) -> None:
    if in_background():  # no other thread uses the context
        _ark.run_passes(module, pipeline)
        return
    manager = PassManager.parse(pipeline)
    manager.enable_verifier(False)
    manager.run(module)  # pyright: ignore[reportUnknownMemberType]


def require_scheduler(name: str, target: str, others: Sequence[str]) -> None:
    """Raises InvalidUsageError if no scheduler has this name; `target` is an ``#ark.target``.

    Only the C++ compiler knows its schedulers: this function runs it on a program without tasks.
    `others` are the names of further schedulers, for the message.
    """
    empty = f"module attributes {{ark.target = {target}}} {{ ark.program @p() {{ ark.return }} }}"
    with ir.Context():
        module = ir.Module.parse(empty).operation
    try:
        option = f"scheduler={quoted(name)}"
        run_passes(module, f"ark.program(ark-schedule{{{option}}})", "scheduling")
    except CompileError as error:
        raise InvalidUsageError(f"{error.message}, {', '.join(others)}") from None


def predict_with(module: ir.Operation, scheduler: str) -> int:
    """Returns the predicted time, in ns, of a module at the stage ``memory`` with a scheduler."""
    copy = module.clone().operation
    run_passes(copy, f"ark.program(ark-schedule{{scheduler={quoted(scheduler)}}})", "scheduling")
    predicted = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal predicted
        if op.name == "ark.schedule":
            predicted = ir.IntegerAttr(op.attributes["predicted_ns"]).value
        return ir.WalkResult.ADVANCE

    copy.walk(visit, ir.WalkOrder.PRE_ORDER)
    return predicted


def quoted(value: str) -> str:
    """Returns the value of an option, quoted for the text of a pipeline.

    Raises InvalidUsageError if the value has a character that cannot be quoted.
    """
    if value.isalnum():
        return value
    # MLIR's parser of pipelines also counts braces between quotes.
    if found := next((c for c in value if c in "'{}"), None):
        raise InvalidUsageError(f"{value!r} has {found!r}, which is not allowed in an option")
    return f"'{value}'"
