"""The transfer of a run's arrays on cpu: the kernel uses arrays of this process in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.binding import Array, bind_array
from ..arrays.device import Results
from ..arrays.frameworks import fetch, store

if TYPE_CHECKING:
    from ...bundle import Buffer, Manifest
    from ..arrays.exchange import Slots
    from ..arrays.streams import RunStream
    from ..drivers.interface import Driver


class HostExchange:
    """See :class:`ark_mlir.runtime.arrays.exchange.Exchange`.

    Args:
        driver: the driver of the kernel.
        manifest: the manifest of the program.
        stays: copies inputs and outputs through buffers that are allocated once, as a resident
            kernel requires; otherwise every run has new outputs.
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

    def bring(self, arrays: Mapping[str, Array], results: Results, where: RunStream) -> Slots:
        """See :meth:`Exchange.bring`."""
        del where
        self._results = results
        manifest = self._manifest
        if self._kept is None:
            slots: Slots = {
                buffer.slot: bind_array(self._driver, arrays[buffer.name], buffer)
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
                slots[buffer.slot] = bind_array(self._driver, results.out[buffer.name], buffer)
        return slots

    def fetch(self) -> dict[str, Any]:
        """See :meth:`Exchange.fetch`."""
        given, slots = self._results.given, self._slots
        # The references to the caller's arrays end with the run.
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
