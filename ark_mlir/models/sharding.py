"""Tensor parallelism of decoders, after Megatron-LM (Shoeybi et al., 2019).

Attention heads, the inner columns of the MLP and the rows of the vocabulary head are divided among
the ranks; each rank has all norms and the whole table of embeddings. If the head is tied to the
table, it reads its rows of the table. With a *split embedding*, each rank has only its rows of the
table, and looks up the tokens in them: an ``all_reduce`` adds the rows of all ranks, of which all
but one are negative zeros, so that the sum has the bits of the whole table. If there are more ranks
than heads of keys and values, several ranks have the same head, and compute the same keys and
values.

``o_proj`` and ``down_proj`` compute partial sums in the dtype of the model, which an ``all_reduce``
adds: two in each layer. An ``all_reduce`` adds in fp32 in order of rank, and rounds once; the ring
algorithm begins with the rank after the one that keeps the part. All ranks get the same bits.

A program that reads many tokens at once can also divide the tokens (*sequence parallelism*,
Korthikanti et al., 2022).
Between two products, each rank adds and normalizes its rows of the hidden states only. A
``reduce_scatter`` replaces the ``all_reduce``, and an ``all_gather`` after the norm gives
all rows to the next product. Both together move as many bytes as the ``all_reduce``, and the sums
have the same bits.

Each rank computes the logits of its shard of the vocabulary, which an ``all_gather`` brings to all
ranks. An ``all_reduce`` of eight bytes for each sequence finds the most probable token, so that the
next token does not wait for the logits of other ranks. With sampling, all ranks draw the same token
from all logits.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import int32, int64
from ..frontend import Program, Tensor
from .replicas import shard, shard_array

if TYPE_CHECKING:
    from .weights import Arrays

__all__ = ["SINGLE", "Shard"]

# Layers with divided inputs, whose results are partial sums.
_PARTIAL = ("o_proj", "down_proj")
_INT32_MIN, _INT32_MAX = int32.integer_range


@dataclass(frozen=True)
class Shard:
    """One of `size` ranks that share a decoder.

    Example:
        >>> Shard(1, 2).part(np.arange(6).reshape(2, 3), (1, 3))
        array([[3, 4, 5]])
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def of(cls, program: Program) -> Shard:
        """Returns the shard of the rank of a program."""
        if program.rank is None or program.world_size is None:
            return SINGLE
        return cls(program.rank, program.world_size)

    def program(self, name: str) -> Program:
        """Returns an empty program of this rank."""
        if self.size == 1:
            return Program(name)
        return Program(name, rank=self.rank, world_size=self.size)

    def total(self, product: Tensor, layer: str) -> Tensor:
        """Returns `product`, summed over all ranks if `layer` computes partial sums."""
        if self.size == 1 or not layer.endswith(_PARTIAL):
            return product
        return ark.all_reduce(product, name=f"{layer}.sum")

    def scattered_total(self, product: Tensor, layer: str) -> Tensor:
        """Returns this rank's rows of :meth:`total`, of a `layer` that computes partial sums."""
        if self.size == 1 or not layer.endswith(_PARTIAL):
            return product
        return ark.reduce_scatter(product, 0, name=f"{layer}.sum")

    def embedding(
        self, ids: Tensor, part: Tensor, vocabulary: int, scatters: bool = False
    ) -> Tensor:
        """Returns the rows of a table for `ids` ``[n]``, from this rank's part of the table.

        The result is ``[n, hidden]``, with the bits of the whole table on all ranks; with
        `scatters`, this rank's rows of it. The parts of two ranks may have rows in common, to which
        the first of these ranks contributes. An index outside of the vocabulary is an error of
        the run on all ranks.
        """
        extent = part.shape[0]
        begin, end = self.rank * extent, min((self.rank + 1) * extent, vocabulary)

        def within(first: int, last: int) -> Tensor:
            below = ark.less(ids, last, name="embed_tokens.own")
            return ark.logical_and(
                ark.greater_equal(ids, first, name="embed_tokens.own"), below,
                name="embed_tokens.own",
            )  # fmt: skip

        own = within(begin, end)
        index = ark.sub(ids, self.interval(vocabulary).start, name="embed_tokens.index")
        other = ark.where(within(0, vocabulary), 0, ids, name="embed_tokens.index")
        index = ark.where(own, index, other, name="embed_tokens.index")
        rows = ark.embedding(index, part, name="embed_tokens")
        # A negative zero changes no summand, not even the sign of a zero.
        rows = ark.where(ark.unsqueeze(own, -1), rows, -0.0, name="embed_tokens.part")
        if scatters:
            return ark.reduce_scatter(rows, 0, name="embed_tokens.sum")
        return ark.all_reduce(rows, name="embed_tokens.sum")

    def rows(self, x: Tensor) -> Tensor:
        """Returns this rank's rows of `x`; the number of rows is a multiple of that of ranks."""
        if self.size == 1:
            return x
        interval = self.interval(x.shape[0])
        stops = (interval.stop, *x.shape[1:])
        return ark.slice(x, (interval.start, *[0] * (x.ndim - 1)), stops, name="rows")

    def all_rows(self, x: Tensor, name: str) -> Tensor:
        """Returns the rows of all ranks; `x` has the rows of this rank."""
        return x if self.size == 1 else ark.all_gather(x, 0, name=f"{name}.rows")

    def interval(self, whole: int, extent: int | None = None) -> range:
        """Returns this rank's shard of `whole` entries; see :func:`ark_mlir.models.replicas.shard`.

        Example:
            >>> [Shard(rank, 2).interval(5) for rank in range(2)]
            [range(0, 3), range(2, 5)]
        """
        return shard(whole, self.rank, self.size, extent)

    def part(self, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Returns this rank's shard of an array, a view; the shard has the shape `shape`."""
        return shard_array(array, self.rank, self.size, shape)

    def gather(self, logits: Tensor, vocabulary: int) -> Tensor:
        """Returns the logits ``[batch, vocabulary]``, from the logits of this rank's shard."""
        if self.size == 1:
            return logits
        batch, extent = logits.shape
        gathered = ark.all_gather(logits, 1, name="logits.parts")
        if extent * self.size == vocabulary:
            return gathered
        kept: list[Tensor] = []
        for rank in range(self.size):
            first = rank * extent
            overlap = first - Shard(rank, self.size).interval(vocabulary).start
            if overlap < extent:
                bounds = (0, first + overlap), (batch, first + extent)
                kept.append(ark.slice(gathered, *bounds, name="logits.part"))
        return ark.concat(kept, 1, name="logits.parts")

    def argmax(self, logits: Tensor, vocabulary: int) -> Tensor:
        """Returns the most probable tokens ``[batch]``, from the logits of this rank's shard.

        The result is that of ``ark.argmax`` of all logits: the first of several largest ones, and
        the first NaN if there is one.
        """
        if self.size == 1:
            return ark.argmax(logits, -1, name="token")
        batch, extent = logits.shape
        best = ark.argmax(logits, -1, name="best")
        index = ark.add(best, ark.mul(ark.arange(batch), extent), name="best.index")
        largest = ark.gather(ark.reshape(logits, (-1,)), index, 0, name="largest")
        token = ark.add(best, self.interval(vocabulary).start, name="best.token")
        # One maximum over the ranks finds logit and token: the logit in the upper half of a key
        # has precedence; of equal logits, the smallest token makes the largest key.
        upper = ark.mul(ark.cast(_order(largest), int64), 1 << 32, name="best.key")
        key = ark.sub(upper, ark.cast(token, int64), name="best.key")
        key = ark.all_reduce(key, "max", name="best.keys")
        return ark.neg(ark.cast(key, int32), name="token")

    def parts(self, arrays: Arrays, program: Program) -> Arrays:
        """Returns the parts of a model's arrays for the parameters of this rank's program."""
        return {
            name: self.part(arrays[name], argument.shape)
            for name, argument in program.parameters.items()
        }


SINGLE = Shard()


def _order(values: Tensor) -> Tensor:
    """Maps fp32 to int32 in the same order; NaN is the largest, and zeros are equal."""
    bits = ark.bitcast(values, int32)
    order = ark.where(ark.less(bits, 0), ark.sub(_INT32_MIN, bits), bits, name="order")
    return ark.where(ark.equal(values, values), order, _INT32_MAX, name="order")
