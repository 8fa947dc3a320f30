"""``ark.compile``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from typing_extensions import Unpack

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
            A module that some stages have lowered already continues with the next stage. A list
            has the programs of all ranks of a world. After :func:`ark_mlir.distributed.init`, all
            ranks call this function together, each with the program of its rank.
        target: ``cpu``, ``cpu:N`` (N workers), ``cuda:sm_90a``, ``hip:gfx942``, or a Target;
            by default that of the module, else ARK_TARGET, else cpu. Each rank has a machine of
            its own; with ``cpu``, the ranks share the cores.
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
        CompileError: the MLIR does not parse, or the compiler failed.
        RankFailedError: another rank failed.

    Example:
        >>> exe = ark.compile(program, target="cpu:4", trace=True)
        >>> exe.bind({"w": w}).run(x=x)["y"].shape
        (4, 256)
    """
    from ..runtime.ranks.membership import current
    from ..runtime.ranks.world import World, make_executable

    options = CompileOptions.make(options, overrides)
    if current() is not None and (part := load_part(source)) is not None:
        from .ranks import compile_part

        return compile_part(part, target, options)
    bundle = compile_bundle(load_module(source), target, options)
    return World(bundle) if isinstance(source, list | tuple) else make_executable(bundle)
