"""Options of a compilation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypedDict, cast, get_args

from ..devices import check_devices
from ..errors import InvalidUsageError
from ..tuning.costs import Costs
from ..typing import Collectives, Cpu, Path, Scheduler


class CompileKeywords(TypedDict, total=False):
    """The fields of :class:`CompileOptions` as keywords, for functions that pass them on.

    Example:
        >>> def compile_traced(source: ark.typing.Source, **options: Unpack[CompileKeywords]):
        ...     return ark.compile(source, **{**options, "trace": True})
    """

    scheduler: Scheduler | None
    profile: Path | Costs | None
    collectives: Collectives | None
    tile: Mapping[str, Sequence[int]]
    packets: bool
    trace: bool
    verify: bool
    dump_dir: Path | None
    keep_mlir: bool
    cpu: Cpu
    opt_level: Literal[0, 1, 2, 3]
    line_info: bool
    cache: bool | Path | None
    devices: Sequence[int] | None


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compilation; every field is also a keyword of :func:`ark_mlir.compile`.

    Attributes:
        scheduler: ``auto``, ``list``, ``round-robin``, ``rounds``, ``profile`` (needs
            `profile`), ``alone`` (for measuring), ``cp-sat`` (exact, for small graphs; needs
            OR-tools); None takes ``profile`` where there is one, else ``auto``.
        profile: measured times of tasks: the path of a trace of a run, or of a file of
            `ark profile`, which is read at once, or the costs themselves.
        collectives: how ranks exchange tensors: ``one-shot``, ``two-shot`` or ``ring``, or
            ``auto``, as None, which goes by size.
        tile: tile shape of the result, by the name of a group or of an op in it:
            ``{"fc1": (32, 64), "matmul": (64, 64)}``; a group's own name goes first.
        packets: on cuda only, pass small activations as words that carry the iteration, which
            consumers poll, instead of by semaphores.
        trace: make a kernel that can record when each task ran.
        verify: prove the schedule, and the tables that are made of it. Off, a wrong schedule is
            found by wrong results only: compiling and loading warn, and `report` says so.
        dump_dir: folder for ``NN-<stage>.mlir`` after each stage; None asks ARK_DUMP_DIR.
        keep_mlir: keep the scheduled program as text in the bundle.
        cpu: for the cpu target, whose instruction set to use: ``host``, ``baseline``, or a level
            such as ``x86-64-v3``.
        opt_level: LLVM's optimisation level, 0 to 3.
        line_info: say in the code of a GPU which op and which line of Python it is of, for
            profilers. It costs some 9 % of the kernel's size, and no speed.
        cache: whether to take the bundle from the cache of bundles where it was made before, and to
            keep it there else; or the cache's folder. None asks ARK_CACHE and ARK_CACHE_DIR.
            Compilations with `dump_dir` leave the cache alone.
        devices: for cuda, the numbers of the GPUs to run on. Of a list of programs each gets the
            GPU at its place; a single GPU is shared by all of them, each with its part of the
            SMs. None takes one GPU for each program, from the first on.

    Raises:
        InvalidUsageError: a value has the wrong type or is out of range.

    Example:
        >>> CompileOptions(trace=True).trace
        True
    """

    scheduler: Scheduler | None = None
    profile: Path | Costs | None = None
    collectives: Collectives | None = None
    tile: Mapping[str, Sequence[int]] = field(default_factory=dict[str, "Sequence[int]"])
    packets: bool = True
    trace: bool = False
    verify: bool = True
    # Fields that make no other bundle are not part of its key in the cache.
    dump_dir: Path | None = field(default=None, metadata={"changes_bundle": False})
    keep_mlir: bool = False
    cpu: Cpu = "host"
    opt_level: Literal[0, 1, 2, 3] = 3
    line_info: bool = True
    cache: bool | Path | None = field(default=None, metadata={"changes_bundle": False})
    devices: Sequence[int] | None = field(default=None, metadata={"changes_bundle": False})

    def __post_init__(self) -> None:
        for name in ("packets", "trace", "verify", "keep_mlir", "line_info"):
            if not isinstance(getattr(self, name), bool):
                raise _invalid(name, getattr(self, name), "True or False")
        if not isinstance(self.scheduler, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("scheduler", self.scheduler, "a scheduler's name")
        if not isinstance(self.profile, str | os.PathLike | Costs | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("profile", self.profile, "a trace, a file of costs, or costs")
        if isinstance(self.profile, str | os.PathLike):
            object.__setattr__(self, "profile", Costs.read(self.profile))
        if self.collectives not in (None, *get_args(Collectives)):
            raise _invalid("collectives", self.collectives, "auto, one-shot, two-shot or ring")
        if not isinstance(self.cpu, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("cpu", self.cpu, "a processor's name")
        if not isinstance(self.dump_dir, str | os.PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("dump_dir", self.dump_dir, "a folder")
        if not isinstance(self.cache, bool | str | os.PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("cache", self.cache, "True, False or a folder")
        if isinstance(self.opt_level, bool) or self.opt_level not in (0, 1, 2, 3):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("opt_level", self.opt_level, "0, 1, 2 or 3")
        if self.devices is not None:
            object.__setattr__(self, "devices", check_devices(self.devices))
        object.__setattr__(self, "tile", _tiles(self.tile))

    @property
    def costs(self) -> Costs | None:
        """Measured times of tasks; None if there are none."""
        return self.profile if isinstance(self.profile, Costs) else None

    @classmethod
    def make(cls, options: CompileOptions | None, overrides: Mapping[str, Any]) -> CompileOptions:
        """`options` with some fields replaced; raises InvalidUsageError on an unknown one."""
        known = [item.name for item in fields(cls)]
        if unknown := sorted(set(overrides) - set(known)):
            raise InvalidUsageError(
                f"compile has no option {unknown[0]!r}; it has {', '.join(known)}"
            )
        return replace(options or cls(), **overrides)


def _invalid(name: str, value: object, expected: str) -> InvalidUsageError:
    return InvalidUsageError(f"option {name}={value!r}: expected {expected}")


def _tiles(tile: object) -> dict[str, tuple[int, ...]]:
    if not isinstance(tile, Mapping):
        raise _invalid("tile", tile, "a dict from names to tile shapes")
    result: dict[str, tuple[int, ...]] = {}
    tiles = cast("Mapping[object, object]", tile)
    for name, shape in tiles.items():
        extents = cast("tuple[object, ...]", shape) if isinstance(shape, tuple | list) else ()
        sizes = tuple(
            extent for extent in extents if isinstance(extent, int) and 0 < extent < 2**63
        )
        if not isinstance(name, str) or not sizes or len(sizes) != len(extents):
            raise _invalid("tile", tiles, "names with tuples of positive integers")
        result[name] = sizes
    return result
