"""Runs of the programs of a decoder, in the interpreter or on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from .generation import GenerativeModel

__all__ = ["CompiledRun", "InterpretedRun", "RunProgram"]


class RunProgram(Protocol):
    """Runs both programs of a decoder on one set of states."""

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """Runs the program `name` in one launch."""
        ...

    def state(self, name: str) -> NDArray[Any]:
        """Returns the current value of a state."""
        ...


class InterpretedRun:
    """Runs the programs in the interpreter."""

    def __init__(self, model: GenerativeModel) -> None:
        self.model = model
        self.states: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`RunProgram`."""
        from ..reference import run

        arrays = {**self.model.parameters_of(name), **inputs}
        program = self.model.programs[name]
        _, self.states = run(
            program, arrays, self.states, iterations=iterations, return_states=True
        )

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`RunProgram`."""
        return self.states[name]


class CompiledRun:
    """Runs the compiled programs on the device."""

    def __init__(self, model: GenerativeModel) -> None:
        # The states of an earlier sequence need no reset: they are overwritten before each read.
        self.model = model

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`RunProgram`."""
        self.model.executable(name).run(dict(inputs), iterations=iterations)

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`RunProgram`."""
        return self.model.executable("decode").states[name]
