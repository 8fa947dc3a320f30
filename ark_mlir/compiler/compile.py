"""ark.compile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from typing_extensions import Unpack

from .. import knobs
from ..devices import split_target
from ..errors import InvalidUsageError
from ..targets import Target
from .bundles import compile_bundle
from .options import CompileKeywords, CompileOptions
from .source import load_module, load_part

if TYPE_CHECKING:
    from ..runtime import Executable, World
    from ..typing import Source


@overload
def compile(
    source: Source,
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Unpack[CompileKeywords],
) -> Executable: ...
@overload
def compile(
    source: Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Unpack[CompileKeywords],
) -> World: ...
def compile(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    options: CompileOptions | None = None,
    **overrides: Unpack[CompileKeywords],
) -> Executable:
    """Compiles a program into one persistent kernel.

    Args:
        source: an ``ark.Program``, an ``ir.Module``, the path of an ``.mlir`` file, or MLIR text.
            A module that has been through some stages already goes on from there. A list holds
            the programs of all ranks of one world. After :func:`ark_mlir.distributed.init`, the
            program of one rank is compiled by all ranks together, each of which gives its own.
        target: ``cpu``, ``cpu:N`` (N workers), ``cuda:sm_90a``, ``hip:gfx942``, or a Target;
            by default the module's own, else ARK_TARGET, else cpu. ``cuda`` is the first GPU of
            this machine, and ``cuda:1`` or ``cuda:0,1`` are GPUs by their numbers, as in the
            option `devices`. Of several ranks each has such a machine; with ``cpu`` they share
            the cores, and with one GPU its SMs.
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
        >>> exe = ark.compile(program, target="cpu:4", trace=True)
        >>> exe.bind({"w": w}).run(x=x)["y"].shape
        (4, 256)
    """
    from ..runtime.drivers import drivers_for
    from ..runtime.ranks.membership import current
    from ..runtime.ranks.world import World, make_executable

    options = CompileOptions.make(options, overrides)
    if current() is not None and (part := load_part(source)) is not None:
        from .ranks import compile_part

        return compile_part(part, target, options)
    target, options = _name_devices(target, options)
    bundle = compile_bundle(load_module(source), target, options)
    if isinstance(source, list | tuple):
        return World(bundle, drivers_for(bundle, options.devices))
    return make_executable(bundle, devices=options.devices)


def _name_devices(
    target: str | Target | None, options: CompileOptions
) -> tuple[str | Target | None, CompileOptions]:
    """The target without numbers of GPUs, and the options with them.

    Raises InvalidUsageError if both name GPUs.
    """
    name = knobs.TARGET.get() if target is None else target
    if not isinstance(name, str):
        return target, options
    machine, devices = split_target(name)
    if devices is None:
        return target, options
    if options.devices is not None:
        raise InvalidUsageError(f"target {name!r} names GPUs, and so does the option devices")
    return machine, replace(options, devices=devices)
