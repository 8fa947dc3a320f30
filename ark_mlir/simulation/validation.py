"""Predictions of exchanges beside the times that were measured on a topology's machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dtypes import bf16
from .simulate import simulate
from .topology import Measurement, Topology

if TYPE_CHECKING:
    from ..bundle import Bundle

_TARGET = "cuda:sm_90a"
# The lengths of the two chains, whose difference is the time of one further exchange.
_SHORT, _LONG = 1, 3


@dataclass(frozen=True)
class Comparison:
    """A measured time and its prediction.

    Attributes:
        measurement: the exchange and its measured time.
        simulated_us: the predicted time in µs.

    Example:
        >>> print(Comparison(Measurement("all_reduce", 2, 2048, us=1.0), simulated_us=0.9))
        all_reduce of 2,048 bytes, 2 ranks: measured 1 µs, simulated 0.9 µs, error -10 %
    """

    measurement: Measurement
    simulated_us: float

    @property
    def error(self) -> float:
        """Returns the relative error of the prediction, negative if it is too fast."""
        return self.simulated_us / self.measurement.us - 1

    def __str__(self) -> str:
        at = self.measurement
        return (
            f"{at.exchange} of {at.nbytes:,} bytes, {at.ranks} ranks: measured {at.us:g} µs, "
            f"simulated {self.simulated_us:.4g} µs, error {100 * self.error:+.0f} %"
        )


def validate(
    topology: Topology | str | os.PathLike[str],
    report: Callable[[Comparison], None] | None = None,
) -> list[Comparison]:
    """Predicts the exchanges that were measured on a machine, and returns all comparisons.

    A time, measured or predicted, is what each further exchange of bf16 adds to a chain of
    exchanges. The programs are compiled for ``cuda:sm_90a``, which needs the compiler and seconds
    for each measurement.

    Args:
        topology: a topology, the path of its file, or the name of one that ark has.
        report: a function that is called with each comparison as soon as it is there.

    Raises InvalidUsageError if the file of the topology is malformed, and the errors of
    :func:`ark_mlir.compile`.

    Example:
        >>> validate("h200x8")  # nothing was measured between several hosts
        []
    """
    if not isinstance(topology, Topology):
        topology = Topology.read(topology)
    comparisons: list[Comparison] = []
    for measurement in topology.measured:
        comparisons.append(Comparison(measurement, _predict(measurement, topology)))
        if report is not None:
            report(comparisons[-1])
    return comparisons


def _predict(measurement: Measurement, topology: Topology) -> float:
    """Returns the predicted time of one further exchange, in µs."""
    short, long = (
        simulate(_chain(measurement, length), topology).total_ns for length in (_SHORT, _LONG)
    )
    return (long - short) / (_LONG - _SHORT) / 1e3


def _chain(measurement: Measurement, length: int) -> Bundle:
    """Compiles the schedule of a chain of all-reduces."""
    from .. import frontend as ark
    from ..compiler import compile_schedule

    ranks, shape = measurement.ranks, (measurement.nbytes // bf16.itemsize,)
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("chain", rank=rank, world_size=ranks) as program:
            x = ark.input("x", shape, bf16)
            for _ in range(length):
                # Other values in each exchange, so that none is computed once for two.
                x = ark.all_reduce(x) * (1 / ranks)
            ark.output("y", x)
        programs.append(program)
    return compile_schedule(programs, _TARGET)
