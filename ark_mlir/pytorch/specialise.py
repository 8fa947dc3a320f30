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
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from . import padding_gradients as padding_gradients  # enters rules, as the next line does
from . import padding_rules as padding_rules
from .axes import Axes, Dynamic, Refusal, Sizes, axis_of_size, bucket, expression
from .padding import Padder
from .programs import Compiled, Make, Programs, is_capturing
from .recording import Description, NotRecorded, Recorder, Walker, describe

__all__ = ["Padded", "Specialised", "is_dynamic"]

_LOG = logging.getLogger("ark.pytorch")
# A call may run in the program of a larger bucket if this bucket has at most _MOST_PADDING times
# the elements of the call's own bucket.
_MOST_PADDING = 2

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


def _is_on_gpu(module: torch.fx.GraphModule) -> bool:
    values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
    return any(isinstance(value, torch.Tensor) and value.is_cuda for value in values)


class Specialised:
    """A callable that compiles a graph for each set of sizes.

    A call with new sizes runs in PyTorch while a background thread compiles. Calls wait for all
    programs if `waits`, and for the first one if `first_waits`.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        compile: Compile,
        static: frozenset[int],
        *,
        waits: bool,
        first_waits: bool = True,
    ) -> None:
        self._module = module
        self._compile = compile
        self._static = static
        self._on_gpu = _is_on_gpu(module)
        self._programs = Programs(waits, first_waits)
        self._by_make_fx = Programs(waits=True)
        self._is_recorded = True  # False after a refusal: make_fx traces the graph

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in arguments)
        capturing = is_capturing(self._on_gpu)
        program: Compiled | None = None
        if self._is_recorded:
            name = f"sizes {key}"
            program = self._programs.get(key, name, lambda: self._recorded(arguments), capturing)
        if not self._is_recorded:
            program = self._by_make_fx.get(key, "", lambda: self._tracing(arguments), capturing)
        try:
            return (self._module.forward if program is None else program)(*arguments)
        finally:
            self._programs.begin_requested()

    def _recorded(self, arguments: Sequence[Any]) -> Make:
        """Returns a function that compiles for the sizes of `arguments`, and does not keep them."""
        try:
            return functools.partial(self._record, [describe(a) for a in arguments])
        except NotRecorded as refusal:
            return functools.partial(self._refuse, refusal)

    def _record(self, described: Sequence[Any]) -> Compiled | None:
        recorder = Recorder()
        given = [recorder.placeholder(each) for each in described]
        try:
            graph = recorder.run(Walker(self._module), given)
        except NotRecorded as refusal:
            return self._refuse(refusal)
        return self._compile(graph, self._static)

    def _refuse(self, refusal: NotRecorded) -> None:
        _LOG.debug("torch.compile: traced by make_fx: %s", refusal)
        self._is_recorded = False

    def _tracing(self, arguments: Sequence[Any]) -> Make:
        run = torch.fx.Interpreter(self._module).run
        return lambda: self._compile(_traced(run, arguments), self._static)


def _traced(run: Callable[..., Any], arguments: Sequence[Any]) -> torch.fx.GraphModule:
    """Traces a graph with the sizes of `arguments`."""
    with unset_fake_temporarily(), preserve_node_meta():
        return make_fx(run, tracing_mode="fake")(*arguments)


# The padded size of each symbol, and the symbols that equal another one.
_Key: TypeAlias = tuple[tuple[int, ...], tuple[tuple[str, str], ...]]


class Padded:
    """A callable that compiles a graph for padded sizes.

    A call pads its arguments with zeros to the sizes of their buckets, and cuts the results. A
    graph may join tensors whose sizes have different symbols, such as the lengths of keys and
    values. Such a graph is compiled for calls in which these symbols are equal. If the graph cannot
    be computed on padded tensors even then, it is compiled for each set of sizes instead, and the
    log states the reason.

    While a background thread compiles a bucket, a call uses the program of a larger bucket, or runs
    in PyTorch. Calls wait for all programs if `waits`, and for the first one if `first_waits`.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        compile: Compile,
        static: frozenset[int],
        *,
        waits: bool,
        first_waits: bool = True,
    ) -> None:
        self._module = module
        self._compile = compile
        self._on_gpu = _is_on_gpu(module)
        self._exact = Specialised(module, compile, static, waits=waits, first_waits=first_waits)
        self._programs = Programs(waits, first_waits)
        self._refused: set[_Key] = set()
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
        told_apart = self._tells_apart
        found = self._find(sizes, {} if told_apart else _same(values), arguments)
        if found is None and told_apart and not self._tells_apart:
            found = self._find(sizes, _same(values), arguments)
        try:
            return self._module.forward(*arguments) if found is None else found(values, arguments)
        finally:
            self._programs.begin_requested()

    def _find(
        self, sizes: Mapping[Any, int], same: Mapping[Any, Any], arguments: Sequence[Any]
    ) -> Compiled | None:
        """Returns a program for these padded sizes or larger ones, or None."""
        key = (tuple(sizes.values()), tuple(sorted((str(a), str(b)) for a, b in same.items())))
        capturing = is_capturing(self._on_gpu)

        told_apart = self._tells_apart

        def prepare() -> Make:
            try:
                described = [describe(arguments[index]) for index in self._tensors]
            except NotRecorded as refusal:
                self._reason = str(refusal)
                return lambda: None
            return functools.partial(self._make_or_refuse, key, sizes, same, described, told_apart)

        program = None
        if key not in self._refused:
            program = self._programs.get(key, f"sizes {key[0]}", prepare, capturing)
        if key in self._refused or self._reason is not None:
            return lambda _, given: self._exact(*given)
        if program is None:
            program = self._programs.substitute(functools.partial(_cost, key), capturing)
        return program

    def _make_or_refuse(
        self,
        key: _Key,
        sizes: Mapping[Any, int],
        same: Mapping[Any, Any],
        described: Sequence[Any],
        told_apart: bool,
    ) -> Compiled | None:
        """Returns the program for padded sizes.

        If the graph cannot be computed on padded tensors, returns None. Equal sizes are then not
        told apart any more, or the graph is compiled for each set of exact sizes.
        """
        try:
            return self._make(sizes, same, described)
        except Refusal as refusal:
            if not same and told_apart:
                _LOG.debug("torch.compile: %s; equal sizes are taken to be the same", refusal)
                self._tells_apart = False
            else:
                _LOG.info("torch.compile: compiled for each size: %s", refusal)
                self._refused.add(key)
            return None

    def _make(
        self, sizes: Mapping[Any, int], same: Mapping[Any, Any], described: Sequence[Any]
    ) -> Compiled:
        padded = Sizes(sizes)
        recorder = Recorder()
        tensors = [
            recorder.placeholder(_padded_description(each, self._described[index], padded))
            for each, index in zip(described, self._tensors, strict=True)
        ]
        device = next((each.device for each in described), torch.device("cpu"))
        length = Description((), (), torch.int64, device)
        lengths = {symbol: recorder.placeholder(length) for symbol in self._sources}
        padder = Padder(self._module, padded, lengths, same)
        arguments: list[Any] = [0] * len(self._described)
        for index, tensor in zip(self._tensors, tensors, strict=True):
            arguments[index] = tensor
        graph = recorder.run(padder, arguments)
        results = _Results(self._module, padder.results)
        compiled = self._compile(graph, self._static)

        def call(values: Mapping[Any, int], arguments: Sequence[Any]) -> Any:
            tensors = self._padded(arguments, padded)
            outputs = compiled(*tensors, *_lengths(values, device))
            return results.cut(outputs, values)

        return call

    def _padded(self, arguments: Sequence[Any], sizes: Sizes) -> list[torch.Tensor]:
        return [_pad(arguments[index], self._described[index], sizes) for index in self._tensors]


def _cost(wanted: _Key, key: Hashable) -> float | None:
    """Returns the number of elements of a program's sizes; None if the program does not fit."""
    sizes, same = cast("_Key", key)
    needed, needed_same = wanted
    if same != needed_same or any(s < n for s, n in zip(sizes, needed, strict=True)):
        return None
    elements = math.prod(sizes)
    return elements if elements <= _MOST_PADDING * math.prod(needed) else None


def _padded_description(given: Description, described: torch.Tensor, sizes: Sizes) -> Description:
    """Returns the description of the result of :func:`_pad`."""
    if not any(map(_is_symbolic, described.shape)):
        return given
    shape = tuple(sizes.shape(tuple(axis_of_size(size) for size in described.shape)))
    if given.shape == shape:
        return given
    strides = tuple(torch.empty(shape, device="meta").stride())
    return Description(shape, strides, given.dtype, given.device)


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
