"""A GPT as an ark module; needs the compiler."""

from __future__ import annotations

from training_models import Sizes

import ark_mlir as ark

__all__ = ["GPT"]


class _Linear(ark.Module):
    def __init__(self, inputs: int, outputs: int, dtype: ark.DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs), dtype)
        self.bias = ark.parameter("bias", (outputs,), dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True) + self.bias


class _Norm(ark.Module):
    def __init__(self, width: int, dtype: ark.DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (width,), dtype)
        self.bias = ark.parameter("bias", (width,), dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, self.weight, self.bias)


class _Block(ark.Module):
    def __init__(self, sizes: Sizes, dtype: ark.DType) -> None:
        super().__init__()
        width = sizes.width
        self._heads, self._causal = sizes.heads, sizes.causal
        self.first, self.second = _Norm(width, dtype), _Norm(width, dtype)
        self.qkv, self.out = _Linear(width, 3 * width, dtype), _Linear(width, width, dtype)
        self.up, self.down = _Linear(width, 4 * width, dtype), _Linear(4 * width, width, dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            ark.transpose(ark.reshape(part, (batch, length, self._heads, -1)), (0, 2, 1, 3))
            for part in ark.split(self.qkv(self.first(x)), 3, axis=-1)
        )
        mixed = ark.transpose(ark.attention(q, k, v, causal=self._causal), (0, 2, 1, 3))
        x = x + self.out(ark.reshape(mixed, (batch, length, width)))
        return x + self.down(ark.gelu(self.up(self.second(x))))


class GPT(ark.Module):
    """Returns the logits ``[batch, length, vocabulary]``; the head is the table of tokens."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        dtype = getattr(ark, sizes.dtype)
        self.tokens = ark.parameter("tokens", (sizes.vocabulary, sizes.width), dtype)
        self.positions = ark.parameter("positions", (sizes.length, sizes.width), dtype)
        self.blocks = [_Block(sizes, dtype) for _ in range(sizes.layers)]
        self.norm = _Norm(sizes.width, dtype)

    def forward(self, ids: ark.Tensor) -> ark.Tensor:
        x = ark.embedding(ids, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return ark.matmul(self.norm(x), self.tokens, transpose_other=True)
