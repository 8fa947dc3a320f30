"""The sentence encoder of ``minilm.py`` in plain PyTorch, for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F


def device_of(target: str) -> str:
    """Returns PyTorch's device for a target of ark: a GPU if PyTorch sees one."""
    return "cuda" if target.startswith("cuda") and torch.cuda.is_available() else "cpu"


class TorchBert:
    """A BERT encoder on arrays under their Hugging Face names.

    Example:
        >>> TorchBert(model.parameters, layers=6, heads=12).embed(ids, mask)
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        layers: int,
        heads: int,
        eps: float = 1e-12,
        device: str = "cpu",
    ) -> None:
        self.device = device
        # Mapped arrays are read-only, which torch.from_numpy warns about: copy them.
        self.weights = {
            name: torch.from_numpy(np.array(a)).to(device) for name, a in arrays.items()
        }
        self.layers, self.heads, self.eps = layers, heads, eps

    def embed(self, ids: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns ``[batch, hidden]`` vectors of length one for ``[batch, length]`` tokens."""
        with torch.inference_mode():
            given = torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)
            return self.forward(*given).cpu().numpy()

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Implements :meth:`embed` on torch tensors; `mask` is bool."""
        table = "embeddings.{}_embeddings.weight".format
        x = F.embedding(ids, self.weights[table("word")])
        x = x + self.weights[table("position")][: ids.shape[1]]
        x = x + self.weights[table("token_type")][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self.layers):
            x = self._layer(x, mask, f"encoder.layer.{layer}")
        weights = mask[..., None].to(x.dtype)
        return F.normalize((x * weights).sum(1) / weights.sum(1).clamp(min=1), dim=-1)

    def _layer(self, x: torch.Tensor, mask: torch.Tensor, name: str) -> torch.Tensor:
        q, k, v = (
            self._dense(x, f"{name}.attention.self.{part}")
            .unflatten(-1, (self.heads, -1))
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        mixed = mixed.transpose(1, 2).flatten(2)
        attended = self._dense(mixed, f"{name}.attention.output.dense")
        x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
        inner = F.gelu(self._dense(x, f"{name}.intermediate.dense"))
        outer = self._dense(inner, f"{name}.output.dense")
        return self._norm(x + outer, f"{name}.output.LayerNorm")

    def _dense(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(x, weight.shape, weight, bias, self.eps)
