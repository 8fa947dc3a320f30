"""From a module to its bundle: the target, the stages, the code."""

from __future__ import annotations

import logging
import time
import warnings

from .. import ir
from ..bundle import Bundle
from ..errors import CompileError, UnprovenWarning, UnsupportedError
from ..mlir.diagnostics import to_error
from ..progress import Progress
from ..targets import Backend, Code, Target, backend_of
from .cache import find_slot
from .lowering import choose_target, lower
from .options import CompileOptions
from .packaging import take_kernel
from .source import count_ranks
from .table_proof import prove

__all__ = ["compile_bundle", "make_bundle"]

_LOG = logging.getLogger("ark.compiler")


def compile_bundle(
    module: ir.Operation, target: str | Target | None, options: CompileOptions
) -> Bundle:
    """The bundle of a module, from the cache or made; raises as :func:`ark_mlir.compile`."""
    if not options.verify:
        warnings.warn(
            "verify=False: the schedule is not proven; a wrong one hangs or gives wrong numbers",
            UnprovenWarning,
            stacklevel=3,
        )
    machine = choose_target(module, target)
    backend = backend_of(machine.backend)
    if count_ranks(module) > 1 and machine.backend == "hip":
        raise UnsupportedError(f"kernels of several ranks are made for cpu and cuda, not {machine}")
    slot = find_slot(module, machine, backend, options)
    bundle = None if slot is None else slot.load()
    if bundle is None:
        bundle = make_bundle(module, machine, backend, options)
        if slot is not None:
            slot.save(bundle)
    return bundle


def make_bundle(
    module: ir.Operation, machine: Target, backend: Backend, options: CompileOptions
) -> Bundle:
    """Makes the bundle of a module without the cache.

    Unless `options` say otherwise its schedule is proven twice: as the compiler made it, and once
    more from the bytes of the bundle.
    """
    with Progress("compiling") as progress:
        kept = lower(module, machine, backend, options, "target", progress)
        parts = take_kernel(module, machine, options)
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


def _emit(module: ir.Operation, backend: Backend, options: CompileOptions) -> Code:
    try:
        return backend.emit(module, options.cpu, options.opt_level, options.line_info)
    except ir.MLIRError as error:
        raise to_error(CompileError, error, location="machine code") from None
