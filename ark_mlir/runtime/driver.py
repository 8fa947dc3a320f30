"""The interface between an executable and a device, and the records that pass through it.

A driver serves one executable. :class:`ark_mlir.runtime.cpu.driver.CpuDriver` is one; tests inject
others, so that each failure on the launch path can be made to happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .abi import Abort, DataError
from .arrays.streams import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..bundle import Bundle
    from .arrays.exchange import Exchange


class Launch(NamedTuple):
    """One launch.

    Attributes:
        addresses: address of each slot's buffer from slot 1 on, u64 ``[slots]``; the arena is
            the driver's.
        iterations: how often the program runs, unless it ends the launch earlier.
        timeout_ns: how long one wait may last.
        trace: whether to record when each instruction ran, in the last iteration.
        owners: what must live as long as a lane may use the addresses.
        place: the stream that it goes to, and those that it comes after.
        captured: whether the stream is being captured, so that it runs when the graph does.
    """

    addresses: NDArray[np.uint64]
    iterations: int = 1
    timeout_ns: int = 10_000_000_000
    trace: bool = False
    owners: object = None
    place: Place = Place()
    captured: bool = False


_NO_COUNTERS = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Stop:
    """The reason for the early end of a run, and the observation of the lane that gave up first;
    the record ArkReport."""

    abort: int = Abort.NONE
    lane: int = 0
    instruction: int = 0
    semaphore: int = 0
    seen: int = 0
    expected: int = 0


@dataclass(frozen=True)
class Fault:
    """The first data error of a run: an index that is not in [0, bound), and whose task."""

    code: int = DataError.NONE
    index: int = 0
    bound: int = 0
    task: int = 0


class Outcome(NamedTuple):
    """The state after a launch.

    Attributes:
        codes: return value of each lane.
        stop: why it ended early, if it did.
        fault: the first data error, if any.
        counters: the semaphores at the end, ``[S]``.
        epoch: iterations that had completed before this launch.
        iterations: how many this one completed, where nothing went wrong.
        trace: begin and end of each instruction in ns, ``[I, 2]``, where asked for.
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
        """Returns True if every lane did all its work on good data."""
        return not (self.stop.abort or self.fault.code or any(self.codes))


class Memory(Protocol):
    """Device memory; lives as long as the object."""

    @property
    def address(self) -> int:
        """The address that the kernel gets."""
        ...

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        ...

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        """Sets all of it to `value`: an array of that shape, or one number for all elements."""
        ...

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Returns the contents; the memory itself if the host can address it, else a copy."""
        ...

    def free(self) -> None:
        """Frees the memory now, if its owner can; may be called again, and no other method after
        it."""
        ...


class Driver(Protocol):
    """A device that can run one bundle.

    Calls come from one thread at a time. After an error of `launch` or `wait` the driver is
    as new: semaphores zero, epoch 0; or it raises DeviceError for good, if a lane never ended.
    """

    def load(self, bundle: Bundle) -> None:
        """Makes the kernel ready; raises BundleError or UnsupportedError if it cannot run here."""
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
        """New memory; raises DeviceError when there is not enough.

        Args:
            nbytes: the size in bytes.
            alignment: the address is a multiple of this.
            zeroed: whether every byte is zero; else the memory may hold anything.
            lasting: whether the memory outlives the driver: `close` leaves it alone, and it is
                given back by its own `free`, or when nothing refers to it.
            rank: the rank whose lanes use the memory, if ranks have devices of their own.
        """
        ...

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """The address under which a kernel can use a C-contiguous array in place, if any."""
        ...

    def place(self, stream: object, values: Iterable[object]) -> Place:
        """Returns the device and stream of a run on `values`.

        Args:
            stream: what the caller says; None leaves it to the values, else to the driver.
            values: the run's arguments.

        Raises InvalidUsageError where `stream` is no stream, or the device has none.
        """
        ...

    def settle(self, place: Place) -> None:
        """Waits for what the producers of a place were given."""
        ...

    def download(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """A copy of an array of the device."""
        ...

    def exchange(self, stays: bool) -> Exchange:
        """Returns the transfer of arrays of runs to the device and back; `stays` as for a resident
        kernel."""
        ...

    def captures(self, place: Place) -> bool:
        """Returns True if the place's stream is being captured in a graph."""
        ...

    def recorded(self, stream: object) -> list[Outcome]:
        """Returns the outcome of each captured launch's last replay, in the order of a stream."""
        ...

    def launch(self, launch: Launch) -> None:
        """Starts all lanes, or makes them part of the graph that is being captured."""
        ...

    def wait(self) -> Outcome:
        """Waits for all lanes; on KeyboardInterrupt ends the run before it passes it on."""
        ...

    def hold(self) -> None:
        """Lets the kernel of the next launch stay: launches after it only ring its doorbell.

        A driver that cannot do so launches again for every run.
        """
        ...

    def release(self) -> None:
        """Ends a kernel that stays, between two runs; raises DeviceError if a lane never ends."""
        ...

    def close(self) -> None:
        """Ends what runs, and gives everything back but lasting memory; no call may follow.

        Raises DeviceError where a kernel does not end in time. What it may use is then kept until
        it has ended.
        """
        ...
