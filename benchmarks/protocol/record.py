"""Results of rows and arms, and the Markdown record of a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from table import table

from .limits import H200, Limits

HEADER = ("row", "arm", "device, ms", "caller, ms", "rate", "x floor", "x best peer", "error")


@dataclass(frozen=True)
class Workload:
    """The work of a row.

    Attributes:
        description: a description for the reader of the record.
        bytes: the bytes that must be read from memory.
        flops: the floating-point operations of the products.
    """

    description: str
    bytes: float = 0.0
    flops: float = 0.0

    def floor(self, limits: Limits = H200) -> float:
        """Returns the seconds that the reads or the products take at the limits of a GPU."""
        return max(self.bytes / limits.read, self.flops / limits.product)

    def rate(self, seconds: float, limits: Limits = H200) -> str:
        """Returns the rate of the products, or of the reads if the reads limit the floor."""
        if self.flops / limits.product >= self.bytes / limits.read:
            return f"{self.flops / seconds / 1e12:.0f} TFLOP/s"
        return f"{self.bytes / seconds / 1e9:.0f} GB/s"


@dataclass(frozen=True)
class Result:
    """The measurement of one arm, or the problem that prevented it.

    Attributes:
        device: seconds on the device, None if not measured.
        caller: seconds until a caller who waits for each launch has the result.
        error: the relative error against fp32.
    """

    row: str
    arm: str
    device: float | None = None
    caller: float | None = None
    error: float | None = None
    problem: str = ""

    @property
    def is_ark(self) -> bool:
        return self.arm.startswith("ark")

    @property
    def group(self) -> tuple[str, bool]:
        """The row, and whether the operands are in the L2: arms of one group are comparable."""
        return self.row, self.arm.endswith("warm")


def merged(results: Iterable[Result]) -> list[Result]:
    """Returns one result for each row and arm: the median over the processes that measured it, or
    the first problem."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.row, result.arm), []).append(result)
    return [_median(group) for group in groups.values()]


def _median(group: Sequence[Result]) -> Result:
    for result in group:
        if result.problem:
            return result

    def median(name: str) -> float | None:
        values = [value for value in (getattr(each, name) for each in group) if value is not None]
        return statistics.median(values) if values else None

    first = group[0]
    return Result(first.row, first.arm, median("device"), median("caller"), median("error"))


def best_peers(results: Iterable[Result]) -> dict[tuple[str, bool], float]:
    """Returns the seconds on the device of the fastest peer of each group."""
    best: dict[tuple[str, bool], float] = {}
    for result in results:
        if result.device and not result.is_ark:
            best[result.group] = min(result.device, best.get(result.group, result.device))
    return best


def result_table(
    results: Sequence[Result], workloads: Mapping[str, Workload], limits: Limits = H200
) -> str:
    """Returns the table of all results, in Markdown, with floors by the limits of a GPU."""
    best = best_peers(results)
    rows = [_cells(each, workloads[each.row], best.get(each.group), limits) for each in results]
    return table(HEADER, rows)


def _cells(
    result: Result, workload: Workload, best: float | None, limits: Limits
) -> tuple[str, ...]:
    if result.problem:
        return result.row, result.arm, "see below", *("",) * 5
    device, floor = result.device, workload.floor(limits)

    def milliseconds(seconds: float | None) -> str:
        return "" if not seconds else f"{1e3 * seconds:.4f}"

    return (
        result.row,
        result.arm,
        milliseconds(device),
        milliseconds(result.caller),
        workload.rate(device, limits) if device else "",
        f"{device / floor:.2f}" if device and floor else "",
        f"{device / best:.3f}" if device and best else "",
        "" if result.error is None else f"{result.error:.5f}",
    )


def problems(results: Sequence[Result]) -> list[str]:
    """Returns a line for each arm without times."""
    return [f"- {each.row}, {each.arm}: {each.problem}" for each in results if each.problem]


def ratios(results: Sequence[Result]) -> dict[str, float]:
    """Returns the ratio of ark's fastest arm to the fastest peer, by row, where both have times
    and operands are not in the L2."""
    best = best_peers(results)
    found: dict[str, float] = {}
    for result in results:
        row, warm = result.group
        if result.device and result.is_ark and not warm and result.group in best:
            ratio = result.device / best[result.group]
            found[row] = min(ratio, found.get(row, ratio))
    return found


def summary(results: Sequence[Result]) -> str:
    """Returns the geometric mean and the worst of ark's rates relative to the best peers."""
    rates = {row: 1 / ratio for row, ratio in ratios(results).items()}
    if not rates:
        return "No row has times of both ark and a peer."
    worst = min(rates, key=rates.__getitem__)
    mean = statistics.geometric_mean(rates.values())
    return (
        f"Rate of ark / rate of the best peer over {len(rates)} rows: geometric mean {mean:.3f}, "
        f"worst {rates[worst]:.3f} ({worst})."
    )
