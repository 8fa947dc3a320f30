"""The prompt of a decoder in plain PyTorch: all tokens at once, causal attention without a mask."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_decoder import Attention, DecodeLayer, TorchDecoder, rotate, split


class PrefillLayer(DecodeLayer):
    """One layer for all tokens ``[tokens, hidden]`` of a prompt."""

    def attention(
        self, x: Tensor, position: Tensor, rotation: tuple[Tensor, Tensor], attend: Attention
    ) -> Tensor:
        sizes, tokens = self.sizes, x.shape[0]
        widths = [count * sizes.head for count in (sizes.heads, sizes.kv_heads, sizes.kv_heads)]
        q, k, v = (
            part.view(1, tokens, -1, sizes.head).transpose(1, 2)
            for part in split(x, self.qkv, widths)
        )
        if sizes.qk_norm:
            q, k = self.normed(q, self.q_norm), self.normed(k, self.k_norm)
        q, k = rotate(q, *rotation), rotate(k, *rotation)
        self.key.copy_(k)
        self.value.copy_(v)
        mixed = attend(q, k, v)
        return F.linear(mixed.transpose(1, 2).reshape(tokens, -1), self.out)


class TorchPrefill(TorchDecoder):
    """The first step of a sequence, whose prompt fills the caches; see :meth:`forward`.

    Args:
        ids: the tokens of the prompt, one for each position of the setting's context.
    """

    layer = PrefillLayer

    def __init__(self, ids: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        device = self.embedding.device
        self.register_buffer("ids", torch.from_numpy(ids).to(device, torch.int64))

    def forward(self) -> Tensor:
        """Returns fp32 logits ``[1, vocabulary]`` of the last token."""

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

        x = F.embedding(self.ids, self.embedding)
        for layer in self.layers:
            x = layer(x, self.position, (self.cos, self.sin), attend)
        x = F.rms_norm(x[-1:], self.norm.shape, self.norm, self.sizes.eps)
        logits = F.linear(x, self.head).float()
        self.token.copy_(logits.argmax(-1))
        return logits
