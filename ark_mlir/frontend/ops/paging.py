"""Caches in pages: the page and the row of a position, and the keys of each sequence.

A cache in pages is a state ``[pages, heads, page_size, D]``. A page table ``[B, P]`` has the
numbers of the pages of each sequence, in the order of its positions: position ``i`` is row
``i % page_size`` of page ``table[b, i // page_size]``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import int32
from ..operands import as_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .conditions import greater_equal, less, logical_and, where
from .creation import arange
from .elementwise import add, cast, div, maximum, minimum, mul, sub
from .indexing import gather
from .views import reshape, transpose

__all__ = ["page_offsets", "paged_keys"]


def page_offsets(
    state: Tensor, value: Tensor, offsets: Sequence[int | Tensor], page_table: Tensor, name: str
) -> list[int | Tensor]:
    """Returns the offsets of an update of a cache in pages: a page and a row for each sequence.

    Args:
        state, value, offsets, page_table: arguments of ``ark.update``.
        name: prefix of the names of ops.

    The page of a position that the table does not have is -1, which the update refuses.
    """
    table = _as_table(page_table, state, value.shape[0] if value.shape else 0, "update")
    if len(offsets) != 4:
        raise invalid("offsets need four entries with a page_table", "ark.update")
    first, heads, position, column = offsets
    if isinstance(first, Tensor) or as_int(first, "offset", "ark.update") != 0:
        raise invalid("the first offset must be 0 with a page_table", "ark.update")
    sequences, pages = table.shape
    if not isinstance(position, Tensor) or position.shape != (sequences,):
        raise invalid(
            f"the offset of dimension 2 must be a tensor with a position for each of the "
            f"{sequences} sequences with a page_table",
            "ark.update",
        )
    size = state.shape[2]
    last = pages * size - 1
    inside = logical_and(
        greater_equal(position, 0), less(position, last + 1), name=f"{name}.inside"
    )
    at = minimum(maximum(position, 0), last, name=f"{name}.position")
    at = cast(at, int32, name=f"{name}.position")
    index = div(at, size, name=f"{name}.index")
    rows = add(mul(arange(sequences), pages), index, name=f"{name}.entry")
    page = gather(reshape(table, (sequences * pages,)), rows, 0, name=f"{name}.page")
    page = where(inside, page, -1, name=f"{name}.page")
    return [page, heads, sub(at, mul(index, size), name=f"{name}.row"), column]


def paged_keys(cache: Tensor, page_table: Tensor, lengths: Tensor, name: str) -> Tensor:
    """Returns the keys of each sequence in the order of their positions, ``[B, heads, Tk, D]``.

    Args:
        cache: ``[pages, heads, page_size, D]``.
        page_table: ``[B, P]``; Tk is ``P * page_size``.
        lengths: ``[B]``, the number of valid keys of each sequence. Entries of the table beyond
            these keys are not used; the result has keys of page 0 there.
        name: prefix of the names of ops.
    """
    table = _as_table(page_table, cache, lengths.shape[0] if lengths.shape else 0, "attention")
    (sequences, pages), (_, heads, size, depth) = table.shape, cache.shape
    begins = mul(arange(pages), size, name=f"{name}.begins")
    used = less(begins, reshape(cast(lengths, int32), (sequences, 1)), name=f"{name}.used")
    entries = where(used, table, 0, name=f"{name}.pages")
    parts = gather(cache, entries, 0, name=f"{name}.pages")
    parts = transpose(parts, (0, 2, 1, 3, 4), name=f"{name}.keys")
    return reshape(parts, (sequences, heads, pages * size, depth))


def _as_table(value: object, cache: Tensor, sequences: int, op: str) -> Tensor:
    """Returns a page table of int32; raises InvalidUsageError if it does not fit the cache."""
    table = as_tensor(value, op, "page_table")
    if cache.ndim != 4:
        raise invalid(
            f"a cache in pages is [pages, heads, page_size, D], not {list(cache.shape)}",
            f"ark.{op}",
        )
    if table.ndim != 2 or table.shape[0] != sequences or table.dtype is not int32:
        raise invalid(
            f"page_table must be int32 [{sequences}, P], the pages of each sequence, not "
            f"{table.dtype} {list(table.shape)}",
            f"ark.{op}",
        )
    return table
