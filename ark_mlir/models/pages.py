"""The pages of an engine's caches: free, in use by sequences, or kept for their tokens."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from ..errors import InvalidUsageError
from .config import as_count

__all__ = ["PagePool", "Pages", "make_pool"]


@dataclass
class Pages:
    """The pages of a sequence.

    Attributes:
        numbers: the pages, in the order of the sequence's positions.
        shared: number of positions that other sequences had computed when the sequence began.
        published: number of pages at the beginning that the pool has a prompt for.
    """

    numbers: list[int]
    shared: int = 0
    published: int = 0


@dataclass
class PagePool:
    """Counts the sequences that use each page, and finds pages by their tokens.

    A page belongs to one sequence, except if all tokens up to its end are those of another prompt:
    the keys and values of these positions are equal, and no sequence writes them again. A page that
    no sequence uses keeps its tokens until its memory is needed; the page that was used least
    recently is taken first.

    Attributes:
        count: number of pages, numbered from 1: page 0 of the caches belongs to no sequence.
        size: number of positions of a page.

    Example:
        >>> from ark_mlir.models.pages import PagePool
        >>> pool = PagePool(count=4, size=2)
        >>> first = pool.take([5, 6, 7], positions=4)
        >>> first.numbers, pool.free
        ([1, 2], 2)
        >>> pool.publish(first, [5, 6, 7], read=3)       # page 1 has the tokens 5, 6
        >>> other = pool.take([5, 6, 9], positions=4)
        >>> other.numbers, other.shared, pool.free
        ([1, 3], 2, 1)
    """

    count: int
    size: int
    _empty: list[int] = field(init=False)
    _users: dict[int, int] = field(init=False, default_factory=dict[int, int])
    # The page whose last position completes these tokens, and the reverse.
    _of_tokens: dict[tuple[int, ...], int] = field(
        init=False, default_factory=dict[tuple[int, ...], int]
    )
    _tokens: dict[int, tuple[int, ...]] = field(
        init=False, default_factory=dict[int, tuple[int, ...]]
    )
    # Pages with tokens that no sequence uses, the least recently used one first.
    _kept: OrderedDict[int, None] = field(init=False, default_factory=OrderedDict[int, None])

    def __post_init__(self) -> None:
        self._empty = list(range(1, self.count + 1))

    @property
    def free(self) -> int:
        """Returns the number of pages that no sequence uses."""
        return len(self._empty) + len(self._kept)

    def needed(self, positions: int) -> int:
        """Returns the number of pages of a sequence of `positions` positions."""
        return -(-positions // self.size)

    def take(self, prompt: list[int], positions: int) -> Pages | None:
        """Returns pages for a sequence, or None if too few are free.

        Args:
            prompt: the tokens of the prompt. The pages that it shares with earlier prompts come
                first; the last token is always read, since the next token follows from it.
            positions: number of positions of the whole sequence.
        """
        shared: list[int] = []
        for end in range(self.size, len(prompt), self.size):
            page = self._of_tokens.get(tuple(prompt[:end]))
            if page is None:
                break
            shared.append(page)
        new = self.needed(positions) - len(shared)
        if new > self.free - sum(page in self._kept for page in shared):
            return None
        for page in shared:
            self._kept.pop(page, None)
            self._users[page] = self._users.get(page, 0) + 1
        numbers = shared + [self._take_one() for _ in range(new)]
        return Pages(numbers, len(shared) * self.size, len(shared))

    def _take_one(self) -> int:
        if self._empty:
            page = self._empty.pop(0)
        else:
            page, _ = self._kept.popitem(last=False)
            del self._of_tokens[self._tokens.pop(page)]
        self._users[page] = 1
        return page

    def publish(self, pages: Pages, prompt: list[int], read: int) -> None:
        """Makes pages known whose positions are all read and belong to the prompt.

        If another sequence published a page for the same tokens before, `pages` has that page
        instead, and its own page is free again.
        """
        end = min(read, len(prompt)) // self.size
        for index in range(pages.published, end):
            tokens, own = tuple(prompt[: (index + 1) * self.size]), pages.numbers[index]
            page = self._of_tokens.setdefault(tokens, own)
            if page == own:
                self._tokens[own] = tokens
                continue
            self._kept.pop(page, None)
            self._users[page] = self._users.get(page, 0) + 1
            pages.numbers[index] = page
            self._drop(own)
        pages.published = max(pages.published, end)

    def release(self, pages: Pages) -> None:
        """Gives the pages of a sequence back. Pages with the tokens of a prompt keep them."""
        # The last page first, so that a long prefix loses its end before its beginning.
        for page in reversed(pages.numbers):
            self._drop(page)

    def _drop(self, page: int) -> None:
        self._users[page] -= 1
        if self._users[page]:
            return
        del self._users[page]
        if page in self._tokens:
            self._kept[page] = None
        else:
            self._empty.append(page)
            self._empty.sort()

    def forget(self) -> None:
        """Forgets the tokens of all pages: new caches are empty."""
        self._of_tokens.clear()
        self._tokens.clear()
        self._empty = sorted([*self._empty, *self._kept])
        self._kept.clear()


def make_pool(
    page_size: int | None, pages: int | None, slots: int, chunk: int, max_length: int
) -> PagePool | None:
    """Returns the pool for the arguments of an engine, or None without `page_size`.

    Raises InvalidUsageError if `page_size` does not divide `max_length`, or `chunk` does not divide
    `page_size`.
    """
    if page_size is None:
        if pages is not None:
            raise InvalidUsageError("pages needs page_size, the number of positions of a page")
        return None
    size = as_count(page_size, "page_size")
    if max_length % size:
        raise InvalidUsageError(
            f"page_size {size} does not divide max_length {max_length}, the positions of a sequence"
        )
    if size % chunk:
        raise InvalidUsageError(
            f"chunk {chunk} does not divide page_size {size}: a step writes to one page of each "
            "slot; pass another chunk"
        )
    return PagePool(slots * max_length // size if pages is None else as_count(pages, "pages"), size)
