"""World: an executable of several ranks, all of them in this process.

A bundle holds the buffers of all ranks; if there are several, their names begin with the rank:
``rank0/x``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ...bundle import Bundle
from ...errors import InvalidUsageError, a_type
from ..arrays.binding import read_sources
from ..arrays.streams import StreamsByRank, stream_handle
from ..drivers.table import DriverTable, drivers_for
from ..executable import Executable
from ..resident import Resident
from .naming import qualified
from .rank import Rank
from .run_barrier import RunBarrier

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...typing import Array, Arrays, Inputs, Path, Sources, Stream

_ByRank = Sequence[Mapping[str, object]] | Mapping[str, object] | None


class World(Executable):
    """A program of several ranks; ``ark.compile([p0, p1])`` and ``ark.load`` return it.

    Each rank has its own lanes, buffers and states; one launch runs all ranks. Arguments and
    results that are dicts for :class:`Executable` are lists with a dict for each rank here. The
    names in ``inputs``, ``outputs``, ``parameters`` and ``states`` begin with the rank:
    ``rank0/x``.

    Example:
        >>> world = ark.compile([p0, p1], target="cpu:2")
        >>> world = world.bind([{"w": w0}, {"w": w1}])
        >>> y0, y1 = (out["y"] for out in world.run([{"x": x0}, {"x": x1}]))
    """

    def __init__(self, bundle: Bundle, drivers: DriverTable | None = None) -> None:
        super().__init__(bundle, drivers)
        self._barrier = RunBarrier(self)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.bundle.manifest.ranks

    def rank(self, number: int) -> Rank:
        """Returns the rank with the index `number`, for a thread that runs this rank alone.

        Raises InvalidUsageError if there is no such rank.

        Example:
            >>> from threading import Thread
            >>> other = Thread(target=world.rank(1).run, kwargs={"x": x1})
            >>> other.start()
            >>> y = world.rank(0).run(x=x0)["y"]  # waits for rank 1
            >>> other.join()
        """
        if not 0 <= number < self.size:
            raise InvalidUsageError(f"there is no rank {number}; the world has {self.size} ranks")
        return Rank(self._barrier, number)

    # The signature differs from the base class: arguments and results are lists by rank.
    def bind(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, parameters: Sequence[Sources] | Arrays | Path, *, strict: bool = True
    ) -> Self:
        """Binds the parameters of all ranks: a list with an entry for each rank.

        An entry is an argument of :meth:`Executable.bind`. A single dict or path instead of the
        list applies to every rank that has the name; a name may also begin with a rank, as
        ``rank0/w``. Raises the errors of :meth:`Executable.bind`.

        Example:
            >>> world = world.bind([{"w": w0}, {"w": w1}])
        """
        if _is_list(parameters):
            entries = cast("Sequence[Sources]", parameters)
            values: _ByRank = [read_sources(entry) for entry in entries]
        else:
            values = read_sources(cast("Arrays | Path", parameters))
        manifest = self.bundle.manifest
        names = [buffer.name for buffer in manifest.parameters + manifest.states]
        super().bind(spread(names, self.size, values), strict=strict)
        return self

    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        inputs: Sequence[Inputs] | Inputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | Sequence[Stream | None] | None = None,
        out: Sequence[Arrays] | Arrays | None = None,
        **named: Array | int,
    ) -> list[dict[str, Any]]:
        """Runs all ranks once, together.

        Arrays on the GPU of their rank are used in place; arrays on the host are copied. If each
        rank has a separate GPU, no kernel begins before the earlier work of all streams has
        ended.

        Args:
            inputs: a list with a dict of inputs for each rank. A single dict, or keywords, apply
                to every rank that has the name; a name may also begin with a rank, as ``rank0/x``.
            iterations, trace: as for :meth:`Executable.run`.
            stream: a list with a stream for each rank, or None for a rank; each is as for
                :meth:`Executable.run`. If all ranks are on one GPU, also a single stream.
            out: arrays by the names of outputs, in the forms of `inputs`. The run writes to these
                arrays instead of new arrays. The arrays must not overlap other memory of any rank,
                as for :meth:`Executable.run`.
            **named: inputs by name, as a dict in `inputs`.

        Returns:
            A list with a dict of outputs for each rank. New arrays are on the GPU of their rank if
            any input of the rank is there, else on the host.

        Raises the errors of :meth:`Executable.run`; a message about a buffer or a lane names its
        rank.

        Example:
            >>> world.run([{"x": x0}, {"x": x1}])[1]["y"].shape
            (4,)
        """
        values = spread([b.name for b in self.inputs], self.size, inputs, named)
        arrays = spread([b.name for b in self.outputs], self.size, out)
        streams = streams_by_rank(stream, self.size)
        return by_rank(self._run(values, iterations, trace, streams, arrays), self.size)

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        inputs: Sequence[Inputs] | Inputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | Sequence[Stream | None] | None = None,
        out: Sequence[Arrays] | Arrays | None = None,
        **named: Array | int,
    ) -> list[dict[str, Any]]:
        """Runs all ranks once: a call of the object is a call of :meth:`run`.

        >>> world([{"x": x0}, {"x": x1}])[1]["y"].shape
        (4,)
        """
        return self.run(inputs, iterations=iterations, trace=trace, stream=stream, out=out, **named)

    @contextmanager
    def resident(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
    ) -> Generator[ResidentWorld]:
        """Keeps the kernel on the device between runs; see :meth:`Executable.resident`.

        Inputs and outputs of ``resident.run`` are those of :meth:`run`: lists by rank.

        >>> with world.resident() as resident:
        ...     y0, y1 = resident.run([{"x": x0}, {"x": x1}])
        >>> y0["y"].shape
        (4,)
        """
        with super().resident() as inner:
            yield ResidentWorld(self, inner)


class ResidentWorld:
    """A world whose kernel is resident; :meth:`World.resident` returns it.

    Example:
        >>> with world.resident() as resident:
        ...     y0, y1 = resident.run([{"x": x0}, {"x": x1}])
    """

    def __init__(self, world: World, inner: Resident) -> None:
        self._world, self._inner = world, inner

    def run(
        self,
        inputs: Sequence[Inputs] | Inputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        out: Sequence[Arrays] | Arrays | None = None,
        **named: Array | int,
    ) -> list[dict[str, Any]]:
        """Runs all ranks once, as :meth:`World.run` does; all runs use the same buffers.

        Example:
            >>> with world.resident() as resident:
            ...     y0, y1 = resident.run([{"x": x0}, {"x": x1}])
            >>> y0["y"].shape
            (4,)
        """
        world = self._world
        values = spread([b.name for b in world.inputs], world.size, inputs, named)
        arrays = spread([b.name for b in world.outputs], world.size, out)
        results = self._inner.run(values, iterations=iterations, trace=trace, out=arrays)
        return by_rank(results, world.size)


def make_executable(
    bundle: Bundle,
    drivers: DriverTable | None = None,
    devices: Sequence[int] | None = None,
    concurrent: bool = False,
) -> Executable:
    """Returns the executable of a bundle: a World if the bundle holds several ranks.

    Args:
        bundle: the program.
        drivers: functions that create the driver of each backend; None takes the runtime's own.
        devices, concurrent: the GPUs to run on; see :func:`ark_mlir.load`.
    """
    if drivers is None:
        drivers = drivers_for(bundle, devices, concurrent=concurrent)
    return (World if bundle.manifest.ranks > 1 else Executable)(bundle, drivers)


def spread(
    names: Iterable[str], size: int, values: _ByRank, shared: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Returns values by the names of the bundle, such as ``rank0/x``.

    The values of `shared` apply to every rank that has the name. A name that no rank has is kept,
    so that a later check reports it. Raises InvalidUsageError unless a list has one entry for each
    rank.

    Example:
        >>> spread(["rank0/x", "rank1/x"], 2, [{"x": 1}, {"x": 2}])
        {'rank0/x': 1, 'rank1/x': 2}
    """
    known = set(names)
    result: dict[str, Any] = {}
    for common in (
        shared,
        None if _is_list(values) else cast("Mapping[str, object] | None", values),
    ):
        for name, value in (common or {}).items():
            targets = [qualified(rank, size, name) for rank in range(size)]
            owned = [target for target in targets if target in known]
            result.update(dict.fromkeys(owned or [name], value))
    if _is_list(values):
        entries = cast("Sequence[Mapping[str, object]]", values)
        if len(entries) != size:
            raise InvalidUsageError(
                f"expected a list with a dict for each of the {size} ranks, not {len(entries)}"
            )
        for rank, entry in enumerate(entries):
            if not isinstance(entry, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidUsageError(
                    f"entry {rank} of the list is {a_type(entry)}; expected arrays by name"
                )
            result.update({qualified(rank, size, n): value for n, value in entry.items()})
    return result


def streams_by_rank(
    stream: Stream | Sequence[Stream | None] | None, size: int
) -> Stream | StreamsByRank | None:
    """Returns the streams of a run for the driver: one for all ranks, or a handle for each rank.

    Raises InvalidUsageError unless a list has one entry for each rank.
    """
    if not isinstance(stream, Sequence):
        return stream
    if len(stream) != size:
        raise InvalidUsageError(
            f"expected a list with a stream for each of the {size} ranks, not {len(stream)}"
        )
    return StreamsByRank(None if each is None else stream_handle(each) for each in stream)


def by_rank(values: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Returns values under the names of the bundle as a dict for each rank."""
    result: list[dict[str, Any]] = [{} for _ in range(size)]
    for key, value in values.items():
        rank, _, name = key.partition("/") if size > 1 else ("rank0", "", key)
        result[int(rank.removeprefix("rank"))][name] = value
    return result


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
