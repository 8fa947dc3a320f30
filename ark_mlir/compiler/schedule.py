"""``ark.compiler.compile_schedule``: a schedule without machine code, to be simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import ir
from ..bundle import Bundle
from ..errors import CompileError, VerificationError
from ..interruption import in_background
from ..progress import Progress
from ..targets import Code, Target, backend_of
from .cache import find_slot
from .lowering import choose_target, lower, set_domains, shares_device
from .options import CompileKeywords, CompileOptions
from .packaging import take_kernel
from .replication import replicate
from .source import count_ranks, load_module
from .symmetry import MERGED_ABOVE, NotSymmetricError, rank_of, representative
from .table_proof import prove

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..typing import Source

__all__ = ["cached_schedule", "compile_schedule"]

# The section `kernel` of a bundle must not be empty; no driver accepts these bytes.
_NO_CODE = b"no machine code"


def compile_schedule(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    *,
    merge_ranks: bool | None = None,
    **overrides: Unpack[CompileKeywords],
) -> Bundle:
    """Compiles a program up to its schedule; the bundle has no code and cannot run.

    :func:`ark_mlir.simulation.simulate` and ``ark simulate`` need only the schedule. For
    worlds of many ranks, machine code takes most of the compile time.

    Args:
        source, target, options, overrides: arguments of :func:`ark_mlir.compile`.
        merge_ranks: True compiles one rank for all, if the programs of all ranks are equal except
            for the number of the rank and the values of constants. None does so for worlds of more
            than 8 ranks. All ranks are compiled if the programs differ, if the proof of the result
            fails, or with ``verify=False``; the option `separate_ranks` of the bundle then has the
            reason.

    Raises the errors of :func:`ark_mlir.compile`.

    Example:
        >>> ark.compiler.compile_schedule(program, "cuda:sm_90a").manifest.target.sms
        132
        >>> schedule = ark.compiler.compile_schedule(programs, "cuda:sm_90a", merge_ranks=True)
        >>> schedule.manifest.options["merged_ranks"]
        4
    """
    chosen = replace(CompileOptions.make(options, overrides), line_info=False)
    module = load_module(source)
    machine = choose_target(module, target, chosen.devices)
    set_domains(module, chosen)
    ranks = count_ranks(module)
    if merge_ranks is None:
        merge_ranks = ranks > MERGED_ABOVE
    with Progress("compiling the schedule") as progress:
        if not merge_ranks:
            return _compile(module, machine, chosen, progress)
        try:
            return _compile_merged(module, machine, chosen, progress)
        except NotSymmetricError as reason:
            bundle = _compile(module, machine, chosen, progress)
            return _with_option(bundle, "separate_ranks", str(reason))


def cached_schedule(
    source: Source, target: str | Target | None = None, **overrides: Unpack[CompileKeywords]
) -> Bundle:
    """Returns the schedule of the program of one rank, from the cache or compiled.

    The bundle is that of :func:`compile_schedule`, whose time users may want to measure. Raises the
    errors of :func:`ark_mlir.compile`.

    Example:
        >>> cached_schedule(program, "cpu:1").manifest.target.sms
        1
    """
    options = replace(CompileOptions.make(None, overrides), line_info=False)
    module = load_module(source)
    machine = choose_target(module, target, options.devices)
    set_domains(module, options)
    slot = find_slot(module, machine, backend_of(machine.backend), options, schedule=True)
    bundle = None if slot is None else slot.load()
    if bundle is None:
        with Progress("compiling the schedule", shown=not in_background()) as progress:
            bundle = _compile(module, machine, options, progress)
        if slot is not None:
            slot.save(bundle)
    return bundle


def _compile(
    module: ir.Operation, machine: Target, options: CompileOptions, progress: Progress
) -> Bundle:
    # Lowering joins the programs of the ranks.
    shared = shares_device(module, machine, options.devices)
    lower(module, machine, backend_of(machine.backend), options, "kernel", progress)
    parts = take_kernel(module, machine, options, shared)
    return Bundle.from_parts(*parts.finish(Code(_NO_CODE, machine.arch, ()), None))


def _compile_merged(
    module: ir.Operation, machine: Target, options: CompileOptions, progress: Progress
) -> Bundle:
    """Compiles one rank for all, and proves the schedule of all ranks.

    Raises NotSymmetricError if the ranks are not symmetric.
    """
    ranks = count_ranks(module)
    one = representative(module, machine, options)
    rank = rank_of(one)
    try:
        pair = _compile(one, machine, options, progress)
    except CompileError as error:
        # A sum whose elements do not divide by the ranks has parts of two sizes. An error of the
        # program itself recurs when all ranks are compiled.
        raise NotSymmetricError(f"one rank alone does not compile: {error.message}") from error
    progress.step("replication")
    for waits_for_all in (False, True):
        world = replicate(pair, ranks, rank, waits_for_all=waits_for_all)
        progress.step("proof of all ranks")
        try:
            prove(world)
        except VerificationError as error:
            failure = error
        else:
            return _with_option(world, "merged_ranks", ranks)
    raise NotSymmetricError(f"the proof of all ranks failed: {failure.message}") from failure


def _with_option(bundle: Bundle, name: str, value: str | int) -> Bundle:
    options = {**bundle.manifest.options, name: value}
    return replace(bundle, manifest=replace(bundle.manifest, options=options))
