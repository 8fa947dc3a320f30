"""Programs that decode several sequences, each at its own position.

A *slot* is a row of the programs and of their caches, in which one sequence at a time is decoded.
Two programs share parameters and states: :func:`build_read` reads a part of a prompt in some slots
and one token in others, and :func:`build_step` reads one token in each slot. N iterations of the
latter generate N tokens of each slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import DType, fp32, int32
from ..frontend import Program, Tensor
from .cache_pages import CachePages
from .decoder_config import DecoderConfig
from .decoder_graph import DecoderGraph
from .options import MAX_ENDS

__all__ = ["SlotPrograms"]


@dataclass(frozen=True)
class _States:
    """States that both programs share; all are int32.

    Attributes:
        token: ``[slots, 1]``, the token that each slot reads next.
        position: ``[slots]``, the positions of these tokens.
        tokens: ``[slots, max_length]``; entry i is the token after position i.
        done: ``[]``, 1 if the last iteration ended a sequence, else 0.
    """

    token: Tensor
    position: Tensor
    tokens: Tensor
    done: Tensor

    @classmethod
    def declare(cls, slots: int, max_length: int) -> _States:
        shapes = {
            "token": (slots, 1), "position": (slots,), "tokens": (slots, max_length), "done": (),
        }  # fmt: skip
        return cls(**{name: ark.state(name, shape, int32) for name, shape in shapes.items()})

    def advance(self, token: Tensor, position: Tensor, done: Tensor) -> Tensor:
        """Records that `token` ``[slots, 1]`` follows the token at `position` ``[slots]``; returns
        the updated state `done`."""
        ark.update(self.tokens, token, (0, position), name="tokens")
        ark.update(self.token, token, (0, 0), name="next")
        ark.update(self.position, ark.add(position, 1, name="position"), (0,), name="position")
        return ark.update(self.done, done, (), name="done")


@dataclass(frozen=True)
class SlotPrograms:
    """Builds the programs that decode the sequences of slots.

    A slot without a sequence has position 0, so that it writes to its own first rows, which the
    next sequence overwrites. A run raises DataRangeError if a token of a slot exceeds `max_length`;
    the error names the slot as a sequence.

    Attributes:
        config, dtype: the decoder, and the dtype of its parameters.
        max_length: maximum number of tokens of a sequence.
        pages: number of pages of the caches, and of positions of a page, a divisor of `max_length`;
            None if each slot has a row of the caches. Programs with pages have an input ``pages``,
            int32 ``[slots, max_length / page_size]``, the pages of each slot, and the tokens that a
            slot reads lie in one page.

    Example:
        >>> sizes = ark.models.decoder.DecoderConfig(
        ...     vocabulary=100, hidden=64, layers=2, heads=4, kv_heads=2, head=16, intermediate=128)
        >>> programs = SlotPrograms(sizes, ark.fp32, max_length=32)
        >>> programs.build_read(slots=4, tokens=8).inputs["begin"].shape
        (4,)
    """

    config: DecoderConfig
    dtype: DType
    max_length: int
    pages: tuple[int, int] | None = None

    def build_read(self, slots: int, tokens: int) -> Program:
        """Builds the program that reads `tokens` tokens of each slot and computes the next one.

        Inputs, all int32: ``ids`` ``[slots, tokens]``, ``begin`` ``[slots]``, the position of the
        first of these tokens, and, if `tokens` is above one, ``last`` ``[slots]``, the index of the
        token that the output follows. Tokens after ``last`` are ignored: their keys and values are
        overwritten before an op reads them. Output: ``token`` int32 ``[slots]``, the most probable
        token.
        """
        with self.config.shard.program("read") as program:
            ids = ark.input("ids", (slots, tokens), int32)
            begin = ark.input("begin", (slots,), int32)
            last = ark.input("last", (slots,), int32) if tokens > 1 else None
            states = _States.declare(slots, self.max_length)
            token = self._next(ids, begin, last)
            position = begin if last is None else ark.add(begin, last, name="at")
            states.advance(token, position, ark.full((), 0, int32))
            ark.output("token", ark.reshape(token, (slots,)))
        return program

    def build_step(self, slots: int) -> Program:
        """Builds the program that reads the next token of each slot.

        Inputs, both int32: ``active`` ``[slots]``, 1 for a slot with a sequence, else 0, and
        ``ends`` ``[slots, 8]``, the tokens that end a sequence; negative entries are unused. The
        launch ends when a sequence ends, so that another can take its slot. Output: ``token`` int32
        ``[slots]``.
        """
        with self.config.shard.program("step") as program:
            active = ark.input("active", (slots,), int32)
            ends = ark.input("ends", (slots, MAX_ENDS), int32)
            states = _States.declare(slots, self.max_length)
            position = ark.mul(states.position, active, name="position")
            token = self._next(states.token, position, None)
            hits = ark.cast(ark.equal(token, ends, name="ends"), int32, name="ends")
            ended = ark.mul(ark.reduce_max(hits, -1, keepdims=False, name="ended"), active)
            done = ark.reduce_max(ended, 0, keepdims=False, name="done")
            ark.stop_when(states.advance(token, position, done))
            ark.output("token", ark.reshape(token, (slots,)))
        return program

    def _pages(self, slots: int) -> CachePages | None:
        if self.pages is None:
            return None
        count, size = self.pages
        table = ark.input("pages", (slots, self.max_length // size), int32)
        return CachePages(table, count, size)

    def _next(self, ids: Tensor, begin: Tensor, last: Tensor | None) -> Tensor:
        """Returns the most probable token after one of `ids` of each slot, ``[slots, 1]``."""
        slots, tokens = ids.shape
        config = self.config
        graph = DecoderGraph(
            config, slots, tokens, self.max_length, self.dtype, begin, pages=self._pages(slots)
        )
        logits = graph.head(graph.hidden(ids), last)
        logits = graph.scaled_logits(ark.cast(logits, fp32, name="logits"))
        return ark.reshape(config.shard.argmax(logits, config.vocabulary), (slots, 1))
