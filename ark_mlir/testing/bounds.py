"""Comparison with the interpreter, within its bound per element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def assert_within(
    got: NDArray[Any], expected: NDArray[Any], bound: NDArray[Any], name: str
) -> None:
    """No element is off by more than its bound; infinities and NaN are as they must be.

    Args:
        got: what a kernel gave.
        expected: what the interpreter gave, floats as float64.
        bound: the largest error of each element.
        name: what to call the array in the message.
    """
    assert got.shape == expected.shape
    wide: NDArray[Any] = got.astype(np.float64) if expected.dtype == np.float64 else got
    with np.errstate(all="ignore"):
        same = (wide == expected) | ((wide != wide) & (expected != expected))
        good = same | (np.abs(wide.astype(np.float64) - expected) <= bound) | np.isposinf(bound)
    places = np.argwhere(~good)
    assert good.all(), (
        "\n".join(
            f"{name}{place.tolist()}: {wide[tuple(place)]!r}, expected {expected[tuple(place)]!r} "
            f"within {bound[tuple(place)]:.3g}"
            for place in places[:5]
        )
        + f"\n{len(places)} of {good.size} elements"
    )


def noise_of_rounding(program: Any, inputs: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    """What an output of many layers may be off by, where a bound of every step says nothing.

    Worst cases multiply from layer to layer until they are infinite. This is what rounding every
    op's result does to the output, its largest over all elements, times sixteen for what is
    rounded within the ops.

    Args:
        program: the program, at the graph level.
        inputs: arrays of inputs, parameters and scalars by name.
        name: the output.
    """
    from .. import reference

    exact = reference.run(program, inputs)[name]
    rounded = reference.run(program, inputs, round_to_dtype=True)[name]
    return np.full(exact.shape, 16 * np.abs(exact - rounded).max())
