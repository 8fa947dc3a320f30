"""A decoder for training: whole sequences, no cache. :mod:`.graph` builds its parts.

Weights have the names of the programs of ``ark.models``, which can load a trained model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import DType, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Argument, Module, Program, Tensor
from ..models.decoder_config import DecoderConfig
from .graph import TrainingGraph

__all__ = ["TrainableDecoder", "initial_weights"]

# Numbers that select experts. A loss does not depend on them smoothly, so that they keep the value
# zero; the auxiliary loss of the routers balances the experts.
_CONSTANT = "mlp.gate.correction"
# Projections that end a branch, of all types of decoders.
_ENDS = ("o_proj.weight", "down_proj.weight", "c_proj.weight", "dense.weight", "fc2.weight")


class TrainableDecoder(Module):
    """A decoder whose call computes the logits of all tokens of whole sequences.

    Args:
        config: the sizes and features, as those of ``ark.models``.
        dtype: the element type of weights and activations; ``ark.trainable(..., masters=True)``
            keeps the weights in fp32.
        dropout: the probability with which an element of a branch is dropped.
        checkpoint: True computes each layer again in the backward pass, which keeps only the
            layers' inputs; see ``ark.checkpoint``.

    Attributes:
        constants: parameters that are not trained, by name: the numbers that correct the selection
            of experts.
        router_loss: after a call, the auxiliary loss of the routers, a scalar of fp32; None if the
            decoder has no experts.

    The auxiliary loss is that of transformers (Fedus et al., 2022): the number of experts times the
    sum, over experts, of the share of tokens that chose the expert, times the mean probability that
    the routers gave it. It is the number of experts of a token if all experts get equal shares.

    Example:
        >>> from ark_mlir.models.decoder import DecoderConfig
        >>> sizes = DecoderConfig(vocabulary=100, hidden=64, layers=2, heads=4, kv_heads=2, head=16,
        ...                       intermediate=128, tied=True)
        >>> tokens = ark.input("tokens", (2, 8), ark.int32)
        >>> ark.training.TrainableDecoder(sizes)(tokens).shape
        (2, 8, 100)
    """

    def __init__(
        self,
        config: DecoderConfig,
        dtype: DType = fp32,
        dropout: float = 0.0,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        self.constants: dict[str, Argument] = {}
        self.router_loss: Tensor | None = None
        tensors: dict[str, Tensor] = {}
        for name, argument in _parameters(config, dtype).items():
            tensor = ark.parameter(name, argument.shape, argument.dtype)
            if name.endswith(_CONSTANT):
                assert tensor.argument is not None
                self.constants[name] = tensor.argument
                tensors[name] = tensor
            else:
                setattr(self, name, tensor)
        self._tensors = tensors
        self._config, self._dtype = config, dtype
        self._rate, self._checkpoint = dropout, checkpoint

    def forward(self, tokens: Tensor, step: Tensor | None = None) -> Tensor:
        """Returns the logits ``[batch, length, vocabulary]`` of the tokens after each token.

        Args:
            tokens: int32 ``[batch, length]``.
            step: an integer scalar, the index of the step, which determines the dropout masks.

        Raises InvalidUsageError if the sequences are longer than the decoder's positions.

        >>> from ark_mlir.models.decoder import DecoderConfig
        >>> sizes = DecoderConfig(vocabulary=50, hidden=32, layers=1, heads=2, kv_heads=2, head=16,
        ...                       intermediate=64)
        >>> tokens = ark.input("tokens", (1, 4), ark.int32)
        >>> ark.training.TrainableDecoder(sizes).forward(tokens).shape
        (1, 4, 50)
        """
        config, (batch, length) = self._config, tokens.shape
        if length > config.positions:
            raise InvalidUsageError(
                f"sequences of {length} tokens exceed the model's {config.positions} positions"
            )
        graph = TrainingGraph(
            config, batch, length, length, self._dtype, ark.constant(0, int32),
            read=self._read, rate=self._rate, step=step, checkpoint=self._checkpoint,
        )  # fmt: skip
        logits = graph.scaled_logits(graph.head(graph.hidden(tokens), None))
        # A Tensor without an argument is an ordinary attribute.
        self.router_loss = graph.router_loss()
        return ark.reshape(logits, (batch, length, config.vocabulary))

    def _read(self, name: str) -> Tensor:
        """Returns a weight in the element type of the computation."""
        tensor = self._tensors[name] if name in self._tensors else getattr(self, name)
        assert isinstance(tensor, Tensor)
        return tensor


def _parameters(config: DecoderConfig, dtype: DType) -> dict[str, Argument]:
    """Returns the parameters of a decoder, from a program that is not used otherwise."""
    with Program("parameters") as program:
        graph = TrainingGraph(config, 1, 1, 1, dtype, ark.constant(0, int32))
        tokens = ark.input("tokens", (1, 1), int32)
        ark.output("logits", graph.head(graph.hidden(tokens), None))
    return dict(program.parameters)


def initial_weights(
    weights: Mapping[str, Argument],
    layers: int,
    seed: int = 0,
    spread: float = 0.02,
    norm: float = 1.0,
) -> dict[str, NDArray[np.float32]]:
    """Returns random fp32 weights: biases and sinks are zeros, norms `norm`, all else is normal.

    Args:
        weights: the arguments by name, such as ``dict(model.named_parameters())``.
        layers: the number of layers; projections that end a branch have the standard deviation
            ``spread / sqrt(2 * layers)``, so that the variance of the residual stream does not
            grow with `layers`.
        seed: seed of the generator.
        spread: standard deviation of all other weights.
        norm: the weights of norms: 0 for decoders that add one to them, such as Gemma.

    Example:
        >>> w = ark.parameter("w", (4, 4))
        >>> ark.training.initial_weights({"w": w.argument}, layers=2)["w"].shape
        (4, 4)
    """
    rng = np.random.default_rng(seed)
    found: dict[str, NDArray[np.float32]] = {}
    for name in sorted(weights):
        shape = weights[name].shape
        if name.endswith(("bias", "sinks")):
            found[name] = np.zeros(shape, np.float32)
        elif len(shape) < 2:
            found[name] = np.full(shape, norm, np.float32)
        else:
            deviation = spread / math.sqrt(2 * layers) if name.endswith(_ENDS) else spread
            found[name] = (deviation * rng.standard_normal(shape)).astype(np.float32)
    return found
