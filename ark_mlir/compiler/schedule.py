"""``ark.compiler.compile_schedule``: a schedule without machine code, to be simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..bundle import Bundle
from ..progress import Progress
from ..targets import Code, Target, backend_of
from .lowering import choose_target, lower, set_domains, shares_device
from .options import CompileKeywords, CompileOptions
from .packaging import take_kernel
from .source import load_module

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..typing import Source

__all__ = ["compile_schedule"]

# The section `kernel` of a bundle must not be empty; no driver accepts these bytes.
_NO_CODE = b"no machine code"


def compile_schedule(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Unpack[CompileKeywords],
) -> Bundle:
    """Compiles a program up to its schedule; the bundle has no code and cannot run.

    :func:`ark_mlir.simulation.simulate` and ``ark simulate`` need only the schedule. For
    worlds of many ranks, machine code takes most of the compile time.

    Args:
        source, target, options, overrides: arguments of :func:`ark_mlir.compile`.

    Raises the errors of :func:`ark_mlir.compile`.

    Example:
        >>> ark.compiler.compile_schedule(program, "cuda:sm_90a").manifest.target.sms
        132
    """
    chosen = replace(CompileOptions.make(options, overrides), line_info=False)
    module = load_module(source)
    machine = choose_target(module, target, chosen.devices)
    set_domains(module, chosen)
    backend = backend_of(machine.backend)
    # Lowering joins the programs of the ranks.
    shared = shares_device(module, machine, chosen.devices)
    with Progress("compiling the schedule") as progress:
        lower(module, machine, backend, chosen, "kernel", progress)
        parts = take_kernel(module, machine, chosen, shared)
        return Bundle.from_parts(*parts.finish(Code(_NO_CODE, machine.arch, ()), None))
