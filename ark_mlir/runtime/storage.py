"""The buffers of one executable: constants, parameters and states, and where each lies."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundle.format import ALIGNMENT
from .arrays import fetch, store
from .binding import Array, Bound, check_arrays, name_problems, place, refuse
from .device_arrays import DeviceArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Buffer, Bundle
    from .driver import Driver, Memory

_log = logging.getLogger("ark")


class Storage:
    """What lives as long as the executable, as opposed to what belongs to one run."""

    def __init__(self, driver: Driver, bundle: Bundle) -> None:
        self._driver = driver
        self._manifest = bundle.manifest
        # Grows when another address serves as one of its buffers.
        self.version = 0
        self._parameters: dict[str, Bound] = {}
        self._initial: dict[str, NDArray[Any]] = {}
        self._constants = {
            buffer.slot: place(driver, _constant(bundle, buffer), buffer)
            for buffer in bundle.manifest.of_kind("constant")
        }
        self._states: dict[str, Memory] = {}
        for buffer in bundle.manifest.states:
            # Another program that shares it may need the full alignment.
            self._states[buffer.name] = driver.allocate(buffer.bytes, ALIGNMENT)
            # Fresh memory is zero already, and a large cache need not be touched.
            if buffer.init != 0:
                self._reset_state(buffer)

    def bind(self, values: Mapping[str, object], strict: bool) -> None:
        """Binds parameters and initial values of states: all of `values` or, on an error, none."""
        program, manifest = self._manifest.program, self._manifest
        buffers = {buffer.name: buffer for buffer in manifest.parameters + manifest.states}
        given = [name for name in values if strict or name in buffers]
        problems = name_problems(given, buffers, self.unbound(), "parameter")
        where = self._driver.place(None, ())
        arrays = check_arrays(values, buffers.values(), problems, where)
        refuse(problems, f"bind {program!r}")
        self._driver.settle(where)
        for name, array in arrays.items():
            buffer = buffers[name]
            if buffer.kind == "state":
                self._initial[name] = self._copy(array)
                self._reset_state(buffer)
            else:
                self._bind(buffer, array)
        self.version += 1

    def _copy(self, array: Array) -> NDArray[Any]:
        """An array's present value, which stays when the array changes."""
        if isinstance(array, DeviceArray):
            return self._driver.download(array.address, array.dtype, array.shape)
        return np.array(array)

    def _bind(self, buffer: Buffer, array: Array) -> None:
        bound = self._parameters[buffer.name] = place(self._driver, array, buffer)
        if bound.copied and isinstance(array, np.ndarray):
            reason = "aligned" if array.flags.c_contiguous else "contiguous"
            _log.debug(
                "%s: copied %r, which is not %s", self._manifest.program, buffer.name, reason
            )

    @property
    def complete(self) -> bool:
        """Whether every parameter has an array."""
        return len(self._parameters) == len(self._manifest.parameters)

    def unbound(self) -> list[str]:
        """Names of the parameters that have no array yet."""
        return [
            item.name for item in self._manifest.parameters if item.name not in self._parameters
        ]

    def unbound_problems(self) -> list[str]:
        """One sentence for each of them."""
        return [f"parameter {name!r} is not bound" for name in self.unbound()]

    def bound_bytes(self, copied: bool) -> int:
        """Bytes of the parameters that were copied, or that were not."""
        return sum(
            buffer.bytes
            for buffer in self._manifest.parameters
            if buffer.name in self._parameters and self._parameters[buffer.name].copied == copied
        )

    def reset(self) -> None:
        """Gives all states their initial values."""
        for buffer in self._manifest.states:
            self._reset_state(buffer)

    def borrow_states(self, lender: Storage) -> None:
        """Uses the memory of another program's states: of all of them or, on an error, none."""
        theirs = {buffer.name: buffer for buffer in lender._manifest.states}
        problems: list[str] = []
        for mine in self._manifest.states:
            other = theirs.get(mine.name)
            if other is None:
                problems.append(f"it has no state {mine.name!r}")
            elif (mine.shape, mine.dtype) != (other.shape, other.dtype):
                problems.append(
                    f"its state {mine.name!r} is {other.dtype} {list(other.shape)}, "
                    f"not {mine.dtype} {list(mine.shape)}"
                )
        refuse(problems, f"share the states of {lender._manifest.program!r}")
        self._states = {name: lender._states[name] for name in self._states}
        self.version += 1

    def _reset_state(self, buffer: Buffer) -> None:
        initial = self._initial.get(buffer.name)
        store(self._states[buffer.name], buffer, buffer.init if initial is None else initial)

    def state(self, buffer: Buffer) -> NDArray[Any]:
        """A copy of a state's present value."""
        return np.array(fetch(self._states[buffer.name], buffer))

    def slots(self) -> dict[int, Bound | Memory]:
        """What serves as the buffer of each slot that is not of a run."""
        slots: dict[int, Bound | Memory] = dict(self._constants)
        for buffer in self._manifest.parameters:
            slots[buffer.slot] = self._parameters[buffer.name]
        for buffer in self._manifest.states:
            slots[buffer.slot] = self._states[buffer.name]
        return slots

    def clear(self) -> None:
        """Lets go of everything; no call may follow."""
        self._parameters.clear()
        self._states.clear()
        self._constants.clear()


def _constant(bundle: Bundle, buffer: Buffer) -> NDArray[Any]:
    return np.ndarray(buffer.shape, buffer.dtype.numpy, bundle.constant(buffer))
