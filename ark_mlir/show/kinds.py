"""Kinds of ops, each of which has a colour in the timeline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..bundle import Task


@dataclass(frozen=True)
class Kind:
    """A kind of ops: its name, its colours on a light and on a dark background, and its ops."""

    name: str
    light: str
    dark: str
    ops: str = ""


# In descending order of work: a task with several ops has the first kind that occurs among them.
KINDS = (
    Kind("communicate", "#0e8fa3", "#2ab5c9", "all_reduce all_gather reduce_scatter all_to_all "
         "broadcast_rank send recv put get signal wait packet flush"),
    Kind("attention", "#7c4dcc", "#a17fe8", "attention"),
    Kind("matmul", "#2f67d8", "#5a8df0", "matmul linear gemm dot contract"),
    Kind("normalise", "#1d9a6c", "#3cbd8c", "softmax layernorm rmsnorm norm"),
    Kind("reduce", "#6f9a1d", "#98c13f", "reduce reduce_sum reduce_mean reduce_max reduce_min "
         "argmax sum mean"),
    Kind("index", "#c94f8a", "#e67bb0", "embedding gather update scatter"),
    Kind("elementwise", "#d18a1c", "#eab04d", "add sub mul div maximum minimum pow abs neg exp log "
         "sqrt rsqrt reciprocal sin cos tanh erf relu sigmoid silu gelu where equal not_equal less "
         "less_equal greater greater_equal logical_and logical_or logical_not rope bias"),
    Kind("move", "#6b7885", "#93a1af", "copy cast transpose reshape slice concat split broadcast "
         "broadcast_to identity fill constant zeros ones full arange squeeze unsqueeze"),
    Kind("other", "#93806a", "#b3a28d"),
)  # fmt: skip

_KIND_OF = {op: index for index, kind in enumerate(KINDS) for op in kind.ops.split()}
_OTHER = len(KINDS) - 1


def kind_of(task: Task) -> int:
    """Returns the index into KINDS of the kind of a task, which is the kind of its heaviest op.

    If the ops are unknown, the name of the task selects the kind.
    """
    kind = _heaviest(task.ops)
    return kind if kind < _OTHER else _heaviest([task.name])


def _heaviest(names: Sequence[str]) -> int:
    return min((_kind_of_name(name) for name in names), default=_OTHER)


def _kind_of_name(name: str) -> int:
    """Returns the index into KINDS for the name of an op.

    ``ark.matmul`` and ``encoder.layer.0/matmul_3`` are both of kind matmul.
    """
    last = re.split(r"[./:]", name.lower())[-1]
    bare = re.sub(r"[_\d]+$", "", last)
    if bare in _KIND_OF:
        return _KIND_OF[bare]
    return min(
        (_KIND_OF[word] for word in re.findall(r"[a-z]+", bare) if word in _KIND_OF), default=_OTHER
    )
