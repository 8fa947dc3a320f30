"""Comparison of arrays with the results of the interpreter, within its error bound per element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def assert_within(
    got: NDArray[Any], expected: NDArray[Any], bound: NDArray[Any], name: str
) -> None:
    """Asserts that no element differs by more than its bound, and that infinities and NaNs are
    equal.

    Args:
        got: the result of a kernel.
        expected: the result of the interpreter, floats as float64, or as fp32 to save memory.
        bound: the largest allowed error of each element.
        name: the name of the array in the message.
    """
    assert got.shape == expected.shape
    with np.errstate(all="ignore"):
        wide: NDArray[Any] = got.astype(np.float64) if expected.dtype.kind == "f" else got
        same = (wide == expected) | ((wide != wide) & (expected != expected))
        good = same | (np.abs(wide.astype(np.float64) - expected) <= bound) | np.isposinf(bound)
    indices = np.argwhere(~good)
    assert good.all(), (
        "\n".join(
            f"{name}{index.tolist()}: {wide[tuple(index)]!r}, expected {expected[tuple(index)]!r} "
            f"within {bound[tuple(index)]:.3g}"
            for index in indices[:5]
        )
        + f"\n{len(indices)} of {good.size} elements"
    )
