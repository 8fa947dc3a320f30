"""States with which a decoder generates several tokens in one launch, without the host."""

from __future__ import annotations

from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import int32
from ..frontend import Tensor
from .options import MAX_ENDS

__all__ = ["DecoderStates"]


@dataclass(frozen=True)
class DecoderStates:
    """States that both programs of a decoder share; all are int32.

    Attributes:
        token: ``[batch, 1]``, the tokens to read next.
        position: ``[]``, the position of these tokens.
        tokens: ``[batch, max_length]``; entry i is the token after position i.
        ended: ``[batch]``, 1 for each sequence that has ended, else 0.
        done: ``[]``, 1 if all sequences have ended, else 0.
    """

    token: Tensor
    position: Tensor
    tokens: Tensor
    ended: Tensor
    done: Tensor

    @classmethod
    def declare(cls, batch: int, max_length: int) -> DecoderStates:
        """Declares the states in the program under construction."""
        shapes = {
            "token": (batch, 1), "position": (), "tokens": (batch, max_length),
            "ended": (batch,), "done": (),
        }  # fmt: skip
        return cls(**{name: ark.state(name, shape, int32) for name, shape in shapes.items()})

    def advance(self, token: Tensor, position: Tensor, *, first: bool) -> None:
        """Records that `token` ``[batch]`` follows the token at position `position` ``[]``.

        If `first`, a new sequence begins: `ended` of an earlier one is ignored. Adds the input
        ``ends`` ``[MAX_ENDS]``: the tokens that end a sequence; negative entries are unused.
        """
        batch = token.shape[0]
        column = ark.reshape(token, (batch, 1))
        ends = ark.input("ends", (MAX_ENDS,), int32)
        hits = ark.cast(ark.equal(column, ends, name="ends"), int32, name="ends")
        ended = ark.reduce_max(hits, -1, keepdims=False, name="ended")
        if not first:
            ended = ark.maximum(ended, self.ended, name="ended")
        ark.update(self.tokens, column, (0, position), name="tokens")
        ark.update(self.token, column, (0, 0), name="next")
        ark.update(self.position, ark.add(position, 1, name="position"), (), name="position")
        ark.update(self.ended, ended, (0,), name="ended")
        done = ark.reduce_min(ended, 0, keepdims=False, name="done")
        ark.update(self.done, done, (), name="done")
        ark.stop_when(self.done)
