"""Buckets of weights, of which each rank updates one part (ZeRO, stage 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .. import frontend as ark
from ..dtypes import DType
from ..frontend import Tensor
from .checks import widened

__all__ = ["Bucket", "make_buckets"]


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
    groups: list[list[int]] = []
    held = 0
    for number in reversed(range(len(weights))):
        size = 4 * weights[number].size
        fits = groups and held + size <= most_bytes
        if fits and weights[groups[-1][0]].dtype == weights[number].dtype:
            groups[-1].append(number)
            held += size
        else:
            groups.append([number])
            held = size
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
