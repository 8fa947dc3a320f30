"""The sizes and features of a decoder, which :mod:`.decoder_reader` reads from ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import InvalidUsageError
from .experts import Experts
from .kept_weights import Layout
from .latent_attention import Latent
from .rope import Rope, Scaling
from .sharding import SINGLE, Shard
from .tensor_names import LLAMA, TensorNames
from .weights import spellings

__all__ = ["DecoderConfig", "Norm", "divide"]

# RMSNorm ("rms"), RMSNorm with the weights of the file plus one ("rms_plus_one"), or LayerNorm with
# or without a bias.
Norm = Literal["rms", "rms_plus_one", "layer", "layer_without_bias"]

# Sizes that are divided among the ranks; `kv_heads` may also be fewer than the ranks.
_DIVIDED = ("heads", "kv_heads", "intermediate")


@dataclass(frozen=True)
class DecoderConfig:
    """The sizes of a decoder, or of the part of a decoder that the rank `shard` has.

    The defaults of all features are those of Llama.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        hidden: number of elements of a token's hidden state.
        layers: number of layers.
        heads, kv_heads: numbers of heads of queries, and of keys and values.
        head: number of elements of a head.
        intermediate: width of the MLP.
        positions: maximum number of tokens of a sequence.
        eps: the epsilon of all norms.
        theta, scaling, rotary: rotary positions, see :class:`.rope.Rope`; `rotary` 0 means `head`.
        local: rotary positions of layers with a window, if they differ.
        unrotated: for each layer, True if it has no rotary positions; a shorter tuple repeats.
        interleaved: True if elements ``2i`` and ``2i + 1`` rotate as a pair.
        learned_positions: True if a table of positions is added to the embeddings instead.
        tied: True if the vocabulary head has the table of embeddings as its weight.
        attention_bias, output_bias, mlp_bias, head_bias: True if there are biases of queries, keys
            and values, of the attention's output, of the MLP, and of the vocabulary head.
        qk_norm: True if queries and keys are normalised head by head.
        whole_qk_norm: True if they are normalised over all heads together.
        norm: see :data:`Norm`; `names` says where the norms are.
        parallel: True if attention and MLP have the same input and add to it side by side.
        mlp: the name of the MLP's builder in :data:`.mlp.MLPS`.
        experts: the experts of the layers, or None; see :mod:`.moe`.
        activation: the name of the MLP's activation in :data:`.activations.ACTIVATIONS`.
        embedding_scale, residual_scale, logit_scale: factors of the embeddings, of the outputs of
            attention and MLP, and of the logits.
        attention_scale: the factor of the scores; by default ``1 / sqrt(head)``.
        sinks: True if the softmax of each query head has one more logit, whose value is zero.
        latent: the sizes of a latent attention, or None; see :mod:`.latent_attention`.
        score_cap, logit_cap: soft caps of scores and logits: ``cap * tanh(x / cap)``.
        window: number of keys that a query sees in layers with a window, including the key at the
            position of the query.
        windowed: for each layer, True if it has the window; a shorter tuple repeats.
        names: the names of the model's tensors.
        shard: the rank's shard.
        split_embedding: True if each rank has only its rows of the table of embeddings.
        layouts: the layers whose weights stay quantized, by their names in the files.

    Example:
        >>> llama_1b = DecoderConfig(vocabulary=128256, hidden=2048, layers=16, heads=32,
        ...                          kv_heads=8, head=64, intermediate=8192, tied=True)
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    intermediate: int
    positions: int = 131072
    eps: float = 1e-5
    theta: float = 500000.0
    scaling: Scaling | None = None
    tied: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    shard: Shard = SINGLE
    rotary: int = 0
    local: Rope | None = None
    unrotated: tuple[bool, ...] = (False,)
    interleaved: bool = False
    learned_positions: bool = False
    output_bias: bool = False
    head_bias: bool = False
    whole_qk_norm: bool = False
    norm: Norm = "rms"
    parallel: bool = False
    mlp: str = "gated"
    experts: Experts | None = None
    activation: str = "silu"
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    attention_scale: float | None = None
    sinks: bool = False
    latent: Latent | None = None
    score_cap: float | None = None
    logit_cap: float | None = None
    window: int | None = None
    windowed: tuple[bool, ...] = (False,)
    names: TensorNames = LLAMA
    split_embedding: bool = False
    layouts: Mapping[str, Layout] = field(default_factory=dict[str, Layout], hash=False)

    def layout(self, layer: str) -> Layout | None:
        """Returns the layout of the weights of a layer that stay quantized, or None."""
        return next((self.layouts[n] for n in spellings(layer) if n in self.layouts), None)

    def has_window(self, layer: int) -> bool:
        """Returns True if a layer has the window."""
        return self.window is not None and _cyclic(self.windowed, layer)

    @property
    def scale(self) -> float:
        """Returns the factor of the scores."""
        return self.head**-0.5 if self.attention_scale is None else self.attention_scale

    def rope(self, layer: int) -> Rope | None:
        """Returns the rotary positions of a layer, or None."""
        if self.learned_positions or _cyclic(self.unrotated, layer):
            return None
        if self.local is not None and self.has_window(layer):
            return self.local
        return Rope(self.rotary or self.head, self.theta, self.scaling)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of weights that depend on the sizes, by their names."""
        names = self.names
        layer, queries, keys = names.of_layer(0), self.heads * self.head, self.kv_heads * self.head
        shapes = {f"{names.embedding}.weight": (self.vocabulary, self.hidden)}
        if self.latent is not None:
            shapes[f"{layer}.{names.attention}.kv_b_proj.weight"] = (
                self.heads * (self.latent.plain + self.latent.value), self.latent.rank,
            )  # fmt: skip
        elif names.qkv is None:
            shapes[f"{layer}.{names.attention}.{names.query}.weight"] = (queries, self.hidden)
            shapes[f"{layer}.{names.attention}.{names.key}.weight"] = (keys, self.hidden)
        else:
            shapes[f"{layer}.{names.attention}.{names.qkv}.weight"] = names.matrix(
                queries + 2 * keys, self.hidden
            )
        if self.mlp == "gated" and names.gate_up is None:
            shapes[f"{layer}.{names.mlp}.{names.gate}.weight"] = (self.intermediate, self.hidden)
        if self.mlp == "gated" and names.gate_up is not None:
            shapes[f"{layer}.{names.mlp}.{names.gate_up}.weight"] = (
                2 * self.intermediate, self.hidden,
            )  # fmt: skip
        if self.mlp == "plain":
            shapes[f"{layer}.{names.mlp}.{names.up}.weight"] = names.matrix(
                self.intermediate, self.hidden
            )
        return shapes


def _cyclic(flags: Sequence[bool], layer: int) -> bool:
    return flags[layer % len(flags)]


def _divides(config: DecoderConfig, name: str, size: int) -> bool:
    """Returns True if `size` ranks can divide one of the sizes, or have copies of heads of keys."""
    whole: int = getattr(config, name)
    return whole % size == 0 or (name == "kv_heads" and size % whole == 0)


def divide(
    config: DecoderConfig, size: int, whole_experts: bool = False, split_embedding: bool = False
) -> list[DecoderConfig]:
    """Returns the sizes of the shard of each rank.

    If there are more ranks than heads of keys and values, consecutive ranks have the same head.
    With `whole_experts`, the ranks divide the experts, and not their columns. With
    `split_embedding`, the ranks divide the rows of the table of embeddings. Raises
    InvalidUsageError if `size` does not divide the number of heads, the width of the MLP, or the
    width or the number of experts, if it neither divides the number of heads of keys nor is a
    multiple of it, or if it exceeds the vocabulary.
    """
    for name in _DIVIDED:
        if not _divides(config, name, size):
            fitting = [
                str(each)
                for each in range(1, config.heads + 1)
                if all(_divides(config, other, each) for other in _DIVIDED)
            ]
            raise InvalidUsageError(
                f"tensor_parallel {size} does not divide {name} {getattr(config, name)}; this "
                f"model can have {', '.join(fitting)} ranks"
            )
    if size > config.vocabulary:
        raise InvalidUsageError(
            f"tensor_parallel {size} exceeds the vocabulary of {config.vocabulary} tokens"
        )
    parts: dict[str, Any] = {name: max(getattr(config, name) // size, 1) for name in _DIVIDED}
    parts["split_embedding"] = split_embedding and size > 1
    if config.experts is not None:
        parts["experts"] = config.experts.divide(size, whole_experts)
    return [replace(config, **parts, shard=Shard(rank, size)) for rank in range(size)]
