"""Specialisation of graphs with dynamic sizes: a static graph for each set of sizes."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

__all__ = ["Specialised", "is_dynamic"]

_LOG = logging.getLogger("ark.pytorch")
# Each set of sizes costs a compilation and a kernel in memory. Users with more sizes should pad.
_MAX_SIZES = 16


def is_dynamic(inputs: Sequence[Any]) -> bool:
    """Returns True if a size of an input is dynamic."""
    return any(
        isinstance(item, torch.SymInt)
        or (isinstance(item, torch.Tensor) and any(map(_is_symbolic, item.shape)))
        for item in inputs
    )


def _is_symbolic(extent: object) -> bool:
    return isinstance(extent, torch.SymInt)


class Specialised:
    """A callable that compiles a graph at the first call with each set of sizes.

    After ``_MAX_SIZES`` sets, calls with other sizes run in eager PyTorch; one warning is logged.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        compile: Callable[[torch.fx.GraphModule], Callable[..., Any]],
    ) -> None:
        self._module = module
        self._compile = compile
        self._compiled: dict[Hashable, Callable[..., Any]] = {}
        self._lock = threading.Lock()
        self._warned = False

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in arguments)
        with self._lock:
            if key not in self._compiled and len(self._compiled) < _MAX_SIZES:
                self._compiled[key] = self._compile(self._static(arguments))
            chosen = self._compiled.get(key)
        if chosen is None:
            self._warn()
            chosen = self._module.forward
        return chosen(*arguments)

    def _static(self, arguments: Sequence[Any]) -> torch.fx.GraphModule:
        """Traces the graph with the sizes of `arguments`."""
        with preserve_node_meta():
            return make_fx(torch.fx.Interpreter(self._module).run, tracing_mode="fake")(*arguments)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "torch.compile: more than %d sets of sizes; others run in eager PyTorch "
                "(pad the inputs to fewer sizes)",
                _MAX_SIZES,
            )
