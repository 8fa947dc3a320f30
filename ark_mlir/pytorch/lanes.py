"""The number of lanes of a program on the host, if the user names no target.

If its lanes run on several threads, a program waits for these threads first and last, which takes
50 µs and more. The calling thread itself runs a short program of one lane with small buffers. Such
a program is compiled for one lane.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from .. import knobs
from ..compiler.schedule import cached_schedule
from ..runtime.cpu.short import SMALL_BYTES, fits_the_caller

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
    """Returns the executable of a program, on one lane of the host if the calling thread can run
    it there.

    Args:
        compile: :func:`ark.compile`.
        subgraph: the graph of the program, with the description of each value in ``meta["val"]``.
        options: the options of `compile`. A target among them is taken as it is, and so is that of
            ARK_TARGET.
    """
    if options.get("target") is None and knobs.TARGET.override() is None:
        chosen: dict[str, Any] = {**options, "target": _ONE_LANE}
        if _may_be_short(program, subgraph) and fits_the_caller(cached_schedule(program, **chosen)):
            return compile(program, **chosen)
    return compile(program, **options)


def _may_be_short(program: ark.Program, subgraph: torch.fx.GraphModule) -> bool:
    """Returns False if the sizes of a program show that the calling thread cannot run it."""
    values = (*program.inputs.values(), *program.parameters.values(), *program.outputs.values())
    nbytes = sum(math.prod(value.shape) * value.dtype.itemsize for value in values)
    return nbytes <= SMALL_BYTES and count_elements(subgraph) <= _MOST_ELEMENTS


def count_elements(subgraph: torch.fx.GraphModule) -> int:
    """Returns the number of elements of all tensors of a graph."""
    values = [node.meta.get("val") for node in subgraph.graph.nodes]
    return sum(int(value.numel()) for value in values if isinstance(value, torch.Tensor))
