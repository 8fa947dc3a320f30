"""Text that grows token by token, up to a stop string."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["GrowingText"]

# The replacement character. Tokenizers return it for the first bytes of an incomplete character.
_INCOMPLETE = "\ufffd"


class GrowingText:
    """Converts a sequence of tokens to deltas of text, which make up its whole text.

    A delta is final: it ends with a whole character, and not with the start of a stop string that a
    later token may complete. The text ends before the first stop string.

    Args:
        decode: returns the text of tokens.
        stops: texts that end the text; empty ones are ignored.

    Attributes:
        stopped: True after a stop string.

    Example:
        >>> words = ["one ", "two ", "three"]
        >>> text = GrowingText(lambda ids: "".join(words[i] for i in ids), ["o t"])
        >>> text.add(0), text.add(1), text.add(2), text.stopped
        ('one ', 'tw', '', True)
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str] = ()) -> None:
        self._decode = decode
        self._stops = [stop for stop in stops if stop]
        self._ids: list[int] = []
        # Tokens before `_begin` are not decoded again; the text of tokens before `_end` was
        # returned. Tokens between both are the context in which a tokenizer decodes later tokens.
        self._begin = self._end = 0
        self._held = ""
        self.stopped = False

    def add(self, token: int) -> str:
        """Returns the delta of text that `token` completes, perhaps an empty one.

        Example:
            >>> text = GrowingText(lambda ids: "".join("abc"[i] for i in ids))
            >>> text.add(0)
            'a'
        """
        if self.stopped:
            return ""
        self._ids.append(token)
        return self._release(self._grown(whole=False), whole=False)

    def end(self) -> str:
        """Returns the rest of the text, after the last token.

        Example:
            >>> text = GrowingText(lambda ids: "".join("abc"[i] for i in ids), stops=["bc"])
            >>> text.add(1), text.end()
            ('', 'b')
        """
        if self.stopped:
            return ""
        return self._release(self._grown(whole=True), whole=True)

    def _grown(self, *, whole: bool) -> str:
        before = self._decode(self._ids[self._begin : self._end])
        after = self._decode(self._ids[self._begin :])
        if len(after) <= len(before) or (after.endswith(_INCOMPLETE) and not whole):
            return ""
        self._begin, self._end = self._end, len(self._ids)
        return after[len(before) :]

    def _release(self, delta: str, *, whole: bool) -> str:
        text = self._held + delta
        begins = [begin for stop in self._stops if (begin := text.find(stop)) >= 0]
        if begins:
            self.stopped, self._held = True, ""
            return text[: min(begins)]
        kept = 0 if whole else self._unfinished(text)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def _unfinished(self, text: str) -> int:
        """Returns the length of the longest end of `text` that is the start of a stop string."""
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0
