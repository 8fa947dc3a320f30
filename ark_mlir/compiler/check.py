"""``check`` proves a schedule without code generation, ``check_bundle`` the tables of a bundle."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import ir
from ..bundle import Bundle, Opcode, read_bundle
from ..errors import InvalidUsageError
from ..mlir.locations import describe
from ..progress import Progress
from ..targets import Target, backend_of
from ..units import counted
from .lowering import choose_target, lower
from .options import CompileOptions
from .source import load_module
from .stages import reached_stage, stages
from .table_proof import prove
from .tasks import programs_of, vctas_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Source


@dataclass(frozen=True)
class CheckResult:
    """The figures of a successful proof.

    Attributes:
        program: the program's name; several names are separated by commas.
        target: the target of the schedule; for a bundle, its backend and architecture.
        tasks, semaphores: number of tasks, and of semaphores.
        vctas: number of vCTAs of all tasks.
        lanes, runs, waits, signals, barriers: number of each on all SMs together.
        seconds: duration of the proof and of the stages before it.
    """

    program: str
    target: Target | str
    tasks: int
    vctas: int
    lanes: int
    runs: int
    waits: int
    signals: int
    barriers: int
    semaphores: int
    seconds: float

    def __str__(self) -> str:
        names = ("task", "vCTA", "lane", "wait", "signal", "barrier")
        parts = ", ".join(counted(getattr(self, f"{name.lower()}s"), name) for name in names)
        return f"{self.program} on {self.target}: proven; {parts} ({self.seconds:.2f} s)"


def check(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
) -> CheckResult:
    """Proves that the schedule of a program has no race and no deadlock.

    A race includes the reuse of memory before its last reader has ended.

    Args:
        source: a program, a module, a path or MLIR text, as for :func:`ark_mlir.compile`. A module
            with a synchronised schedule is proven as it is; any other module is lowered first.
        target: the target to schedule for; by default that of the module.
        options: options of the stages, such as the scheduler and tiles; `verify` is ignored.

    Raises:
        VerificationError: the proof failed; the message names both vCTAs and their source lines.
        InvalidUsageError: the module has no program, or is past the stage ``synchronization``.
        CompileError: the MLIR does not parse, or a stage failed.

    Example:
        >>> print(check("schedule.mlir"))
        mlp on cpu:2: proven; 1 task, ...
    """
    start = time.perf_counter()
    module = load_module(source)
    _refuse_unprovable(module)
    machine = choose_target(module, target)
    chosen = CompileOptions.make(options, {"verify": True})
    with Progress("checking") as progress:
        backend = backend_of(machine.backend)
        lower(module, machine, backend, chosen, "synchronization", progress)
    return _summary(module, machine, time.perf_counter() - start)


def check_bundle(source: str | os.PathLike[str] | Bundle) -> CheckResult:
    """Proves the schedule of a bundle from its tables. The kernel is neither loaded nor run.

    Args:
        source: the path of a ``.arkbin`` file, or a bundle.

    Raises:
        BundleError: the file is missing, truncated, damaged, or of another format version.
        VerificationError: the proof failed; the message names the file, the instruction, both
            vCTAs with their SMs, and the bytes.

    Example:
        >>> print(check_bundle("mlp.arkbin"))
        mlp on cpu (...): proven; 1 task, 2 vCTAs, 2 lanes, ...
    """
    start = time.perf_counter()
    with Progress("checking") as progress:
        progress.step("tables")
        bundle = source if isinstance(source, Bundle) else read_bundle(source)
        prove(bundle)
    manifest, tables = bundle.manifest, bundle.tables
    counts = np.bincount(tables.instructions[:, 0], minlength=len(Opcode)).tolist()
    return CheckResult(
        program=manifest.program,
        target=f"{manifest.target.backend} ({manifest.target.arch})",
        tasks=len(manifest.tasks),
        vctas=sum(task.vctas for task in manifest.tasks),
        lanes=len(tables.lanes),
        runs=counts[Opcode.RUN],
        waits=counts[Opcode.WAIT],
        signals=counts[Opcode.SIGNAL],
        barriers=counts[Opcode.BARRIER],
        semaphores=len(manifest.semaphores),
        seconds=time.perf_counter() - start,
    )


def _refuse_unprovable(module: ir.Operation) -> None:
    where = describe(module.location)
    names, reached = stages(), reached_stage(module)
    if reached in names[names.index("synchronization") + 1 :]:
        raise InvalidUsageError(
            f"is at the stage {reached!r}, past its schedule; check the program at "
            "'synchronization' or before",
            location=where,
        )
    if next(programs_of(module), None) is None:
        raise InvalidUsageError("the module has no ark.program to prove", location=where)


def _summary(module: ir.Operation, machine: Target, seconds: float) -> CheckResult:
    counts = dict.fromkeys(("task", "lane", "run", "wait", "signal", "barrier", "semaphore"), 0)
    programs: list[str] = []
    vctas = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal vctas
        kind = op.name.removeprefix("ark.")
        if kind == "program":
            programs.append(ir.StringAttr(op.attributes["sym_name"]).value)
        elif kind == "task":
            vctas += vctas_of(op)
        elif kind == "lane":
            counts["lane"] += _sms(op)
            return ir.WalkResult.ADVANCE
        if kind in counts:
            counts[kind] += _sms(op.parent) if op.parent is not None else 1
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return CheckResult(
        program=", ".join(programs),
        target=machine,
        tasks=counts["task"],
        vctas=vctas,
        lanes=counts["lane"],
        runs=counts["run"],
        waits=counts["wait"],
        signals=counts["signal"],
        barriers=counts["barrier"],
        semaphores=counts["semaphore"],
        seconds=seconds,
    )


def _sms(op: ir.Operation | ir.OpView) -> int:
    """Returns the number of SMs that execute the body of an op."""
    if op.operation.name != "ark.lane":
        return 1
    begin, end = ir.DenseI64ArrayAttr(op.operation.attributes["sms"])
    return end - begin
