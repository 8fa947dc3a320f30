"""Predictions of exchanges beside the times that were measured on a topology's machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from ..dtypes import bf16
from .simulate import simulate
from .topology import Measurement, Topology

_TARGET = "cuda:sm_90a"
# The lengths of the two chains, whose difference is the time of one further exchange.
_SHORT, _LONG = 1, 3
# The gradients of a measurement beside products.
_LAYERS = 4


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
        sms = f" on {at.sms} SMs" if at.sms else ""
        origin = f"published ({at.source})" if at.source else "measured"
        return (
            f"{at.exchange} of {at.nbytes:,} bytes{sms}, {at.ranks} ranks: {origin} {at.us:g} µs, "
            f"simulated {self.simulated_us:.4g} µs, error {100 * self.error:+.0f} %"
        )


def validate(
    topology: Topology | str | os.PathLike[str],
    report: Callable[[Comparison], None] | None = None,
) -> list[Comparison]:
    """Predicts the exchanges that were measured on a machine, or published for such a machine.

    Returns all comparisons, first those with measured times.

    The time of an all-reduce, measured or predicted, is what each further all-reduce of bf16 adds
    to a chain of all-reduces. The time of gradients is that of a program with four products and the
    means of their results over the ranks. A published time is that of a kernel of another library.
    Its prediction is the time of a whole program with one all-reduce, from the start of the kernels
    to the end of the last barrier. The programs are compiled for ``cuda:sm_90a``, which needs the
    compiler and seconds for each measurement.

    Args:
        topology: a topology, the path of its file, or the name of one that ark has.
        report: a function that is called with each comparison as soon as it is there.

    Raises InvalidUsageError if the file of the topology is malformed, and the errors of
    :func:`ark_mlir.compile`.

    Example:
        >>> print(validate("h200x8")[0])  # nothing was measured with ark between several hosts
        one_all_reduce of 8,192 bytes, 16 ranks: published (MSCCL++, 2 hosts of 8 H100) 15.1 µs, \
simulated ... µs, error ... %
    """
    if not isinstance(topology, Topology):
        topology = Topology.read(topology)
    comparisons: list[Comparison] = []
    for measurement in (*topology.measured, *topology.published):
        comparisons.append(Comparison(measurement, _predict(measurement, topology)))
        if report is not None:
            report(comparisons[-1])
    return comparisons


def _predict(measurement: Measurement, topology: Topology) -> float:
    """Returns the predicted time of a measurement, in µs."""
    if measurement.exchange == "gradients":
        return _simulate(measurement, topology, _gradients) / 1e3
    if measurement.exchange == "one_all_reduce":
        return _simulate(measurement, topology, _chain, 1) / 1e3
    short, long = (_simulate(measurement, topology, _chain, length) for length in (_SHORT, _LONG))
    return (long - short) / (_LONG - _SHORT) / 1e3


def _simulate(
    measurement: Measurement,
    topology: Topology,
    build: Callable[..., None],
    *arguments: int,
) -> float:
    """Returns the predicted time of a program in ns; `build` adds the ops of one rank."""
    from .. import frontend as ark
    from ..compiler import compile_schedule

    programs: list[ark.Program] = []
    for rank in range(measurement.ranks):
        with ark.Program("measured", rank=rank, world_size=measurement.ranks) as program:
            build(measurement, *arguments)
        programs.append(program)
    return simulate(compile_schedule(programs, _TARGET), topology).total_ns


def _chain(measurement: Measurement, length: int) -> None:
    """Builds a chain of all-reduces."""
    from .. import frontend as ark

    x = ark.input("x", (measurement.nbytes // bf16.itemsize,), bf16)
    for _ in range(length):
        # Other values in each exchange, so that none is computed once for two.
        x = ark.all_reduce(x) * (1 / measurement.ranks)
    ark.output("y", x)


def _gradients(measurement: Measurement) -> None:
    """Builds the gradients of some weights, and their means over the ranks."""
    from .. import frontend as ark

    shape = (isqrt(measurement.nbytes // bf16.itemsize),) * 2
    for layer in range(_LAYERS):
        errors, values = (ark.input(f"{name}{layer}", shape, bf16) for name in ("e", "v"))
        gradient = ark.matmul(errors, values, transpose_other=True)
        with ark.planner(sms=measurement.sms) if measurement.sms else contextlib.nullcontext():
            gradient = ark.all_reduce(gradient) * (1 / measurement.ranks)
        ark.output(f"y{layer}", gradient)
