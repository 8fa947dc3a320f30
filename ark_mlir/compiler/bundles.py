"""Compilation of a module into a bundle."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import replace

from .. import ir
from ..backends import backend_info, backend_names
from ..bundle import Bundle
from ..errors import CompileError, UnprovenWarning, UnsupportedError
from ..interruption import checkpoint, in_background
from ..mlir.diagnostics import to_error
from ..progress import Progress
from ..targets import Backend, Code, Target, backend_of
from .cache import find_slot
from .lowering import choose_target, lower, set_domains, shares_device
from .options import CompileOptions
from .packaging import take_kernel
from .source import count_ranks
from .stages import reached_stage
from .table_proof import prove

__all__ = ["compile_bundle", "make_bundle", "warn_unless_proven"]

_LOG = logging.getLogger("ark.compiler")


def warn_unless_proven(module: ir.Operation, options: CompileOptions, stacklevel: int) -> None:
    """Warns if the bundle of a module will not be proven.

    Args:
        module: the module to compile.
        options: the options of the compilation.
        stacklevel: the number of frames up to the user's call; 2 is the caller of the caller.
    """
    if not options.verify:
        reason = (
            "verify=False: the schedule is not proven; a wrong schedule hangs or computes wrong "
            "values"
        )
    elif not _has_tasks(module):
        reason = (
            f"the module is at the stage {reached_stage(module)!r}, and only earlier stages have "
            "tasks, whose accesses can be proven: the bundle is not proven"
        )
    else:
        return
    warnings.warn(reason, UnprovenWarning, stacklevel=stacklevel + 1)


def compile_bundle(
    module: ir.Operation, target: str | Target | None, options: CompileOptions
) -> Bundle:
    """Returns the bundle of a module, from the cache or compiled.

    Raises the errors of :func:`ark_mlir.compile`.
    """
    machine = choose_target(module, target, options.devices)
    backend = backend_of(machine.backend)
    if count_ranks(module) > 1:
        _check_ranks(machine, options)
    set_domains(module, options)
    slot = find_slot(module, machine, backend, options)
    bundle = None if slot is None else slot.load()
    if bundle is None:
        bundle = make_bundle(module, machine, backend, options)
        _check_network(bundle)
        if slot is not None:
            slot.save(bundle)
    return bundle


def _check_ranks(machine: Target, options: CompileOptions) -> None:
    """Raises UnsupportedError if several ranks cannot run on a machine, or not as the options
    say."""
    info = backend_info(machine.backend)
    if not info.has_ranks:
        able = [name for name in backend_names() if backend_info(name).has_ranks]
        raise UnsupportedError(
            f"programs of several ranks can be compiled for {', '.join(able)}, not for {machine}"
        )
    if options.domains is not None and not info.links_domains:
        raise UnsupportedError(
            f"the ranks of a program for {info.name} are in one domain, in which each GPU accesses "
            "the memory of the others",
            notes=["compile without domains="],
        )


def _check_network(bundle: Bundle) -> None:
    """Raises UnsupportedError if the network between domains cannot run a program."""
    if bundle.manifest.network == "mscclpp" and bundle.manifest.target.backend != "cpu":
        from ..runtime.ranks.routes import check_port_limits

        check_port_limits(bundle)


def make_bundle(
    module: ir.Operation, machine: Target, backend: Backend, options: CompileOptions
) -> Bundle:
    """Compiles a module into a bundle without the cache.

    If `options.verify`, the schedule is proven twice: in the module, and from the bundle's tables.
    A module at the stage ``kernel`` or ``target`` is proven from its tables alone: nothing checks
    that its functions access what the tables declare. Its bundle counts as not proven.
    """
    proven = options.verify and _has_tasks(module)
    # Lowering joins the programs of the ranks.
    shared = shares_device(module, machine, options.devices)
    with Progress("compiling", shown=not in_background()) as progress:
        kept = lower(module, machine, backend, options, "target", progress)
        parts = take_kernel(module, machine, replace(options, verify=proven), shared)
        checkpoint()
        progress.step("machine code")
        start = time.perf_counter()
        code = _emit(module, backend, options)
        _LOG.info("machine code: %.3f s, %d bytes", time.perf_counter() - start, len(code.image))
        manifest, sections = parts.finish(code, kept if options.keep_mlir else None)
        bundle = Bundle.from_parts(manifest, sections)
        if options.verify:
            progress.step("proof of the tables")
            _LOG.info("proof of the tables: %.3f s", prove(bundle).seconds)
    return bundle


def _has_tasks(module: ir.Operation) -> bool:
    """Returns True before the stage ``kernel``, at which tasks become functions."""
    return reached_stage(module) not in ("kernel", "target")


def _emit(module: ir.Operation, backend: Backend, options: CompileOptions) -> Code:
    try:
        return backend.emit(module, options.cpu, options.opt_level, options.line_info)
    except ir.MLIRError as error:
        raise to_error(CompileError, error, location="machine code") from None
