"""Matrix products whose matrices are chosen at run time, for mixtures of experts."""

from __future__ import annotations

import math

import numpy as np

from ..operands import as_tensor
from ..shapes import invalid
from ..tensor import Tensor
from .conditions import equal, less_equal, logical_and, where
from .creation import arange
from .elementwise import add, cast, div, maximum, minimum, mul, sub
from .indexing import as_indices, gather
from .linear import matmul
from .reductions import reduce_max, reduce_min, reduce_sum
from .views import broadcast_to, reshape, slice

__all__ = ["grouped_matmul", "indexed_matmul"]

# The rows of a block of groups with few rows, and of groups with many rows: those of a tile of a
# matrix product. Larger blocks read the matrix of a group less often.
_SMALL_ROWS, _LARGE_ROWS = 64, 128
# Large blocks pay off if a group has this number of rows on average: every group may have a block
# that is almost empty.
_MANY_ROWS = 512


def indexed_matmul(x: Tensor, weights: Tensor, indices: Tensor, name: str | None = None) -> Tensor:
    """Returns products with matrices that indices select: ``x[...] @ weights[indices[...]].T``.

    Args:
        x: ``[..., M, K]``. Its leading dimensions broadcast with the shape of `indices`.
        weights: ``[E, N, K]``, E matrices.
        indices: integers, of any shape.

    The result is ``[..., M, N]``; dtypes are as in :func:`matmul`. The compiled product reads the
    selected matrices in `weights`, and copies none of them. Raises InvalidUsageError if shapes or
    dtypes do not fit. A run raises DataRangeError if an index is negative or not less than E.

    Example:
        >>> experts = ark.parameter("experts", (32, 48, 64))
        >>> chosen = ark.input("chosen", (4, 2), ark.int32)
        >>> rows = ark.reshape(x, (4, 1, 1, 64))  # x: (4, 64)
        >>> ark.indexed_matmul(rows, experts, chosen).shape
        (4, 2, 1, 48)
    """
    rows, table = as_tensor(x, "indexed_matmul"), as_tensor(weights, "indexed_matmul", "weights")
    numbers = as_indices(indices, "indexed_matmul")
    if rows.ndim < 2 or table.ndim != 3:
        raise invalid(
            f"x {rows.shape} and weights {table.shape} are not [..., M, K] and [E, N, K]",
            "ark.indexed_matmul",
        )
    try:
        leading = np.broadcast_shapes(rows.shape[:-2], numbers.shape)
    except ValueError:
        raise invalid(
            f"leading dimensions of x {rows.shape} and indices {numbers.shape} do not broadcast",
            "ark.indexed_matmul",
        ) from None
    # The compiler requires a single leading dimension for a product with a table of matrices.
    if math.prod(numbers.shape) != 1:
        numbers = broadcast_to(numbers, leading)
    if math.prod(rows.shape[:-2]) != 1:
        rows = broadcast_to(rows, (*leading, *rows.shape[-2:]))
    flat = reshape(rows, (math.prod(rows.shape[:-2]), *rows.shape[-2:]))
    chosen = gather(table, reshape(numbers, (math.prod(numbers.shape),)), 0, name=name)
    product = matmul(flat, chosen, transpose_other=True, name=name)
    return reshape(product, (*leading, rows.shape[-2], table.shape[1]))


def grouped_matmul(x: Tensor, weights: Tensor, counts: Tensor, name: str | None = None) -> Tensor:
    """Returns products of groups of rows with a matrix for each group.

    The first ``counts[0]`` rows of `x` are multiplied by ``weights[0].T``, the next ``counts[1]``
    rows by ``weights[1].T``, and so on. A group may be empty, and one group may have all rows: no
    row is dropped. The matrices of empty groups are not read.

    Args:
        x: ``[T, K]``, sorted by group.
        weights: ``[E, N, K]``.
        counts: integers ``[E]``, the number of rows of each group, known at run time.

    The result is ``[T, N]``; dtypes are as in :func:`matmul`. Raises InvalidUsageError if shapes
    or dtypes do not fit. A run raises DataRangeError if a count is negative or the sum of the
    counts is not T; the message then reports E as the index that is out of range.

    Example:
        >>> experts = ark.parameter("experts", (32, 48, 64))
        >>> counts = ark.input("counts", (32,), ark.int32)
        >>> ark.grouped_matmul(x, experts, counts).shape  # x: (4, 64)
        (4, 48)
    """
    rows, table = as_tensor(x, "grouped_matmul"), as_tensor(weights, "grouped_matmul", "weights")
    sizes = as_indices(counts, "grouped_matmul", "counts")
    fits = rows.ndim == 2 and table.ndim == 3 and table.shape[0] > 0
    if not fits or sizes.shape != table.shape[:1]:
        raise invalid(
            f"x {rows.shape}, weights {table.shape} and counts {sizes.shape} are not [T, K], "
            "[E, N, K] and [E]",
            "ark.grouped_matmul",
        )
    groups = _Groups(rows.shape[0], sizes)
    block = choose_block(rows.shape[0], table.shape[0])
    if block == 1:
        single = reshape(rows, (rows.shape[0], 1, rows.shape[1]))
        product = indexed_matmul(single, table, groups.checked(groups.of_rows), name)
        return reshape(product, (rows.shape[0], table.shape[1]))
    return groups.multiply_blocks(rows, table, block, name)


def choose_block(rows: int, groups: int) -> int:
    """Returns the number of rows of a block: a power of two, at most the mean number per group.

    Example:
        >>> from ark_mlir.frontend.ops.experts import choose_block
        >>> choose_block(8, 128), choose_block(512, 128), choose_block(1600, 8)
        (1, 4, 64)
        >>> choose_block(100000, 8)
        128
    """
    if _MANY_ROWS * groups <= rows:
        return _LARGE_ROWS
    block = 1
    while block < _SMALL_ROWS and 2 * block * groups <= rows:
        block *= 2
    return block


class _Groups:
    """The groups into which `total` rows are divided.

    Args:
        total: the number of rows.
        counts: integers ``[E]``, the number of rows of each group. All other tensors have its
            dtype.
    """

    def __init__(self, total: int, counts: Tensor) -> None:
        self.total = total
        self.counts = counts
        self.num_groups = counts.shape[0]
        self.ends = self._ends(counts)
        self.begins = sub(self.ends, counts)
        self.of_rows = self._find(self.ends, self._count_up(total))

    def _count_up(self, extent: int) -> Tensor:
        return arange(extent, dtype=self.counts.dtype)

    def _ends(self, counts: Tensor) -> Tensor:
        """Returns the inclusive prefix sums of `counts`: the end of each group."""
        numbers = self._count_up(self.num_groups)
        before = less_equal(reshape(numbers, (1, -1)), reshape(numbers, (-1, 1)))
        return reduce_sum(where(before, reshape(counts, (1, -1)), 0), 1, keepdims=False)

    def _find(self, ends: Tensor, positions: Tensor) -> Tensor:
        """Returns, for each position, the index of the group that contains it."""
        passed = less_equal(reshape(ends, (1, -1)), reshape(positions, (-1, 1)))
        return reduce_sum(cast(passed, self.counts.dtype), 1, keepdims=False)

    def checked(self, groups: Tensor) -> Tensor:
        """Returns the indices `groups`; if the counts are not valid, all are out of range."""
        # The limit of each count excludes counts whose sum wraps around to the right total.
        least, most = (op(self.counts, 0) for op in (reduce_min, reduce_max))
        last = slice(self.ends, (self.num_groups - 1,), (self.num_groups,))
        in_range = logical_and(less_equal(0, least), less_equal(most, self.total))
        return where(logical_and(in_range, equal(last, self.total)), groups, self.num_groups)

    def multiply_blocks(self, rows: Tensor, table: Tensor, block: int, name: str | None) -> Tensor:
        """Multiplies blocks of `block` rows; other rows pad the last block of each group.

        The number of blocks is static: it suffices for all valid counts. Surplus blocks belong to
        the last group, and the result takes no row from them.
        """
        number = min(-(-self.total // block) + self.num_groups - 1, self.total)
        blocks = div(add(self.counts, block - 1), block)
        ends = self._ends(blocks)
        begins = sub(ends, blocks)
        positions = self._count_up(number)
        owner = minimum(self._find(ends, positions), self.num_groups - 1)
        first = add(
            gather(self.begins, owner, 0), mul(sub(positions, gather(begins, owner, 0)), block)
        )
        inside = add(reshape(first, (number, 1)), self._count_up(block))
        limited = maximum(minimum(inside, self.total - 1), 0)
        product = indexed_matmul(gather(rows, limited, 0), table, self.checked(owner), name)
        # Row r of a group is row r % block of the group's block r // block.
        group = minimum(self.of_rows, self.num_groups - 1)
        within = sub(self._count_up(self.total), gather(self.begins, group, 0))
        position = add(mul(gather(begins, group, 0), block), within)
        flat = maximum(minimum(position, number * block - 1), 0)
        return gather(reshape(product, (number * block, table.shape[1])), flat, 0, name=name)
