"""Graphs with dynamic sizes.

A graph is compiled for padded sizes if every op has a rule for padded tensors (see ``padding``).
Only the first size of a bucket then costs a compilation. Other graphs are compiled for each set of
sizes.
"""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from . import padding_gradients as padding_gradients  # enters rules, as the next line does
from . import padding_rules as padding_rules
from .axes import Axes, Dynamic, Refusal, Sizes, axis_of_size, bucket, expression
from .padding import Padder

__all__ = ["Padded", "Specialised", "is_dynamic"]

_LOG = logging.getLogger("ark.pytorch")
# A limit of memory: each program keeps its intermediates, and threads on cpu.
_MAX_PROGRAMS = 32

Compiled: TypeAlias = Callable[..., Any]
# Compiles a graph of fixed sizes; the second argument has the positions of its parameters.
Compile: TypeAlias = Callable[[torch.fx.GraphModule, frozenset[int]], Compiled]


def is_dynamic(inputs: Sequence[Any]) -> bool:
    """Returns True if a size of an input is dynamic."""
    return any(
        isinstance(item, torch.SymInt)
        or (isinstance(item, torch.Tensor) and any(map(_is_symbolic, item.shape)))
        for item in inputs
    )


def _is_symbolic(extent: object) -> bool:
    return isinstance(extent, torch.SymInt)


class _Programs:
    """The compiled programs by key; the least recently used ones are dropped."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Compiled]) -> Compiled:
        """Returns the program of a key, which `make` compiles if it is not known."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            self._known.move_to_end(key)
            if len(self._known) > _MAX_PROGRAMS:
                self._known.popitem(last=False)
            return self._known[key]


class Specialised:
    """A callable that compiles a graph for each set of sizes, at the first call with them."""

    def __init__(
        self, module: torch.fx.GraphModule, compile: Compile, static: frozenset[int]
    ) -> None:
        self._module = module
        self._compile = compile
        self._static = static
        self._programs = _Programs()

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in arguments)
        return self._programs.get(key, lambda: self._make(arguments))(*arguments)

    def _make(self, arguments: Sequence[Any]) -> Compiled:
        run = torch.fx.Interpreter(self._module).run
        return self._compile(_traced(run, arguments), self._static)


def _traced(run: Callable[..., Any], arguments: Sequence[Any]) -> torch.fx.GraphModule:
    """Traces a graph with the sizes of `arguments`."""
    with unset_fake_temporarily(), preserve_node_meta():
        return make_fx(run, tracing_mode="fake")(*arguments)


class Padded:
    """A callable that compiles a graph for padded sizes.

    A call pads its arguments with zeros to the sizes of their buckets, and cuts the results. A
    graph may join tensors whose sizes have different symbols, such as the lengths of keys and
    values. Such a graph is compiled for calls in which these symbols are equal. If the graph cannot
    be computed on padded tensors even then, it is compiled for each set of sizes instead, and the
    log states the reason.
    """

    def __init__(
        self, module: torch.fx.GraphModule, compile: Compile, static: frozenset[int]
    ) -> None:
        self._module = module
        self._compile = compile
        self._exact = Specialised(module, compile, static)
        self._programs = _Programs()
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._described = [node.meta.get("val") for node in nodes]
        self._tensors = [
            index for index, d in enumerate(self._described) if isinstance(d, torch.Tensor)
        ]
        self._static = frozenset(
            number for number, index in enumerate(self._tensors) if index in static
        )
        self._sources = _sources(self._described)
        # False after a refusal: symbols with equal values are then taken to be the same symbol.
        self._tells_apart = True
        self._reason = self._refusal()

    def _refusal(self) -> str | None:
        """Returns the reason why no size of the graph can be padded, or None."""
        others = [
            d for d in self._described if not isinstance(d, (torch.Tensor, int, torch.SymInt))
        ]
        return "an argument that is neither a tensor nor an integer" if others else None

    def __call__(self, *arguments: Any) -> Any:
        if self._reason is not None:
            return self._exact(*arguments)
        values = {symbol: source(arguments) for symbol, source in self._sources.items()}
        sizes = {symbol: bucket(value) for symbol, value in values.items()}
        if self._tells_apart:
            try:
                return self._program(sizes, values, {}, arguments)(values, arguments)
            except Refusal as refusal:
                _LOG.debug("torch.compile: %s; equal sizes are taken to be the same", refusal)
                self._tells_apart = False
        program = self._program(sizes, values, _same(values), arguments)
        return program(values, arguments)

    def _program(
        self,
        sizes: Mapping[Any, int],
        values: Mapping[Any, int],
        same: Mapping[Any, Any],
        arguments: Sequence[Any],
    ) -> Compiled:
        """Returns the program for padded sizes.

        If the graph cannot be computed on padded tensors, raises Refusal as long as equal sizes are
        told apart; afterwards returns a program for each set of exact sizes.
        """
        key = (tuple(sizes.values()), tuple(sorted(map(str, same.items()))))

        def make() -> Compiled:
            try:
                return self._make(sizes, values, same, arguments)
            except Refusal as refusal:
                if not same and self._tells_apart:
                    raise
                _LOG.info("torch.compile: compiled for each size: %s", refusal)
                return lambda _, given: self._exact(*given)

        return self._programs.get(key, make)

    def _make(
        self,
        sizes: Mapping[Any, int],
        values: Mapping[Any, int],
        same: Mapping[Any, Any],
        arguments: Sequence[Any],
    ) -> Compiled:
        padded = Sizes(sizes)
        tensors = self._padded(arguments, padded)
        device = next((t.device for t in tensors), torch.device("cpu"))
        axes: list[Axes | None] = []
        run = self._run(padded, same, axes)
        graph = _traced(run, [*tensors, *_lengths(values, device)])
        results = _Results(self._module, axes)
        compiled = self._compile(graph, self._static)

        def call(values: Mapping[Any, int], arguments: Sequence[Any]) -> Any:
            tensors = self._padded(arguments, padded)
            outputs = compiled(*tensors, *_lengths(values, device))
            return results.cut(outputs, values)

        return call

    def _run(
        self, sizes: Sizes, same: Mapping[Any, Any], axes: list[Axes | None]
    ) -> Callable[..., Any]:
        """Returns the graph as a function of its padded tensors and the lengths.

        A call of the function stores the axes of the results in `axes`.
        """
        symbols = list(self._sources)

        def run(*given: Any) -> Any:
            tensors, lengths = given[: len(self._tensors)], given[len(self._tensors) :]
            padder = Padder(self._module, sizes, dict(zip(symbols, lengths, strict=True)), same)
            arguments: list[Any] = [0] * len(self._described)
            for index, tensor in zip(self._tensors, tensors, strict=True):
                arguments[index] = tensor
            outputs = padder.run(*arguments)
            axes[:] = padder.results
            return outputs

        return run

    def _padded(self, arguments: Sequence[Any], sizes: Sizes) -> list[torch.Tensor]:
        return [_pad(arguments[index], self._described[index], sizes) for index in self._tensors]


def _sources(described: Sequence[Any]) -> dict[Any, Callable[[Sequence[Any]], int]]:
    """Returns, for each symbol, a function that reads its value from the arguments of a call."""
    sources: dict[Any, Callable[[Sequence[Any]], int]] = {}
    for index, item in enumerate(described):
        if isinstance(item, torch.SymInt) and expression(item).is_Symbol:
            sources.setdefault(expression(item), lambda given, index=index: int(given[index]))
        elif isinstance(item, torch.Tensor):
            for dim, size in enumerate(item.shape):
                value = expression(size)
                if value.is_Symbol:
                    sources.setdefault(
                        value, lambda given, index=index, dim=dim: int(given[index].shape[dim])
                    )
    return sources


def _same(values: Mapping[Any, int]) -> dict[Any, Any]:
    """Maps each symbol whose value equals that of an earlier symbol to the earlier one."""
    first: dict[int, Any] = {}
    return {
        symbol: first[value]
        for symbol, value in values.items()
        if first.setdefault(value, symbol) != symbol
    }


def _lengths(values: Mapping[Any, int], device: torch.device) -> list[torch.Tensor]:
    # torch.full does not wait for the device, whereas a copy from the host does.
    full = functools.partial(torch.full, (), dtype=torch.int64, device=device)
    return [full(value) for value in values.values()]


def _pad(tensor: torch.Tensor, described: torch.Tensor, sizes: Sizes) -> torch.Tensor:
    """Returns a tensor with zeros up to the padded sizes."""
    if not any(map(_is_symbolic, described.shape)):
        return tensor
    shape = sizes.shape(tuple(axis_of_size(size) for size in described.shape))
    if list(tensor.shape) == shape:
        return tensor
    padded = tensor.new_zeros(shape)
    padded[tuple(slice(0, extent) for extent in tensor.shape)] = tensor
    return padded


class _Results:
    """The conversion of padded results to the results of a graph.

    Args:
        module: the graph, with symbols in the shapes of its metadata.
        axes: the axes of each result; None for results that are not tensors.

    Raises Refusal if the data of a result is not a slice of the padded tensor.
    """

    def __init__(self, module: torch.fx.GraphModule, axes: Sequence[Axes | None]) -> None:
        output = next(iter(reversed(module.graph.nodes)))
        (given,) = output.args
        self._single = not isinstance(given, (list, tuple))
        nodes = [given] if self._single else list(given)
        self._described = [getattr(node, "meta", {}).get("val", node) for node in nodes]
        self._axes = list(axes)
        for each in self._axes:
            for axis in each or ():
                if len(axis) > 1 and any(isinstance(factor, Dynamic) for factor in axis):
                    raise Refusal("a result with joined sizes")

    def cut(self, outputs: Sequence[torch.Tensor], values: Mapping[Any, int]) -> Any:
        """Returns the data of the results, with the strides that torch expects."""
        tensors = iter(outputs)
        results = [
            self._number(described, values)
            if axes is None
            else _cut(next(tensors), described, values)
            for axes, described in zip(self._axes, self._described, strict=True)
        ]
        return results[0] if self._single else tuple(results)

    @staticmethod
    def _number(described: Any, values: Mapping[Any, int]) -> Any:
        return _value(described, values) if isinstance(described, torch.SymInt) else described


def _value(size: Any, values: Mapping[Any, int]) -> int:
    return int(expression(size).subs(values)) if isinstance(size, torch.SymInt) else int(size)


def _cut(tensor: torch.Tensor, described: torch.Tensor, values: Mapping[Any, int]) -> torch.Tensor:
    shape = [_value(size, values) for size in described.shape]
    strides = tuple(_value(stride, values) for stride in described.stride())
    data = tensor[tuple(slice(0, extent) for extent in shape)]
    if data.stride() == strides:
        return data
    result = torch.empty_strided(shape, strides, dtype=tensor.dtype, device=tensor.device)
    return result.copy_(data)
