"""Schedules of the learning rate, as functions of the number of steps."""

from __future__ import annotations

import math

from .. import frontend as ark
from ..dtypes import bool_, fp32
from ..frontend import Tensor
from .checks import as_number, invalid

__all__ = ["warmup_cosine", "warmup_linear"]


def warmup_cosine(step: Tensor, peak: float, warmup: int, total: int, final: float = 0.0) -> Tensor:
    """Returns a learning rate that rises linearly to `peak` and then falls along a cosine.

    Args:
        step: an integer scalar, the number of steps so far.
        peak: the largest rate.
        warmup: the number of steps of the rise; in step s of them the rate is
            ``peak * (s + 1) / warmup``.
        total: the number of steps after which the rate stays at `final`; above `warmup`.
        final: the last rate.

    The result is an fp32 scalar. Raises InvalidUsageError if `step` is not an integer scalar, a
    number is negative, `final` is above `peak`, or `total` is not above `warmup`.

    Example:
        >>> step = ark.state("step", (), ark.int32)
        >>> rate = ark.optim.warmup_cosine(step, 3e-4, warmup=100, total=2000, final=3e-5)
    """
    rise, part, peak, final = _parts("warmup_cosine", step, peak, warmup, total, final)
    fall = (ark.cos(part * math.pi) + 1) * (0.5 * (peak - final)) + final
    return ark.minimum(rise, fall) if rise is not None else fall


def warmup_linear(step: Tensor, peak: float, warmup: int, total: int, final: float = 0.0) -> Tensor:
    """Returns a learning rate that rises linearly to `peak` and then falls linearly to `final`.

    Args:
        step: an integer scalar, the number of steps so far.
        peak: the largest rate.
        warmup: the number of steps of the rise; in step s of them the rate is
            ``peak * (s + 1) / warmup``.
        total: the number of steps after which the rate stays at `final`; above `warmup`.
        final: the last rate.

    The result is an fp32 scalar. Raises InvalidUsageError if `step` is not an integer scalar, a
    number is negative, `final` is above `peak`, or `total` is not above `warmup`.

    Example:
        >>> step = ark.state("step", (), ark.int32)
        >>> rate = ark.optim.warmup_linear(step, 3e-4, warmup=100, total=2000)
    """
    rise, part, peak, final = _parts("warmup_linear", step, peak, warmup, total, final)
    fall = (1 - part) * (peak - final) + final
    return ark.minimum(rise, fall) if rise is not None else fall


def _parts(
    name: str, step: Tensor, peak: float, warmup: int, total: int, final: float
) -> tuple[Tensor | None, Tensor, float, float]:
    """Returns the rate of the rise, and the fraction of the fall that is over, between 0 and 1.

    The rate of the rise keeps growing after the end of the rise; the caller takes the minimum of
    rise and fall.
    """
    op = f"ark.optim.{name}"
    if not isinstance(step, Tensor) or not step.dtype.is_integer or step.dtype is bool_:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"step must be an integer scalar, not {step!r}", op)
    if step.size != 1:
        raise invalid(f"step must be an integer scalar, not {step!r}", op)
    top, last = as_number(peak, "peak", op), as_number(final, "final", op)
    if last > top:
        raise invalid(f"final {final!r} is above peak {peak!r}", op)
    for label, value in (("warmup", warmup), ("total", total)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"{label} must be a natural number, not {value!r}", op)
    if total <= warmup:
        raise invalid(f"total {total} is not above warmup {warmup}", op)
    number = ark.reshape(ark.cast(step, fp32), ())
    rise = (number + 1) * (top / warmup) if warmup else None
    over = ark.maximum(number - warmup, 0.0) * (1 / (total - warmup))
    return rise, ark.minimum(over, 1.0), top, last
