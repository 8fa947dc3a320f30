"""ark.compile."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any, overload

from .. import ir, knobs
from ..bundle import Bundle
from ..errors import CompileError, InvalidUsageError, UnsupportedError
from ..places import describe
from ..targets import Backend, Code, Target, backend_of, resolve
from . import cp_sat
from .cache import find_slot
from .costs import apply_costs
from .diagnostics import to_error
from .options import CompileOptions
from .packaging import take_kernel
from .progress import Progress
from .source import Source, count_ranks, load_module, load_part
from .stages import (
    prove,
    reached_stage,
    require_scheduler,
    run_stage,
    stages,
    stages_between,
)
from .tasks import has_schedule
from .tiles import assign_tiles

if TYPE_CHECKING:
    from ..runtime import Executable, World

_LOG = logging.getLogger("ark.compiler")


@overload
def compile(
    source: list[Any] | tuple[Any, ...],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Any,
) -> World: ...
@overload
def compile(
    source: Source,
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Any,
) -> Executable: ...
def compile(
    source: Source,
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Any,
) -> Executable:
    """Compiles a program into one persistent kernel.

    Args:
        source: an ``ark.Program``, an ``ir.Module``, the path of an ``.mlir`` file, or MLIR text.
            A module that has been through some stages already goes on from there. A list holds
            the programs of all ranks of one world. After :func:`ark_mlir.distributed.init`, the
            program of one rank is compiled by all ranks together, each of which gives its own.
        target: ``cpu``, ``cpu:N`` (N workers), ``cuda:sm_90a``, ``hip:gfx942``, or a Target;
            by default the module's own, else ARK_TARGET, else cpu. Of several ranks each has
            such a machine; with ``cpu`` they share the cores.
        options: see :class:`CompileOptions`; its fields can also be given as keywords.

    Returns:
        The executable; its parameters are still to be bound. Of a list of programs a
        :class:`ark_mlir.runtime.World`, which takes and gives a dict for each rank.

    Raises:
        InvalidUsageError: source, target or an option makes no sense; or the programs of
            several ranks do not fit together.
        UnsupportedError: this version cannot make a kernel for the target.
        VerificationError: the schedule could not be proven.
        CompileError: the MLIR does not parse, or the compiler failed.

    Example:
        >>> exe = ark.compile(program, target="cpu:4", trace=True)   # doctest: +SKIP
        >>> exe.bind({"w": w}).run(x=x)["y"]                          # doctest: +SKIP
    """
    from ..runtime.membership import current
    from ..runtime.world import World, make_executable

    options = CompileOptions.make(options, overrides)
    member = current()
    if member is not None and (part := load_part(source)) is not None:
        from .ranks import compile_part

        return compile_part(member, part, target, options)
    bundle = compile_bundle(load_module(source), target, options)
    return World(bundle) if isinstance(source, list | tuple) else make_executable(bundle)


def compile_bundle(
    module: ir.Operation, target: str | Target | None, options: CompileOptions
) -> Bundle:
    """The bundle of a module, from the cache or made; raises as :func:`compile`."""
    machine = choose_target(module, target)
    backend = backend_of(machine.backend)
    if count_ranks(module) > 1 and machine.backend != "cpu":
        raise UnsupportedError(f"kernels of several ranks are made for cpu, not for {machine}")
    slot = find_slot(module, machine, backend, options)
    bundle = None if slot is None else slot.load()
    if bundle is None:
        bundle = _make_bundle(module, machine, backend, options)
        if slot is not None:
            slot.save(bundle)
    return bundle


def _make_bundle(
    module: ir.Operation, machine: Target, backend: Backend, options: CompileOptions
) -> Bundle:
    with Progress("compiling") as progress:
        kept = lower(module, machine, backend, options, "target", progress)
        parts = take_kernel(module, machine, options)
        progress.step("machine code")
        start = time.perf_counter()
        code = _emit(module, backend, options)
        _LOG.info("machine code: %.3f s, %d bytes", time.perf_counter() - start, len(code.image))
    manifest, sections = parts.finish(code, kept if options.keep_mlir else None)
    return Bundle.from_parts(manifest, sections)


def _emit(module: ir.Operation, backend: Backend, options: CompileOptions) -> Code:
    try:
        return backend.emit(module, options.cpu, options.opt_level, options.line_info)
    except ir.MLIRError as error:
        raise to_error(CompileError, error, "machine code") from None


def choose_target(module: ir.Operation, target: str | Target | None) -> Target:
    """The target asked for, else that of the module, else the default; marks the module."""
    name = "ark.target"
    if target is None and name in module.attributes:
        return Target.parse(str(module.attributes[name]))
    wanted = knobs.TARGET.get() if target is None else target
    machine = resolve(wanted)
    if wanted == "cpu" and (ranks := count_ranks(module)) > 1:
        machine = resolve(f"cpu:{max(1, machine.sms // ranks)}")
    with module.context:
        module.attributes[name] = ir.Attribute.parse(machine.mlir)
    return machine


def lower(
    module: ir.Operation,
    machine: Target,
    backend: Backend,
    options: CompileOptions,
    last: str,
    progress: Progress,
) -> str | None:
    """Runs the stages that `module` has not been through, up to and including `last`.

    Returns the text of the module at the stage `synchronization`, where `options` keep it.
    """
    names = stages()
    reached = reached_stage(module)
    first = names[names.index(reached) + 1 :][:1] if reached in names else names[:1]
    to_run = stages_between(first[0], last) if first else ()
    _check_scheduler(module, machine, options, to_run)
    kept: str | None = None
    if reached in ("scheduling", "synchronization") and options.verify:
        prove(module, reached)  # a schedule written by hand must hold, too
    for stage in to_run:
        progress.step(stage)
        start = time.perf_counter()
        if stage == "scheduling":
            _prepare_scheduling(module, options, progress)
        run_stage(module, stage, _stage_options(stage, machine, backend, options))
        _LOG.info("%s: %.3f s", stage, time.perf_counter() - start)
        if stage == "graph" and options.tile:
            assign_tiles(module, options.tile)
        if stage == "synchronization" and options.keep_mlir:
            kept = str(module.get_asm(enable_debug_info=True))
    return kept


def _check_scheduler(
    module: ir.Operation, machine: Target, options: CompileOptions, to_run: tuple[str, ...]
) -> None:
    """Raises InvalidUsageError where scheduler and profile make no sense; before it takes time."""
    if options.scheduler not in (None, cp_sat.NAME):
        require_scheduler(options.scheduler, machine.mlir, [cp_sat.NAME])
    if options.scheduler == "profile" and options.costs is None:
        raise InvalidUsageError(
            "scheduler='profile' needs profile=…: a trace of a run, or a file of `ark profile`"
        )
    if options.costs is not None and "scheduling" not in to_run:
        raise InvalidUsageError(
            "profile: the module is scheduled already", location=describe(module.location)
        )


def _prepare_scheduling(module: ir.Operation, options: CompileOptions, progress: Progress) -> None:
    """What the stage finds in the module: measured costs, and a schedule made elsewhere."""
    if options.costs is not None:
        apply_costs(module, options.costs)
    if options.scheduler == cp_sat.NAME and not has_schedule(module):
        cp_sat.schedule_exactly(module, progress)


def _scheduler(options: CompileOptions) -> str | None:
    """The compiler's own scheduler to use; None for its default."""
    if options.scheduler == cp_sat.NAME:
        return None
    return options.scheduler or ("profile" if options.costs is not None else None)


def _stage_options(
    stage: str, machine: Target, backend: Backend, options: CompileOptions
) -> dict[str, str]:
    result: dict[str, str] = {}
    dump = options.dump_dir if options.dump_dir is not None else knobs.DUMP_DIR.get()
    if dump is not None:
        result["dump-dir"] = os.path.abspath(dump)
    if stage == "graph" and options.collectives is not None:
        result["collectives"] = options.collectives
    if stage == "memory" and options.packets:
        result["packets"] = "true"
    if stage == "scheduling" and (scheduler := _scheduler(options)) is not None:
        result["scheduler"] = scheduler
    if stage == "synchronization" and not options.verify:
        result["verify"] = "false"
    if stage == "kernel" and options.trace:
        result["trace"] = "true"
    if stage == "target":
        result.update(backend.target_options(options.cpu))
    return result
