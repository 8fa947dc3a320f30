"""Measurement of the times of runs and of their tasks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidUsageError
from .costs import Costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Buffer
    from ..runtime import Executable
    from ..typing import Inputs


def measure(executable: Executable, inputs: Inputs, runs: int = 10) -> Costs:
    """Returns the median cost of each task over `runs` runs, after one warm-up run.

    Args:
        executable: an executable that was compiled with ``trace=True``, with bound parameters.
        inputs: arrays by name, as for :meth:`ark_mlir.Executable.run`.
        runs: the number of measured runs, at least 1.

    Raises:
        InvalidUsageError: the executable was compiled without ``trace=True``, inputs are
            missing, or `runs` is less than 1.

    Example:
        >>> with ark.compile(program, "cpu", trace=True).bind({"w": w}) as executable:
        ...     costs = ark.tuning.measure(executable, {"x": x})
    """
    if runs < 1:
        raise InvalidUsageError(f"runs must be at least 1, not {runs}")
    executable.run(inputs)
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        trace = Path(folder) / "trace.json"

        def once() -> Costs:
            executable.run(inputs, trace=trace)
            return Costs.read(trace)

        return Costs.median([once() for _ in range(runs)])


def zeros(buffers: Sequence[Buffer]) -> dict[str, NDArray[Any]]:
    """Returns an array of zeros for each buffer of an executable, by name.

    `buffers` are the ``inputs`` or ``parameters`` of the executable.

    Example:
        >>> zeros(exe.inputs)["x"].shape
        (4, 64)
    """
    return {buffer.name: np.zeros(buffer.shape, buffer.dtype.numpy) for buffer in buffers}


def measure_seconds(work: Callable[[], object]) -> float:
    """Returns the seconds of wall-clock time that a call of `work` takes.

    Example:
        >>> measure_seconds(lambda: sum(range(1000))) > 0
        True
    """
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
