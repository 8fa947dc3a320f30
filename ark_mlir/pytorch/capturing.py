"""CUDA graphs of compiled graphs, for ``mode="reduce-overhead"``."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import background
from .devices import is_readable

__all__ = ["Captured"]

_LOG = logging.getLogger("ark.pytorch")


class Captured:
    """A callable that records a function on GPU tensors in a CUDA graph, and replays it.

    PyTorch for ROCm records a HIP graph with the same functions.

    The first call runs the function, as ark and PyTorch need before a capture; the second one
    records it. Later calls copy their inputs to the tensors of the graph, and return copies of its
    results, so that a result stays valid after the next call. Parameters are read in place, also
    after an optimizer has written to them. The graph is recorded again if a call passes other
    parameters, or after a write to a parameter of which the kernel reads a copy. No graph is
    recorded while a thread compiles a program, since calls of other threads to the driver would
    invalidate the graph.

    Args:
        function: takes tensors and returns tensors, all on one GPU and of fixed shapes.
        static: the positions of parameters among the arguments.
        check: waits for the last replay, and raises its error.

    If the function cannot be recorded, each call calls the function; one warning is logged.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: frozenset[int],
        check: Callable[[], None],
    ) -> None:
        self._function = function
        self._static = static
        self._check = check
        self._lock = threading.Lock()
        self._key: object = None
        self._graph: Any = None
        self._inputs: list[torch.Tensor] = []
        self._results: Any = None
        self._failed = False

    def __call__(self, *arguments: torch.Tensor) -> Any:
        with self._lock:
            key = [_identity(arguments[index]) for index in sorted(self._static)]
            if self._failed or self._key != key:
                self._key, self._graph = key, None  # the parameters are bound by this call
                return self._function(*arguments)
            if self._graph is None:
                with background.reserved() as alone:
                    if not alone or not self._capture(arguments):
                        return self._function(*arguments)
            self._copy_inputs(arguments)
            graph: Any = self._graph
            graph.replay()
            self._check()
            return _copies(self._results)

    def _capture(self, arguments: Sequence[torch.Tensor]) -> bool:
        """Records the function; returns False if the function cannot be recorded."""
        self._inputs = [
            argument if index in self._static else argument.clone()
            for index, argument in enumerate(arguments)
        ]
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._results = self._function(*self._inputs)
        except RuntimeError as error:
            _LOG.warning("torch.compile: runs without a CUDA graph: %s", error)
            self._failed = True
            return False
        self._graph = graph
        return True

    def _copy_inputs(self, arguments: Sequence[torch.Tensor]) -> None:
        for index, (copy, given) in enumerate(zip(self._inputs, arguments, strict=True)):
            if index not in self._static:
                copy.copy_(given)


def _identity(tensor: torch.Tensor) -> tuple[int, int | None]:
    unversioned = tensor.is_inference() or is_readable(tensor)
    return tensor.data_ptr(), None if unversioned else tensor._version


def _copies(results: Any) -> Any:
    if isinstance(results, (list, tuple)):
        return tuple(_copies(result) for result in results)
    return results.clone() if isinstance(results, torch.Tensor) else results
