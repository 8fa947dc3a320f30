"""Measurement of the times of runs and of their tasks."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class RunTimes:
    """The times of one iteration over several runs, in seconds.

    Attributes:
        least: the time in the fastest run.
        median: the median of the times in all runs.
        p90: the 90th percentile: at most a tenth of the runs are slower.
        most: the time in the slowest run.
        predicted: the compiler's prediction; 0 if the compiler predicted no times.

    Example:
        >>> measure_runs(exe, {"x": x}, runs=2).predicted * 1e9 == exe.report().predicted_ns
        True
    """

    least: float
    median: float
    p90: float
    most: float
    predicted: float

    @classmethod
    def summarize(cls, seconds: Sequence[float], predicted: float = 0) -> RunTimes:
        """Returns the statistics of `seconds`, those of an iteration in each run.

        `seconds` has at least one element. `predicted` is the prediction of an iteration.

        Example:
            >>> RunTimes.summarize([3.0, 1.0, 2.0]).median
            2.0
        """
        ordered = sorted(seconds)
        return cls(
            least=ordered[0],
            median=statistics.median(ordered),
            p90=ordered[len(ordered) * 9 // 10],
            most=ordered[-1],
            predicted=predicted,
        )


def measure_runs(
    executable: Executable,
    inputs: Inputs,
    *,
    runs: int = 20,
    warmup: int = 3,
    iterations: int = 1,
    resident: bool = False,
) -> RunTimes:
    """Measures the wall-clock time of runs, with the time that the host spends on each run.

    Args:
        executable: an executable with bound parameters.
        inputs: arrays by name, as for :meth:`ark_mlir.Executable.run`.
        runs: the number of measured runs, at least 1.
        warmup: the number of runs before the measurement, at least 0.
        iterations: the number of iterations of each run, at least 1.
        resident: keeps the kernel on the device between runs, so that a run has no launch.

    Raises:
        InvalidUsageError: a parameter is not bound, inputs are missing, or `runs`, `warmup` or
            `iterations` is too small.

    Example:
        >>> times = ark.tuning.measure_runs(exe, {"x": x}, runs=5, iterations=2)
        >>> times.least <= times.median <= times.most
        True
    """
    for name, value in (("runs", runs), ("iterations", iterations)):
        if value < 1:
            raise InvalidUsageError(f"{name} must be at least 1, not {value}")
    if warmup < 0:
        raise InvalidUsageError(f"warmup must be at least 0, not {warmup}")

    def measure_all(run: Callable[..., object]) -> list[float]:
        def once() -> None:
            run(inputs, iterations=iterations)

        for _ in range(warmup):
            once()
        return [measure_seconds(once) / iterations for _ in range(runs)]

    if resident:
        with executable.resident() as kept:
            seconds = measure_all(kept.run)
    else:
        seconds = measure_all(executable.run)
    return RunTimes.summarize(seconds, executable.report().predicted_ns / 1e9)


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
