"""The training step of a rank of benchmarks/parallel_training.py; needs the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parallel_training_weights import DIVIDED, weight_shapes
from training_models import Sizes

import ark_mlir as ark

__all__ = ["build"]

RATE = 1e-3


class _Transformer:
    """The layers of a transformer that a rank computes.

    The weights are fp32 states; products read them in the dtype of the sizes. With `parts` > 1, the
    rank has the heads and the inner columns of one part of each layer, and the ranks add their
    results. Then the ranks also divide the tokens of the head. With `sequence`, they divide the
    tokens between products as well: hidden states are the rows of this rank, ``[rows, width]``, a
    rank gathers the rows of all ranks after a norm, and the sum of results gives each rank its
    rows.

    Args:
        sizes: the sizes of the whole model.
        layers: the layers whose weights the rank has.
        rank: the rank.
        parts: the number of ranks that share each layer.
        sequence: True if the ranks divide the tokens between products.
    """

    def __init__(
        self,
        sizes: Sizes,
        layers: Iterable[int],
        rank: int,
        parts: int = 1,
        sequence: bool = False,
    ) -> None:
        self.sizes, self.rank, self.parts, self.sequence = sizes, rank, parts, sequence
        self.dtype = getattr(ark, sizes.dtype)
        shapes = weight_shapes(sizes, layers, parts)
        self.weights = {name: ark.state(name, shape) for name, shape in shapes.items()}

    def embed(self, ids: ark.Tensor) -> ark.Tensor:
        """Returns the sums of the rows of tokens and positions, ``[batch, length, width]``.

        With `sequence`, the rows of this rank, ``[rows, width]``.
        """
        if self.sequence:
            ids = self._own(ark.reshape(ids, (-1,)))
            first = self.rank * ids.shape[0]
            indices = [index % self.sizes.length for index in range(first, first + ids.shape[0])]
            positions = ark.embedding(ark.constant(indices), self._read("positions"))
            return ark.embedding(ids, self._read("tokens")) + positions
        return ark.embedding(ids, self._read("tokens")) + self._read("positions")

    def layer(self, number: int, x: ark.Tensor) -> ark.Tensor:
        """Returns the result of a layer, of the shape of `x`."""
        name, sizes = f"blocks.{number}", self.sizes
        length, width = sizes.length, sizes.width
        inner, heads = width // self.parts, sizes.heads // self.parts
        qkv = ark.reshape(self._read(f"{name}.qkv.weight"), (3 * inner, width))
        bias = ark.reshape(self._read(f"{name}.qkv.bias"), (3 * inner,))
        rows = self._gathered(self._norm(f"{name}.first", x)) @ ark.transpose(qkv, (1, 0)) + bias
        q, k, v = (
            ark.transpose(
                ark.reshape(part, (-1, length, heads, width // sizes.heads)), (0, 2, 1, 3)
            )
            for part in ark.split(rows, 3, axis=-1)
        )
        mixed = ark.transpose(ark.attention(q, k, v, causal=sizes.causal), (0, 2, 1, 3))
        mixed = ark.reshape(mixed, (*rows.shape[:-1], inner))
        x = x + self._joined(f"{name}.out", mixed)
        up = ark.transpose(self._read(f"{name}.up.weight"), (1, 0))
        inside = self._gathered(self._norm(f"{name}.second", x)) @ up + self._read(
            f"{name}.up.bias"
        )
        return x + self._joined(f"{name}.down", ark.gelu(inside))

    def loss(self, x: ark.Tensor, labels: ark.Tensor) -> ark.Tensor:
        """Returns this rank's part of the mean cross-entropy, fp32 ``[]``.

        The sum over all `parts` is the mean.
        """
        rows = x if self.sequence else self._own(ark.reshape(x, (-1, self.sizes.width)))
        labels = self._own(ark.reshape(labels, (-1,)))
        logits = self._norm("norm", rows) @ ark.transpose(self._read("head"), (1, 0))
        return ark.cross_entropy(ark.cast(logits, ark.fp32), labels) * (1 / self.parts)

    def _own(self, rows: ark.Tensor) -> ark.Tensor:
        """Returns this rank's part of the rows of all tokens."""
        if self.parts == 1:
            return rows
        each = rows.shape[0] // self.parts
        return rows[self.rank * each : (self.rank + 1) * each]

    def _gathered(self, x: ark.Tensor) -> ark.Tensor:
        """Returns the rows of all tokens."""
        return ark.all_gather(x, 0) if self.sequence else x

    def _read(self, name: str) -> ark.Tensor:
        return ark.cast(self.weights[name], self.dtype)

    def _norm(self, name: str, x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, self._read(f"{name}.weight"), self._read(f"{name}.bias"))

    def _joined(self, name: str, x: ark.Tensor) -> ark.Tensor:
        """Returns the product of all columns of `x`, which the ranks divide, with a bias."""
        product = x @ ark.transpose(self._read(f"{name}.weight"), (1, 0))
        if self.sequence:
            product = ark.reduce_scatter(product, 0)
        elif self.parts > 1:
            product = ark.all_reduce(product)
        return product + self._read(f"{name}.bias")


def _step(model: _Transformer, slopes: list[ark.Tensor], loss: ark.Tensor) -> None:
    ark.output("loss", loss)
    ark.optim.AdamW(list(model.weights.values()), RATE).step(slopes)


def _whole_model(model: _Transformer, rows: ark.Tensor) -> ark.Tensor:
    """Returns the rank's part of the loss of `rows`, int32 ``[sequences, length + 1]``."""
    x = model.embed(rows[:, :-1])
    for number in range(model.sizes.layers):
        x = model.layer(number, x)
    return model.loss(x, rows[:, 1:])


def _data(sizes: Sizes, rank: int, ranks: int) -> None:
    """Each rank computes an equal part of the batch, and the ranks add the gradients."""
    model = _Transformer(sizes, range(sizes.layers), rank)
    rows = ark.input("rows", (sizes.batch // ranks, sizes.length + 1), ark.int32)
    loss = _whole_model(model, rows) * (1 / ranks)
    slopes = ark.gradients(loss, list(model.weights.values()))
    _step(model, ark.optim.sum_over_ranks(slopes), ark.all_reduce(loss))


def _tensor(sizes: Sizes, rank: int, ranks: int, sequence: bool = False) -> None:
    """Each rank computes a part of each layer; the gradients of whole weights are added."""
    model = _Transformer(sizes, range(sizes.layers), rank, parts=ranks, sequence=sequence)
    rows = ark.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
    loss = _whole_model(model, rows)
    slopes = ark.gradients(loss, list(model.weights.values()))
    found = dict(zip(model.weights, slopes, strict=True))
    whole = [name for name in found if not name.endswith(DIVIDED)]
    found |= zip(whole, ark.optim.sum_over_ranks([found[name] for name in whole]), strict=True)
    _step(model, list(found.values()), ark.all_reduce(loss))


def _sequence(sizes: Sizes, rank: int, ranks: int) -> None:
    """As `_tensor`, and each rank has a part of the tokens between products."""
    _tensor(sizes, rank, ranks, sequence=True)


def _pipeline(sizes: Sizes, rank: int, ranks: int) -> None:
    """Each rank computes an equal number of layers; a microbatch is one sequence."""
    each = sizes.layers // ranks
    layers = range(rank * each, (rank + 1) * each)
    model = _Transformer(sizes, layers, rank)
    rows = ark.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
    pipeline = ark.training.Pipeline(
        sizes.batch, hidden=(1, sizes.length, sizes.width), dtype=model.dtype
    )

    def stage(number: int, h: ark.Tensor) -> ark.Tensor:
        x = model.embed(h[:, :-1]) if number == 0 else h
        for layer in layers:
            x = model.layer(layer, x)
        return x

    def loss(x: ark.Tensor, microbatch: int) -> ark.Tensor:
        return model.loss(x, pipeline.part(rows, microbatch)[:, 1:])

    total, slopes = pipeline.gradients(list(model.weights.values()), rows, stage, loss)
    _step(model, slopes, total)


_BUILDERS: dict[str, Callable[[Sizes, int, int], None]] = {
    "data": _data,
    "tensor": _tensor,
    "sequence": _sequence,
    "pipeline": _pipeline,
}


def build(sizes: Sizes, kind: str, rank: int, ranks: int) -> ark.Program:
    """Builds the program of a rank.

    Args:
        sizes: the sizes of the model and of the batch of all ranks.
        kind: ``data``, ``tensor``, ``sequence`` or ``pipeline``.
        rank, ranks: the rank and the number of ranks.
    """
    with ark.Program("training", rank=rank, world_size=ranks) as program:
        _BUILDERS[kind](sizes, rank, ranks)
    return program
