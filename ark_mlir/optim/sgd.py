"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

from ..frontend import Tensor
from .checks import as_number, invalid, store
from .optimizer import BUCKET_BYTES, LearningRate, Optimizer

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
        shard: True gives each rank the moments of one part of the weights (ZeRO, stage 1): a step
            adds the gradients of all ranks, updates this part, and gathers the parts. Pass the
            gradients of this rank, without ``ark.all_reduce``.
        bucket_bytes: with `shard`, the bytes of gradients in fp32 that ranks exchange together.

    All sums are computed in fp32. Raises InvalidUsageError if a weight is not a state, a number is
    out of range, or `shard` is True in a program without ranks.

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
        shard: bool = False,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        super().__init__(weights, lr, name, shard, bucket_bytes)
        self._momentum = as_number(momentum, "momentum", self._op, 0.0, 1.0)
        self._nesterov = bool(nesterov)
        self._decay = as_number(weight_decay, "weight_decay", self._op)
        if self._nesterov and not self._momentum:
            raise invalid("nesterov=True needs a momentum above 0", self._op)
        self._sums = self._moments("momentum") if self._momentum else []

    def _update(
        self,
        weights: Sequence[Tensor],
        slopes: Sequence[Tensor],
        rate: Tensor,
        skip: Tensor | None,
    ) -> list[Tensor]:
        values: list[Tensor] = []
        for number, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
            if self._decay:
                slope = slope + weight * self._decay
            if self._sums:
                total = self._sums[number] * self._momentum + slope
                store(self._sums[number], total, skip)
                slope = slope + total * self._momentum if self._nesterov else total
            values.append(weight - slope * rate)
        return values
