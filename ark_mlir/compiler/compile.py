"""``ark.compile``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast, overload

from .. import knobs
from ..devices import split_target
from ..errors import InvalidUsageError
from ..targets import Target
from .bundles import compile_bundle, warn_unless_proven
from .options import CompileKeywords, CompileOptions
from .source import load_module, load_rank_program

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..bundle import Bundle, Origin
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
            A module that some stages have lowered already continues with the next stage. A list
            has the programs of all ranks of a world. After :func:`ark_mlir.distributed.init`, all
            ranks call this function together, each with the program of its rank.
        target: ``cpu``, ``cpu:N`` (N workers), ``cuda:sm_90a``, ``hip:gfx942``, or a Target;
            by default that of the module, else ARK_TARGET, else cpu. ``cuda`` is the first GPU of
            this machine; ``cuda:1`` and ``cuda:0,1`` name GPUs by their numbers, as the option
            `devices` does. The target is the machine of one rank. With ``cpu``, the ranks share the
            cores, and on a single GPU they share its SMs.
        options: see :class:`CompileOptions`.
        overrides: fields of :class:`CompileOptions`, which override those of `options`.

    Returns:
        The executable, whose parameters must be bound before a run. For a list of programs, a
        :class:`ark_mlir.runtime.World`, whose runs take and return a dict for each rank.

    Raises:
        InvalidUsageError: the source, the target or an option is invalid, or the programs of
            several ranks do not fit together.
        UnsupportedError: this version cannot compile for the target, or a tool is missing.
        VerificationError: the proof of the schedule failed.
        MemoryLimitError: the intermediates exceed the option `memory`.
        CompileError: the MLIR does not parse, or the compiler failed.
        RankFailedError: another rank failed.

    Example:
        >>> exe = ark.compile(program, target="cpu:4", trace=True)
        >>> exe.bind({"w": w}).run(x=x)["y"].shape
        (4, 256)
    """
    from ..runtime.drivers.table import drivers_for
    from ..runtime.ranks.membership import current
    from ..runtime.ranks.world import World, make_executable

    options = CompileOptions.make(options, overrides)
    target, options = _name_devices(target, options)
    if current() is not None and (program := load_rank_program(source)) is not None:
        from .ranks import compile_rank

        return compile_rank(program, target, options)
    module = load_module(source)
    warn_unless_proven(module, options, stacklevel=2)
    bundle = _with_origin(compile_bundle(module, target, options), source)
    if isinstance(source, list | tuple):
        drivers = drivers_for(bundle, options.devices, concurrent=options.concurrent)
        return World(bundle, drivers)
    return make_executable(bundle, devices=options.devices, concurrent=options.concurrent)


def _with_origin(bundle: Bundle, source: object) -> Bundle:
    """Returns the bundle with the model folder that its program was built from.

    The record is no part of the cache: models of one structure share a compiled program.
    """
    first = cast("Sequence[object]", source)[0] if isinstance(source, list | tuple) else source
    origin: Origin | None = getattr(first, "origin", None)
    if bundle.manifest.origin == origin:
        return bundle
    return replace(bundle, manifest=replace(bundle.manifest, origin=origin))


def _name_devices(
    target: str | Target | None, options: CompileOptions
) -> tuple[str | Target | None, CompileOptions]:
    """Moves the CUDA ordinals in a target, such as ``cuda:0,1``, to the option `devices`.

    Raises InvalidUsageError if both name GPUs.
    """
    name = knobs.TARGET.get() if target is None else target
    if not isinstance(name, str):
        return target, options
    machine, devices = split_target(name)
    if devices is None:
        return target, options
    if options.devices is not None:
        raise InvalidUsageError(
            f"target {name!r} and the option devices both name GPUs; omit one of them"
        )
    return machine, replace(options, devices=devices)
