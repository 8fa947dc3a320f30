"""Constant folding: torch evaluates the nodes of a graph that depend on no input.

Dozens of small integer ops compute positions, causal masks and tables of angles. ark need not
support an op whose result is a constant.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

from ..runtime.arrays.frameworks import to_numpy
from .translate import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Constants", "fold"]

# The program computes larger tensors, such as a mask over a long context.
_MAX_ELEMENTS = 1 << 20


class Constants(Mapping[Node, "NDArray[Any]"]):
    """A mapping from nodes to their constant tensors, which it returns as numpy arrays."""

    def __init__(self, values: Mapping[Node, Any]) -> None:
        self._values = values

    def __getitem__(self, node: Node) -> NDArray[Any]:
        return _to_numpy(self._values[node])

    def tensor(self, node: Node) -> Any:
        """Returns the torch tensor of a node."""
        return self._values[node]

    def __contains__(self, node: object) -> bool:
        return node in self._values

    def __iter__(self) -> Iterator[Node]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def fold(graph: Any, known: Mapping[Node, Any]) -> Constants:
    """Evaluates all nodes of a graph that depend only on constants, and returns their tensors.

    Args:
        graph: a ``torch.fx.Graph`` of ATen ops, without side effects.
        known: tensors that never change, by node: constants and non-persistent buffers.
    """
    values = dict(known)
    with torch.no_grad():
        for node in graph.nodes:
            if node not in values and _is_constant(node, values):
                args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
                values[node] = node.target(*args, **kwargs)
    return Constants(values)


def _is_constant(node: Node, values: Mapping[Node, Any]) -> bool:
    if node.op != "call_function" or not all(n in values for n in node.all_input_nodes):
        return False
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded not in tags and _is_small(node.meta.get("val"))


def _is_small(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_small(element) for element in value)
    if not isinstance(value, torch.Tensor):
        return False
    extents: tuple[Any, ...] = tuple(value.shape)
    known = all(isinstance(extent, int) for extent in extents)
    return known and math.prod(extents) <= _MAX_ELEMENTS


def _to_numpy(value: torch.Tensor) -> NDArray[Any]:
    plain = value.detach().cpu().contiguous().resolve_conj().resolve_neg()
    if plain.dtype.is_floating_point and plain.dtype.itemsize < 4:  # numpy lacks bfloat16
        return to_numpy(plain, "constant")
    return plain.numpy()
