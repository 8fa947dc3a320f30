"""Caches of keys and values in pages, as states of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import DType
from ..frontend import Tensor
from ..frontend.ops.paging import paged_keys

__all__ = ["CachePages"]


@dataclass(frozen=True)
class CachePages:
    """The pages of the sequences of a program.

    Attributes:
        table: int32 ``[batch, P]``, the numbers of the pages of each sequence.
        count, size: number of pages of each cache, and of positions of a page.
    """

    table: Tensor
    count: int
    size: int

    def cached(
        self, x: Tensor, name: str, offsets: Sequence[int | Tensor], dtype: DType, lengths: Tensor
    ) -> Tensor:
        """Writes keys or values `x` to their cache; returns those of each sequence, in order."""
        shape = (self.count, x.shape[1], self.size, x.shape[-1])
        cache = ark.state(name, shape, dtype)
        cache = ark.update(cache, x, offsets, name=name, page_table=self.table)
        return paged_keys(cache, self.table, lengths, name)
