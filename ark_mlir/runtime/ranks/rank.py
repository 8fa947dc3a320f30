"""One rank of a world, for a program with a thread for each rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from ..arrays.streams import current_stream_of, stream_handle
from .run_barrier import Call, RunBarrier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...typing import Array, Arrays, HostInput, HostInputs, Inputs, Stream


class Rank:
    """One rank of a :class:`World`; :meth:`World.rank` returns it.

    Attributes:
        number: the number of the rank.

    Example:
        >>> world.rank(1).number
        1
    """

    def __init__(self, barrier: RunBarrier, number: int) -> None:
        self._barrier = barrier
        self.number = number

    @overload
    def run(
        self,
        inputs: HostInputs | None = None,
        /,
        *,
        stream: Stream | None = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        **named: HostInput,
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def run(
        self,
        inputs: Inputs | None = None,
        /,
        *,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]: ...
    def run(
        self,
        inputs: Inputs | None = None,
        /,
        *,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]:
        """Runs this rank together with all others, as soon as every rank has called `run`.

        Arguments and result are those of :meth:`Executable.run`, for this rank alone: `inputs`,
        `named` and `out`. Without `stream`, tensors of torch on a GPU select the current stream of
        the calling thread.

        Raises:
            RankFailedError: another rank failed, or did not call `run` within ``ARK_TIMEOUT``
                seconds. The ranks can run again afterwards.
            HangError: a wait of the kernel lasted too long; every rank raises it.
            InvalidUsageError: an input of this rank is wrong, or two threads run it at once.

        Example:
            >>> from threading import Thread
            >>> other = Thread(target=world.rank(1).run, kwargs={"x": x1})
            >>> other.start()
            >>> y = world.rank(0).run(x=x0)["y"]  # waits for rank 1
            >>> other.join()
        """
        values = {**(inputs or {}), **named}
        # Torch's current stream is looked up here: the thread of another rank, which has another
        # current stream, may execute the run.
        handle = current_stream_of(values.values()) if stream is None else stream_handle(stream)
        return self._barrier.run(self.number, Call(values, handle, out or {}))

    def fail(self, reason: str) -> None:
        """Makes the ranks that wait for this rank raise RankFailedError at once, with `reason`.

        Example:
            >>> world.rank(1).fail("its data could not be read")
        """
        self._barrier.fail(self.number, reason)
