"""One step of a decoder in plain PyTorch.

Caches, token and position are buffers at fixed addresses, which a step updates in place, so that
the step can be captured as a CUDA graph and replayed without the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from decode_settings import Setting, Sizes
from torch import Tensor, nn

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def make_weights(sizes: Sizes, device: str, seed: int = 0) -> dict[str, Tensor]:
    """Returns random bf16 weights by name, with a scale that keeps hidden states near one in all
    layers."""
    generator = torch.Generator(device).manual_seed(seed)
    weights: dict[str, Tensor] = {}
    for name, shape in sizes.parameters().items():
        values = torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)
        weights[name] = 1 + 0.1 * values if len(shape) == 1 else values * shape[-1] ** -0.5
    return weights


def make_caches(setting: Setting, device: str, seed: int = 1000) -> dict[str, Tensor]:
    """Returns keys and values of earlier tokens, by the names of ark's states."""
    generator = torch.Generator(device).manual_seed(seed)
    shape = setting.sizes.cache(setting.batch, setting.context)
    return {
        f"layers.{layer}.{part}": torch.randn(
            shape, generator=generator, device=device, dtype=torch.bfloat16
        )
        for layer in range(setting.sizes.layers)
        for part in ("key", "value")
    }


class OneRank:
    """The exchanges between the GPUs of a decoder, which do nothing on a single GPU.

    A subclass adds the partial products of its ranks and gathers their parts of the logits.
    """

    def partial_product(self, x: Tensor, weight: Tensor) -> Tensor:
        """Returns the product of `x` and the transposed `weight`, summed over all ranks."""
        return F.linear(x, weight)

    def gather_logits(self, logits: Tensor) -> Tensor:
        """Returns the logits ``[batch, vocabulary]`` from each rank's part of the vocabulary."""
        return logits


class DecodeLayer(nn.Module):
    """One layer for one token of each sequence; a subclass reads several tokens."""

    def __init__(
        self,
        sizes: Sizes,
        index: int,
        weights: Mapping[str, Tensor],
        caches: Mapping[str, Tensor],
        dtype: torch.dtype,
        fused: bool,
        ranks: OneRank,
    ) -> None:
        super().__init__()

        def named(name: str) -> Tensor:
            return weights[f"model.layers.{index}.{name}.weight"]

        def products(*names: str) -> nn.ParameterList:
            parts = [named(name) for name in names]
            return nn.ParameterList(map(_constant, [torch.cat(parts)] if fused else parts))

        self.sizes, self.ranks = sizes, ranks
        self.before = _constant(named("input_layernorm"))
        self.qkv = products("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self.out = _constant(named("self_attn.o_proj"))
        self.between = _constant(named("post_attention_layernorm"))
        self.gate_up = products("mlp.gate_proj", "mlp.up_proj")
        self.down = _constant(named("mlp.down_proj"))
        if sizes.qk_norm:
            self.q_norm = _constant(named("self_attn.q_norm"))
            self.k_norm = _constant(named("self_attn.k_norm"))
        for part in ("key", "value"):
            self.register_buffer(part, caches[f"layers.{index}.{part}"].to(dtype, copy=True))

    def forward(
        self, x: Tensor, position: Tensor, rotation: tuple[Tensor, Tensor], attend: Attention
    ) -> Tensor:
        x = x + self.attention(self.normed(x, self.before), position, rotation, attend)
        inner = self.normed(x, self.between)
        gate, up = split(inner, self.gate_up, [self.sizes.intermediate] * 2)
        return x + self.ranks.partial_product(F.silu(gate) * up, self.down)

    def attention(
        self, x: Tensor, position: Tensor, rotation: tuple[Tensor, Tensor], attend: Attention
    ) -> Tensor:
        sizes, batch = self.sizes, x.shape[0]
        widths = [count * sizes.head for count in (sizes.heads, sizes.kv_heads, sizes.kv_heads)]
        q, k, v = (part.view(batch, -1, 1, sizes.head) for part in split(x, self.qkv, widths))
        if sizes.qk_norm:
            q, k = self.normed(q, self.q_norm), self.normed(k, self.k_norm)
        q, k = rotate(q, *rotation), rotate(k, *rotation)
        self.key[:, :, position] = k
        self.value[:, :, position] = v
        # The queries that share a key head are rows of one product.
        q = q.view(batch, sizes.kv_heads, -1, sizes.head)
        mixed = attend(q, self.key, self.value)
        return self.ranks.partial_product(mixed.reshape(batch, -1), self.out)

    def normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.sizes.eps)


class TorchDecoder(nn.Module):
    """A step from the embedding to the most probable token; see :meth:`forward`.

    Attributes:
        layer: the class of its layers.


    Args:
        weights: by name; used in place where they have `dtype`.
        rope: cosines and sines ``[context, head / 2]``.
        fused: True if q, k and v are one product, and gate and up another. Models of
            transformers have a product for each.
        flex: True for FlexAttention, which must be compiled; else SDPA with a mask.
        ranks: the exchange with other GPUs, if `setting` has the sizes of one rank's part.
    """

    layer: type[DecodeLayer] = DecodeLayer

    def __init__(
        self,
        setting: Setting,
        weights: Mapping[str, Tensor],
        caches: Mapping[str, Tensor],
        rope: tuple[Tensor, Tensor],
        dtype: torch.dtype = torch.bfloat16,
        fused: bool = False,
        ranks: OneRank | None = None,
        flex: bool = False,
    ) -> None:
        super().__init__()
        self.ranks = ranks or OneRank()
        self.sizes = sizes = setting.sizes
        weights = {name: weight.to(dtype) for name, weight in weights.items()}
        self.embedding = _constant(weights["model.embed_tokens.weight"])
        self.head = self.embedding if sizes.tied else _constant(weights["lm_head.weight"])
        self.norm = _constant(weights["model.norm.weight"])
        self.layers = nn.ModuleList(
            self.layer(sizes, index, weights, caches, dtype, fused, self.ranks)
            for index in range(sizes.layers)
        )
        device = self.embedding.device
        for name, table in zip(("cos", "sin"), rope, strict=True):
            self.register_buffer(name, torch.cat((table, table), -1).to(device, dtype))
        self.register_buffer("positions", torch.arange(setting.context, device=device))
        self.register_buffer("token", torch.zeros(setting.batch, dtype=torch.int64, device=device))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64, device=device))
        self.flex = flex

    def put(self, token: Tensor, position: int) -> None:
        """Sets the token of the next step, and its position."""
        self.token.copy_(token)
        self.position.fill_(position)

    def restore(self, caches: Mapping[str, Tensor]) -> None:
        """Restores the caches, which steps overwrite in part."""
        for index, layer in enumerate(self.layers):
            for part in ("key", "value"):
                getattr(layer, part).copy_(caches[f"layers.{index}.{part}"])

    def forward(self) -> Tensor:
        """Returns fp32 logits ``[batch, vocabulary]``; the most probable tokens become the next
        ones."""
        logits = self.ranks.gather_logits(F.linear(self.hidden(), self.head)).float()
        self.advance(logits.argmax(-1))
        return logits

    def advance(self, token: Tensor) -> None:
        """Sets the token of the next step, at the next position."""
        self.token.copy_(token)
        self.position.add_(1)

    def hidden(self) -> Tensor:
        """Returns what the head reads, ``[batch, hidden]``, and writes keys and values."""
        x = F.embedding(self.token, self.embedding)
        rotation = self.cos[self.position], self.sin[self.position]
        attend = self._flex_attention() if self.flex else self._masked_attention()
        for layer in self.layers:
            x = layer(x, self.position, rotation, attend)
        return F.rms_norm(x, self.norm.shape, self.norm, self.sizes.eps)

    def _masked_attention(self) -> Attention:
        mask = (self.positions <= self.position).view(1, 1, 1, -1)
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def _flex_attention(self) -> Attention:
        from torch.nn.attention.flex_attention import flex_attention

        last = self.position.view(())

        def earlier(score: Tensor, batch: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
            return torch.where(key <= last, score, -float("inf"))

        return lambda q, k, v: flex_attention(q, k, v, score_mod=earlier)


def _constant(weight: Tensor) -> nn.Parameter:
    return nn.Parameter(weight, requires_grad=False)


def split(x: Tensor, weights: nn.ParameterList, widths: list[int]) -> tuple[Tensor, ...]:
    if len(weights) == 1:
        return F.linear(x, weights[0]).split(widths, -1)
    return tuple(F.linear(x, weight) for weight in weights)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin
