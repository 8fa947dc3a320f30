"""The layer of `experts.py`: sizes, arrays and PyTorch's function; needs no compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.record import Workload

__all__ = ["LayerSizes", "arrays", "layer", "layer_of_pairs"]

# The logits of the experts that a token is for exceed the others by about this much.
CLEAR = 8.0


@dataclass(frozen=True)
class LayerSizes:
    """The sizes of a layer with experts; `width` is the number of inner columns of an expert."""

    tokens: int
    hidden: int
    experts: int
    chosen: int
    width: int

    @property
    def workload(self) -> Workload:
        """Returns the work of the products of all chosen experts."""
        pairs, weights = self.tokens * self.chosen, 3 * self.width * self.hidden
        return Workload(
            f"a layer of {self.experts} experts of {self.width} columns, {self.chosen} for each of "
            f"{self.tokens} tokens of width {self.hidden}, bf16",
            bytes=2.0 * self.experts * weights,
            flops=2.0 * pairs * weights,
        )

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the weights, by name."""
        inner = self.experts, self.width, self.hidden
        return {
            "mlp.gate.weight": (self.experts, self.hidden),
            "mlp.experts.gate_proj.weight": inner,
            "mlp.experts.up_proj.weight": inner,
            "mlp.experts.down_proj.weight": (self.experts, self.hidden, self.width),
        }


def arrays(sizes: LayerSizes, device: str) -> tuple[Any, dict[str, Any]]:
    """Returns hidden states ``[tokens, hidden]`` and the weights, bf16.

    The hidden states contain the router's rows of random experts, so that rounding changes no
    choice of the router.
    """
    import torch

    generator = torch.Generator(device).manual_seed(0)

    def numbers(*shape: int) -> Any:
        return torch.randn(shape, generator=generator, device=device)

    weights = {
        name: (numbers(*shape) * shape[-1] ** -0.5).bfloat16()
        for name, shape in sizes.shapes().items()
    }
    draws = torch.rand((sizes.tokens, sizes.experts), generator=generator, device=device)
    wanted = torch.zeros_like(draws).scatter_(1, draws.topk(sizes.chosen).indices, CLEAR)
    x = numbers(sizes.tokens, sizes.hidden) + wanted @ weights["mlp.gate.weight"].float()
    return x.bfloat16(), weights


def route(sizes: LayerSizes, weights: dict[str, Any], x: Any) -> tuple[Any, Any]:
    """Returns the weights in fp32 and the numbers of the experts of each token; the logits have the
    dtype of `x`."""
    import torch.nn.functional as F

    scores = F.linear(x, weights["mlp.gate.weight"].to(x.dtype)).float().softmax(-1)
    best, chosen = scores.topk(sizes.chosen, dim=-1)
    return best / best.sum(-1, keepdim=True), chosen


def layer(sizes: LayerSizes, weights: dict[str, Any], x: Any) -> Any:
    """Returns the result of the layer, by PyTorch's grouped products of pairs sorted by expert."""
    import torch
    import torch.nn.functional as F

    scales, chosen = route(sizes, weights, x)
    owner = chosen.flatten()
    order = owner.argsort(stable=True)
    counts = (owner[:, None] == torch.arange(sizes.experts, device=x.device)).sum(0)
    ends = counts.cumsum(0).to(torch.int32)

    def product(rows: Any, name: str) -> Any:
        matrices = weights[f"mlp.experts.{name}.weight"].transpose(1, 2)
        return F.grouped_mm(rows, matrices, offs=ends)

    rows = x[order // sizes.chosen]
    inner = F.silu(product(rows, "gate_proj")) * product(rows, "up_proj")
    sorted_parts = product(inner, "down_proj")
    parts = torch.empty_like(sorted_parts).index_copy(0, order, sorted_parts)
    return _sum(parts.view(*chosen.shape, -1), scales).to(x.dtype)


def layer_of_pairs(sizes: LayerSizes, weights: dict[str, Any], x: Any) -> Any:
    """Returns the result of the layer in fp32, expert by expert."""
    import torch
    import torch.nn.functional as F

    scales, chosen = route(sizes, weights, x.float())
    total = torch.zeros(x.shape, device=x.device)
    for expert in range(sizes.experts):
        token, choice = (chosen == expert).nonzero(as_tuple=True)
        gate, up, down = (
            weights[f"mlp.experts.{name}_proj.weight"][expert].float()
            for name in ("gate", "up", "down")
        )
        rows = x[token].float()
        part = F.linear(F.silu(F.linear(rows, gate)) * F.linear(rows, up), down)
        total.index_add_(0, token, part * scales[token, choice, None])
    return total


def _sum(parts: Any, scales: Any) -> Any:
    """Returns the sums of the parts of each token in fp32, ``[tokens, hidden]``."""
    return (parts.float() * scales[:, :, None]).sum(1)
