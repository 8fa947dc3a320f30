"""The number of lanes of a program on the host, if the user names no target.

If its lanes run on several threads, a program waits for these threads first and last, which takes
50 µs and more. The calling thread itself runs a short program of one lane. So a program that takes
less than 100 µs is compiled for one lane.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..runtime.cpu.driver import SHORT_NS

if TYPE_CHECKING:
    from .. import frontend as ark
    from ..runtime import Executable

__all__ = ["compile_subgraph"]

# Programs with more elements than this limit, in all values together, take longer than 100 µs.
_MOST_ELEMENTS = 1 << 20
_ONE_LANE = "cpu:1"


def compile_subgraph(
    compile: Callable[..., Executable],
    program: ark.Program,
    subgraph: torch.fx.GraphModule,
    options: Mapping[str, Any],
) -> Executable:
    """Returns the executable of a program, on one lane of the host if the program is short.

    Args:
        compile: :func:`ark.compile`.
        subgraph: the graph of the program, with the description of each value in ``meta["val"]``.
        options: the options of `compile`. A target among them is taken as it is.
    """
    if options.get("target") is None and count_elements(subgraph) <= _MOST_ELEMENTS:
        executable = compile(program, **{**options, "target": _ONE_LANE})
        if executable.bundle.tables.predicted_ns <= SHORT_NS:
            return executable
    return compile(program, **options)


def count_elements(subgraph: torch.fx.GraphModule) -> int:
    """Returns the number of elements of all tensors of a graph."""
    values = [node.meta.get("val") for node in subgraph.graph.nodes]
    return sum(int(value.numel()) for value in values if isinstance(value, torch.Tensor))
