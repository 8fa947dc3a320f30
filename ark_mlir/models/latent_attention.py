"""Multi-head latent attention (DeepSeek-AI, 2024): heads share a short vector for each token.

The cache has this vector, the *latent*, and one rotated key for each token. The matrix that expands
latents to keys and values is applied to queries and results instead: queries attend to latents as
if these were the keys of one head, and the values are the latents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import frontend as ark
from ..frontend import Tensor

if TYPE_CHECKING:
    from .decoder_graph import DecoderGraph

__all__ = ["Latent", "build_attention"]


@dataclass(frozen=True)
class Latent:
    """The sizes of a latent attention.

    Attributes:
        rank: number of elements of a latent.
        query_rank: number of elements of the vector from which queries are computed; None computes
            them from the hidden states.
        plain, rotated: numbers of elements of a query head without and with rotary positions.
        value: number of elements of a value.
        eps: the epsilon of the norms of both vectors.
    """

    rank: int
    query_rank: int | None
    plain: int
    rotated: int
    value: int
    eps: float = 1e-6


def build_attention(
    graph: DecoderGraph, latent: Latent, x: Tensor, layer: int, name: str
) -> Tensor:
    """Builds the attention of a layer for hidden states ``[batch * tokens, hidden]``."""
    config, rope = graph.config, graph.config.rope(layer)
    heads, rank = config.heads, latent.rank
    q = graph.heads(_queries(graph, latent, x, name), heads, None)
    q, q_rotated = ark.split(q, (latent.plain, latent.rotated), -1, name=f"{name}.q.parts")
    both = graph.dense(
        x, f"{name}.kv_a_proj_with_mqa", rank + latent.rotated, config.attention_bias
    )
    short, k_rotated = ark.split(both, (rank, latent.rotated), -1, name=f"{name}.kv.parts")
    short = graph.norm(short, f"{name}.kv_a_layernorm", latent.eps)
    key = graph.rotated(_one_head(graph, k_rotated), rope, f"{name}.k_rope")
    key = ark.concat([_one_head(graph, short), key], -1, name=f"{name}.latent")
    keys = graph.cached(key, f"layers.{layer}.latent")
    to_key, to_value = _expansions(graph, latent, name)
    q = ark.matmul(q, to_key, name=f"{name}.q_latent")
    q_rotated = graph.rotated(q_rotated, rope, f"{name}.q_rope")
    mixed = ark.attention(
        ark.concat([q, q_rotated], -1, name=f"{name}.q"), keys, keys[..., :rank],
        scale=config.scale, causal=True, mask=graph.present, kv_length=graph.kv_length,
        name=name,
    )  # fmt: skip
    result = ark.matmul(mixed, to_value, transpose_other=True, name=f"{name}.values")
    result = ark.reshape(ark.transpose(result, (0, 2, 1, 3)), (x.shape[0], -1))
    return graph.dense(result, f"{name}.{config.names.output}", config.hidden, config.output_bias)


def _queries(graph: DecoderGraph, latent: Latent, x: Tensor, name: str) -> Tensor:
    width = graph.config.heads * graph.config.head
    if latent.query_rank is None:
        return graph.dense(x, f"{name}.q_proj", width)
    short = graph.dense(x, f"{name}.q_a_proj", latent.query_rank, graph.config.attention_bias)
    short = graph.norm(short, f"{name}.q_a_layernorm", latent.eps)
    return graph.dense(short, f"{name}.q_b_proj", width)


def _one_head(graph: DecoderGraph, x: Tensor) -> Tensor:
    """Returns ``[batch * tokens, size]`` as ``[batch, 1, tokens, size]``."""
    return ark.reshape(x, (graph.batch, 1, graph.tokens, x.shape[-1]))


def _expansions(graph: DecoderGraph, latent: Latent, name: str) -> tuple[Tensor, Tensor]:
    """Returns the matrices from latents to keys and to values, ``[heads, size, rank]``."""
    heads, size = graph.config.heads, latent.plain + latent.value
    weight = graph.parameter(f"{name}.kv_b_proj.weight", heads * size, latent.rank)
    of_heads = ark.reshape(weight, (heads, size, latent.rank))
    to_key, to_value = ark.split(of_heads, (latent.plain, latent.value), 1, name=f"{name}.kv_b")
    return to_key, to_value
