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
    results. Then the ranks also divide the tokens of the head.

    Args:
        sizes: the sizes of the whole model.
        layers: the layers whose weights the rank has.
        rank: the rank.
        parts: the number of ranks that share each layer.
    """

    def __init__(self, sizes: Sizes, layers: Iterable[int], rank: int, parts: int = 1) -> None:
        self.sizes, self.rank, self.parts = sizes, rank, parts
        self.dtype = getattr(ark, sizes.dtype)
        shapes = weight_shapes(sizes, layers, parts)
        self.weights = {name: ark.state(name, shape) for name, shape in shapes.items()}

    def embed(self, ids: ark.Tensor) -> ark.Tensor:
        """Returns the sums of the rows of tokens and positions, ``[batch, length, width]``."""
        return ark.embedding(ids, self._read("tokens")) + self._read("positions")

    def layer(self, number: int, x: ark.Tensor) -> ark.Tensor:
        """Returns the result of a layer, ``[batch, length, width]``."""
        name, sizes = f"blocks.{number}", self.sizes
        batch, length, width = x.shape
        inner, heads = width // self.parts, sizes.heads // self.parts
        qkv = ark.reshape(self._read(f"{name}.qkv.weight"), (3 * inner, width))
        bias = ark.reshape(self._read(f"{name}.qkv.bias"), (3 * inner,))
        rows = self._norm(f"{name}.first", x) @ ark.transpose(qkv, (1, 0)) + bias
        q, k, v = (
            ark.transpose(ark.reshape(part, (batch, length, heads, -1)), (0, 2, 1, 3))
            for part in ark.split(rows, 3, axis=-1)
        )
        mixed = ark.transpose(ark.attention(q, k, v, causal=sizes.causal), (0, 2, 1, 3))
        mixed = ark.reshape(mixed, (batch, length, inner))
        x = x + self._joined(f"{name}.out", mixed)
        up = ark.transpose(self._read(f"{name}.up.weight"), (1, 0))
        inside = self._norm(f"{name}.second", x) @ up + self._read(f"{name}.up.bias")
        return x + self._joined(f"{name}.down", ark.gelu(inside))

    def loss(self, x: ark.Tensor, labels: ark.Tensor) -> ark.Tensor:
        """Returns this rank's part of the mean cross-entropy, fp32 ``[]``.

        The sum over all `parts` is the mean.
        """
        rows = ark.reshape(x, (-1, self.sizes.width))
        labels = ark.reshape(labels, (-1,))
        each = rows.shape[0] // self.parts
        first = self.rank * each if self.parts > 1 else 0
        rows, labels = rows[first : first + each], labels[first : first + each]
        logits = self._norm("norm", rows) @ ark.transpose(self._read("head"), (1, 0))
        return ark.cross_entropy(ark.cast(logits, ark.fp32), labels) * (1 / self.parts)

    def _read(self, name: str) -> ark.Tensor:
        return ark.cast(self.weights[name], self.dtype)

    def _norm(self, name: str, x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, self._read(f"{name}.weight"), self._read(f"{name}.bias"))

    def _joined(self, name: str, x: ark.Tensor) -> ark.Tensor:
        """Returns the product of all columns of `x`, which the ranks divide, with a bias."""
        product = x @ ark.transpose(self._read(f"{name}.weight"), (1, 0))
        if self.parts > 1:
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
    _step(model, [ark.all_reduce(slope) for slope in slopes], ark.all_reduce(loss))


def _tensor(sizes: Sizes, rank: int, ranks: int) -> None:
    """Each rank computes a part of each layer; the gradients of whole weights are added."""
    model = _Transformer(sizes, range(sizes.layers), rank, parts=ranks)
    rows = ark.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
    loss = _whole_model(model, rows)
    slopes = ark.gradients(loss, list(model.weights.values()))
    slopes = [
        slope if name.endswith(DIVIDED) else ark.all_reduce(slope)
        for name, slope in zip(model.weights, slopes, strict=True)
    ]
    _step(model, slopes, ark.all_reduce(loss))


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
    "pipeline": _pipeline,
}


def build(sizes: Sizes, kind: str, rank: int, ranks: int) -> ark.Program:
    """Builds the program of a rank.

    Args:
        sizes: the sizes of the model and of the batch of all ranks.
        kind: ``data``, ``tensor`` or ``pipeline``.
        rank, ranks: the rank and the number of ranks.
    """
    with ark.Program("training", rank=rank, world_size=ranks) as program:
        _BUILDERS[kind](sizes, rank, ranks)
    return program
