"""Runner: locks, storage, launch and errors of a run; Executable and Resident share it."""

from __future__ import annotations

import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..bundle import Buffer, Bundle
from ..errors import ArkError, InvalidUsageError
from .arguments import ArgumentCheck
from .arrays.binding import Array
from .arrays.device import DeviceArray, Results
from .arrays.frameworks import framework
from .arrays.overlaps import Overlaps
from .diagnosis.hang import failure
from .diagnosis.timeouts import WaitTimeout
from .diagnosis.trace import write_trace
from .drivers.interface import Launch
from .drivers.table import DriverTable, make_driver
from .memory.storage import Storage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .arrays.exchange import Exchange, Slots
    from .arrays.streams import RunStream
    from .drivers.interface import Driver, Outcome
    from .memory.states import SharedStates

_log = logging.getLogger("ark")

T = TypeVar("T")
Inputs = Mapping[str, object]
Path = str | os.PathLike[str]


class Runner:
    """A program on a device: its driver and its storage.

    All methods except `peek` hold the lock of the program's states (:class:`SharedStates`), so
    that calls of programs that share states exclude each other. A runner that was not closed frees
    its resources when it is garbage-collected or when the process ends.
    """

    def __init__(self, bundle: Bundle, drivers: DriverTable | None) -> None:
        self.bundle = bundle
        self.name = bundle.manifest.program
        # The object whose `run` is valid while the program is resident.
        self.resident: object = None
        # Held to read states during a run, and to free the memory of states.
        self._memory_lock = threading.Lock()
        self._closed = False
        self._lender: Runner | None = None
        self._process = os.getpid()
        self.timeout = WaitTimeout(bundle)
        arguments = bundle.manifest.inputs + bundle.manifest.outputs
        self._rank_of = {buffer.name: buffer.rank for buffer in arguments}
        # Version of the storage, addresses by slot, and the owners of the addresses.
        self._fixed: tuple[int, NDArray[np.uint64], object] | None = None
        self._overlaps: Overlaps | None = None
        self.driver = make_driver(bundle, drivers)
        with ExitStack() as failed:
            failed.callback(self.driver.close)
            self.driver.load(bundle)
            self.storage = Storage(self.driver, bundle)
            failed.callback(self.storage.release)
            self._arguments = ArgumentCheck(bundle, self.storage, self.driver)
            self.exchange = self.driver.exchange(stays=False)
            failed.pop_all()
        self._drop = weakref.finalize(self, _close_all, self.driver, self.storage)
        # `_end_all` needs the runner itself, and not only its driver and storage: the runner can
        # tell whether a run is in progress.
        self._drop.atexit = False
        _runners.add(self)

    @property
    def closed(self) -> bool:
        """True if the runner was closed."""
        return not self._drop.alive

    def call_open(self, work: Callable[[], T], on_behalf: object = None) -> T:
        """Returns `work()`, called with the lock held.

        Raises InvalidUsageError if the runner is closed or is resident with an object other than
        `on_behalf`, or if this thread already has the lock.
        """

        def checked() -> T:
            self._refuse(on_behalf)
            return work()

        return self._call_locked(checked)

    def access_states(self, work: Callable[[], T], on_behalf: object = None) -> T:
        """Returns `work()`, which reads or writes states; see :meth:`call_open`."""

        def coherent() -> T:
            self.driver.make_coherent()
            return work()

        return self.call_open(coherent, on_behalf)

    # No context manager: Ctrl-C right before the return of its `__enter__`, which is Python code,
    # would leave the lock acquired.
    def _call_locked(self, work: Callable[[], T]) -> T:
        """Returns `work()`, called with the lock of the states held.

        Raises InvalidUsageError if this thread already has the lock.
        """
        while True:
            states = self.storage.states
            thread = threading.get_ident()
            if states.holder == thread:
                states.refuse_holder(self.name)
            with states.lock:
                # `share` may have replaced the states while this thread waited for the lock.
                if states is self.storage.states:
                    try:
                        states.holder = thread
                        return work()
                    finally:
                        states.holder = 0

    def _refuse(self, on_behalf: object) -> None:
        self._refuse_closed()
        if self.resident is not on_behalf:
            state = "is resident: call run on the result of resident()"
            if on_behalf is not None:
                state = "is no longer resident"
            raise InvalidUsageError(f"the executable {self.name!r} {state}")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InvalidUsageError(f"the executable {self.name!r} is closed")
        states = self.storage.states
        if states.closed:
            raise InvalidUsageError(
                f"the executable {states.name!r}, whose states {self.name!r} shares, is closed"
            )
        if states.interrupted:
            raise InvalidUsageError(
                f"another thread was in a call of the executable {self.name!r}, or of one that "
                "shares its states, when this process was forked: load or compile it again"
            )

    def stay(self, resident: object) -> None:
        """Keeps the kernel on the device; only `resident` may run it. The lock must be held."""
        self.driver.make_resident()
        self.resident = resident

    def leave(self) -> None:
        """Ends the residency that `stay` began; raises DeviceError if a lane never ends."""
        self._call_locked(self.leave_now)

    def leave_now(self) -> None:
        """Ends the residency of the kernel, if it is resident. The lock must be held.

        Raises DeviceError if a lane never ends.
        """
        if self.resident is not None:
            self.resident = None
            if self._drop.alive:
                self.driver.end_residency()

    def close(self) -> None:
        """Waits for a current run and frees all resources; may be called again.

        Raises DeviceError as :meth:`Driver.close` does; the runner is closed even then.
        """

        def end() -> None:
            with self._memory_lock:
                self.end_now()

        self._call_locked(end)

    def end_now(self) -> None:
        """Frees all resources; may be called again. The lock must be held.

        Raises DeviceError as :meth:`Driver.close` does; the runner is closed even then.
        """
        if self._drop.alive:
            self._closed = True
            self._fixed = self._lender = None
            self.storage.close()
            self._drop()

    def end_with_process(self, step: Callable[[Runner], None]) -> None:
        """Calls a step of :func:`_end_all`, and logs its error.

        Does nothing while a daemon thread runs the program, since the end of the process ends that
        run. Does nothing in a fork, since the parent still uses the device.
        """
        lock = self.storage.states.lock
        if os.getpid() == self._process and lock.acquire(blocking=False):
            try:
                step(self)
            except ArkError as error:
                _log.warning("%s: not all resources were freed: %s", self.name, error)
            finally:
                lock.release()

    def renew_locks(self) -> None:
        """Replaces locks in a forked child that threads of the parent may hold."""
        self._memory_lock = threading.Lock()
        self.storage.states.renew_lock()

    def peek(self, buffer: Buffer) -> NDArray[Any]:
        """Returns a copy of a state's value, also during a run."""
        with self._memory_lock:
            self._refuse_closed()
            return self.storage.state(buffer)

    def bind(self, values: Mapping[str, object], strict: bool) -> None:
        """See :meth:`Storage.bind`. The lock must be held."""
        self.storage.bind(values, strict)
        # The cached owners keep the previous parameters alive.
        self._fixed = self._overlaps = None

    def share(self, lender: Runner, parameters: bool) -> None:
        """Replaces the states of this program by those of another executable.

        Args:
            lender: the runner of the other executable.
            parameters: True also replaces the parameters that both programs have.

        Raises InvalidUsageError if a state or parameter of the lender has another shape or dtype,
        if one of the two executables is closed, if this executable is resident, or if the two
        executables are for different devices.
        """
        while True:
            present = self.storage.states, lender.storage.states
            work: Callable[[], bool] = functools.partial(
                self._share_present, present, lender, parameters
            )
            # The lock of the lowest number is the first.
            for states in sorted(set(present), key=lambda states: states.number, reverse=True):
                work = functools.partial(states.call_locked, self.name, work)
            if work():
                return

    def _share_present(
        self, present: tuple[SharedStates, SharedStates], lender: Runner, parameters: bool
    ) -> bool:
        """Shares the states; returns False if another call has replaced the states `present`."""
        if present != (self.storage.states, lender.storage.states):
            return False
        self._share(lender, parameters)
        return True

    def _share(self, lender: Runner, parameters: bool) -> None:
        for each in (lender, self):
            each._refuse_closed()
        if self.resident is not None:
            raise InvalidUsageError(f"the executable {self.name!r} is resident")
        if self.bundle.manifest.target.backend != lender.bundle.manifest.target.backend:
            raise InvalidUsageError(f"{self.name!r} and {lender.name!r} are for different devices")
        with self._memory_lock:
            if lender is not self and self.storage.borrow(lender.storage, parameters):
                # Copies of the states use the context of the lender's device, and the lender's
                # driver frees the parameters.
                self._lender = lender
                self._fixed = self._overlaps = None

    def run(
        self,
        exchange: Exchange,
        values: Inputs,
        iterations: int = 1,
        trace: Path | None = None,
        stream: object = None,
        out: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Runs the program once and returns its outputs. The lock must be held.

        Args:
            exchange: transfers the inputs and outputs.
            values: the inputs by name.
            iterations, trace, stream, out: arguments of :meth:`Executable.run`.

        Raises the errors of :meth:`Executable.run`.
        """
        run_stream = self.driver.run_stream(stream, values.values())
        captured = self.driver.captures(run_stream)
        arrays, written = self._arguments.receive(
            values, iterations, trace, run_stream, out or {}, captured
        )
        results = Results(written, out, self._first_on_device(values, arrays))
        if captured:
            self._arguments.refuse_host(arrays, results)
        slots = exchange.bring(arrays, results, run_stream)
        if written:
            if self._overlaps is None:
                self._overlaps = Overlaps(self.bundle.manifest, self.storage.slots())
            self._overlaps.refuse(slots, written)
        self._execute(slots, iterations, trace, run_stream, captured)
        outputs = exchange.fetch()
        new = [name for name, value in outputs.items() if _is_new(value) and name not in written]
        if new:
            self._wrap(outputs, new, values)
        return outputs

    def _first_on_device(self, values: Inputs, arrays: Mapping[str, Array]) -> dict[int, object]:
        """Returns the first input of each rank that lies on its device."""
        found: dict[int, object] = {}
        for name, array in arrays.items():
            if isinstance(array, DeviceArray):
                found.setdefault(self._rank_of[name], values[name])
        return found

    def _wrap(self, outputs: dict[str, Any], new: Sequence[str], values: Inputs) -> None:
        """Converts new outputs to the framework of the inputs of their rank.

        The inputs of all ranks determine the framework for a rank without inputs.
        """
        by_rank: dict[int, list[object]] = {}
        for name, value in values.items():
            by_rank.setdefault(self._rank_of[name], []).append(value)
        everyone = list(values.values())
        wraps = {
            rank: framework(by_rank.get(rank, everyone))
            for rank in {self._rank_of[name] for name in new}
        }
        for name in new:
            outputs[name] = wraps[self._rank_of[name]](outputs[name])

    def _execute(
        self,
        slots: Slots,
        iterations: int,
        trace: Path | None,
        run_stream: RunStream,
        captured: bool,
    ) -> None:
        """Launches the kernel on `slots` (inputs and outputs), and raises the error of the run."""
        addresses, owners = self._addresses()
        for slot, bound in slots.items():
            addresses[slot - 1] = bound.address
        launch = Launch(
            addresses,
            iterations,
            self.timeout.nanoseconds(),
            trace is not None,
            owners=(owners, slots),
            run_stream=run_stream,
            captured=captured,
        )
        try:
            self.driver.launch(launch)
            if captured:
                return
            outcome = self.driver.wait()
        except BaseException:
            self.driver.cancel()
            raise
        if not outcome.good:
            raise self._failure(outcome, launch.timeout_ns)
        if trace is not None and outcome.trace is not None:
            write_trace(trace, self.bundle, outcome.trace, outcome.iterations)

    def _addresses(self) -> tuple[NDArray[np.uint64], object]:
        """Returns the addresses of the buffers by slot, and the owners of their memory.

        The addresses of inputs and outputs are set by each run.
        """
        if self._fixed is None or self._fixed[0] != self.storage.version:
            slots = self.storage.slots()
            addresses = np.zeros(len(self.bundle.manifest.buffers), np.uint64)
            for slot, bound in slots.items():
                addresses[slot - 1] = bound.address
            self._fixed = self.storage.version, addresses, slots
        _, addresses, owners = self._fixed
        return np.array(addresses), owners

    def recheck(self, stream: object) -> None:
        """Raises the error of the last replay of each captured run. The lock must be held."""
        for outcome in self.driver.recorded(stream):
            if not outcome.good:
                raise self._failure(outcome, self.timeout.nanoseconds())

    def _failure(self, outcome: Outcome, timeout_ns: int) -> ArkError:
        """Returns the error of a run that failed."""
        return failure(self.bundle, outcome, timeout_ns)


_runners: weakref.WeakSet[Runner] = weakref.WeakSet()


def _close_all(driver: Driver, storage: Storage) -> None:
    """Ends the kernel of a program, and frees its resources."""
    try:
        driver.close()
    finally:
        storage.release()


def _end_all(runners: Iterable[Runner]) -> None:
    """Closes all runners at the end of the process.

    Resident kernels of all runners end first: a call that frees memory of a GPU waits for all
    kernels.
    """
    for step in (Runner.leave_now, Runner.end_now):
        for runner in list(runners):
            runner.end_with_process(step)


# A finalizer and not `atexit`: functions of `atexit` may run after the finalizers of a driver's
# handles, which `_end_all` needs. An attribute of the module lives as long as the process.
weakref.finalize(_end_all, _end_all, _runners)


def _renew_locks() -> None:
    """Renews the locks of all runners in a forked child, which has only the forking thread."""
    for runner in list(_runners):
        runner.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _is_new(value: object) -> bool:
    """Returns True if an output is a new array on the host, which must be converted to the
    caller's framework."""
    return isinstance(value, np.ndarray)
