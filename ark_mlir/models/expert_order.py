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
    if blocks > _BLOCK:
        blocks = -(-blocks // _BLOCK) * _BLOCK
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
    counts = ark.cast(counts, int32)
    order = _find_pairs(position, ark.cast(ahead, int32), counts, pairs, name)
    position = ark.reshape(position, (blocks * _BLOCK,), name=f"{name}.position")[:pairs]
    return Order(position, order, counts)


def _find_pairs(position: Tensor, ahead: Tensor, counts: Tensor, pairs: int, name: str) -> Tensor:
    """Returns the pair at each position, int32 ``[pairs]``.

    The expert of a position is known from the counts. Among the blocks, the last one whose first
    position for this expert is not greater has the pair. The search reads one number of each
    group of blocks, then one of each block of the group, then the positions of the block.

    Args:
        position: the position of each pair of each block, int32 ``[blocks, _BLOCK]``.
        ahead: the first position of each block for each expert, int32 ``[blocks, experts]``.
        counts: the number of pairs of each expert, int32 ``[experts]``.
        pairs: the number of pairs.
        name: the prefix of the names of ops.
    """
    blocks, experts = ahead.shape
    here = ark.reshape(ark.arange(pairs), (pairs, 1))
    row = _count_up_to(ark.reshape(prefix_sums(counts), (1, experts)), here)
    firsts = ark.transpose(ahead, (1, 0))
    if blocks > _BLOCK:
        groups = blocks // _BLOCK
        firsts = ark.reshape(firsts, (experts * groups, _BLOCK))
        heads = ark.reshape(firsts[:, :1], (experts, groups))
        group = ark.sub(_count_up_to(ark.gather(heads, row, 0), here), 1)
        row = ark.add(ark.mul(row, groups), group, name=f"{name}.group")
        inner = ark.sub(_count_up_to(ark.gather(firsts, row, 0), here), 1)
        block = ark.add(ark.mul(group, _BLOCK), inner, name=f"{name}.block")
    else:
        block = ark.sub(_count_up_to(ark.gather(firsts, row, 0), here), 1, name=f"{name}.block")
    is_pair = ark.equal(ark.gather(position, block, 0), here)
    inner = ark.reduce_sum(ark.where(is_pair, ark.arange(_BLOCK), 0), 1, keepdims=False)
    return ark.add(ark.mul(block, _BLOCK), inner, name=f"{name}.order")


def _count_up_to(numbers: Tensor, limits: Tensor) -> Tensor:
    """Returns how many numbers of each row are not greater than the row's limit."""
    within = ark.less_equal(numbers, limits)
    return ark.reduce_sum(ark.cast(within, int32), 1, keepdims=False)


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
