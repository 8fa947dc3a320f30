"""One run: checks, buffers, launch, and what went wrong. Executable and Resident share it."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, SupportsIndex

from .. import knobs
from ..bundle import Buffer, Bundle
from ..errors import InvalidUsageError
from . import host
from .binding import Bound, check_arrays, name_problems, refuse
from .driver import Launch, Memory
from .drivers import DriverTable, make_driver
from .hang import failure
from .report import predicted_ns
from .storage import Storage
from .trace import write_trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A wait lasts as long as the work that it waits for, and on a busy machine several times that.
_PATIENCE = 50
_FLOPS_PER_NS = 20
_BYTES_PER_NS = 5
_MAX_TIMEOUT_NS = 1 << 62
_MAX_ITERATIONS = 1 << 48

Inputs = Mapping[str, object]
Path = str | os.PathLike[str]


class Runner:
    """A program on a device: its driver, its storage, and the lock that makes runs take turns."""

    def __init__(self, bundle: Bundle, drivers: DriverTable) -> None:
        self.bundle = bundle
        self.name = bundle.manifest.program
        # The one that runs go through while the program is resident.
        self.resident: object = None
        self._lock = threading.Lock()
        self._closed = False
        self._lender: Runner | None = None
        self.driver = make_driver(bundle, drivers)
        try:
            self.driver.load(bundle)
            self.storage = Storage(self.driver, bundle)
        except BaseException:
            self.driver.close()
            raise

    @contextmanager
    def opened(self, on_behalf: object = None) -> Generator[None]:
        """Holds the lock; raises InvalidUsageError when closed, or resident with another."""
        with self._lock:
            if self._closed:
                raise InvalidUsageError(f"the executable {self.name!r} is closed")
            if self._lender is not None and self._lender._closed:
                raise InvalidUsageError(
                    f"the executable {self._lender.name!r}, whose states {self.name!r} shares, "
                    "is closed"
                )
            if self.resident is not on_behalf:
                state = "is resident: call run on what resident() gave"
                if on_behalf is not None:
                    state = "is not resident any more"
                raise InvalidUsageError(f"the executable {self.name!r} {state}")
            yield

    def stay(self, resident: object) -> None:
        """Keeps the kernel on the device; runs go through `resident`. The lock must be held."""
        self.driver.hold()
        self.resident = resident

    def leave(self) -> None:
        """Ends what `stay` began; raises DeviceError if a lane never ends."""
        with self._lock:
            self.resident = None
            if not self._closed:
                self.driver.release()

    def close(self) -> None:
        """Gives everything back; may be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self.driver.close()
                self.storage.clear()

    def borrow(self, lender: Runner) -> None:
        """Works on the states of another executable from now on."""
        if self.bundle.manifest.target.backend != lender.bundle.manifest.target.backend:
            raise InvalidUsageError(f"{self.name!r} and {lender.name!r} are for different devices")
        self.storage.borrow_states(lender.storage)
        self._lender = lender

    def check(
        self, values: Inputs, iterations: int = 1, trace: object = None
    ) -> dict[str, NDArray[Any]]:
        """The arrays of a run's inputs; raises one InvalidUsageError for all that is wrong."""
        inputs = self.bundle.manifest.inputs
        names = [buffer.name for buffer in inputs]
        problems = name_problems(values, names, names, "input") + self.storage.unbound_problems()
        if not _is_count(iterations):
            problems.append(f"iterations is {iterations!r}; it must be a positive integer")
        if trace is not None and not self.bundle.manifest.traced:
            problems.append("a trace needs a program that was compiled with trace=True")
        arrays = check_arrays(values, inputs, problems)
        refuse(problems, f"run {self.name!r}")
        return arrays

    def allocate(self, buffers: tuple[Buffer, ...]) -> dict[int, Memory]:
        """Memory for buffers, by slot."""
        return {
            buffer.slot: self.driver.allocate(buffer.bytes, buffer.alignment) for buffer in buffers
        }

    def execute(
        self, buffers: Mapping[int, Bound | Memory], iterations: int = 1, trace: Path | None = None
    ) -> None:
        """Runs on `buffers` (inputs and outputs by slot); raises what `failure` makes of it."""
        slots = self.storage.slots(buffers)
        launch = Launch(
            tuple(slot.address for slot in slots.values()),
            iterations,
            self._timeout_ns(),
            trace is not None,
            owners=slots,
        )
        self.driver.launch(launch)
        outcome = self.driver.wait()
        if not outcome.good:
            raise failure(self.bundle, outcome, launch.timeout_ns)
        if trace is not None and outcome.trace is not None:
            write_trace(trace, self.bundle, outcome.trace, outcome.iterations)

    def _timeout_ns(self) -> int:
        """How long one wait may last.

        What the user sets holds. Otherwise the default, and for long programs many times what
        the whole program should take on the cores that there are: a loaded machine is slow,
        and slow is not hung.
        """
        seconds = knobs.TIMEOUT.get()
        if not knobs.TIMEOUT.is_set:
            seconds = max(seconds, _PATIENCE * self._expected_ns() / 1e9)
        return int(min(seconds * 1e9, _MAX_TIMEOUT_NS))

    def _expected_ns(self) -> float:
        crowding = max(1.0, len(self.bundle.tables.lanes) / host.cores())
        if predicted := predicted_ns(self.bundle):
            return predicted * crowding
        # No scheduler predicted it: all work, one task after the other, at a modest pace.
        return sum(
            task.flops / _FLOPS_PER_NS + task.bytes / _BYTES_PER_NS
            for task in self.bundle.manifest.tasks
        )


def _is_count(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return False
    return 1 <= operator.index(value) <= _MAX_ITERATIONS
