"""State that a step of a decoder leaves for the next one, so that no host is needed in between."""

from __future__ import annotations

from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import int32
from ..frontend import Tensor

__all__ = ["MAX_ENDS", "Progress"]

# Tokens that may end a sequence; models have a few.
MAX_ENDS = 8


@dataclass(frozen=True)
class Progress:
    """States that both programs of a decoder share; all are int32.

    Attributes:
        token: ``[batch, 1]``, the tokens to read next.
        position: ``[]``, their place.
        tokens: ``[batch, max_length]``, what followed the token at each place.
        ended: ``[batch]``, one where a sequence got a token that ends it.
        done: ``[]``, one where all sequences did.
    """

    token: Tensor
    position: Tensor
    tokens: Tensor
    ended: Tensor
    done: Tensor

    @classmethod
    def declare(cls, batch: int, max_length: int) -> Progress:
        """The states of the program under construction."""
        shapes = {
            "token": (batch, 1), "position": (), "tokens": (batch, max_length),
            "ended": (batch,), "done": (),
        }  # fmt: skip
        return cls(**{name: ark.state(name, shape, int32) for name, shape in shapes.items()})

    def advance(self, token: Tensor, place: Tensor, *, first: bool) -> None:
        """Records that `token` ``[batch]`` follows the one at `place` ``[]``.

        `first` says that nothing of an earlier sequence counts any more. Adds the input
        ``ends`` ``[MAX_ENDS]``: the tokens that end a sequence, and negative numbers.
        """
        batch = token.shape[0]
        column = ark.reshape(token, (batch, 1))
        ends = ark.input("ends", (MAX_ENDS,), int32)
        hits = ark.cast(ark.equal(column, ends, name="ends"), int32, name="ends")
        ended = ark.reduce_max(hits, -1, keepdims=False, name="ended")
        if not first:
            ended = ark.maximum(ended, self.ended, name="ended")
        ark.update(self.tokens, column, (0, place), name="tokens")
        ark.update(self.token, column, (0, 0), name="next")
        ark.update(self.position, ark.add(place, 1, name="position"), (), name="position")
        ark.update(self.ended, ended, (0,), name="ended")
        done = ark.reduce_min(ended, 0, keepdims=False, name="done")
        ark.update(self.done, done, (), name="done")
        ark.stop_when(self.done)
