"""Expert parallelism: each rank has whole experts, and rows travel to the ranks of their experts.

Without a capacity, each rank computes its experts for the tokens of all ranks, and the results are
partial sums, as those of a divided MLP. With a capacity, each rank has its own tokens: an
``all_to_all`` sends a row to the rank of each of its experts, with the number of rows of each
expert, and another one returns the results. The extents of an ``all_to_all`` are static, so that a
rank sends a fixed number of rows to each rank; rows beyond it are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import frontend as ark
from ..dtypes import int32
from ..frontend import Tensor
from .expert_order import Order, prefix_sums
from .experts import Experts
from .sharding import Shard

__all__ = ["exchange", "held"]

# Takes rows ``[rows, hidden]`` and the experts of each of them, ``[rows, 1]``, among those that the
# rank has; returns the results, ``[rows, 1, hidden]``.
Compute = Callable[[Tensor, Tensor], Tensor]


def held(experts: Experts, shard: Shard, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the chosen experts among those of this rank, and True where this rank has them.

    Args:
        chosen: int32 ``[tokens, chosen]``, the numbers of experts.
    """
    local = ark.sub(chosen, shard.rank * experts.held)
    mine = ark.logical_and(ark.less_equal(0, local), ark.less(local, experts.held))
    return ark.where(mine, local, 0), mine


def exchange(
    experts: Experts, shard: Shard, x: Tensor, chosen: Tensor, compute: Compute, name: str
) -> Tensor:
    """Returns the results of the chosen experts of each token, ``[tokens, chosen, hidden]``.

    A row that exceeds the capacity of the rank of its expert has the result zero.

    Args:
        x: the hidden states of this rank's tokens, ``[tokens, hidden]``.
        chosen: the experts of these tokens, int32 ``[tokens, chosen]``.
        compute: computes this rank's experts.
    """
    (tokens, hidden), count, ranks = x.shape, chosen.shape[1], shard.size
    pairs = tokens * count
    assert experts.capacity is not None
    capacity = min(pairs, max(1, math.ceil(experts.capacity * pairs / ranks)))
    owner = ark.reshape(chosen, (pairs,))
    sorted_pairs = Order.of(owner, experts.num_experts, name)
    counts = ark.reshape(sorted_pairs.counts, (ranks, experts.held))
    ends = prefix_sums(ark.reduce_sum(counts, 1, keepdims=False))
    begins = ark.sub(ends, ark.reduce_sum(counts, 1, keepdims=False), name=f"{name}.begins")

    slots = ark.reshape(ark.arange(capacity), (1, capacity))
    index = ark.minimum(ark.add(ark.reshape(begins, (ranks, 1)), slots), pairs - 1)
    sent = ark.gather(sorted_pairs.order, ark.reshape(index, (-1,)), 0, name=f"{name}.sent")
    rows = ark.gather(x, ark.div(sent, count), 0, name=f"{name}.rows")
    rows = ark.all_to_all(rows, 0, name=f"{name}.dispatch")
    # The rows of a rank are sorted by expert: their numbers say which expert each of them has.
    ahead = ark.sub(prefix_sums(counts), counts)
    kept = ark.minimum(counts, ark.maximum(ark.sub(capacity, ahead), 0), name=f"{name}.kept")
    kept = ark.all_to_all(kept, 0, name=f"{name}.received")
    passed = ark.less_equal(ark.reshape(prefix_sums(kept), (ranks, 1, -1)), ark.unsqueeze(slots, 2))
    local = ark.reduce_sum(ark.cast(passed, int32), 2, keepdims=False, name=f"{name}.local")
    # A slot without a row has the last expert, whose result no rank reads.
    local = ark.minimum(local, experts.held - 1)
    parts = compute(rows, ark.reshape(local, (ranks * capacity, 1)))
    parts = ark.reshape(parts, (ranks * capacity, hidden))
    parts = ark.all_to_all(parts, 0, name=f"{name}.combine")

    rank = ark.div(owner, experts.held)
    slot = ark.sub(sorted_pairs.position, ark.gather(begins, rank, 0), name=f"{name}.slot")
    at = ark.add(ark.mul(rank, capacity), ark.minimum(slot, capacity - 1))
    results = ark.gather(parts, at, 0, name=f"{name}.unsorted")
    results = ark.where(ark.reshape(ark.less(slot, capacity), (pairs, 1)), results, 0)
    return ark.reshape(results, (tokens, count, hidden))
