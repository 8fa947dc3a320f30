"""A decoder of the Llama family for training: whole sequences, no cache.

Weights have the names of Hugging Face, so that ``ark.models`` can load a trained model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import DType, fp32
from ..frontend import Argument, Module, Tensor
from ..models.decoder import DecoderConfig, rope_tables

__all__ = ["TrainableDecoder", "initial_weights"]


class _Norm(Module):
    def __init__(self, width: int, eps: float, dtype: DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (width,), dtype)
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return ark.rmsnorm(x, self.weight, self._eps)


class _Dense(Module):
    def __init__(self, inputs: int, outputs: int, bias: bool, dtype: DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs), dtype)
        if bias:
            self.bias = ark.parameter("bias", (outputs,), dtype)
        self._biased = bias

    def forward(self, x: Tensor) -> Tensor:
        y = ark.matmul(x, self.weight, transpose_other=True)
        return y + self.bias if self._biased else y


class _Attention(Module):
    def __init__(self, config: DecoderConfig, dtype: DType) -> None:
        super().__init__()
        width, bias = config.hidden, config.attention_bias
        self.q_proj = _Dense(width, config.heads * config.head, bias, dtype)
        self.k_proj = _Dense(width, config.kv_heads * config.head, bias, dtype)
        self.v_proj = _Dense(width, config.kv_heads * config.head, bias, dtype)
        self.o_proj = _Dense(config.heads * config.head, width, bias, dtype)
        if config.qk_norm:
            self.q_norm = _Norm(config.head, config.eps, dtype)
            self.k_norm = _Norm(config.head, config.eps, dtype)
        self._config = config

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        config = self._config
        batch, length, _ = x.shape

        def heads(y: Tensor, count: int) -> Tensor:
            return ark.reshape(y, (batch, length, count, config.head))

        q, k = heads(self.q_proj(x), config.heads), heads(self.k_proj(x), config.kv_heads)
        if config.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (
            ark.transpose(y, (0, 2, 1, 3)) for y in (q, k, heads(self.v_proj(x), config.kv_heads))
        )
        mixed = ark.attention(ark.rope(q, *rotation), ark.rope(k, *rotation), v, causal=True)
        return self.o_proj(ark.reshape(ark.transpose(mixed, (0, 2, 1, 3)), (batch, length, -1)))


class _MLP(Module):
    def __init__(self, config: DecoderConfig, dtype: DType) -> None:
        super().__init__()
        width, inner, bias = config.hidden, config.intermediate, config.mlp_bias
        self.gate_proj = _Dense(width, inner, bias, dtype)
        self.up_proj = _Dense(width, inner, bias, dtype)
        self.down_proj = _Dense(inner, width, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(ark.silu(self.gate_proj(x)) * self.up_proj(x))


class _Layer(Module):
    def __init__(self, config: DecoderConfig, dtype: DType) -> None:
        super().__init__()
        self.input_layernorm = _Norm(config.hidden, config.eps, dtype)
        self.self_attn = _Attention(config, dtype)
        self.post_attention_layernorm = _Norm(config.hidden, config.eps, dtype)
        self.mlp = _MLP(config, dtype)

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor], dropout: _Dropout, number: int
    ) -> Tensor:
        mixed = self.self_attn(self.input_layernorm(x), rotation)
        x = x + dropout(mixed, 2 * number)
        return x + dropout(self.mlp(self.post_attention_layernorm(x)), 2 * number + 1)


class _Dropout:
    """Dropout for the branches of the decoder, with another mask in each layer and step."""

    def __init__(self, p: float, step: Tensor | None) -> None:
        self._p, self._step = p, step

    def __call__(self, x: Tensor, seed: int) -> Tensor:
        return (
            ark.dropout(x, self._p, seed, 0 if self._step is None else self._step) if self._p else x
        )


class _Body(Module):
    def __init__(self, config: DecoderConfig, dtype: DType) -> None:
        super().__init__()
        self.embed_tokens = Module()
        self.embed_tokens.weight = ark.parameter(
            "weight", (config.vocabulary, config.hidden), dtype
        )
        self.layers = [_Layer(config, dtype) for _ in range(config.layers)]
        self.norm = _Norm(config.hidden, config.eps, dtype)


class TrainableDecoder(Module):
    """A decoder whose call computes the logits of all tokens of whole sequences.

    Args:
        config: the sizes, as those of ``ark.models``.
        dtype: the element type of weights and activations; ``ark.trainable(..., masters=True)``
            keeps the weights in fp32.
        dropout: the probability with which an element of a branch is dropped.
        checkpoint: True computes each layer again in the backward pass, which keeps only the
            layers' inputs; see ``ark.checkpoint``.

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
        self.model = _Body(config, dtype)
        if not config.tied:
            self.lm_head = _Dense(config.hidden, config.vocabulary, False, dtype)
        self._config, self._dtype = config, dtype
        self._rate, self._checkpoint = dropout, checkpoint

    def forward(self, tokens: Tensor, step: Tensor | None = None) -> Tensor:
        """Returns the logits ``[batch, length, vocabulary]`` of the tokens after each token.

        Args:
            tokens: int32 ``[batch, length]``.
            step: an integer scalar, the index of the step, which determines the dropout masks.

        >>> from ark_mlir.models.decoder import DecoderConfig
        >>> sizes = DecoderConfig(vocabulary=50, hidden=32, layers=1, heads=2, kv_heads=2, head=16,
        ...                       intermediate=64)
        >>> tokens = ark.input("tokens", (1, 4), ark.int32)
        >>> ark.training.TrainableDecoder(sizes).forward(tokens).shape
        (1, 4, 50)
        """
        config, body = self._config, self.model
        table = body.embed_tokens.weight
        x = ark.embedding(tokens, table)
        cos, sin = (
            ark.constant(part, self._dtype) for part in rope_tables(config, tokens.shape[1])
        )
        drop = _Dropout(self._rate, step)
        for number, layer in enumerate(body.layers):

            def run(h: Tensor, layer: Module = layer, number: int = number) -> Tensor:
                return layer(h, (cos, sin), drop, number)

            again = ark.checkpoint(run, x) if self._checkpoint else run(x)
            x = again if isinstance(again, Tensor) else again[0]
        x = body.norm(x)
        return ark.matmul(x, table, transpose_other=True) if config.tied else self.lm_head(x)


def initial_weights(
    weights: Mapping[str, Argument], layers: int, seed: int = 0, spread: float = 0.02
) -> dict[str, NDArray[np.float32]]:
    """Returns random fp32 weights: norms are ones, biases zeros, all else is normal.

    Args:
        weights: the arguments by name, such as ``dict(model.named_parameters())``.
        layers: the number of layers; projections that end a branch have the standard deviation
            ``spread / sqrt(2 * layers)``, so that the sum over all branches stays of one size.
        seed: seed of the generator.
        spread: standard deviation of all other weights.

    Example:
        >>> w = ark.parameter("w", (4, 4))
        >>> ark.training.initial_weights({"w": w.argument}, layers=2)["w"].shape
        (4, 4)
    """
    rng = np.random.default_rng(seed)
    found: dict[str, NDArray[np.float32]] = {}
    for name in sorted(weights):
        shape = weights[name].shape
        if len(shape) < 2:
            found[name] = np.full(shape, 0.0 if name.endswith("bias") else 1.0, np.float32)
            continue
        ends = name.endswith(("o_proj.weight", "down_proj.weight"))
        deviation = spread / math.sqrt(2 * layers) if ends else spread
        found[name] = (deviation * rng.standard_normal(shape)).astype(np.float32)
    return found
