"""The base of all optimizers: weights, learning rate, and the count of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import frontend as ark
from ..dtypes import bool_, fp32, int32
from ..frontend import Tensor
from ..frontend.program import current
from ..units import counted
from .buckets import BUCKET_BYTES, Bucket, checked_bucket_bytes, make_buckets
from .checks import as_floats, as_number, as_state_name, invalid, store, widened

__all__ = ["BUCKET_BYTES", "LearningRate", "Optimizer"]

LearningRate = float | Tensor | Callable[[Tensor], Tensor]
"""A number, a tensor, or a function of the number of steps so far."""


class Optimizer:
    """The base class of optimizers; each subclass has the rule of an update.

    Attributes:
        weights: the states that the optimizer updates.
        count: the int32 state ``<name>.step``, the number of steps so far.

    Example:
        >>> issubclass(ark.optim.AdamW, ark.optim.Optimizer)
        True
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        lr: LearningRate,
        name: str,
        shard: bool = False,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        self._op = f"ark.optim.{type(self).__name__}"
        self.weights = as_floats(weights, "weights", self._op)
        for number, weight in enumerate(self.weights):
            if weight.state is None:
                raise invalid(
                    f"weights[{number}] {weight.name!r} is not a state; ark.trainable makes the "
                    "parameters of a module states",
                    self._op,
                )
        names = [weight.state.name for weight in self.weights if weight.state is not None]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise invalid(f"the state {twice!r} is among the weights twice", self._op)
        self._name = as_state_name(name, self._op)
        self._names = names
        if not callable(lr) and not isinstance(lr, Tensor):
            lr = as_number(lr, "lr", self._op)
        if isinstance(lr, Tensor) and (lr.size != 1 or not lr.dtype.is_float):
            raise invalid(f"lr must be a float scalar, not {lr.dtype}{list(lr.shape)}", self._op)
        self._lr = lr
        self._buckets = self._divide(bucket_bytes) if shard else None
        self.count = ark.state(f"{self._name}.step", (), int32)

    def step(self, gradients: Sequence[Tensor], skip: Tensor | None = None) -> None:
        """Updates the weights, and the states of the optimizer, once.

        Args:
            gradients: a float tensor for each weight, of the shape of the weight. With `shard`,
                those of this rank; the optimizer adds those of all ranks.
            skip: a bool scalar; if it is true at run time, no state changes. With `shard`, it must
                have the same value in all ranks.

        Raises InvalidUsageError if the number of gradients, a shape or a dtype does not fit, or
        `skip` is not a bool scalar.

        >>> w = ark.state("w", (4, 64))
        >>> ark.optim.SGD([w], lr=0.1).step([x])
        """
        slopes = as_floats(gradients, "gradients", self._op)
        if len(slopes) != len(self.weights):
            raise invalid(
                f"gradients has {len(slopes)} tensors for {counted(len(self.weights), 'weight')}; "
                "pass one for each weight",
                self._op,
            )
        for number, (weight, slope) in enumerate(zip(self.weights, slopes, strict=True)):
            if weight.shape != slope.shape:
                raise invalid(
                    f"gradients[{number}] has shape {list(slope.shape)}, but its weight "
                    f"{weight.name!r} has shape {list(weight.shape)}",
                    self._op,
                )
        if skip is not None and (not isinstance(skip, Tensor) or skip.dtype is not bool_):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"skip must be a bool scalar, not {skip!r}", self._op)
        if skip is not None:
            if skip.size != 1:
                raise invalid(f"skip must be a bool scalar, not {skip!r}", self._op)
            skip = ark.reshape(skip, ())
        rate = self._rate()
        widths = [widened(slope) for slope in slopes]
        if self._buckets is None:
            values = self._update([widened(w) for w in self.weights], widths, rate, skip)
            for weight, value in zip(self.weights, values, strict=True):
                store(weight, value, skip)
        else:
            parts = [bucket.part(self.weights) for bucket in self._buckets]
            sums = [bucket.reduce(widths) for bucket in self._buckets]
            values = self._update(parts, sums, rate, skip)
            for bucket, value in zip(self._buckets, values, strict=True):
                for number, whole in zip(bucket.numbers, bucket.gather(value), strict=True):
                    store(self.weights[number], whole, skip)
        store(self.count, self.count + 1, skip)

    def _divide(self, bucket_bytes: int) -> list[Bucket]:
        program = current(self._op)
        if program.rank is None or program.world_size is None:
            raise invalid(
                f"shard=True: program {program.name!r} has no ranks; pass rank= and world_size= to "
                "ark.Program",
                self._op,
            )
        most = checked_bucket_bytes(bucket_bytes, self._op)
        return make_buckets(self.weights, program.rank, program.world_size, most)

    def _rate(self) -> Tensor:
        """Returns the learning rate of this step, an fp32 scalar."""
        lr = self._lr
        if callable(lr):
            lr = lr(self.count)
            if not isinstance(lr, Tensor) or lr.size != 1 or not lr.dtype.is_float:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise invalid(f"the function lr must return a float scalar, not {lr!r}", self._op)
        if isinstance(lr, Tensor):
            return ark.reshape(widened(lr), ())
        return ark.constant(lr, fp32)

    def _update(
        self,
        weights: Sequence[Tensor],
        slopes: Sequence[Tensor],
        rate: Tensor,
        skip: Tensor | None,
    ) -> list[Tensor]:
        """Updates the moments, and returns the new values of weights; all tensors are fp32."""
        raise NotImplementedError(f"{type(self).__name__} defines no _update")

    def _moments(self, moment: str) -> list[Tensor]:
        """Returns an fp32 state of zeros for each weight, ``<name>.<moment>.<weight>``.

        With `shard`, a state ``<name>.<moment>.bucket<number>`` for this rank's part of a bucket.
        """
        if self._buckets is not None:
            return [
                ark.state(f"{self._name}.{moment}.bucket{number}", (bucket.extent,), fp32)
                for number, bucket in enumerate(self._buckets)
            ]
        return [
            ark.state(f"{self._name}.{moment}.{name}", weight.shape, fp32)
            for name, weight in zip(self._names, self.weights, strict=True)
        ]
