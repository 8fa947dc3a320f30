"""Choice of the target, and lowering of a module through the stages."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence

from .. import ir, knobs
from ..backends import backend_info, is_backend
from ..devices import most_ranks_per_device
from ..errors import InvalidUsageError
from ..interruption import checkpoint
from ..mlir.diagnostics import to_error
from ..mlir.locations import describe
from ..progress import Progress
from ..targets import Backend, Target, backend_of, resolve
from . import cp_sat
from .costs import apply_costs
from .options import CompileOptions
from .source import count_ranks
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

__all__ = ["choose_target", "lower", "set_domains", "shares_device"]

_LOG = logging.getLogger("ark.compiler")


def choose_target(
    module: ir.Operation,
    target: str | Target | None,
    devices: Sequence[int] | None = None,
) -> Target:
    """Returns the machine to compile for, and sets it in the module.

    The machine is `target`, else the target of the module, else the default.

    If several ranks share one of `devices`, each gets an equal share of the GPU.

    Raises InvalidUsageError if the target is unknown, or its facts are invalid.
    """
    name = "ark.target"
    if target is None and name in module.attributes:
        return Target.parse(str(module.attributes[name]))
    wanted = knobs.TARGET.get() if target is None else target
    if devices and isinstance(wanted, str) and is_backend(wanted):
        machine = backend_of(wanted).detect(devices[0])
    else:
        machine = resolve(wanted)
    sharing = most_ranks_per_device(devices, count_ranks(module))
    if sharing > 1 and backend_info(machine.backend).selects_devices:
        machine = machine.share(sharing)
    if wanted == "cpu" and (ranks := count_ranks(module)) > 1:
        machine = resolve(f"cpu:{max(1, machine.sms // ranks)}")
    with module.context:
        try:
            module.attributes[name] = ir.Attribute.parse(machine.mlir)
        except ir.MLIRError as error:
            raise to_error(InvalidUsageError, error) from None
    return machine


def set_domains(module: ir.Operation, options: CompileOptions) -> None:
    """Sets the NVLink domains of the ranks in a module, and the network between them.

    Raises InvalidUsageError if the number of domains differs from the number of ranks, or the
    module has passed the stage ``graph``, which makes the copies between domains.
    """
    if options.domains is None:
        return
    ranks = count_ranks(module)
    if len(options.domains) != ranks:
        raise InvalidUsageError(
            f"domains={list(options.domains)} has {len(options.domains)} numbers, and the program "
            f"has {ranks} rank{'s' if ranks > 1 else ''}: give a number for each rank"
        )
    if (reached := reached_stage(module)) is not None:
        raise InvalidUsageError(
            f"domains: the module is at the stage {reached!r}, and the stage 'graph' needs them",
            location=describe(module.location),
        )
    with module.context:
        numbers = ", ".join(map(str, options.domains))
        module.attributes["ark.domains"] = ir.Attribute.parse(f"array<i64: {numbers}>")
        if options.network != "nccl":
            module.attributes["ark.network"] = ir.StringAttr.get(options.network)


def shares_device(module: ir.Operation, machine: Target, devices: Sequence[int] | None) -> bool:
    """Returns True if all of several ranks are to share one GPU."""
    return (
        backend_info(machine.backend).selects_devices
        and devices is not None
        and len(set(devices)) == 1
        and count_ranks(module) > 1
    )


def lower(
    module: ir.Operation,
    machine: Target,
    backend: Backend,
    options: CompileOptions,
    last: str,
    progress: Progress,
) -> str | None:
    """Runs the stages after the one that `module` has reached, up to and including `last`.

    Returns the text of the module at the stage `synchronization` if `options.keep_mlir`, else None.
    """
    names = stages()
    reached = reached_stage(module)
    first = names[names.index(reached) + 1 :][:1] if reached in names else names[:1]
    to_run = stages_between(first[0], last) if first else ()
    _check_scheduler(module, machine, options, to_run)
    if options.memory is not None and "memory" in names[: names.index(reached or names[0]) + 1]:
        raise InvalidUsageError(
            "memory: the module has an arena already", location=describe(module.location)
        )
    kept: str | None = None
    if reached is not None and options.verify:
        prove(module, reached)  # bodies and schedules that were written by hand need a proof, too
    for stage in to_run:
        checkpoint()
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
    """Raises InvalidUsageError if scheduler and profile do not fit, before the first stage runs."""
    if options.scheduler not in (None, cp_sat.NAME):
        require_scheduler(options.scheduler, machine.mlir, [cp_sat.NAME])
    if options.scheduler == "profile" and options.costs is None:
        raise InvalidUsageError(
            "scheduler='profile' needs profile=…: a trace, or a file that `ark profile` wrote"
        )
    if options.costs is not None and "scheduling" not in to_run:
        raise InvalidUsageError(
            "profile: the module has a schedule already", location=describe(module.location)
        )


def _prepare_scheduling(module: ir.Operation, options: CompileOptions, progress: Progress) -> None:
    """Adds measured costs, and a schedule of ``cp-sat``, to the module for the stage to read."""
    if options.costs is not None:
        apply_costs(module, options.costs)
    if options.scheduler == cp_sat.NAME and not has_schedule(module):
        cp_sat.schedule_exactly(module, progress)


def _scheduler(options: CompileOptions) -> str | None:
    """Returns the name of the scheduler of the C++ compiler, None for its default."""
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
    if stage == "memory" and options.memory is not None:
        result["memory"] = str(options.memory)
    if stage == "scheduling" and (scheduler := _scheduler(options)) is not None:
        result["scheduler"] = scheduler
    if stage == "synchronization" and not options.verify:
        result["verify"] = "false"
    if stage == "kernel" and options.trace:
        result["trace"] = "true"
    if stage == "target":
        result.update(backend.target_options(options.cpu))
    return result
