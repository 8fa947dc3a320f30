"""``Pipeline``: a model divided among ranks by layers, trained on microbatches in 1F1B order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import frontend as ark
from ..dtypes import DType, fp32
from ..errors import InvalidUsageError
from ..frontend import Tensor
from ..frontend.gradients import find_gradients
from ..frontend.locations import user_frames
from ..frontend.program import current
from ..frontend.shapes import as_dtype, as_shape
from ..optim.checks import widened

if TYPE_CHECKING:
    from ..typing import DTypeLike, Shape

__all__ = ["Pipeline"]

_OP = "ark.training.Pipeline"
# Tags of messages begin here, so that they differ from those of a program's other messages.
_FIRST_TAG = 1 << 20


class Pipeline:
    """A model whose stages are on different ranks, and a batch that passes them in microbatches.

    Of R ranks, rank r has the stages r, r + R and so on. Each rank sends the results of its stages
    to the next rank, and the cotangents back. The compiler orders the work of each rank by 1F1B:
    after a warm-up, one microbatch forward and one backward (Narayanan et al., 2021). All ranks
    wait for ``(R - 1) / (M + R - 1)`` of the time of M microbatches; with c stages of each rank,
    for ``(R - 1) / (c M + R - 1)``.

    Args:
        microbatches: the number of microbatches of a batch.
        hidden: the shape of the tensor that a stage passes to the next, for one microbatch.
        dtype: the element type of this tensor.
        chunks: the number of stages of each rank. If it is more than one, the number of
            microbatches must be a multiple of the number of ranks.

    Attributes:
        stages: the numbers of the stages of this rank.
        last: the number of the last stage of the model.

    Raises InvalidUsageError outside of a program with ranks, or if a number is not positive.

    Example:
        >>> with ark.Program("step", rank=1, world_size=2) as program:
        ...     pipeline = ark.training.Pipeline(microbatches=4, hidden=(8, 64))
        ...     x = ark.input("x", (32, 64))
        ...     w = ark.state("w", (64, 64))
        ...     loss, slopes = pipeline.gradients(
        ...         [w], x, lambda stage, h: ark.relu(h @ w), lambda y, m: ark.reduce_mean(y * y)
        ...     )
        ...     ark.optim.SGD([w], lr=0.1).step(slopes)
        >>> pipeline.stages, pipeline.last
        ((1,), 1)
    """

    def __init__(
        self, microbatches: int, hidden: Shape, dtype: DTypeLike = fp32, chunks: int = 1
    ) -> None:
        program = current(_OP)
        if program.rank is None or program.world_size is None:
            raise _invalid(
                f"program {program.name!r} has no ranks; pass rank= and world_size= to ark.Program"
            )
        self.microbatches = _positive(microbatches, "microbatches")
        self.chunks = _positive(chunks, "chunks")
        self._ranks, self._rank = program.world_size, program.rank
        if self.chunks > 1 and self.microbatches % self._ranks:
            raise _invalid(
                f"chunks={chunks} interleaves stages; the number of microbatches, {microbatches}, "
                f"must then be a multiple of the {self._ranks} ranks"
            )
        self._hidden = tuple(as_shape(hidden, _OP)), as_dtype(dtype, _OP)
        self.last = self._ranks * self.chunks - 1
        self.stages = tuple(range(self._rank, self.last + 1, self._ranks))

    def part(self, x: Tensor, microbatch: int) -> Tensor:
        """Returns one of `microbatches` equal slices of the first dimension of `x`.

        Args:
            x: a tensor of any dtype, such as the labels of a batch.
            microbatch: the number of the slice.

        Raises InvalidUsageError if the number of microbatches does not divide this dimension.

        >>> with ark.Program("step", rank=0, world_size=2):
        ...     pipeline = ark.training.Pipeline(microbatches=4, hidden=(8, 64))
        ...     labels = pipeline.part(ark.input("labels", (32,), ark.int32), 0)
        ...     _ = ark.output("labels", labels)
        >>> labels.shape
        (8,)
        """
        rows, rest = divmod(x.shape[0] if x.ndim else 0, self.microbatches)
        if rest or not rows:
            raise _invalid(
                f"the first dimension of {x.name!r}, of shape {list(x.shape)}, must be a multiple "
                f"of the {self.microbatches} microbatches"
            )
        return x[microbatch * rows : (microbatch + 1) * rows]

    def gradients(
        self,
        weights: Sequence[Tensor],
        x: Tensor,
        stage: Callable[[int, Tensor], Tensor],
        loss: Callable[[Tensor, int], Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns the loss of the batch, and its derivative with respect to each weight.

        The loss, an fp32 scalar, is the mean of the losses of all microbatches, on every rank. The
        derivatives are those of the mean, at least fp32, of the shapes of `weights`. They are added
        in the order of the microbatches, so that they have the same bits in each run.

        Args:
            weights: the weights of the stages of this rank.
            x: the batch, whose first dimension is a multiple of the number of microbatches. Only
                the rank of stage 0 reads it.
            stage: returns the result of a stage from its number and its input, which is
                :meth:`part` of `x` for stage 0, and else the result of the stage before it.
            loss: returns the loss of a microbatch, a float tensor with one element, from the result
                of the last stage and the number of the microbatch.

        Raises InvalidUsageError if `stage` or `loss` returns another tensor, a stage does not
        depend on its input, or no stage of this rank depends on one of the weights.

        >>> with ark.Program("step", rank=0, world_size=1):
        ...     pipeline = ark.training.Pipeline(microbatches=4, hidden=(8, 64), chunks=2)
        ...     x, w = ark.input("x", (32, 64)), ark.state("w", (2, 64, 64))
        ...     loss, slopes = pipeline.gradients(
        ...         [w], x, lambda s, h: ark.relu(h @ w[s]), lambda y, m: ark.reduce_mean(y * y)
        ...     )
        ...     ark.optim.SGD([w], lr=0.1).step(slopes)
        >>> loss.shape, [slope.shape for slope in slopes]
        ((), [(2, 64, 64)])
        """
        batch = _Batch(self, self._hidden, list(weights), stage, loss)
        for number in self.stages:
            for microbatch in range(self.microbatches):
                given = self.part(x, microbatch) if number == 0 else None
                batch.forward(number, microbatch, given)
        for number in reversed(self.stages):
            for microbatch in range(self.microbatches):
                batch.backward(number, microbatch)
        return batch.mean_loss(), batch.slopes()


class _Batch:
    """The units of a batch on one rank, and the sums of their gradients.

    Args:
        hidden: shape and dtype of the tensor between two stages.
        weights, stage, loss: the arguments of :meth:`Pipeline.gradients`.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        hidden: tuple[tuple[int, ...], DType],
        weights: list[Tensor],
        stage: Callable[[int, Tensor], Tensor],
        loss: Callable[[Tensor, int], Tensor],
    ) -> None:
        self._microbatches, self._last = pipeline.microbatches, pipeline.last
        self._ranks = (pipeline.last + 1) // pipeline.chunks
        self._hidden = hidden
        self._weights, self._stage, self._loss = weights, stage, loss
        # By stage and microbatch: the input of a stage, and its result or loss.
        self._inputs: dict[tuple[int, int], Tensor] = {}
        self._results: dict[tuple[int, int], Tensor] = {}
        self._total: Tensor | None = None
        self._sums: list[Tensor | None] = [None] * len(weights)

    def forward(self, stage: int, microbatch: int, given: Tensor | None) -> None:
        """Creates a forward unit; `given` is the input of stage 0, other stages receive theirs."""
        with ark.planner(stage=stage, microbatch=microbatch):
            h = self._receive(stage - 1, stage, microbatch) if given is None else given
            y = self._stage(stage, h)
            if stage == self._last:
                y = self._add_loss(self._loss(y, microbatch))
            else:
                self._check(stage, y)
                self._send(y, stage, stage + 1, microbatch)
        self._inputs[stage, microbatch], self._results[stage, microbatch] = h, y

    def backward(self, stage: int, microbatch: int) -> None:
        """Creates a backward unit."""
        h, y = self._inputs[stage, microbatch], self._results[stage, microbatch]
        with ark.planner(stage=stage, microbatch=microbatch, backward=True):
            if stage == self._last:
                seed = ark.full(y.shape, 1 / self._microbatches, y.dtype)
            else:
                seed = self._receive(stage + 1, stage, microbatch)
            wrt = self._weights if stage == 0 else [*self._weights, h]
            slopes = find_gradients(y, wrt, seed)
            if stage > 0:
                self._send(self._checked(slopes[-1], stage), stage, stage - 1, microbatch)
            for index, slope in enumerate(slopes[: len(self._weights)]):
                if slope is not None:
                    known, wide = self._sums[index], widened(slope)
                    self._sums[index] = wide if known is None else known + wide

    def mean_loss(self) -> Tensor:
        """Returns the mean of the losses of all microbatches, on all ranks."""
        total = ark.zeros((), fp32) if self._total is None else self._total
        root = self._last % self._ranks
        return ark.broadcast(total * (1 / self._microbatches), root, name="loss")

    def slopes(self) -> list[Tensor]:
        """Returns the sums of the gradients of all microbatches."""
        found: list[Tensor] = []
        for index, (weight, total) in enumerate(zip(self._weights, self._sums, strict=True)):
            if total is None:
                raise _invalid(f"no stage of this rank depends on weights[{index}] {weight.name!r}")
            found.append(total)
        return found

    # -- tensors -----------------------------------------------------------------------------------

    def _add_loss(self, loss: Tensor) -> Tensor:
        """Adds the loss of a microbatch to the total; returns it as a scalar."""
        if not isinstance(loss, Tensor) or loss.size != 1 or not loss.dtype.is_float:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid(f"loss must return a float tensor with one element, not {loss!r}")
        scalar = ark.reshape(loss, ())
        wide = widened(scalar)
        self._total = wide if self._total is None else self._total + wide
        return scalar

    def _check(self, stage: int, y: Tensor) -> None:
        shape, dtype = self._hidden
        if not isinstance(y, Tensor) or (y.shape, y.dtype) != (shape, dtype):  # pyright: ignore[reportUnnecessaryIsInstance]
            got = f"{y.dtype}{list(y.shape)}" if isinstance(y, Tensor) else repr(y)  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid(
                f"stage {stage} returns {got}, but stages pass {dtype}{list(shape)}, by the "
                "arguments hidden and dtype"
            )

    def _checked(self, slope: Tensor | None, stage: int) -> Tensor:
        if slope is None:
            raise _invalid(f"the result of stage {stage} does not depend on its input")
        return slope

    # -- messages ----------------------------------------------------------------------------------

    def _tag(self, source: int, target: int, microbatch: int) -> int:
        number = source * self._microbatches + microbatch
        return _FIRST_TAG + 2 * number + (target < source)

    def _send(self, x: Tensor, source: int, target: int, microbatch: int) -> None:
        """Sends the result of a stage to the next one, or a cotangent to the stage before."""
        tag = self._tag(source, target, microbatch)
        ark.send(x, target % self._ranks, tag, name=f"to_stage{target}")

    def _receive(self, source: int, target: int, microbatch: int) -> Tensor:
        tag = self._tag(source, target, microbatch)
        rank = source % self._ranks
        return ark.recv(*self._hidden, rank, tag, name=f"from_stage{source}")


def _positive(value: object, label: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _invalid(f"{label} must be a positive integer, not {value!r}")
    return value


def _invalid(message: str) -> InvalidUsageError:
    return InvalidUsageError(message, location=str(user_frames(0)[0]), op=_OP)
