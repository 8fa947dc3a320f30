"""Accumulation of gradients over iterations."""

from __future__ import annotations

from collections.abc import Sequence

from .. import frontend as ark
from ..dtypes import fp32, int32
from ..frontend import Tensor
from .checks import as_floats, as_state_name, invalid, store, widened

__all__ = ["accumulate"]


def accumulate(
    gradients: Sequence[Tensor], steps: int, name: str = "accumulated"
) -> tuple[list[Tensor], Tensor]:
    """Returns the means of gradients over `steps` iterations, and a flag for incomplete means.

    The means are fp32 tensors of the shapes of `gradients`. The flag is a bool scalar: false in
    every `steps`-th iteration, true in all others. Pass it as the argument `skip` of an optimizer's
    ``step``, which then updates the weights once for `steps` iterations.

    Args:
        gradients: tensors of floats.
        steps: the number of iterations, at least one.
        name: prefix of the names of the states ``<name>.count`` and ``<name>.<number>``.

    Raises InvalidUsageError if `gradients` is not a list of tensors of floats, `steps` is not
    positive, or a state of the program has one of these names.

    Example:
        >>> w = ark.state("w", (4, 64))
        >>> means, incomplete = ark.optim.accumulate([x], steps=4)
        >>> ark.optim.SGD([w], lr=0.1).step(means, skip=incomplete)
    """
    op = "ark.optim.accumulate"
    slopes = as_floats(gradients, "gradients", op)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"steps must be a positive integer, not {steps!r}", op)
    prefix = as_state_name(name, op)
    count = ark.state(f"{prefix}.count", (), int32)
    first, number = ark.equal(count, 0), count + 1
    complete = ark.equal(number, steps)
    means: list[Tensor] = []
    for index, slope in enumerate(slopes):
        sums = ark.state(f"{prefix}.{index}", slope.shape, fp32)
        total = ark.where(first, widened(slope), sums + widened(slope))
        store(sums, total)
        means.append(total * (1 / steps))
    store(count, ark.where(complete, 0, number))
    return means, ark.logical_not(complete)
