"""The regions of custom ops: the tiles of tensors that vCTAs read and write."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import InvalidUsageError
from .bounded import Array

__all__ = ["Region"]

_REGION = re.compile(r"#ark\.region<\(([^)]*)\) -> \((.*)\), \[([^\]]*)\]>")
# An expression as MLIR prints it, which is one of Python except for these words.
_EXPRESSION = re.compile(r"(?:[\d\s()+*,-]|d\d+|floordiv|mod)*")
_WORDS = {"floordiv": "//", "mod": "%"}


@dataclass(frozen=True)
class Region:
    """The attribute ``#ark.region``.

    Attributes:
        offsets: maps the indices of a vCTA to the first element of its tile.
        sizes: extents of the tile.
    """

    offsets: Callable[..., tuple[int, ...]]
    sizes: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Region:
        """Returns the region from the text that MLIR prints.

        Raises InvalidUsageError if the text has another form.

        Example:
            >>> Region.parse("#ark.region<(d0) -> (d0 * 16, 0), [16, 64]>").slices((1,))
            (slice(16, 32, None), slice(0, 64, None))
        """
        found = _REGION.fullmatch(text)
        if found is None or not _EXPRESSION.fullmatch(found[2]):
            raise InvalidUsageError(f"cannot interpret the region {text}")
        body = re.sub("floordiv|mod", lambda word: _WORDS[word[0]], found[2])
        # The expression has only integers, indices and operators.
        offsets = eval(f"lambda {found[1]}: ({body},)" if body else f"lambda {found[1]}: ()", {})
        return cls(offsets, tuple(int(size) for size in found[3].split(",") if size.strip()))

    def slices(self, vcta: Sequence[int]) -> tuple[slice, ...]:
        """Returns the slices of the tile of one vCTA; numpy clips them."""
        offsets = self.offsets(*vcta)
        return tuple(slice(at, at + n) for at, n in zip(offsets, self.sizes, strict=True))

    def tile(self, vcta: Sequence[int]) -> Callable[[Array], Array]:
        """Returns a function from an array to the tile of one vCTA."""
        return lambda array: array[self.slices(vcta)]
