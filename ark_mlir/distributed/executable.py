"""RankExecutable: one rank's share of a program that all ranks of a world run together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..bundle import Bundle
from ..errors import ArkError, RankFailedError
from ..runtime.diagnosis.hang import faulty_task
from ..runtime.executable import Executable
from ..runtime.ranks.rank_bundle import bundle_of_rank
from ..runtime.running import Inputs, Runner
from .driver import RankDriver
from .gpu_driver import GpuRankDriver
from .shared import Segment

if TYPE_CHECKING:
    from ..runtime.arrays.exchange import Exchange
    from ..runtime.diagnosis.report import Report
    from ..runtime.drivers.interface import Driver, Outcome
    from ..typing import Path
    from .communicator import Communicator
    from .gpu_memory import GpuMemory

__all__ = ["RankExecutable"]


class RankExecutable(Executable):
    """The result of `ark.compile` and `ark.load` in a process that is one rank.

    Names, buffers and states are those of this rank. `run` is collective: every rank calls it
    equally often, with the same number of iterations, and waits for the others. All other methods
    concern this rank alone. `save` writes the program of all ranks, which a world with the same
    number of ranks can load. `run` also raises RankFailedError if another rank fails, ends or does
    not call `run` in time.

    Example:
        >>> with ark.distributed.init() as world:
        ...     with ark.Program("tp", rank=world.rank, world_size=world.world_size) as program:
        ...         y = ark.output("y", ark.all_reduce(ark.input("x", (4, 64))))
        ...     exe = ark.compile(program)
        ...     y = exe.run(x=x)["y"]
    """

    def __init__(
        self, joined: Bundle, rank: int, communicator: Communicator, memory: Segment | GpuMemory
    ) -> None:
        super().__init__(bundle_of_rank(joined, rank))
        self._joined = joined
        self._rank = rank
        self._communicator = communicator
        self._memory = memory

    def _make_runner(self) -> Runner:
        driver: RankDriver | GpuRankDriver
        if isinstance(self._memory, Segment):
            driver = RankDriver(self._rank, self._memory)
        else:
            driver = GpuRankDriver(self._joined, self._rank, self._memory)
        return _RankRunner(self.bundle, self._rank, self._communicator, driver)

    def report(self) -> Report:
        """Returns the report of :meth:`Executable.report`; on a GPU, `sharing` is set, too."""
        sharing = None if isinstance(self._memory, Segment) else self._memory.sharing
        return replace(super().report(), sharing=sharing)

    def save(self, path: Path) -> None:
        """Writes the program of all ranks to a ``.arkbin`` file; see :meth:`Executable.save`."""
        self._joined.save(path)

    def close(self) -> None:
        """Frees memory, see :meth:`Executable.close`; no rank can run the program afterwards."""
        if not self._closed:
            self._communicator.leave(f"has closed the program {self.name!r}")
        try:
            super().close()
        finally:
            if self._closed:
                self._memory.free()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, rank {self._rank} of {self.bundle.manifest.ranks}>"


class _RankRunner(Runner):
    def __init__(
        self,
        bundle: Bundle,
        rank: int,
        communicator: Communicator,
        driver: RankDriver | GpuRankDriver,
    ) -> None:
        self._rank = rank
        self._communicator = communicator
        self._rank_driver = driver

        def made() -> Driver:
            return driver

        super().__init__(bundle, {bundle.manifest.target.backend: made})

    def run(
        self,
        exchange: Exchange,
        values: Inputs,
        iterations: int = 1,
        trace: Path | None = None,
        stream: object = None,
        out: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Runs the program together with all other ranks; see :meth:`Runner.run`."""
        with self._communicator.collective_call(f"run {self.name!r}") as call:
            self._rank_driver.call = call
            return super().run(exchange, values, iterations, trace, stream, out)

    def _failure(self, outcome: Outcome, timeout_ns: int) -> ArkError:
        error = super()._failure(outcome, timeout_ns)
        task = faulty_task(self.bundle, outcome)
        if outcome.stop.abort or not outcome.fault.code or task is None:
            return error
        culprit = task.name.partition("/")[0].removeprefix("rank")
        if culprit == str(self._rank):
            return error
        return RankFailedError(f"rank {self._rank} cannot continue: rank {culprit} failed: {error}")
