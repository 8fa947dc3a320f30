"""A page with the curve of a loss, without any script or other file."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import html
import itertools
import math
import os
from collections.abc import Sequence

import numpy as np

from ..errors import InvalidUsageError
from ..paths import as_path, replacing

__all__ = ["write_curve"]

_WIDTH, _HEIGHT = 860, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 20, 40
_POINTS = 800  # the number of columns of pixels


def write_curve(
    path: str | os.PathLike[str], losses: Sequence[float], first: int = 0, title: str = "loss"
) -> None:
    """Writes an HTML page with the curve of `losses` and of their running mean.

    Args:
        path: the file, which is replaced atomically.
        losses: the loss of each step.
        first: the index of the first step.
        title: the heading.

    If there are more steps than columns of pixels, each column shows the mean of consecutive steps.
    Raises InvalidUsageError if there is no finite loss, and OSError if the file cannot be written.

    Example:
        >>> ark.training.write_curve("loss.html", [4.2, 3.1, 2.9, 2.7])
    """
    target = as_path(path, "the page to write")
    values = np.asarray(losses, np.float64).reshape(-1)
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise InvalidUsageError("there is no finite loss to draw", location=str(target))
    page = _page(values, finite, first, html.escape(title))
    with replacing(target) as file:
        file.write(page.encode())


def _page(values: np.ndarray, finite: np.ndarray, first: int, title: str) -> str:
    low, high = float(finite.min()), float(finite.max())
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin
    count = len(values)

    def across(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / max(count - 1, 1)

    def down(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    def line(points: list[tuple[float, float]], style: str) -> str:
        coordinates = " ".join(
            f"{across(x):.1f},{down(y):.1f}" for x, y in points if math.isfinite(y)
        )
        return f'<polyline points="{coordinates}" fill="none" {style}/>'

    lines = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down(y):.1f}" y2="{down(y):.1f}" '
        f'class="grid"/><text x="{_LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>'
        for y in _ticks(low, high)
    )
    labels = "".join(
        f'<text x="{across(x - first):.1f}" y="{_HEIGHT - 16}" text-anchor="middle">{x:g}</text>'
        for x in _ticks(first, first + count - 1)
    )
    raw = line(_columns(values), 'stroke="#8ab" stroke-width="1"')
    smooth = line(_columns(_running_mean(values)), 'stroke="#c40" stroke-width="2"')
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px sans-serif; margin: 24px; }} .grid {{ stroke: #ddd; }}
svg {{ max-width: 100%; }} text {{ font-size: 12px; fill: #444; }}
</style></head><body><h1>{title}</h1>
<p>{count} steps; first {values[0]:.4f}, last {values[-1]:.4f}, least {finite.min():.4f}. The thick
line is the mean of the last {_window(count)} steps.</p>
<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title} by step">
{lines}{labels}{raw}{smooth}
</svg></body></html>
"""


def _window(count: int) -> int:
    return max(1, min(50, count // 10))


def _running_mean(values: np.ndarray) -> np.ndarray:
    window = _window(len(values))
    sums = np.cumsum(np.concatenate([[0.0], np.nan_to_num(values, posinf=0.0, neginf=0.0)]))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def _columns(values: np.ndarray) -> list[tuple[float, float]]:
    if len(values) <= _POINTS:
        return [(float(i), float(v)) for i, v in enumerate(values)]
    bounds = np.linspace(0, len(values), _POINTS + 1).astype(int)
    return [((a + b - 1) / 2, float(values[a:b].mean())) for a, b in itertools.pairwise(bounds)]


def _ticks(low: float, high: float) -> list[float]:
    """Returns some four to nine round numbers between two numbers."""
    span = high - low
    if span <= 0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(span))
    step = next(s * unit for s in (0.1, 0.2, 0.5, 1.0, 2.0) if span / (s * unit) <= 9)
    begin = math.ceil(low / step)
    return [round(n * step, 12) for n in range(begin, math.floor(high / step) + 1)]
