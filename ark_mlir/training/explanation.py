"""The op that made the first value of a step that is not finite, for a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..frontend import Program
from ..runtime.arrays.binding import read_sources
from ..runtime.arrays.frameworks import to_numpy

if TYPE_CHECKING:
    from ..typing import Sources

__all__ = ["explain_loss"]


def explain_loss(
    program: Program,
    bound: Sources | None,
    batches: Mapping[str, NDArray[Any]],
    states: Mapping[str, NDArray[Any]],
    state: str,
) -> str:
    """Returns the end of a message that names the op; the float64 interpreter runs the step again.

    Args:
        program: the program of the step.
        bound: the parameters of the program.
        batches: the inputs of the launch.
        states: the states before the step.
        state: the name of the state that became NaN or infinite.
    """
    from ..reference.origin import find_origin

    given = {} if bound is None else read_sources(bound)
    parameters = {name: to_numpy(given[name], name) for name in program.parameters}
    origin = find_origin(program, {**parameters, **batches}, dict(states), state)
    if origin is None:
        return "; the interpreter finds no value that is not finite"
    return f"; the first value that is not finite comes from {origin}"
