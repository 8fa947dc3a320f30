"""Scaling of the loss, for gradients of narrow float types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import frontend as ark
from ..dtypes import fp32, int32
from ..frontend import Tensor
from .checks import as_floats, as_number, as_state_name, invalid, store, widened

__all__ = ["LossScaler"]


class LossScaler:
    """A factor of the loss that keeps the gradients in the range of their type.

    The factor grows after a number of steps without an overflow, and shrinks after an overflow, as
    that of ``torch.amp.GradScaler`` (Micikevicius et al., 2018). Gradients of fp16 need the factor;
    bf16 has the range of fp32.

    Args:
        initial: the first factor.
        growth: the multiplier of the factor when it grows.
        backoff: the multiplier of the factor when it shrinks.
        interval: the number of steps in a row without an overflow before the factor grows.
        name: prefix of the names of the states ``<name>.scale`` and ``<name>.good``.

    Raises InvalidUsageError if a number is out of range.

    Example:
        >>> w = ark.state("w", (4, 64), ark.fp32)
        >>> scaler = ark.optim.LossScaler()
        >>> loss = ark.reduce_sum(ark.cast(w, ark.fp16) * ark.cast(x, ark.fp16), keepdims=False)
        >>> slopes, overflow = scaler.unscale(ark.gradients(scaler.scale(loss), [w]))
        >>> ark.optim.SGD([w], lr=0.1).step(slopes, skip=overflow)
    """

    def __init__(
        self,
        initial: float = 2.0**16,
        growth: float = 2.0,
        backoff: float = 0.5,
        interval: int = 2000,
        name: str = "scaler",
    ) -> None:
        op = self._op = "ark.optim.LossScaler"
        start = as_number(initial, "initial", op, float(np.finfo(np.float32).tiny))
        self._growth = as_number(growth, "growth", op, 1.0)
        self._backoff = as_number(backoff, "backoff", op, 2.0**-20, 1.0)
        if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"interval must be a positive integer, not {interval!r}", op)
        self._interval = interval
        prefix = as_state_name(name, op)
        self._scale = ark.state(f"{prefix}.scale", (), fp32, init=start)
        self._good = ark.state(f"{prefix}.good", (), int32)

    def scale(self, loss: Tensor) -> Tensor:
        """Returns the loss times the factor, in fp32.

        Args:
            loss: a tensor of floats with one element.

        Raises InvalidUsageError if `loss` is another object.

        >>> loss = ark.reduce_sum(x, keepdims=False)
        >>> scaled = ark.optim.LossScaler().scale(loss)
        """
        if not isinstance(loss, Tensor) or not loss.dtype.is_float or loss.size != 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(
                f"loss must be a tensor of floats with one element, not {loss!r}", self._op
            )
        return widened(loss) * self._scale

    def unscale(self, gradients: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
        """Returns the gradients divided by the factor, in fp32, and a flag for an overflow.

        The flag is a bool scalar: true if an element of a gradient is infinite or NaN. Pass it as
        the argument `skip` of an optimizer's ``step``. The factor changes for the next step. A
        program calls this method once.

        Args:
            gradients: the gradients of the scaled loss, tensors of floats.

        Raises InvalidUsageError if `gradients` is not a list of tensors of floats.

        >>> slopes, overflow = ark.optim.LossScaler().unscale([a, b])
        """
        slopes = [widened(slope) for slope in as_floats(gradients, "gradients", self._op)]
        largest = float(np.finfo(np.float32).max)
        finite = None
        for slope in slopes:
            # A maximum is NaN if an element is, and then the comparison is false.
            peak = ark.reduce_max(ark.abs(slope), keepdims=False)
            fits = ark.less_equal(peak, largest)
            finite = fits if finite is None else ark.logical_and(finite, fits)
        assert finite is not None
        factor = ark.copy(self._scale)
        unscaled = [slope / factor for slope in slopes]
        grown = ark.equal(self._good + 1, self._interval)
        larger = ark.minimum(factor * self._growth, largest)
        kept = ark.where(grown, larger, factor)
        store(self._scale, ark.where(finite, kept, factor * self._backoff))
        good = ark.where(grown, 0, self._good + 1)
        store(self._good, ark.where(finite, good, 0))
        return unscaled, ark.logical_not(finite)
