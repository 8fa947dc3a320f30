"""The interface between an executable and a device, and the records of its methods.

A driver serves one executable. :class:`ark_mlir.runtime.cpu.driver.CpuDriver` is an example; tests
inject other drivers to provoke each failure of a launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..arrays.streams import RunStream
from .abi import STATUS_SEQUENCE_SHIFT, Abort, DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ...bundle import Bundle
    from ..arrays.exchange import Exchange


class Launch(NamedTuple):
    """The arguments of one launch.

    Attributes:
        addresses: uint64 ``[slots]``, the address of each buffer from slot 1 on; slot 0 is the
            arena, which the driver owns.
        iterations: the number of iterations, unless the program ends the launch earlier.
        timeout_ns: the longest duration of one wait, in ns.
        trace: records the start and end of each instruction of the last iteration.
        owners: objects that must live as long as a lane may use the addresses.
        run_stream: the stream of the launch, and the streams whose work comes before it.
        captured: True if the stream is being captured, so that the launch becomes part of a graph.
    """

    addresses: NDArray[np.uint64]
    iterations: int = 1
    timeout_ns: int = 10_000_000_000
    trace: bool = False
    owners: object = None
    run_stream: RunStream = RunStream()
    captured: bool = False


_NO_COUNTERS = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Stop:
    """The reason for the early end of a run, and the failed wait of the lane that ended it.

    The fields are those of the record ``ArkReport``.
    """

    abort: int = Abort.NONE
    lane: int = 0
    instruction: int = 0
    semaphore: int = 0
    seen: int = 0
    expected: int = 0


@dataclass(frozen=True)
class Fault:
    """The first data error of a run: an index that is not in ``[0, bound)``.

    Attributes:
        task: the number of the task that found the index.
        sequence: the number of the sequence to which the index belongs, or None if it belongs to
            none.
    """

    code: int = DataError.NONE
    index: int = 0
    bound: int = 0
    task: int = 0
    sequence: int | None = None

    @classmethod
    def of(cls, words: Iterable[int]) -> Fault:
        """Returns the fault in `words`, the status of a kernel.

        Example:
            >>> Fault.of([1, 9, 8, (3 << 32) | 5])
            Fault(code=1, index=9, bound=8, task=5, sequence=2)
        """
        code, index, bound, word = words
        # The upper half is the number of the sequence plus one, or zero for none.
        sequence, task = divmod(word, 1 << STATUS_SEQUENCE_SHIFT)
        return cls(code, index, bound, task, sequence - 1 if sequence > 0 else None)


class Outcome(NamedTuple):
    """The result of a launch.

    Attributes:
        codes: the return value of each lane.
        stop: the reason for an early end, if the run ended early.
        fault: the first data error, if any.
        counters: uint64 ``[S]``, the semaphores at the end.
        epoch: the epoch of the last iteration before this launch; 0 before the first iteration.
        iterations: the number of iterations that this launch completed, if nothing failed.
        trace: int64 ``[I, 2]``, begin and end of each instruction in ns; None without a trace.
    """

    codes: tuple[int, ...]
    stop: Stop = Stop()
    fault: Fault = Fault()
    counters: NDArray[np.uint64] = _NO_COUNTERS
    epoch: int = 0
    iterations: int = 0
    trace: NDArray[np.int64] | None = None

    @property
    def good(self) -> bool:
        """True if all lanes completed their work without an error."""
        return not (self.stop.abort or self.fault.code or any(self.codes))


class Memory(Protocol):
    """A block of device memory, which is freed with the object."""

    @property
    def address(self) -> int:
        """The address of the first byte, as the kernel uses it."""
        ...

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        ...

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """Fills the memory with `value`: an array of this shape, or one number for all elements."""
        ...

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Returns the contents: a view if the host can address the memory, else a copy."""
        ...

    def free(self) -> None:
        """Frees the memory, or defers this to a later time if a kernel may still use the memory.

        May be called again; no other method may follow.
        """
        ...


class Driver(Protocol):
    """A device that can run one bundle.

    Calls come from one thread at a time. An error of `launch` or `wait` zeroes the semaphores,
    and epochs begin again with one, so that the next launch can succeed. If a lane never ended, all
    later launches raise DeviceError.
    """

    def load(self, bundle: Bundle) -> None:
        """Loads the kernel; raises BundleError or UnsupportedError if it cannot run here."""
        ...

    def allocate(
        self,
        nbytes: int,
        alignment: int,
        *,
        zeroed: bool = True,
        lasting: bool = False,
        rank: int = 0,
    ) -> Memory:
        """Returns new memory; raises DeviceError if there is not enough.

        Args:
            nbytes: the size in bytes.
            alignment: the address is a multiple of this number.
            zeroed: sets every byte to zero; otherwise the contents are undefined.
            lasting: lets the memory outlive the driver: `close` does not free it, but its own
                `free` does, or the end of the last reference to it.
            rank: the rank whose lanes use the memory. The driver of several devices allocates the
                memory on the device of this rank.
        """
        ...

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """Returns the address at which a kernel can use a C-contiguous array in place, or None."""
        ...

    def run_stream(self, stream: object, values: Iterable[object]) -> RunStream:
        """Returns the device and stream of a run on `values`.

        Args:
            stream: the stream of the caller; None selects the stream by the values, or else the
                stream of the driver.
            values: the run's arguments.

        Raises InvalidUsageError if `stream` is not a stream, or the device has no streams.
        """
        ...

    def synchronize(self, run_stream: RunStream) -> None:
        """Waits for the work in the producer streams of `run_stream`."""
        ...

    def download(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], rank: int = 0
    ) -> NDArray[Any]:
        """Returns a copy on the host of an array on the device of a rank."""
        ...

    def exchange(self, stays: bool) -> Exchange:
        """Returns an object that transfers the arrays of runs to the device and back.

        `stays` selects the transfer for a resident kernel.
        """
        ...

    def captures(self, run_stream: RunStream) -> bool:
        """Returns True if the stream is being captured in a graph."""
        ...

    def recorded(self, stream: object) -> list[Outcome]:
        """Returns the outcome of the last replay of each captured launch, after the earlier work of
        `stream`."""
        ...

    def launch(self, launch: Launch) -> None:
        """Starts all lanes, or adds the launch to the graph that is being captured."""
        ...

    def wait(self) -> Outcome:
        """Waits for all lanes; on KeyboardInterrupt, ends the run and raises it again."""
        ...

    def cancel(self) -> None:
        """Ends a launch whose `wait` has not begun; does nothing if there is none.

        KeyboardInterrupt may come between `launch` and `wait`.
        """
        ...

    def make_resident(self) -> None:
        """Makes the kernel resident from the next launch on: later launches ring its doorbell.

        A driver without resident kernels launches the kernel for every run.
        """
        ...

    def make_coherent(self) -> None:
        """Prepares an access of the host to the memory of states between two runs.

        A driver whose memory is coherent only between kernels ends a resident kernel.
        """
        ...

    def end_residency(self) -> None:
        """Ends a resident kernel between two runs; raises DeviceError if a lane never ends."""
        ...

    def close(self) -> None:
        """Ends the kernel and frees all resources except lasting memory; no call may follow.

        Raises DeviceError if the kernel does not end in time. The driver then frees the resources
        of the kernel after the end of the kernel.
        """
        ...
