"""Transfers of the arrays of runs to the memory of a kernel and back, which each driver does its
way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .binding import Array, Bound, place
from .device import Results
from .frameworks import fetch, store

if TYPE_CHECKING:
    from ...bundle import Buffer, Manifest
    from ..driver import Driver, Memory
    from .streams import Place

Slots = dict[int, "Bound | Memory"]


class Exchange(Protocol):
    """Inputs and outputs of one executable; calls come from one thread at a time."""

    def bring(self, arrays: Mapping[str, Array], results: Results, where: Place) -> Slots:
        """Returns the memory of a run's inputs and outputs, by slot.

        Args:
            arrays: the inputs by name, checked.
            results: how the outputs are to be given.
            where: the device, and the run's stream.
        """
        ...

    def fetch(self) -> dict[str, Any]:
        """The outputs of the run by name: numpy arrays, and what `results` made or was given."""
        ...


class HostExchange:
    """Buffers of this process, used where they are.

    Args:
        driver: whose kernel it is.
        manifest: the program's.
        stays: whether inputs are copied to, and outputs from, buffers that are made once, as a
            kernel that stays needs it; else outputs are new at every run.
    """

    def __init__(self, driver: Driver, manifest: Manifest, stays: bool) -> None:
        self._driver = driver
        self._manifest = manifest
        self._kept = self._allocate((*manifest.inputs, *manifest.outputs)) if stays else None
        self._slots: Slots = {}
        self._results = Results()

    def _allocate(self, buffers: tuple[Buffer, ...]) -> Slots:
        return {
            buffer.slot: self._driver.allocate(buffer.bytes, buffer.alignment) for buffer in buffers
        }

    def bring(self, arrays: Mapping[str, Array], results: Results, where: Place) -> Slots:
        """See :meth:`Exchange.bring`."""
        del where
        self._results = results
        manifest = self._manifest
        if self._kept is None:
            slots: Slots = {
                buffer.slot: place(self._driver, arrays[buffer.name], buffer)
                for buffer in manifest.inputs
            }
            slots |= self._allocate(
                tuple(buffer for buffer in manifest.outputs if buffer.name not in results.out)
            )
        else:
            for buffer in manifest.inputs:
                store(self._kept[buffer.slot], buffer, arrays[buffer.name])  # type: ignore[arg-type]
            slots = dict(self._kept)
        self._slots = slots
        for buffer in manifest.outputs:
            if buffer.name in results.out:
                slots[buffer.slot] = place(self._driver, results.out[buffer.name], buffer)
        return slots

    def fetch(self) -> dict[str, Any]:
        """See :meth:`Exchange.fetch`."""
        given, slots = self._results.given, self._slots
        # Arrays of the caller's live as long as the run, and no longer.
        self._results, self._slots = Results(), {}
        return {
            buffer.name: given[buffer.name]
            if buffer.name in given
            else self._value(slots[buffer.slot], buffer)
            for buffer in self._manifest.outputs
        }

    def _value(self, memory: Any, buffer: Buffer) -> Any:
        array = fetch(memory, buffer)
        return array if self._kept is None else np.array(array)
