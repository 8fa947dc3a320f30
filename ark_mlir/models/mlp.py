"""The MLPs of decoders, by the names that ``DecoderConfig.mlp`` has.

A builder gets the graph of the program, the normalised hidden states ``[batch * tokens, hidden]``,
the prefix of the names of its tensors, such as ``model.layers.0.mlp``, and the number of the layer.
The builder returns the MLP's output, of the shape of its input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .. import frontend as ark
from ..dtypes import DType
from ..frontend import Tensor
from .activations import ACTIVATIONS
from .decoder_config import DecoderConfig
from .moe import build_mlp

__all__ = ["MLPS", "Builder", "Graph"]


class Graph(Protocol):
    """The parts of a program under construction that a builder uses."""

    @property
    def config(self) -> DecoderConfig:
        """Returns the sizes of the decoder."""
        ...

    @property
    def dtype(self) -> DType:
        """Returns the dtype of parameters and hidden states."""
        ...

    def parameter(self, name: str, *shape: int, dtype: DType | None = None) -> Tensor:
        """Returns a parameter of the program, by default of the dtype of the model."""
        ...

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = False) -> Tensor:
        """Returns the product with the weight ``<name>.weight``, and adds ``<name>.bias``."""
        ...

    def total(self, product: Tensor, name: str) -> Tensor:
        """Returns a product, summed over ranks if the layer `name` computes partial sums."""
        ...

    def all_rows(self, x: Tensor, name: str) -> Tensor:
        """Returns the hidden states of all tokens."""
        ...

    def routed(self, logits: Tensor, chosen: Tensor) -> None:
        """Takes the logits of a router and the experts that it chose."""
        ...


# Takes the graph, the input, the prefix of the names, and the number of the layer.
Builder = Callable[[Graph, Tensor, str, int], Tensor]


def gated(graph: Graph, x: Tensor, name: str, layer: int) -> Tensor:
    """Builds ``down(activation(gate(x)) * up(x))``."""
    config, names = graph.config, graph.config.names
    activation = ACTIVATIONS[config.activation]
    if names.gate_up is not None:
        both = graph.dense(x, f"{name}.{names.gate_up}", 2 * config.intermediate, config.mlp_bias)
        gate, up = ark.split(both, 2, -1, name=f"{name}.{names.gate_up}.parts")
    else:
        gate = graph.dense(x, f"{name}.{names.gate}", config.intermediate, config.mlp_bias)
        up = graph.dense(x, f"{name}.{names.up}", config.intermediate, config.mlp_bias)
    inner = ark.mul(activation(gate, f"{name}.act"), up, name=f"{name}.act")
    return graph.dense(inner, f"{name}.{names.down}", config.hidden, config.mlp_bias)


def plain(graph: Graph, x: Tensor, name: str, layer: int) -> Tensor:
    """Builds ``down(activation(up(x)))``."""
    config, names = graph.config, graph.config.names
    inner = graph.dense(x, f"{name}.{names.up}", config.intermediate, config.mlp_bias)
    inner = ACTIVATIONS[config.activation](inner, f"{name}.act")
    return graph.dense(inner, f"{name}.{names.down}", config.hidden, config.mlp_bias)


def experts(graph: Graph, x: Tensor, name: str, layer: int) -> Tensor:
    """Builds the experts of a layer, or a gated MLP if the layer has none."""
    chosen = graph.config.experts
    if chosen is None or not chosen.has(layer):
        return gated(graph, x, name, layer)
    return build_mlp(graph, chosen, x, name)


MLPS: dict[str, Builder] = {"experts": experts, "gated": gated, "plain": plain}
