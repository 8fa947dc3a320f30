"""The calls that run a program, which an executable and a resident program share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, overload

from ..bundle import Buffer
from ..errors import InvalidUsageError, a_type
from ..units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Array, Arrays, HostInput, HostInputs, Inputs, Path, Stream
    from .arrays.streams import StreamsByRank


class Runs(ABC):
    """The interface of objects that run a program."""

    @overload
    def run(
        self,
        *inputs: HostInputs | HostInput | None,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        **named: HostInput,
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def run(
        self,
        *inputs: Inputs | Array | int | None,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]: ...
    def run(
        self,
        *inputs: Inputs | Array | int | None,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]:
        """Runs the program and waits until the run has ended.

        For a program on a GPU, arrays on that GPU are used in place: they must be dense, row-major
        and aligned to 16 bytes. Arrays on the host are copied.

        While a stream is being captured in a CUDA graph (``torch.cuda.graph``), a run becomes part
        of the graph, and is computed when the graph is replayed. All arrays of a captured run must
        be on the device; Python ints become constants of the graph. An ordinary run must precede
        the first capture. The executable keeps the memory of each captured run until `close`, and
        must stay open as long as the graph is replayed. Replays and runs share states and
        intermediates and must not overlap. `check` raises the errors of replays.

        Args:
            *inputs: one mapping with inputs by name, or arrays in the order of the program's
                ``inputs``. Arrays have the shape and dtype of their buffer; where the program takes
                integers, an array on the host may have another integer type that holds the same
                numbers, such as int64 for int32. A scalar is an int in ``[0, max]`` or an array of
                one element; the value of an array on the device is not checked.
            iterations: the number of iterations in this one launch.
            trace: the file for a trace of the last iteration, which https://ui.perfetto.dev
                opens; the program must have been compiled with ``trace=True``.
            stream: the stream of the GPU for the run: a handle, or a stream of torch, cupy or
                cuda.core. None selects torch's current stream if any argument is a torch tensor on
                the GPU, else a stream of the executable. The run starts after the work of the
                streams that produce the arrays, as DLPack specifies.
            out: arrays by the names of outputs. The run writes to these arrays instead of new
                arrays. An array must not overlap another array in `out`, a parameter or a state
                in memory, nor an input that is used in place. An array may overlap an input that
                is copied, since the copy precedes all writes.
            **named: further inputs, whose names are Python identifiers.

        Returns:
            The outputs of the last iteration by name. Arrays of `out` are returned themselves.
            Other outputs are arrays of the framework of the inputs (numpy, torch, …), on
            the device if any input is there, else on the host.

        Raises:
            InvalidUsageError: an input is missing, unknown or given twice, or has a wrong shape,
                dtype, device or layout (the error lists all of them); or a parameter is not bound;
                or an array in `out` overlaps other memory of the run.
            DataRangeError: an index in the data is out of range.
            HangError: a wait lasted longer than ``ARK_TIMEOUT`` allows; the error names waiter,
                semaphore and producer. The next run starts from clean semaphores; states may hold
                partial results of the run that failed.
            BusyError: another kernel occupied the GPU, so that this run did not begin within five
                times the timeout of a wait. The run was abandoned; the caller may try it again. On
                an AMD GPU also: a wait timed out before all lanes had begun; states may hold part
                of the run.
            DeviceError: a lane never ended, or there is not enough memory.

        Example:
            >>> exe.run(x=x)["y"].shape  # x: (4, 64)
            (4, 256)
            >>> exe.run(x)["y"].shape
            (4, 256)
        """
        return self._run(self._inputs(inputs, named), iterations, trace, stream, out)

    def _inputs(self, given: tuple[object, ...], named: Inputs) -> Inputs:
        return _named(given, named, self._arguments) if given else named

    def __call__(
        self,
        *inputs: Inputs | Array | int | None,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]:
        """Runs the program: a call of the object is a call of :meth:`run`.

        Example:
            >>> exe(x)["y"].shape  # x: (4, 64)
            (4, 256)
        """
        return self.run(
            *inputs, iterations=iterations, trace=trace, stream=stream, out=out, **named
        )

    @property
    @abstractmethod
    def _arguments(self) -> tuple[Buffer, ...]:
        """The inputs and scalars of the program."""

    @abstractmethod
    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | StreamsByRank | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        """Runs the program on `values`, all inputs by name; see :meth:`run`."""


def _named(
    given: tuple[object, ...], named: Mapping[str, object], buffers: tuple[Buffer, ...]
) -> dict[str, Any]:
    """Returns all inputs of a run by name.

    Args:
        given: one mapping with inputs by name, or arrays in the order of `buffers`.
        named: inputs that were passed as keywords.
        buffers: the inputs of the program.

    Raises InvalidUsageError if `given` has another form, such as a list, or too many arrays, or if
    an array and a keyword give the same input.
    """
    if len(given) == 1 and not named and given[0].__class__ is dict:
        return cast("dict[str, Any]", given[0])
    if len(given) == 1 and (given[0] is None or isinstance(given[0], Mapping)):
        # A keyword replaces an entry of the mapping with the same name, as in dict().
        return {**cast("Mapping[str, Any]", given[0] or {}), **named}
    names = [buffer.name for buffer in buffers]
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        raise InvalidUsageError(
            f"the argument is {a_type(cast('object', given[0]))}; pass the inputs one by one, as "
            f"in run({', '.join(names)}); each is a numpy array or an object with __dlpack__"
        )
    if any(isinstance(value, Mapping) for value in given):
        raise InvalidUsageError(
            "a run takes one mapping with inputs by name, or arrays in the order of the inputs: "
            + ", ".join(names)
        )
    if len(given) > len(names):
        raise InvalidUsageError(
            f"{len(given)} arrays are given, and the program has {counted(len(names), 'input')}: "
            + (", ".join(names) or "none")
        )
    values = dict(zip(names, given, strict=False))
    if repeated := [name for name in named if name in values]:
        raise InvalidUsageError(f"input {repeated[0]!r} is given twice")
    return {**values, **named}
