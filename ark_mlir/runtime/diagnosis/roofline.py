"""The roofline of a profile: the speed of tasks beside the limits of the machine.

The model is that of Williams, Waterman and Patterson (2009). A task cannot be faster than the
arithmetic units, nor faster than memory provides the bytes of its operations.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InvalidUsageError
from ...paths import as_path, replacing

if TYPE_CHECKING:
    from .profile import TaskProfile

__all__ = ["Roofline", "RooflinePoint", "make_roofline"]

# The plot, and its margins for the labels of the axes, in pixels.
_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 48
# Radius of the circle of a task that takes the whole time; the area is the share of the time.
_RADIUS = 28
_LEAST_RADIUS = 4
# Smaller circles have their number beside them.
_NUMBERED_RADIUS = 9
# Distance of a point from the ends of an axis, in powers of ten.
_MARGIN = 0.15


@dataclass(frozen=True)
class RooflinePoint:
    """The measured speed of the tasks with the same ops.

    Attributes:
        name: the ops of the tasks.
        share: the share of the time of all points, 0 to 1.
        intensity: floating-point operations per byte of memory traffic.
        gflops: 10^9 floating-point operations per second.
        roof: the limit of `gflops` at this intensity.

    Example:
        >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
        ...     point = traced.profile(x=x).roofline().points[0]
        >>> point.name, point.gflops <= point.roof * 1.001
        ('matmul, gelu', True)
    """

    name: str
    share: float
    intensity: float
    gflops: float
    roof: float


@dataclass(frozen=True)
class Roofline:
    """Measured speeds beside two limits; ``str()`` is a table, and notebooks show a plot.

    Attributes:
        program: the name of the program.
        peak_gflops: limit of the arithmetic units, in GFLOP/s.
        peak_gbytes: limit of the memory, in GB/s.
        given: True for each limit that the caller gave; another limit is the highest measurement.
        points: the groups of tasks that compute, sorted by decreasing time.
        left_out: the names of the groups without operations or without memory traffic.

    Example:
        >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
        ...     roofline = traced.profile(x=x).roofline(peak_gflops=500, peak_gbytes=40)
        >>> roofline.points[0].name, roofline.svg.startswith("<svg")
        ('matmul, gelu', True)
    """

    program: str
    peak_gflops: float
    peak_gbytes: float
    given: tuple[bool, bool]
    points: tuple[RooflinePoint, ...]
    left_out: tuple[str, ...] = ()

    @property
    def ridge(self) -> float:
        """The intensity at which both limits are equal, in operations per byte."""
        return self.peak_gflops / self.peak_gbytes

    @property
    def svg(self) -> str:
        """The plot as SVG, in the colour of the text around it."""
        return _draw(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plot to an SVG file.

        Raises InvalidUsageError if `path` is not a path, and OSError if the file cannot be written.

        Example:
            >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
            ...     traced.profile(x=x).roofline().save("roofline.svg")
        """
        with replacing(as_path(path, "the plot to write")) as file:
            file.write(self.svg.encode())

    def __str__(self) -> str:
        rows = [_HEAD, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
        lines = [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join([self._title(), *map(str.rstrip, lines)])

    def _repr_html_(self) -> str:
        body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in self._rows())
        table = f"<table><thead><tr>{_cells(_HEAD, 'th')}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{html.escape(self._title())}</p>{self.svg}{table}"

    def _title(self) -> str:
        names = ["" if given else " (highest measured)" for given in self.given]
        title = (
            f"{self.program}: {self.peak_gflops:.4g} GFLOP/s{names[0]}, "
            f"{self.peak_gbytes:.4g} GB/s{names[1]}, equal at {self.ridge:.3g} FLOP/byte"
        )
        return f"{title}; not shown: {'; '.join(self.left_out)}" if self.left_out else title

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(number),
                point.name,
                f"{point.share:.1%}",
                f"{point.intensity:.3g}",
                f"{point.gflops:.3g}",
                f"{point.gflops / point.roof:.0%}",
                "memory" if point.intensity < self.ridge else "arithmetic",
            )
            for number, point in enumerate(self.points, 1)
        ]


_HEAD = ("", "ops", "time", "FLOP/byte", "GFLOP/s", "of the roof", "limit")


def make_roofline(
    program: str,
    groups: Iterable[TaskProfile],
    peak_gflops: float | None,
    peak_gbytes: float | None,
) -> Roofline:
    """Returns the roofline of groups of tasks; see :meth:`.profile.Profile.roofline`."""
    for name, value in (("peak_gflops", peak_gflops), ("peak_gbytes", peak_gbytes)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InvalidUsageError(f"{name} must be a number above 0, not {value!r}")
    listed = list(groups)
    shown = [group for group in listed if group.flops and group.bytes and group.span_ns]
    if not shown:
        raise InvalidUsageError(
            f"{program!r} has no task with floating-point operations and memory traffic, so that "
            "it has no roofline"
        )
    gflops = peak_gflops or max(group.flops / group.span_ns for group in shown)
    gbytes = peak_gbytes or max(group.bytes / group.span_ns for group in shown)
    whole = sum(group.ns for group in listed)
    points = tuple(
        RooflinePoint(
            group.name,
            group.ns / whole if whole else 0.0,
            group.flops / group.bytes,
            group.flops / group.span_ns,
            min(gflops, gbytes * group.flops / group.bytes),
        )
        for group in shown
    )
    left_out = tuple(group.name for group in listed if group not in shown)
    given = (peak_gflops is not None, peak_gbytes is not None)
    return Roofline(program, gflops, gbytes, given, points, left_out)


def _cells(cells: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


# -- the plot --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis: powers of ten, from pixel `begin` to pixel `end`."""

    low: int
    high: int
    begin: float
    end: float

    @classmethod
    def of(cls, values: Iterable[float], begin: float, end: float) -> _Axis:
        """Returns the axis that shows all values."""
        exponents = [math.log10(value) for value in values]
        low = math.floor(min(exponents) - _MARGIN)
        return cls(low, max(low + 1, math.ceil(max(exponents) + _MARGIN)), begin, end)

    def at(self, value: float) -> float:
        """Returns the pixel of a value."""
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + part * (self.end - self.begin), 1)

    def ticks(self) -> list[int]:
        """Returns at most eight exponents, with equal distances."""
        step = math.ceil((self.high - self.low) / 8)
        return list(range(self.low, self.high + 1, step))


def _draw(plot: Roofline) -> str:
    intensities = [point.intensity for point in plot.points]
    x = _Axis.of([*intensities, plot.ridge], _LEFT, _WIDTH - _RIGHT)
    speeds = [*(point.gflops for point in plot.points), plot.peak_gflops]
    y = _Axis.of(speeds, _HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(x, y), *_roofs(plot, x, y), *_circles(plot, x, y)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" style="max-width: 100%; height: auto" role="img" '
        f'fill="currentColor" font-family="sans-serif" font-size="12">'
        f"<title>Roofline of {html.escape(plot.program)}</title>{''.join(parts)}</svg>"
    )


def _grid(x: _Axis, y: _Axis) -> Iterable[str]:
    bottom, top, left, right = _HEIGHT - _BOTTOM, _TOP, _LEFT, _WIDTH - _RIGHT
    for exponent in x.ticks():
        at = x.at(10.0**exponent)
        yield _line(at, bottom, at, top, "stroke-opacity='.15'")
        yield _text(at, bottom + 16, _power(exponent), "middle")
    for exponent in y.ticks():
        at = y.at(10.0**exponent)
        yield _line(left, at, right, at, "stroke-opacity='.15'")
        yield _text(left - 6, at + 4, _power(exponent), "end")
    yield _text((left + right) / 2, _HEIGHT - 8, "FLOP/byte", "middle")
    middle = (top + bottom) / 2
    turned = f" transform='rotate(-90 14 {middle})'"
    yield f"<text x='14' y='{middle}' text-anchor='middle'{turned}>GFLOP/s</text>"


def _roofs(plot: Roofline, x: _Axis, y: _Axis) -> Iterable[str]:
    """Draws the limit of the memory up to the ridge, and the limit of the arithmetic units."""
    # The memory's limit may meet the bottom of the plot before its left end.
    start = max(10.0**x.low, 10.0**y.low / plot.peak_gbytes)
    ridge, peak = x.at(plot.ridge), y.at(plot.peak_gflops)
    end = x.at(10.0**x.high)
    memory = (x.at(start), y.at(start * plot.peak_gbytes))
    style = "stroke-width='2'"
    yield _line(*memory, ridge, peak, style)
    yield _line(ridge, peak, end, peak, style)
    yield _text(end - 4, peak - 6, f"{plot.peak_gflops:.4g} GFLOP/s", "end")
    middle = ((memory[0] + ridge) / 2 - 8, (memory[1] + peak) / 2 - 8)
    yield _text(*middle, f"{plot.peak_gbytes:.4g} GB/s", "end")


def _circles(plot: Roofline, x: _Axis, y: _Axis) -> Iterable[str]:
    # Large circles come first, so that they do not hide small ones.
    numbered = sorted(enumerate(plot.points, 1), key=lambda pair: -pair[1].share)
    for number, point in numbered:
        radius = max(_LEAST_RADIUS, round(_RADIUS * math.sqrt(point.share), 1))
        at, height = x.at(point.intensity), y.at(point.gflops)
        hint = (
            f"{number}: {point.name}, {point.share:.1%} of the time, {point.gflops:.3g} GFLOP/s, "
            f"{point.gflops / point.roof:.0%} of the roof"
        )
        inside = radius >= _NUMBERED_RADIUS
        beside = (at, "middle") if inside else (at + radius + 3, "start")
        label = _text(beside[0], height + 4, str(number), beside[1])
        yield (
            f"<g><circle cx='{at}' cy='{height}' r='{radius}' fill='#3b82f6' fill-opacity='.55' "
            f"stroke='currentColor'/>{label}"
            f"<title>{html.escape(hint)}</title></g>"
        )


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='currentColor' {style}/>"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}'>{html.escape(text)}</text>"


def _power(exponent: int) -> str:
    return f"{10.0**exponent:g}" if -3 <= exponent <= 5 else f"1e{exponent}"
