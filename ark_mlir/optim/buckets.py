"""Buckets of gradients that ranks add, and of weights of which each rank updates one part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .. import frontend as ark
from ..dtypes import DType
from ..frontend import Tensor
from ..frontend.program import current
from .checks import as_floats, invalid, widened

__all__ = ["BUCKET_BYTES", "Bucket", "checked_bucket_bytes", "make_buckets", "sum_over_ranks"]

# As in PyTorch's data parallelism: large enough for the bandwidth of links, and small enough that
# the first buckets are exchanged early.
BUCKET_BYTES = 25 << 20

_OP = "ark.optim.sum_over_ranks"


@dataclass(frozen=True)
class Bucket:
    """Weights of one dtype as one vector, whose equal parts belong to the ranks.

    Attributes:
        numbers: the positions of the weights among those of the optimizer.
        shapes: the shapes of the weights.
        dtype: the dtype of the weights.
        rank, world_size: the rank of the program, and the number of ranks.
    """

    numbers: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    rank: int
    world_size: int

    @cached_property
    def extent(self) -> int:
        """Returns the elements of the part of a rank; the last part may end with zeros."""
        return -(-sum(map(math.prod, self.shapes)) // self.world_size)

    def reduce(self, gradients: Sequence[Tensor]) -> Tensor:
        """Returns this rank's part of the sum of the gradients of all ranks, ``[extent]``.

        `gradients` are fp32, for all weights of the optimizer.
        """
        vectors = [ark.reshape(gradients[number], (-1,)) for number in self.numbers]
        flat = self._padded(vectors, self.extent * self.world_size)
        return ark.reduce_scatter(flat, 0, name="gradients.reduce")

    def part(self, weights: Sequence[Tensor]) -> Tensor:
        """Returns this rank's part of the weights, fp32 ``[extent]``."""
        begin, end, offset = self.rank * self.extent, (self.rank + 1) * self.extent, 0
        vectors: list[Tensor] = []
        for number, shape in zip(self.numbers, self.shapes, strict=True):
            count = math.prod(shape)
            first, last = max(begin, offset), min(end, offset + count)
            if first < last:
                flat = ark.reshape(weights[number], (-1,))
                vectors.append(widened(flat[first - offset : last - offset]))
            offset += count
        return self._padded(vectors, self.extent)

    def gather(self, part: Tensor) -> list[Tensor]:
        """Returns the weights of the bucket, from the parts of all ranks, in the weights' dtype."""
        cast = part if part.dtype == self.dtype else ark.cast(part, self.dtype)
        flat, offset = ark.all_gather(cast, 0, name="weights.gather"), 0
        result: list[Tensor] = []
        for shape in self.shapes:
            count = math.prod(shape)
            result.append(ark.reshape(flat[offset : offset + count], shape))
            offset += count
        return result

    def _padded(self, vectors: list[Tensor], extent: int) -> Tensor:
        """Joins vectors to one of `extent` elements, with zeros at its end."""
        missing = extent - sum(vector.size for vector in vectors)
        if missing:
            vectors = [*vectors, ark.zeros((missing,))]
        return vectors[0] if len(vectors) == 1 else ark.concat(vectors, 0)


def make_buckets(
    weights: Sequence[Tensor], rank: int, world_size: int, most_bytes: int
) -> list[Bucket]:
    """Divides weights into buckets.

    Args:
        weights: the weights of the optimizer.
        rank, world_size: the rank of the program, and the number of ranks.
        most_bytes: bytes of the gradients of a bucket in fp32; a larger weight has its own bucket.

    The buckets are in the reverse order of the weights, since the backward pass usually computes
    the gradients of the last weights first.
    """
    groups = _groups(weights, [4 * weight.size for weight in weights], most_bytes)
    return [
        Bucket(
            tuple(group),
            tuple(weights[number].shape for number in group),
            weights[group[0]].dtype,
            rank,
            world_size,
        )
        for group in groups
    ]


def sum_over_ranks(
    gradients: Sequence[Tensor], *, bucket_bytes: int = BUCKET_BYTES
) -> list[Tensor]:
    """Returns the sums of gradients over all ranks, for plain data parallelism.

    The gradients are divided into buckets, and ranks add each bucket in one collective. Buckets are
    in the reverse order of `gradients`: the backward pass usually computes the last ones first, so
    that ranks add the first buckets while they compute the other gradients. A small bucket costs
    the latency of a collective, and a large one waits for more gradients.

    Args:
        gradients: float tensors, those of this rank. All ranks pass equal shapes and dtypes. The
            sums have the shapes and dtypes of the gradients.
        bucket_bytes: bytes of a bucket; a larger gradient has a bucket of its own. A bucket has
            gradients of one dtype.

    Raises InvalidUsageError if a gradient is not a float tensor, the program has no ranks, or
    `bucket_bytes` is not a positive integer.

    >>> with ark.Program("step", rank=0, world_size=2):
    ...     w, given = ark.state("w", (64, 4)), ark.input("given", (8, 64))
    ...     loss = ark.reduce_mean((given @ w) ** 2.0, keepdims=False) / 2
    ...     slopes = ark.optim.sum_over_ranks(ark.gradients(loss, [w]))
    ...     ark.optim.SGD([w], lr=0.1).step(slopes)
    """
    slopes = as_floats(gradients, "gradients", _OP)
    program = current(_OP)
    if program.rank is None or program.world_size is None:
        raise invalid(
            f"program {program.name!r} has no ranks; pass rank= and world_size= to ark.Program",
            _OP,
        )
    most = checked_bucket_bytes(bucket_bytes, _OP)
    sums: dict[int, Tensor] = {}
    for group in _groups(slopes, [slope.size * slope.dtype.itemsize for slope in slopes], most):
        vectors = [ark.reshape(slopes[number], (-1,)) for number in group]
        flat = vectors[0] if len(vectors) == 1 else ark.concat(vectors, 0)
        total, offset = ark.all_reduce(flat, name="gradients.sum"), 0
        for number, vector in zip(group, vectors, strict=True):
            part = total[offset : offset + vector.size]
            sums[number] = ark.reshape(part, slopes[number].shape)
            offset += vector.size
    return [sums[number] for number in range(len(slopes))]


def checked_bucket_bytes(value: int, op: str) -> int:
    """Returns `value`, or raises InvalidUsageError if it is not a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"bucket_bytes must be a positive integer, not {value!r}", op)
    return value


def _groups(tensors: Sequence[Tensor], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Returns the numbers of the tensors of each bucket, from the last tensor to the first.

    Tensors of a bucket have one dtype. The sum of their `sizes` is at most `most`, except that of
    one large tensor.
    """
    groups: list[list[int]] = []
    held = 0
    for number in reversed(range(len(tensors))):
        fits = groups and held + sizes[number] <= most
        if fits and tensors[groups[-1][0]].dtype == tensors[number].dtype:
            groups[-1].append(number)
            held += sizes[number]
        else:
            groups.append([number])
            held = sizes[number]
    return groups
