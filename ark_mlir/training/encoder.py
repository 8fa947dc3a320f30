"""An encoder for training; the parts are those of :mod:`ark_mlir.models.encoder`.

Weights have the names of Hugging Face, so that ``ark.models`` can load a trained model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import frontend as ark
from ..dtypes import DType, bool_, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Argument, Module, Program, Tensor
from ..models.encoder import EncoderConfig, EncoderGraph, normalized, pooled
from ..typing import Pooling

__all__ = ["TrainableEncoder", "pair_loss"]


@dataclass(frozen=True)
class _Graph(EncoderGraph):
    """Builds an encoder of weights that exist already.

    Attributes:
        read: returns a weight by its name.
        rate: the probability with which an element of a branch is dropped.
        step: an integer scalar that determines the dropout masks, or None.
        checkpoint: True computes each layer again in the backward pass.
    """

    read: Callable[[str], Tensor] | None = None
    rate: float = 0.0
    step: Tensor | None = None
    checkpoint: bool = False

    def parameter(self, name: str, *shape: int) -> Tensor:
        return super().parameter(name, *shape) if self.read is None else self.read(name)

    def branch(self, x: Tensor, number: int) -> Tensor:
        if not self.rate:
            return x
        return ark.dropout(x, self.rate, number, 0 if self.step is None else self.step)

    def layer(self, x: Tensor, mask: Tensor, number: int) -> Tensor:
        if not self.checkpoint:
            return super().layer(x, mask, number)
        if self.config.window is not None:
            _ = self.near  # a tensor of all layers, outside of those that are computed again

        def build(h: Tensor, keys: Tensor) -> Tensor:
            return super(_Graph, self).layer(h, keys, number)

        made = ark.checkpoint(build, x, mask)
        assert isinstance(made, Tensor)
        return made


class TrainableEncoder(Module):
    """An encoder whose call computes the vectors of prompts.

    Args:
        config: the sizes and features, as those of ``ark.models``.
        dtype: the element type of weights and activations; ``ark.trainable(..., masters=True)``
            keeps the weights in fp32.
        pooling: ``mean``, ``cls``, ``pooler`` or ``none``, as in ``ark.models.load``.
        normalize: True gives vectors of length one.
        dropout: the probability with which an element of a branch is dropped.
        checkpoint: True computes each layer again in the backward pass, which keeps only the
            layers' inputs; see ``ark.checkpoint``.

    Example:
        >>> from ark_mlir.models.encoder import EncoderConfig
        >>> sizes = EncoderConfig(100, 32, 1, 4, 64, 16, 2, 1e-12, "gelu")
        >>> ids, mask = ark.input("ids", (2, 8), ark.int32), ark.input("mask", (2, 8), bool)
        >>> ark.training.TrainableEncoder(sizes)(ids, mask).shape
        (2, 32)
    """

    def __init__(
        self,
        config: EncoderConfig,
        dtype: DType = fp32,
        pooling: Pooling = "mean",
        normalize: bool = True,
        dropout: float = 0.0,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        self._config, self._dtype = config, dtype
        self._pooling, self._normalize = pooling, normalize
        self._rate, self._checkpoint = dropout, checkpoint
        for name, argument in self._parameters().items():
            setattr(self, name, ark.parameter(name, argument.shape, argument.dtype))

    def _parameters(self) -> dict[str, Argument]:
        """Returns the parameters, from a program that is not used otherwise."""
        with Program("parameters") as program:
            ids, mask = ark.input("ids", (1, 1), int32), ark.input("mask", (1, 1), bool_)
            graph = EncoderGraph(self._config, 1, 1, self._dtype)
            types = ark.zeros((1, 1), int32) if self._config.types else None
            ark.output("vector", self._vectors(graph, ids, mask, types))
        return dict(program.parameters)

    def _vectors(
        self, graph: EncoderGraph, ids: Tensor, mask: Tensor, types: Tensor | None
    ) -> Tensor:
        hidden = graph.hidden(ids, mask, types)
        pooler = self._pooling == "pooler"
        vectors = graph.pooler(hidden) if pooler else pooled(hidden, mask, self._pooling)
        return normalized(vectors) if self._normalize else vectors

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        types: Tensor | None = None,
        step: Tensor | None = None,
    ) -> Tensor:
        """Returns the vectors, fp32 ``[batch, hidden]``, or those of all tokens with ``none``.

        Args:
            ids: int32 ``[batch, length]``.
            mask: bool ``[batch, length]``, true for tokens.
            types: int32 ``[batch, length]``, the number of the token's sentence in a pair; None is
                0 for all tokens.
            step: an integer scalar, the index of the step, which determines the dropout masks.

        Raises InvalidUsageError if the prompts are longer than the encoder's positions.

        >>> from ark_mlir.models.encoder import EncoderConfig
        >>> sizes = EncoderConfig(50, 16, 1, 2, 32, 8, 0, 1e-12, "gelu")
        >>> ids, mask = ark.input("ids", (3, 8), ark.int32), ark.input("mask", (3, 8), bool)
        >>> ark.training.TrainableEncoder(sizes, pooling="none").forward(ids, mask).shape
        (3, 8, 16)
        """
        config, (batch, length) = self._config, ids.shape
        if length > config.most_tokens:
            raise InvalidUsageError(
                f"prompts of {length} tokens exceed the model's {config.most_tokens} positions"
            )
        if types is None and config.types:
            types = ark.zeros((batch, length), int32)
        graph = _Graph(
            config, batch, length, self._dtype,
            read=self._read, rate=self._rate, step=step, checkpoint=self._checkpoint,
        )  # fmt: skip
        return self._vectors(graph, ids, mask, types)

    def _read(self, name: str) -> Tensor:
        """Returns a weight in the element type of the computation."""
        tensor = getattr(self, name)
        assert isinstance(tensor, Tensor)
        return tensor


def pair_loss(vectors: Tensor, scale: float = 20.0) -> Tensor:
    """Returns the mean cross-entropy of selecting each first sentence's partner, a scalar.

    Args:
        vectors: fp32 ``[2 * pairs, hidden]`` of length one: the first sentences of all pairs, then
            the second ones.
        scale: the factor of the cosines, which are the logits.

    The other second sentences of a batch are the wrong choices (multiple negatives ranking loss;
    Henderson et al., 2017).
    """
    pairs = vectors.shape[0] // 2
    cosines = ark.matmul(vectors[:pairs], vectors[pairs:], transpose_other=True, name="cosines")
    return ark.cross_entropy(cosines * scale, ark.arange(pairs))
