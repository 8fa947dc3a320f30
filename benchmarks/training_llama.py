"""A Llama as an ark module; needs the compiler."""

from __future__ import annotations

from training_models import LlamaSizes, rope_tables

import ark_mlir as ark

__all__ = ["Llama"]


class _Block(ark.Module):
    def __init__(self, sizes: LlamaSizes, dtype: ark.DType) -> None:
        super().__init__()
        self._heads = sizes.heads, sizes.kv_heads, sizes.kv_heads
        self.first = _Norm(sizes.width, dtype)
        self.second = _Norm(sizes.width, dtype)
        shapes = sizes.dense
        self.q, self.k, self.v = (_Linear(shapes[name], dtype) for name in ("q", "k", "v"))
        self.out, self.gate = _Linear(shapes["out"], dtype), _Linear(shapes["gate"], dtype)
        self.up, self.down = _Linear(shapes["up"], dtype), _Linear(shapes["down"], dtype)

    def forward(self, x: ark.Tensor, tables: tuple[ark.Tensor, ark.Tensor]) -> ark.Tensor:
        batch, length, width = x.shape
        rows = self.first(x)
        q, k, v = (
            ark.transpose(ark.reshape(project(rows), (batch, length, heads, -1)), (0, 2, 1, 3))
            for project, heads in zip((self.q, self.k, self.v), self._heads, strict=True)
        )
        q, k = ark.rope(q, *tables), ark.rope(k, *tables)
        mixed = ark.transpose(ark.attention(q, k, v, causal=True), (0, 2, 1, 3))
        x = x + self.out(ark.reshape(mixed, (batch, length, width)))
        rows = self.second(x)
        return x + self.down(ark.silu(self.gate(rows)) * self.up(rows))


class _Linear(ark.Module):
    def __init__(self, shape: tuple[int, int], dtype: ark.DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", shape, dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True)


class _Norm(ark.Module):
    def __init__(self, width: int, dtype: ark.DType) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (width,), dtype)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.rmsnorm(x, self.weight)


class Llama(ark.Module):
    """Returns the logits ``[batch, length, vocabulary]``; the head is the table of tokens."""

    def __init__(self, sizes: LlamaSizes) -> None:
        super().__init__()
        self._sizes, self._dtype = sizes, getattr(ark, sizes.dtype)
        self.tokens = ark.parameter("tokens", (sizes.vocabulary, sizes.width), self._dtype)
        self.blocks = [_Block(sizes, self._dtype) for _ in range(sizes.layers)]
        self.norm = _Norm(sizes.width, self._dtype)

    def forward(self, ids: ark.Tensor) -> ark.Tensor:
        x = ark.embedding(ids, self.tokens)
        cosine, sine = (
            ark.cast(ark.constant(part), self._dtype) for part in rope_tables(self._sizes)
        )
        for block in self.blocks:
            x = block(x, (cosine, sine))
        return ark.matmul(self.norm(x), self.tokens, transpose_other=True)
