"""Storage: the memory of constants, parameters and states of one executable."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...bundle.format import ALIGNMENT
from ...errors import ArkError
from ..arrays.binding import Array, Bound, bind_array
from ..arrays.device import DeviceArray
from ..arrays.frameworks import fetch, store
from ..arrays.receiving import name_problems, receive_arrays, refuse
from .states import SharedStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Buffer, Bundle
    from ..drivers.interface import Driver, Memory

_log = logging.getLogger("ark")


class _Values(NamedTuple):
    """The buffers of an executable; the record is replaced as a whole, so that changes are atomic.

    Attributes:
        parameters: the bound parameters, by name.
        initial: the initial values of states from `bind`, by name.
        states: the memory of the states.
        version: increases whenever the address of a buffer changes.
    """

    parameters: Mapping[str, Bound]
    initial: Mapping[str, NDArray[Any]]
    states: SharedStates
    version: int


class Storage:
    """The memory that lives as long as the executable, unlike the inputs and outputs of a run."""

    def __init__(self, driver: Driver, bundle: Bundle) -> None:
        self._driver = driver
        self._manifest = bundle.manifest
        self._constants = {
            buffer.slot: bind_array(driver, _constant(bundle, buffer), buffer)
            for buffer in bundle.manifest.of_kind("constant")
        }
        states = bundle.manifest.states
        # Another program that shares a state may need the full alignment.
        self._own = SharedStates.allocate(driver, bundle.manifest.program, states, ALIGNMENT)
        self._user = object()
        self._own.join(self._user)
        self._values = _Values({}, {}, self._own, 0)
        # Names of the parameters in memory of another program.
        self._borrowed: set[str] = set()
        try:
            # New memory is zero already, and large states such as caches stay untouched.
            self._write_initial([buffer for buffer in states if buffer.init != 0], {})
        except BaseException:
            self.release()
            raise

    @property
    def version(self) -> int:
        """A number that increases whenever the address of a buffer changes."""
        return self._values.version

    @property
    def states(self) -> SharedStates:
        """The memory of the states, which may be that of another executable."""
        return self._values.states

    def bind(self, values: Mapping[str, object], strict: bool) -> None:
        """Binds parameters and initial values of states: all of `values` or, on an error, none.

        Raises InvalidUsageError if a name or an array is wrong, and DeviceError if the driver
        fails. After either error, parameters and states are unchanged.
        """
        program, manifest = self._manifest.program, self._manifest
        buffers = {buffer.name: buffer for buffer in manifest.parameters + manifest.states}
        given = [name for name in values if strict or name in buffers]
        problems = name_problems(given, buffers, self.unbound(), "parameter")
        where = self._driver.run_stream(None, ())
        arrays = receive_arrays(values, buffers.values(), problems, where)
        refuse(problems, f"bind {program!r}")
        self._driver.synchronize(where)
        made: dict[str, Bound] = {}
        try:
            initial = {
                name: self._copy(buffers[name], array)
                for name, array in arrays.items()
                if buffers[name].kind == "state"
            }
            for name, array in arrays.items():
                if name not in initial:
                    made[name] = self._bind(buffers[name], array)
            self._replace_states([buffers[name] for name in initial], initial)
        except BaseException:
            for bound in made.values():
                bound.free()
            raise
        old = self._values
        self._borrowed -= made.keys()
        self._values = old._replace(
            parameters={**old.parameters, **made},
            initial={**old.initial, **initial},
            version=old.version + 1,
        )

    def _replace_states(
        self, buffers: Iterable[Buffer], initial: Mapping[str, NDArray[Any]]
    ) -> None:
        """Sets states to initial values; after an error all have their previous values."""
        before = [(buffer, self.state(buffer)) for buffer in buffers]
        try:
            self._write_initial([buffer for buffer, _ in before], initial)
        except BaseException as error:
            for buffer, value in before:
                self._restore(buffer, value, error)
            raise

    def _restore(self, buffer: Buffer, value: NDArray[Any], cause: BaseException) -> None:
        """Restores a state's value after `cause`; adds a note to `cause` if the copy fails."""
        try:
            store(self.states.memories[buffer.name], buffer, value)
        except ArkError as error:
            if not isinstance(cause, ArkError):
                raise
            cause.notes += (f"state {buffer.name!r} may hold part of the new value: {error}",)

    def _copy(self, buffer: Buffer, array: Array) -> NDArray[Any]:
        """Returns a copy of a buffer's array on the host."""
        if isinstance(array, DeviceArray):
            return self._driver.download(array.address, array.dtype, array.shape, buffer.rank)
        return np.array(array)

    def _bind(self, buffer: Buffer, array: Array) -> Bound:
        bound = bind_array(self._driver, array, buffer)
        if bound.copied and isinstance(array, np.ndarray):
            reason = "aligned" if array.flags.c_contiguous else "contiguous"
            _log.debug(
                "%s: copied %r, which is not %s", self._manifest.program, buffer.name, reason
            )
        return bound

    @property
    def complete(self) -> bool:
        """True if every parameter is bound."""
        return len(self._values.parameters) == len(self._manifest.parameters)

    def unbound(self) -> list[str]:
        """Returns the names of the parameters that are not bound."""
        bound = self._values.parameters
        return [item.name for item in self._manifest.parameters if item.name not in bound]

    def unbound_problems(self) -> list[str]:
        """Returns a sentence for each parameter that is not bound."""
        return [f"parameter {name!r} is not bound" for name in self.unbound()]

    def bound_bytes(self, copied: bool) -> int:
        """Returns the bytes of the bound parameters that were copied, or else used in place."""
        bound = self._values.parameters
        return sum(
            buffer.bytes
            for buffer in self._manifest.parameters
            if buffer.name in bound and bound[buffer.name].copied == copied
        )

    def reset(self) -> None:
        """Sets all states to their initial values, or, on an error, none."""
        self._replace_states(self._manifest.states, self._values.initial)

    def borrow(self, lender: Storage, parameters: bool) -> bool:
        """Uses the states of another program and, with `parameters`, its parameters.

        Returns True if an address changed. Raises InvalidUsageError if the lender lacks a state, or
        has a state or a parameter with another shape or dtype; then nothing changes.
        """
        problems = self._unlike_states(lender)
        if parameters and lender.states is not lender._own:
            # Executables that share states end with the owner of the states, not with another user.
            problems.append(f"{lender.states.name!r} owns its states: share those of that program")
        borrowed = self._like(lender, problems) if parameters else {}
        refuse(problems, f"share the memory of {lender._manifest.program!r}")
        old, states = self._values, lender.states
        kept = dict(old.parameters)
        if states is old.states and not borrowed:
            return False
        if states is not old.states:
            states.join(self._user)
            # The previous lender may free the parameters that it has lent.
            kept = {name: bound for name, bound in kept.items() if name not in self._borrowed}
            self._borrowed = set()
        self._borrowed |= borrowed.keys()
        self._values = old._replace(
            parameters={**kept, **borrowed}, states=states, version=old.version + 1
        )
        if states is not old.states:
            old.states.leave(self._user)
        return True

    def _like(self, lender: Storage, problems: list[str]) -> dict[str, Bound]:
        """Returns the lender's bound parameters that this program has, too.

        Appends the parameters that differ to `problems`.
        """
        found: dict[str, Bound] = {}
        lent = {buffer.name: buffer for buffer in lender._manifest.parameters}
        for buffer in self._manifest.parameters:
            bound = lender._values.parameters.get(buffer.name)
            if bound is None:
                continue
            other = lent[buffer.name]
            if (buffer.shape, buffer.dtype) == (other.shape, other.dtype):
                found[buffer.name] = bound
            else:
                problems.append(_difference("parameter", buffer, other))
        return found

    def _unlike_states(self, lender: Storage) -> list[str]:
        lent = {buffer.name: buffer for buffer in lender._manifest.states}
        problems: list[str] = []
        for buffer in self._manifest.states:
            other = lent.get(buffer.name)
            if other is None:
                problems.append(f"it has no state {buffer.name!r}")
            elif (buffer.shape, buffer.dtype) != (other.shape, other.dtype):
                problems.append(_difference("state", buffer, other))
        return problems

    def _write_initial(
        self, buffers: Iterable[Buffer], initial: Mapping[str, NDArray[Any]]
    ) -> None:
        for buffer in buffers:
            value = initial.get(buffer.name, buffer.init)
            store(self.states.memories[buffer.name], buffer, value)

    def state(self, buffer: Buffer) -> NDArray[Any]:
        """Returns a copy of a state's present value."""
        return np.array(fetch(self.states.memories[buffer.name], buffer))

    def slots(self) -> dict[int, Bound | Memory]:
        """Returns the memory of each slot except those of a run's inputs and outputs."""
        slots: dict[int, Bound | Memory] = dict(self._constants)
        for buffer in self._manifest.parameters:
            slots[buffer.slot] = self._values.parameters[buffer.name]
        for buffer in self._manifest.states:
            slots[buffer.slot] = self.states.memories[buffer.name]
        return slots

    def close(self) -> None:
        """Marks this executable's states as closed for all borrowers; only `release` may follow.

        Borrowed states stay open.
        """
        self._own.closed = True

    def release(self) -> None:
        """Drops all buffers; may be called again, but no other method may follow.

        The memory of the states is freed when no other executable uses it.
        """
        states = self.states
        self._values = _Values({}, {}, states, self.version + 1)
        self._constants.clear()
        states.leave(self._user)


def _difference(kind: str, buffer: Buffer, other: Buffer) -> str:
    return (
        f"its {kind} {buffer.name!r} is {other.dtype} {list(other.shape)}, "
        f"not {buffer.dtype} {list(buffer.shape)}"
    )


def _constant(bundle: Bundle, buffer: Buffer) -> NDArray[Any]:
    return np.ndarray(buffer.shape, buffer.dtype.numpy, bundle.constant(buffer))
