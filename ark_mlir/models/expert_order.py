"""The order of pairs of a token and one of its experts, sorted by expert."""

from __future__ import annotations

from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import fp32, int32
from ..frontend import Tensor

__all__ = ["Order", "prefix_sums"]

# Up to this number of pairs, all pairs of keys are compared.
_MAX_COMPARED = 2048
# The number of pairs of a block whose pairs are counted together.
_BLOCK = 64


@dataclass(frozen=True)
class Order:
    """Pairs of a token and one of its experts, sorted by expert, then by their numbers.

    Attributes:
        position: the position of each pair in the order.
        order: the pair at each position.
        counts: the number of pairs of each expert.
    """

    position: Tensor
    order: Tensor
    counts: Tensor

    @classmethod
    def of(cls, owner: Tensor, experts: int, name: str) -> Order:
        """Sorts pairs, whose experts are `owner`, int32 ``[pairs]``."""
        build = _compare if owner.shape[0] <= _MAX_COMPARED else _count
        return build(owner, experts, name)


def _compare(owner: Tensor, experts: int, name: str) -> Order:
    """Compares all pairs with each other; few pairs take one step of the schedule."""
    (pairs,) = owner.shape
    number = ark.arange(pairs)
    # Keys are unique, with the expert in the upper digits. The position of a pair in the order is
    # the number of lesser keys.
    key = ark.add(ark.mul(owner, pairs), number, name=f"{name}.key")
    lesser = ark.less(ark.reshape(key, (1, pairs)), ark.reshape(key, (pairs, 1)))
    position = ark.reduce_sum(ark.cast(lesser, int32), 1, keepdims=False, name=f"{name}.position")
    here = ark.equal(ark.reshape(position, (1, pairs)), ark.reshape(number, (pairs, 1)))
    pair = ark.where(here, ark.reshape(number, (1, pairs)), 0)
    order = ark.reduce_sum(pair, 1, keepdims=False, name=f"{name}.order")
    numbers = ark.reshape(ark.arange(experts), (-1, 1))
    is_owner = ark.equal(ark.reshape(owner, (1, pairs)), numbers)
    counts = ark.reduce_sum(ark.cast(is_owner, int32), 1, keepdims=False, name=f"{name}.counts")
    return Order(position, order, counts)


def _count(owner: Tensor, experts: int, name: str) -> Order:
    """Counts the pairs of the same expert before each pair, block by block.

    The counts are sums of ones in fp32, which are exact below 2^24.
    """
    (pairs,) = owner.shape
    blocks = -(-pairs // _BLOCK)
    hits = ark.cast(ark.equal(ark.reshape(owner, (pairs, 1)), ark.arange(experts)), fp32)
    if blocks * _BLOCK > pairs:
        hits = ark.concat([hits, ark.zeros((blocks * _BLOCK - pairs, experts))], 0)
    hits = ark.reshape(hits, (blocks, _BLOCK, experts), name=f"{name}.hits")
    sums = ark.reduce_sum(hits, 1, keepdims=False, name=f"{name}.sums")
    counts = ark.reduce_sum(sums, 0, keepdims=False, name=f"{name}.counts")
    inside = ark.matmul(_before(_BLOCK), hits, name=f"{name}.inside")
    ahead = ark.matmul(_before(blocks), sums, name=f"{name}.ahead")
    begins = ark.matmul(_before(experts), ark.reshape(counts, (experts, 1)), name=f"{name}.begins")
    ahead = ark.add(ahead, ark.reshape(begins, (1, experts)))
    found = ark.mul(ark.add(inside, ark.unsqueeze(ahead, 1)), hits, name=f"{name}.found")
    position = ark.cast(ark.reduce_sum(found, 2, keepdims=False), int32)
    position = ark.reshape(position, (blocks * _BLOCK,), name=f"{name}.position")[:pairs]
    zeros = ark.zeros((pairs,), int32)
    order = ark.scatter_add(zeros, position, ark.arange(pairs), name=f"{name}.order")
    return Order(position, order, ark.cast(counts, int32))


def _before(extent: int) -> Tensor:
    """Returns a matrix whose product with a column sums the entries before each entry."""
    number = ark.arange(extent)
    before = ark.less(ark.reshape(number, (1, extent)), ark.reshape(number, (extent, 1)))
    return ark.cast(before, fp32)


def prefix_sums(counts: Tensor) -> Tensor:
    """Returns the inclusive prefix sums of integers along the last dimension."""
    number = counts.shape[-1]
    numbers = ark.arange(number)
    before = ark.less_equal(ark.reshape(numbers, (1, number)), ark.reshape(numbers, (number, 1)))
    parts = ark.where(before, ark.unsqueeze(counts, -2), 0)
    return ark.reduce_sum(parts, -1, keepdims=False)
