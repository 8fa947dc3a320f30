"""The transfer of a run's arrays to the memory of a kernel and back; each driver has its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from .binding import Array, Bound
from .device import Results

if TYPE_CHECKING:
    from ..drivers.interface import Memory
    from .streams import RunStream

Slots = dict[int, "Bound | Memory"]


class Exchange(Protocol):
    """The transfer of one executable's inputs and outputs; calls come from one thread at a time."""

    def bring(self, arrays: Mapping[str, Array], results: Results, where: RunStream) -> Slots:
        """Returns the memory of a run's inputs and outputs, by slot.

        Args:
            arrays: the checked inputs, by name.
            results: the destination of the outputs.
            where: the device and stream of the run.
        """
        ...

    def fetch(self) -> dict[str, Any]:
        """Returns the outputs of the run by name: NumPy arrays, and the arrays of `results`."""
        ...
