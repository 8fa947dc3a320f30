"""Options of a compilation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypedDict, cast, get_args

from ..devices import check_devices
from ..errors import InvalidUsageError
from ..tuning.costs import Costs
from ..typing import Collectives, Cpu, Network, Path, Scheduler
from ..units import parse_size


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
    memory: int | str | None
    trace: bool
    verify: bool
    dump_dir: Path | None
    keep_mlir: bool
    cpu: Cpu
    opt_level: Literal[0, 1, 2, 3]
    line_info: bool
    cache: bool | Path | None
    devices: Sequence[int] | None
    device: int | None
    concurrent: bool
    domains: Sequence[int] | None
    network: Network


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compilation; every field is also a keyword of :func:`ark_mlir.compile`.

    Attributes:
        scheduler: ``auto``, ``list``, ``round-robin``, ``rounds``, ``overlap`` (several
            ranks), ``profile`` (needs `profile`), ``alone`` (for measurements), or ``cp-sat``
            (exact, for small graphs; needs OR-tools).
            None means ``profile`` if `profile` is given, else ``auto``.
        profile: measured times of tasks: the path of a trace or of a file of `ark profile`, which
            is read when the options are created, or :class:`ark_mlir.tuning.Costs`.
        collectives: algorithm of collectives: ``one-shot``, ``two-shot`` or ``ring``; ``auto`` and
            None choose by the size of the tensor, between GPUs by predicted times.
        tile: tile shape of a result in elements, by the name of a group or of an op in it:
            ``{"fc1": (32, 64), "matmul": (64, 64)}``. The name of a group takes precedence.
        packets: GPUs only: pass small activations as words tagged with the epoch, which consumers
            poll, instead of semaphores.
        memory: bytes that the arena of a rank may have, as a number or as a text such as
            ``"8GiB"``. If the arena would be larger, the compiler orders tasks so that they reuse
            more bytes: the kernel may then take longer. The arena has all intermediates, and no
            parameters, states, inputs and outputs. None sets no limit.
        trace: compile a kernel that can record a trace of its tasks.
        verify: prove the schedule, and the tables that are generated from it. Without the proof, a
            wrong schedule shows only as a hang or wrong results: compilation and loading warn, and
            `report` says so.
        dump_dir: folder for the module after each stage, ``NN-<stage>.mlir``; None means
            ARK_DUMP_DIR.
        keep_mlir: store the text of the scheduled program in the bundle.
        cpu: cpu target only: the instruction set: ``host``, ``baseline``, or a level such as
            ``x86-64-v3``.
        opt_level: LLVM's optimisation level, 0 to 3.
        line_info: add line information to GPU code, so that profilers show the op and the Python
            line of an instruction. The information adds some 9 % to the size of the kernel, and
            costs no time.
        cache: True to look up the bundle in the cache and to store it there, False not to, or the
            cache's folder. None means ARK_CACHE and ARK_CACHE_DIR. A compilation with `dump_dir`
            does not use the cache.
        devices: GPUs only: numbers of the GPUs to run on. With a list of programs, one GPU for each
            program, or one GPU whose SMs all programs share. None means the first GPUs of the
            machine, one for each program. In a process that is one rank: the GPU of this rank, or
            the GPUs of all ranks; None means the GPU whose number is the local rank.
        device: GPUs only: the number of one GPU to run on: ``device=1`` is ``devices=[1]``.
        concurrent: GPUs only: `devices` may name a GPU for several ranks, as ``[0, 0]``. Each of
            these ranks has an equal part of the SMs and a launch of its own, and the launches run
            at once. Without `concurrent`, a GPU that is named twice is an error.
        domains: several ranks only: the NVLink domain of each rank, such as ``[0, 0, 1, 1]``. GPUs
            of one domain store to each other's memory. Between domains, network adapters copy,
            unless the GPUs can store to each other's memory after all. None means one domain.
        network: with `domains` on cuda: the library that copies between domains: ``nccl``, whose
            functions kernels call, or ``mscclpp``, whose thread on the host copies for them. Ranks
            load the program with the engine of this library.

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
    memory: int | str | None = None
    trace: bool = False
    verify: bool = True
    # A field that does not change the bundle is not part of the cache's key.
    dump_dir: Path | None = field(default=None, metadata={"changes_bundle": False})
    keep_mlir: bool = False
    cpu: Cpu = "host"
    opt_level: Literal[0, 1, 2, 3] = 3
    line_info: bool = True
    cache: bool | Path | None = field(default=None, metadata={"changes_bundle": False})
    devices: Sequence[int] | None = field(default=None, metadata={"changes_bundle": False})
    device: int | None = field(default=None, metadata={"changes_bundle": False})
    concurrent: bool = field(default=False, metadata={"changes_bundle": False})
    domains: Sequence[int] | None = None
    network: Network = "nccl"

    def __post_init__(self) -> None:
        for name in ("packets", "trace", "verify", "keep_mlir", "line_info", "concurrent"):
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
        if self.network not in get_args(Network):
            raise _invalid("network", self.network, "nccl or mscclpp")
        if not isinstance(self.cpu, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("cpu", self.cpu, "a processor's name")
        if not isinstance(self.dump_dir, str | os.PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("dump_dir", self.dump_dir, "a folder")
        if not isinstance(self.cache, bool | str | os.PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("cache", self.cache, "True, False or a folder")
        if isinstance(self.opt_level, bool) or self.opt_level not in (0, 1, 2, 3):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid("opt_level", self.opt_level, "0, 1, 2 or 3")
        if self.device is not None:
            object.__setattr__(self, "devices", self._single_device(self.device))
            object.__setattr__(self, "device", None)  # `devices` has the number
        if self.devices is not None:
            object.__setattr__(
                self, "devices", check_devices(self.devices, concurrent=self.concurrent)
            )
        object.__setattr__(self, "tile", _tiles(self.tile))
        if self.network != "nccl" and self.domains is None:
            raise InvalidUsageError(
                f"network={self.network!r} needs domains=, the NVLink domain of each rank"
            )
        if (domains := _domains(self.domains)) is None:
            object.__setattr__(self, "network", "nccl")  # no rank uses a network
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "memory", _bytes(self.memory))

    def _single_device(self, device: object) -> tuple[int]:
        if self.devices is not None:
            raise InvalidUsageError(
                f"device={device!r} and devices={self.devices!r}: give one of the two"
            )
        if isinstance(device, bool) or not isinstance(device, int) or device < 0:
            raise _invalid("device", device, "the number of a GPU, such as 1")
        return (device,)

    @property
    def costs(self) -> Costs | None:
        """Returns the measured times of tasks, or None."""
        return self.profile if isinstance(self.profile, Costs) else None

    @classmethod
    def make(
        cls,
        options: CompileOptions | None,
        overrides: Mapping[str, Any],
        others: Sequence[str] = (),
    ) -> CompileOptions:
        """Returns `options` (None: the defaults) with the fields in `overrides` replaced.

        `others` has the names of options that the caller processes; messages list them first.
        Raises InvalidUsageError if a field does not exist.
        """
        known = [item.name for item in fields(cls)]
        if unknown := sorted(set(overrides) - set(known)):
            raise InvalidUsageError(
                f"compile has no option {unknown[0]!r}; its options are "
                + ", ".join((*others, *known))
            )
        if overrides.get("device") is not None:
            overrides = {"devices": None, **overrides}
        return replace(options or cls(), **overrides)


def _invalid(name: str, value: object, expected: str) -> InvalidUsageError:
    return InvalidUsageError(f"option {name}={value!r}: expected {expected}")


def _bytes(memory: object) -> int | None:
    """Returns the number of bytes of the option `memory`."""
    count = parse_size(memory) if isinstance(memory, str) else memory
    if count is None and memory is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count < 2**63:
        raise _invalid("memory", memory, 'a positive number of bytes, or a text such as "8GiB"')
    return count


def _domains(domains: object) -> tuple[int, ...] | None:
    """Returns the option `domains`; None if all ranks have one domain."""
    if domains is None:
        return None
    is_list = isinstance(domains, Sequence) and not isinstance(domains, str | bytes)
    values = cast("Sequence[object]", domains) if is_list else ()
    numbers = tuple(value for value in values if type(value) is int and 0 <= value < 2**31)
    if not numbers or len(numbers) != len(values):
        expected = "a number for each rank, such as [0, 0, 1, 1]"
        raise _invalid("domains", cast("object", domains), expected)
    return numbers if len(set(numbers)) > 1 else None


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
