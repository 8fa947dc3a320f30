"""Adam with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Sequence

from .. import frontend as ark
from ..dtypes import fp32
from ..frontend import Tensor
from .checks import as_number, invalid, store
from .optimizer import BUCKET_BYTES, LearningRate, Optimizer

__all__ = ["AdamW"]


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as ``torch.optim.AdamW``.

    Args:
        weights: states of floats, such as those of ``ark.trainable``.
        lr: the learning rate: a number, an fp32 scalar, or a function of the number of steps so far
            (an int32 scalar), such as a schedule.
        betas: decay of the means of the gradient and of its square, each in [0, 1).
        eps: a number that is added to the root of the mean square.
        weight_decay: each step subtracts ``lr * weight_decay`` times the weight. Use a second
            optimizer for weights without decay.
        name: prefix of the names of the states ``<name>.step``, ``<name>.mean.<weight>`` and
            ``<name>.square.<weight>``, and of the bias corrections ``<name>.correction1`` and
            ``<name>.correction2``. Two optimizers of a program need two names.
        shard: True gives each rank the moments of one part of the weights (ZeRO, stage 1): a step
            adds the gradients of all ranks, updates this part, and gathers the parts. Pass the
            gradients of this rank, without ``ark.all_reduce``.
        bucket_bytes: with `shard`, the bytes of gradients in fp32 that ranks exchange together.

    The means are fp32 for weights of any dtype. A bias correction, ``1 - beta**step``, is the mean
    of ones with the same decay, which is exact to a few units in the last place. Raises
    InvalidUsageError if a weight is not a state, a number is out of range, or `shard` is True in a
    program without ranks.

    Example:
        >>> w = ark.state("w", (4, 64))
        >>> rate = lambda step: ark.optim.warmup_cosine(step, 1e-3, warmup=10, total=100)
        >>> optimizer = ark.optim.AdamW([w], lr=rate)
        >>> optimizer.step(ark.gradients(ark.reduce_sum(w * x, keepdims=False), [w]))
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        lr: LearningRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        name: str = "adamw",
        shard: bool = False,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        super().__init__(weights, lr, name, shard, bucket_bytes)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:  # pyright: ignore[reportUnnecessaryIsInstance, reportUnnecessaryComparison]
            raise invalid(f"betas must be two numbers, not {betas!r}", self._op)
        self._betas = [as_number(b, f"betas[{i}]", self._op, 0.0, 1.0) for i, b in enumerate(betas)]
        if max(self._betas) == 1:
            raise invalid(f"betas must be below 1, not {betas!r}", self._op)
        self._eps = as_number(eps, "eps", self._op)
        self._decay = as_number(weight_decay, "weight_decay", self._op)
        self._means, self._squares = self._moments("mean"), self._moments("square")
        self._corrections = [
            ark.state(f"{self._name}.correction{number}", (), fp32) for number in (1, 2)
        ]

    def _update(
        self,
        weights: Sequence[Tensor],
        slopes: Sequence[Tensor],
        rate: Tensor,
        skip: Tensor | None,
    ) -> list[Tensor]:
        first, second = self._betas
        corrections = [
            state * beta + (1 - beta)
            for state, beta in zip(self._corrections, self._betas, strict=True)
        ]
        size, root = rate / corrections[0], ark.sqrt(corrections[1])
        kept = 1 - rate * self._decay
        values: list[Tensor] = []
        for weight, slope, mean, square in zip(
            weights, slopes, self._means, self._squares, strict=True
        ):
            moved = mean * first + slope * (1 - first)
            squared = square * second + slope * slope * (1 - second)
            change = moved / (ark.sqrt(squared) / root + self._eps)
            values.append(weight * kept - change * size)
            store(mean, moved, skip)
            store(square, squared, skip)
        for state, value in zip(self._corrections, corrections, strict=True):
            store(state, value, skip)
        return values
