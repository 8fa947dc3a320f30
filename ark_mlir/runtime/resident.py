"""A program that stays on the device between its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bundle import Buffer
from ..errors import InvalidUsageError
from .running import Runner
from .runs import Runs

if TYPE_CHECKING:
    from ..typing import Arrays, Inputs, Path, Stream
    from .arrays.streams import StreamsByRank


class Resident(Runs):
    """A program that stays on the device; :meth:`Executable.resident` returns it.

    Each run rings the doorbell and reuses the buffers of inputs and outputs. `run` raises
    InvalidUsageError after the end of the block.

    Example:
        >>> with exe.resident() as resident:
        ...     y = resident.run(x=x)["y"]
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._exchange = runner.driver.exchange(stays=True)

    @property
    def _arguments(self) -> tuple[Buffer, ...]:
        return self._runner.bundle.manifest.inputs

    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | StreamsByRank | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        if stream is not None:
            raise InvalidUsageError("a resident kernel has its own stream")
        runner = self._runner
        return runner.call_open(
            lambda: runner.run(self._exchange, values, iterations, trace, None, out), self
        )

    def reset(self) -> None:
        """Does the same as :meth:`Executable.reset`.

        Example:
            >>> with ark.compile(count, target="cpu").resident() as resident:
            ...     resident.reset()
        """
        self._runner.access_states(self._runner.storage.reset, self)
