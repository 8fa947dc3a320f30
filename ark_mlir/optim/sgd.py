"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

from ..frontend import Tensor
from .checks import as_number, invalid, store, widened
from .optimizer import LearningRate, Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, as ``torch.optim.SGD`` without dampening.

    Args:
        weights: states of floats, such as those of ``ark.trainable``.
        lr: the learning rate: a number, an fp32 scalar, or a function of the number of steps so far
            (an int32 scalar), such as a schedule.
        momentum: factor of the running sum of gradients, in [0, 1].
        nesterov: True selects Nesterov momentum: a weight moves by the gradient plus `momentum`
            times the new running sum. Needs `momentum`.
        weight_decay: factor of the weight that is added to its gradient.
        name: prefix of the names of the states ``<name>.step`` and, with `momentum`,
            ``<name>.momentum.<weight>``. Two optimizers of a program need two names.

    All sums are computed in fp32. Raises InvalidUsageError if a weight is not a state, or a number
    is out of range.

    Example:
        >>> w = ark.state("w", (4, 64))
        >>> optimizer = ark.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> optimizer.step(ark.gradients(ark.reduce_sum(w * x, keepdims=False), [w]))
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        lr: LearningRate,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        name: str = "sgd",
    ) -> None:
        super().__init__(weights, lr, name)
        self._momentum = as_number(momentum, "momentum", self._op, 0.0, 1.0)
        self._nesterov = bool(nesterov)
        self._decay = as_number(weight_decay, "weight_decay", self._op)
        if self._nesterov and not self._momentum:
            raise invalid("nesterov=True needs a momentum above 0", self._op)
        self._sums = self._moments("momentum") if self._momentum else []

    def _apply(self, slopes: Sequence[Tensor], rate: Tensor, skip: Tensor | None) -> None:
        for number, (weight, slope) in enumerate(zip(self.weights, slopes, strict=True)):
            old = widened(weight)
            if self._decay:
                slope = slope + old * self._decay
            if self._sums:
                total = self._sums[number] * self._momentum + slope
                store(self._sums[number], total, skip)
                slope = slope + total * self._momentum if self._nesterov else total
            store(weight, old - slope * rate, skip)
