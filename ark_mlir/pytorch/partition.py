"""Partition of a graph into subgraphs that ark compiles and nodes that stay with PyTorch."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from ..frontend import Program
from .aten import is_view
from .folding import Constants, fold
from .library import folder
from .translate import Node, Problem, Translation, gives_tensors

__all__ = ["PREFIX", "bake_constants", "find_problems", "fuse"]

PREFIX = "ark_part_"


def bake_constants(module: torch.fx.GraphModule) -> None:
    """Replaces nodes that depend on no input by buffers of the module."""
    graph = module.graph
    constants = fold(graph, _tensors_of(module))
    for node in list(graph.nodes):
        needed = any(user not in constants for user in node.users)
        if node.op == "call_function" and node in constants and needed:
            _replace(module, node, constants.tensor(node))
    graph.eliminate_dead_code()
    module.recompile()


def _replace(module: torch.fx.GraphModule, node: Node, value: object) -> None:
    if not isinstance(value, torch.Tensor):  # a tuple; its elements are separate nodes
        return
    name = f"_ark_constant_{node.name}"
    module.register_buffer(name, value, persistent=False)
    with module.graph.inserting_before(node):
        constant = module.graph.get_attr(name)
    constant.meta = dict(node.meta)
    node.replace_all_uses_with(constant)


def _tensors_of(module: torch.fx.GraphModule) -> dict[Node, torch.Tensor]:
    """Returns the tensors that a graph's module holds, by the nodes that read them."""
    nodes = (node for node in module.graph.nodes if node.op == "get_attr")
    values = ((node, operator.attrgetter(node.target)(module)) for node in nodes)
    return {node: value for node, value in values if isinstance(value, torch.Tensor)}


def find_problems(module: torch.fx.GraphModule) -> dict[Node, Problem]:
    """Returns the nodes that ark cannot express, by a translation into a scratch program."""

    class Done(Exception):
        pass

    translation = Translation(Constants(_tensors_of(module)), folder(torch))
    with contextlib.suppress(Done), Program("scratch"):
        for node in module.graph.nodes:
            if node.op == "placeholder":
                translation.stand_in(node)
            elif node.op == "call_function":
                translation.add(node)
        raise Done
    return translation.problems


class _Support(OperatorSupportBase):
    """Supports all nodes with tensors as results, except those with problems."""

    def __init__(self, problems: Mapping[Node, Problem]) -> None:
        super().__init__()
        self._problems = problems

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        called = node.op == "call_function" and gives_tensors(node)
        return called and node not in self._problems


def fuse(module: torch.fx.GraphModule, problems: Mapping[Node, Problem]) -> torch.fx.GraphModule:
    """Moves the subgraphs that ark compiles to submodules, named ``PREFIX`` and a number."""
    partitioner = CapabilityBasedPartitioner(
        module, _Support(problems), allows_single_node_partition=True
    )
    partitions = partitioner.propose_partitions()
    for partition in partitions:
        _trim(module, partition.nodes)
    computing = [p for p in partitions if any(not _is_view(node) for node in p.nodes)]
    return partitioner.fuse_partitions(computing, prefix=PREFIX)


def _trim(module: torch.fx.GraphModule, nodes: dict[Node, Any]) -> None:
    """Removes views at the end of a subgraph: they are free in torch, but a program would copy."""
    for node in reversed(list(module.graph.nodes)):
        if node in nodes and _is_view(node) and not any(user in nodes for user in node.users):
            del nodes[node]


def _is_view(node: Node) -> bool:
    if node.target is operator.getitem:  # one of several results
        return _is_view(node.args[0])
    return is_view(str(node.target))
